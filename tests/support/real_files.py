"""What config/demos/real.yaml reads, as small as a plan needs it: empty texts and toy models."""

from __future__ import annotations

import re
from pathlib import Path

from toy_models import SOURCE_WORDS, build_model, build_tokenizer

FILE = Path(__file__).parents[2] / "config/demos/real.yaml"


def make_real(folder: Path) -> Path:
    """Make the data folder of config/demos/real.yaml; return it."""
    for name in sorted(set(re.findall(r"\{data_root\}/([^\"]+)", FILE.read_text()))):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if name.startswith("models/"):
            build_model(build_tokenizer(SOURCE_WORDS, 30, folder / "tokenizer"), place)
        else:
            place.touch()
    return folder
