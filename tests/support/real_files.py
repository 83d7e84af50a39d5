"""What config/demos/real.yaml reads, for a plan: empty texts, models without weights."""

from __future__ import annotations

import json
import re
from pathlib import Path

from toy_models import SOURCE_WORDS, build_tokenizer

CONFIG = {
    "model_type": "llama", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 300,
}  # fmt: skip
FILE = Path(__file__).parents[2] / "config/demos/real.yaml"


def make_real(folder: Path) -> Path:
    """Make the data folder of config/demos/real.yaml; return it."""
    for name in sorted(set(re.findall(r"\{data_root\}/([^\"]+)", FILE.read_text()))):
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if name.startswith("models/"):
            build_tokenizer(SOURCE_WORDS, 30, place)
            (place / "config.json").write_text(json.dumps(CONFIG))
        else:
            place.touch()
    return folder
