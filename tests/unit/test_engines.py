"""Inference engines: adding one takes one file; the rest of the package knows none by name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from evaluation_toys import IT_ROWS, write_model, write_task
from scratch_package import blocks

from revocab.config import read, validate
from revocab.errors import RevocabError
from revocab.evaluation.generation.generate import generate_checkpoints
from revocab.evaluation.generation.prompts import prompt_row
from revocab.evaluation.inference.engine import (
    choose_engine,
    engine_called,
    engines,
    engines_for,
    environment_of,
    interpreter,
)
from revocab.evaluation.multiple_choice.scoring import score_checkpoints
from revocab.evaluation.options import Generating, Scoring
from revocab.evaluation.records import version
from revocab.imports import closure
from revocab.io import read_json, read_jsonl, write_json, write_jsonl

#: Run with a copy of the package that has one file more: what needs no model first, then commands.
SCRIPT = """
import sys
from pathlib import Path

import yaml

from revocab.config import validate
from revocab.errors import RevocabError
from revocab.evaluation.inference.engine import interpreter
from revocab.plan import Plan

assert not {"lm_eval", "torch", "transformers", "vllm"} & set(sys.modules)
values = yaml.safe_load(Path("config/demo.yaml").read_text())
for part in ("generation", "multiple_choice"):
    values["evaluation"][part]["engine"] = "plain"
    assert interpreter("plain", part, "here") == "here"
plan = Plan(validate(values))
run = next(iter(plan.runs))
for rule in ("generate_text", "score_multiple_choice"):
    assert plan.step(rule, run=run).job.engine == "plain"
values["evaluation"]["efficiency"] = {"corpus": next(iter(values["corpora"]))}
try:
    validate(values)
except RevocabError as error:
    (problem,) = error.problems
    start = "evaluation.generation.engine: 'plain' cannot measure evaluation.efficiency; use "
    assert problem.startswith(start), problem
else:
    raise AssertionError("an engine that cannot be timed was accepted")

from revocab.__main__ import main

