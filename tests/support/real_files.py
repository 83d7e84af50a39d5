"""What config/real.yaml reads, as small as a plan needs it: empty texts and toy models."""

from __future__ import annotations

import re
from pathlib import Path

from toy_models import SOURCE_WORDS, build_model, build_tokenizer

FILE = Path(__file__).parents[2] / "config/real.yaml"


def make_real(folder: Path) -> Path:
    """Make what config/real.yaml reads in a folder, data and ``resources/models``; return it."""
    paths = re.findall(r"path: \"(?:\{data_root\}/)?([^\"]+)", FILE.read_text())
    for name in sorted(set(paths)):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if name.startswith("resources/models/"):
            build_model(build_tokenizer(SOURCE_WORDS, 30, folder / "tokenizer"), place)
        else:
            place.touch()
    return folder
