"""The documentation: links lead somewhere, and nothing that must be named is left out."""

from __future__ import annotations

import re
from pathlib import Path

LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)\)")
FENCE = re.compile(r"^ {0,3}```.*?^ {0,3}```[^\n]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def documents(repository: Path) -> list[Path]:
    return sorted([*repository.glob("*.md"), *(repository / "docs").rglob("*.md")])


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    names: list[str] = []
    for heading in re.findall(r"^#{1,6} +(.+?) *$", FENCE.sub("", text), re.MULTILINE):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        names.append(f"{name}-{names.count(name)}" if name in names else name)
    return set(names)


def broken(page: Path, root: Path) -> list[str]:
    """What is wrong with the links of one page, in the order of the page."""
    problems = []
    for target in LINK.findall(CODE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        if not place.exists() or not place.is_relative_to(root):
            problems.append(f"{page.relative_to(root)}: {target}: no such file")
        elif anchor and anchor not in anchors(place.read_text(encoding="utf-8")):
            problems.append(f"{page.relative_to(root)}: {target}: no such heading")
    return problems


def test_every_link_resolves(repository):
    problems = [one for page in documents(repository) for one in broken(page, repository)]
    assert not problems, "\n".join(problems)
