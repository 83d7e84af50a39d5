"""Inference engines: adding one takes one file; the rest of the package knows none by name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from revocab.errors import RevocabError
from revocab.evaluation.inference.decoding import TextGenerator


class Writer(TextGenerator):
    """An engine that does no more than an engine must."""

    def generate(self, prompts, max_new_tokens, stop):
        return []


@pytest.mark.parametrize(
    ("name", "words"), [("run", ([[1]], 2)), ("log_probabilities", ([1], [[2]]))]
)
def test_what_an_engine_lacks_is_refused_with_one_that_has_it(name, words):
    with pytest.raises(RevocabError, match=r"Writer .* transformers"):
        getattr(Writer(), name)(*words)


#: Prints what the text of each engine is made from.
HASHES = """
from pathlib import Path

from revocab.evaluation.inference.engine import engines
from revocab.evaluation.generation.generate import Finished
from revocab.evaluation.options import Generating

for name in ("transformers", "vllm"):
    print(Finished(Path("nowhere"), engines()[name], Generating()).shared["code"])
"""


@pytest.mark.long  # three processes, each with all imports
def test_records_know_the_code_of_their_engine_and_no_other(repository, tmp_path):
    """Another engine's file makes no text again; a change of one's own does."""

    def hashes() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", HASHES],
            env={**os.environ, "PYTHONPATH": str(tmp_path / "src")},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    shutil.copytree(repository / "src/revocab", tmp_path / "src/revocab")
    folder = tmp_path / "src/revocab/evaluation/inference/engines"
    before = hashes()
    file = folder / "vllm.py"
    content = file.read_text(encoding="utf-8")
    (folder / "other.py").write_text(content.replace('name="vllm"', 'name="other"', 1), "utf-8")
    assert hashes() == before != before[::-1]
    file.write_text(content + "CPU_SEQUENCES = 33\n", encoding="utf-8")
    after = hashes()
    assert after[0] == before[0] and after[1] != before[1]
