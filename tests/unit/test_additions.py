"""What it takes to add a method, a construction, a change or a task: a file and a line each.

The files are those of the docs, put into a copy of the package.
"""

from __future__ import annotations

import re

import pytest
from scratch_package import REPOSITORY, blocks, run_scratch, scratch

#: Reads the small experiment with a line more, and the same with a mistake in it.
READ = """
import sys
from pathlib import Path

import yaml

from revocab import __main__ as entry
from revocab.config import validate
from revocab.errors import RevocabError
from revocab.plan import Plan

toys = Path(sys.argv[1])
values = yaml.safe_load(Path(sys.argv[2]).read_text())


def laid(key, value):
    *parents, last = key.split(".")
    place = values
    for parent in parents:
        place = place[parent]
    place[last] = value


def refused(*said):
    try:
        validate(values)
    except RevocabError as error:
        assert all(any(one in problem for problem in error.problems) for one in said), error
        assert len(error.problems) == len(said), error
    else:
        raise AssertionError("accepted")
"""
METHOD = (
    READ
    + """
values["runs"]["mistral"]["methods"] |= yaml.safe_load(sys.argv[3])
experiment = validate(values)
step = Plan(experiment).step("init_embeddings", run="mistral-scaled-mean")
assert step.job.method == "scaled-mean" and step.job.option == {"scale": 0.5}
assert not {"torch", "transformers"} & set(sys.modules)

entry.main([
    "init", "--source", str(toys / "untied"), "--target-tokenizer", str(toys / "target-tokenizer"),
    "--method", "scaled-mean", "--option", "scale=0.5", "--out", "adapted", "--quiet",
])
entry.main([
    "init", "--source", str(toys / "untied"), "--target-tokenizer", str(toys / "target-tokenizer"),
    "--method", "mean", "--out", "mean", "--quiet",
])
from safetensors.torch import load_file

from revocab.io import read_json

rows, mean = (load_file(f"{one}/model.safetensors") for one in ("adapted", "mean"))
rows, mean = rows["lm_head.weight"], mean["lm_head.weight"]
new = (rows != mean).any(1)
assert int(new.sum()) == read_json("adapted/provenance.json")["counts"]["missing"]
assert (rows[new] - 0.5 * mean[new]).abs().max() < 1e-6
assert "Scaled mean" not in Path("adapted/README.md").read_text()
assert "where it comes from" in Path("adapted/README.md").read_text()

from revocab.config import expand
from revocab.report.names import method_label

(run,) = [run for run in expand(experiment) if run.name == "scaled-mean"]
assert method_label(run).startswith("Scaled mean"), method_label(run)

laid("runs.mistral.methods.scaled-mean", {"scalle": 1})
laid("runs.mistral.methods.scaled-maen", {})
refused("scaled-mean.scalle: unknown key", "did you mean 'scaled-mean'?")
"""
)
CONSTRUCTION = (
    READ
    + """
values["tokenizers"] |= yaml.safe_load(sys.argv[3])
plan = Plan(validate(values))
step = plan.step("build_tokenizer", tokenizer="trimmed")
assert step.job.construction == "prune" and step.job.option["uses"] == 3
assert {*step.inputs} == {"base", "corpora"} and step.inputs["base"].path.endswith("source")
assert not {"torch", "transformers", "tokenizers"} & set(sys.modules)

often = '{"text": "the cat sat on the mat and the dog sat too"}\\n'
Path("rows.jsonl").write_text(3 * often + '{"text": "x"}\\n')
entry.main(
    "prepare --corpus c --language en --files rows.jsonl --heldout-bytes 1 --out corpus".split()
)
entry.main([
    "tokenizer", "--construction", "prune", "--base", str(toys / "source-tokenizer"),
    "--corpora", "c=corpus", "--option", "uses=1", "--out", "trimmed",
])
from revocab.io import read_json
from revocab.tokenizers.load import load_tokenizer

base, trimmed = load_tokenizer(toys / "source-tokenizer"), load_tokenizer("trimmed")
facts = read_json("trimmed/manifest.json")
assert 0 < facts["dropped"] == len(base) - len(trimmed) and facts["construction"] == "prune"
for text in ("the cat sat on the mat", "and the dog sat too"):
    assert base.tokenize(text) == trimmed.tokenize(text)

laid("tokenizers.trimmed", {"prune": {"base": "source", "corpora": {"world-it": 1.0}, "uses": 0}})
refused("tokenizers.trimmed.prune.uses: expected at least 1")
laid("tokenizers.trimmed", {"prune": {"base": "nothing", "corpora": {"world-it": 1.0}}})
refused("no tokenizer 'nothing'")
"""
)
CHANGE = (
    READ
    + """
values["models"] |= yaml.safe_load(sys.argv[3])
plan = Plan(validate(values))
step = plan.step("change_model", model="ablated")
assert step.job.change == "ablate" and step.job.option == {"ending": "o_proj.weight"}
assert not {"torch", "transformers"} & set(sys.modules)

entry.main([
    "change", "--change", "ablate", "--model", str(toys / "untied"),
    "--option", "ending=o_proj.weight", "--out", "ablated", "--quiet",
])
from safetensors.torch import load_file

from revocab.io import read_json

before, after = (load_file(f"{one}/model.safetensors") for one in (toys / "untied", "ablated"))
for name in before:
    assert (after[name] == (0 if name.endswith("o_proj.weight") else before[name])).all(), name
assert read_json("ablated/manifest.json")["zero"] == 2
assert "2 tensors are zero" in Path("ablated/README.md").read_text()

laid("models.ablated.ablate", {"model": "mistral", "endign": "x", "ending": ""})
refused("ablate.endign: unknown key (allowed: ending, model)", "ablate.ending: expected text")
laid("models.ablated.ablate", {"model": "mistal", "ending": "x"})
refused("models.ablated.ablate.model: no model 'mistal'")
"""
)


