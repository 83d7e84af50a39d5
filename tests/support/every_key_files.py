"""The files that ``tests/workflow/every_key.yaml`` names: without content, in any folder."""

from __future__ import annotations

from pathlib import Path

#: Files and folders that every_key.yaml names, and others that changes of it name.
FILES = (
    "data/en.jsonl", "data/other.jsonl", "elsewhere/en.jsonl",
    "items/en.jsonl", "items/other.jsonl",
    "items/it.txt", "items/en.txt", "items/other.txt", "published/table.csv", "corrected/table.csv",
    "tokenizers/one/tokenizer.json", "tokenizers/two/tokenizer.json", "models/one/config.json",
    "models/two/config.json", "chat/one.jinja", "chat/two.jinja",
    "vectors/one.txt", "vectors/two.txt",
)  # fmt: skip


def make_files(folder: Path) -> None:
    """Make them in a folder."""
    for name in FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}" if name.endswith("config.json") else "", "utf-8")
