"""Inference engines: adding one takes one file; the rest of the package knows none by name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from evaluation_toys import IT_ROWS, write_model, write_task

from revocab.evaluation.generation.prompts import prompt_row
from revocab.io import read_json, write_json, write_jsonl


@pytest.fixture(scope="module")
def place(tmp_path_factory, repository) -> Path:
    """A folder with a model, some of whose texts end early, prompts, a task, and the package."""
    folder = tmp_path_factory.mktemp("engines")
    model = write_model(folder / "model", context_length=256)
    settings = read_json(model / "generation_config.json")
    settings["eos_token_id"] = [2, *range(40, 64)]
    write_json(model / "generation_config.json", settings)
    pool = [{"id": f"p{i}", "en": f"the cat sat {i}", "it": f"il gatto {i}"} for i in range(2)]
    queries = [{"id": f"t{i}", "en": "bread " * (1 + i), "it": "pane"} for i in range(8)]
    rows = [
        prompt_row("translation", ["en", "it"], one, pool[: i % 3]) for i, one in enumerate(queries)
    ]
    write_jsonl(folder / "t.jsonl", rows)
    write_task(folder, repository, "arc_easy_it", IT_ROWS, "arc_easy_it")
    shutil.copytree(repository / "src/revocab", folder / "src/revocab")
    return folder


#: Prints what the text of each engine is made from.
HASHES = """
from pathlib import Path

from revocab.evaluation.inference.engine import engines
from revocab.evaluation.generation.generate import Finished
from revocab.evaluation.options import Generating

for name in ("transformers", "vllm"):
    print(Finished(Path("nowhere"), engines()[name], Generating()).shared["code"])
"""


def test_records_know_the_code_of_their_engine_and_no_other(place):
    """Another engine's file makes no text again; a change of one's own does."""

    def hashes() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", HASHES],
            env={**os.environ, "PYTHONPATH": str(place / "src")},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    folder = place / "src/revocab/evaluation/inference/engines"
    before = hashes()
    file = folder / "vllm.py"
    content = file.read_text(encoding="utf-8")
    (folder / "other.py").write_text(content.replace('name="vllm"', 'name="other"', 1), "utf-8")
    assert hashes() == before != before[::-1]
    file.write_text(content + "CPU_SEQUENCES = 33\n", encoding="utf-8")
    after = hashes()
    assert after[0] == before[0] and after[1] != before[1]