TASK = (
    READ
    + """
Path("riddles.jsonl").write_text(
    '{"id": "1", "question": "What purrs?", "choices": ["a cat", "the mat"], "answer": 0}\\n' * 4
)
values["evaluation"]["multiple_choice"]["tasks"] |= yaml.safe_load(sys.argv[3])
plan = Plan(validate(values))
step = plan.step("build_task", task="riddles_en")
assert step.job.template == "riddle" and step.files()["data"] == ["riddles.jsonl"]
assert [Path(file).name for file in step.also] == ["riddle.yaml", "base.yaml"]
(scoring,) = [one for one in plan.step("score_multiple_choice", run="mistral-base").inputs["tasks"]
              if "riddles" in one.path]
assert scoring.path == step.out

task = "task --task riddles_en --template riddle --data riddles.jsonl --out riddles_en.yaml"
entry.main(task.split())
entry.main([
    "score", "--models", f"0={toys / 'untied'}", "--tasks", "riddles_en.yaml", "--run", "r",
    "--out", "scores.csv", "--device", "cpu",
])
import csv

with open("scores.csv", newline="") as file:
    scores = {row["metric"]: row for row in csv.DictReader(file)}
assert {*scores} == {"acc", "acc_norm"} and scores["acc"]["items"] == "4"
from revocab.evaluation.multiple_choice.tasks import load_template, find_template

assert load_template(find_template("riddle"))["doc_to_text"] == "Riddle: {{question}}\\nI am"

laid("evaluation.multiple_choice.tasks.riddles_en.template", "ridle")
refused("no template 'ridle'")
"""
)


def line(page: str, name: str) -> str:
    """Return the line of an experiment that a page shows of a thing."""
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    (found,) = re.findall(rf"`({name}: {{.*}})`", text)
    return found


@pytest.mark.parametrize(
    ("section", "file", "name", "script"),
    [
        ("A method", "initialise/methods/scaled_mean.py", "scaled-mean", METHOD),
        (
            "A construction of a tokenizer",
            "tokenizer_building/constructions/prune.py",
            "trimmed",
            CONSTRUCTION,
        ),
        ("A change of a model", "models/changes/ablate.py", "ablated", CHANGE),
        (None, "evaluation/multiple_choice/templates/riddle.yaml", "riddles_en", TASK),
    ],
    ids=["method", "construction", "change", "task"],
)
def test_one_file_and_one_line(toys, tmp_path, section, file, name, script):
    page = "extending.md" if section else "evaluation.md"
    if section:
        (code,) = blocks(page, "python", section)
    else:
        (code,) = [one for one in blocks(page, "yaml") if one.startswith("include:")]
    assert f"`src/revocab/{file}`" in (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    scratch(tmp_path, **{file: code})
    small = REPOSITORY / "tests/experiments/small.yaml"
    run_scratch(tmp_path, script, toys, small, line(page, name))