folder = Path(sys.argv[1])
common = ["--run", "r", "--engine", "plain", "--device", "cpu", "--models", f"0={folder / 'model'}"]
lengths = ["--max-new-tokens", "8", "--context-length", "128"]
prompts = ["--prompts", f"t={folder / 't.jsonl'}"]
main(["generate", *common, *prompts, *lengths, "--out", str(folder / "plain")])
task = ["--tasks", str(folder / "arc_easy_it.yaml")]
main(["score", *common, *task, "--out", str(folder / "plain.csv")])
"""


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


def test_an_engine_is_one_file(place, repository):
    """That of the docs, in a copy of the package: the text and scores of transformers."""
    docs = (repository / "docs" / "extending.md").read_text(encoding="utf-8")
    shown = blocks("extending.md", "python", "An inference engine")
    file = "src/revocab/evaluation/inference/engines/plain.py"
    assert f"`{file}`" in docs and not (place / file).exists()
    (place / file).write_text("\n\n".join(shown), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(place)],
        cwd=repository,
        env={**os.environ, "PYTHONPATH": str(place / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    models, prompts = {0: place / "model"}, {"t": place / "t.jsonl"}
    options = {"max_new_tokens": 8, "context_length": 128, "engine": "transformers"}
    generate_checkpoints("r", models, prompts, place / "theirs", Generating(**options))
    made, expected = (
        list(read_jsonl(place / f"{engine}/step-000000/t.jsonl")) for engine in ("plain", "theirs")
    )
    assert len(made) == 8 and made == expected
    assert {row["finish_reason"] for row in made} == {"eos", "length"}
    assert read_json(place / "plain/manifest.json")["options"]["engine"] == "plain"
    score_checkpoints("r", models, [place / "arc_easy_it.yaml"], place / "theirs.csv", Scoring())
    ours, theirs = ((place / f"{name}.csv").read_text() for name in ("plain", "theirs"))
    assert ours.count(",plain\n") == theirs.count(",hf\n") == len(theirs.splitlines()) - 1 == 2
    assert ours.replace(",plain\n", ",hf\n") == theirs
    items = [list(read_jsonl(place / f"{name}_items.jsonl.gz")) for name in ("plain", "theirs")]
    assert items[0] == items[1] and 0 < sum(items[0][0]["values"]) < len(IT_ROWS)


def test_every_engine_is_in_the_file_of_its_name(repository):
    folder = repository / "src/revocab/evaluation/inference/engines"
    assert {*engines()} == {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert {*engines()} >= {"transformers", "vllm"} and "hf" in engines_for("multiple_choice")
    for one in engines():  # else a change of one would be none of another's
        mine = closure([f"evaluation/inference/engines/{one}.py"])
        assert not mine & {f"evaluation/inference/engines/{other}.py" for other in engines()} - {
            f"evaluation/inference/engines/{one}.py"
        }


def test_nothing_else_names_an_engine(repository):
    """But for defaults, and what is said of versions in comments."""
    package = repository / "src/revocab"
    files = [*package.rglob("*.py"), *(repository / "workflow").rglob("*.smk")]
    others = [path for path in files if path.parent.name not in ("engines", "runtimes")]
    assert len(others) > 200
    found = {path.name for path in others if '"vllm"' in path.read_text(encoding="utf-8")}
    assert found == set()


def test_an_engine_that_there_is_not_is_refused_with_the_list(repository, monkeypatch):
    monkeypatch.chdir(repository)
    values = yaml.safe_load((repository / "config/demo.yaml").read_text(encoding="utf-8"))
    for part in ("generation", "multiple_choice"):
        values["evaluation"][part]["engine"] = "transformer"
    with pytest.raises(RevocabError) as caught:
        validate(values)
    for part, problem in zip(("multiple_choice", "generation"), caught.value.problems, strict=True):
        assert problem.startswith(f"evaluation.{part}.engine: ")
        assert all(repr(name) in problem for name in (*engines_for(part), "transformer"))
    with pytest.raises(RevocabError, match=r"generation 'transformer' .*transformers"):
        choose_engine("transformer", "generation")
    with pytest.raises(RevocabError, match=r"no engine for multiple_choice 'transformers'"):
        engine_called("transformers", "multiple_choice")


def test_an_engine_without_an_environment_runs_where_everything_else_does():
    everywhere = (("transformers", "generation"), ("hf", "multiple_choice"))
    for name, part in everywhere:
        assert environment_of(name, part) is None
        assert interpreter(name, part, "here") == "here"
    assert environment_of("vllm", "multiple_choice").name == "vllm"


def test_auto_is_refused_with_what_to_write(repository, monkeypatch):
    monkeypatch.chdir(repository)
    values = yaml.safe_load((repository / "config/demo.yaml").read_text(encoding="utf-8"))
    values["evaluation"]["generation"]["engine"] = "auto"
    with pytest.raises(RevocabError) as caught:
        validate(values)
    (problem,) = caught.value.problems
    assert problem.startswith("evaluation.generation.engine: ")
    assert all(name in problem for name in ("'auto'", "transformers", "vllm"))


#: What each file runs with: generation, multiple choice.
CHOSEN = {
    "paper": ("vllm", "vllm"), "lep": ("vllm", "vllm"), "bilingual": (None, "vllm"),
    "vocadt": ("transformers", "vllm"),  # which samples among beams
    "demo": ("transformers", "hf"), "lep-demo": ("transformers", "hf"),
    "one-gpu": ("transformers", "hf"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOSEN)
def test_papers_run_with_vllm_and_demos_with_transformers(repository, monkeypatch, name):
    monkeypatch.chdir(repository)
    evaluation = read(f"config/{name}.yaml").evaluation
    generation, choices = CHOSEN[name]
    assert generation in (None, evaluation.generation.engine)
    assert choices == evaluation.multiple_choice.engine


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


def test_a_version_is_found_under_the_name_of_what_is_imported():
    import yaml as provided

    assert version("yaml") == version("PyYAML") == provided.__version__
    assert version("no-such-thing") is None
