"""The files that experiments expect of a user, for plans: empty, models without weights."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from toy_models import SOURCE_WORDS, build_tokenizer

CONFIG = {
    "model_type": "llama", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 300,
}  # fmt: skip
REAL = Path(__file__).parents[2] / "config/demos/real.yaml"
#: Codes of the languages in NLLB's file names.
CODES = (
    "swh_Latn", "ind_Latn", "est_Latn", "hat_Latn", "kor_Hang", "ell_Grek", "rus_Cyrl", "bul_Cyrl",
    "ukr_Cyrl", "kaz_Cyrl",
)  # fmt: skip
#: Files and folders that tests/workflow/every_key.yaml names, and others that changes of it name.
EVERY_KEY = (
    "data/en.jsonl", "data/other.jsonl", "elsewhere/en.jsonl",
    "items/en.jsonl", "items/other.jsonl",
    "items/it.txt", "items/en.txt", "items/other.txt", "published/table.csv", "corrected/table.csv",
    "tokenizers/one/tokenizer.json", "tokenizers/two/tokenizer.json", "models/one/config.json",
    "models/two/config.json", "chat/one.jinja", "chat/two.jinja",
    "vectors/one.txt", "vectors/two.txt",
)  # fmt: skip


def make_files(folder: Path, names: Iterable[str]) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}" if name.endswith("config.json") else "", "utf-8")
    return folder


def make_every_key(folder: Path) -> Path:
    return make_files(folder, EVERY_KEY)


def make_instructions(folder: Path) -> Path:
    return make_files(folder, ("instructions-en.jsonl", "instructions-ar.jsonl"))


def make_pairs(folder: Path) -> Path:
    pairs = ("-".join(sorted((code, "eng_Latn"))) for code in CODES)
    return make_files(folder, (f"nllb/{pair}.tsv.gz" for pair in pairs))


def make_real(folder: Path) -> Path:
    names = set(re.findall(r"\{data_root\}/([^\"]+)", REAL.read_text()))
    models = {name for name in names if name.startswith("models/")}
    for name in sorted(models):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        build_tokenizer(SOURCE_WORDS, 30, folder / name)
        (folder / name / "config.json").write_text(json.dumps(CONFIG))
    return make_files(folder, names - models)
