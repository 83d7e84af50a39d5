"""Blocks of code in the pages of the docs."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

REPOSITORY = Path(__file__).resolve().parents[2]


def blocks(page: str, kind: str, section: str | None = None) -> list[str]:
    """Return the blocks of code of one kind (``python``, ``yaml``) in a page of the docs, or in the
    section of a page with that heading.
    """
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    if section is not None:
        (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return [
        dedent(one[1]) for one in re.finditer(rf"^ *```{kind}\n(.*?)^ *```$", text, re.M | re.S)
    ]
