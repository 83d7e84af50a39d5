"""What it takes to add a method, a construction, a change or a task: a file and a line each.

The files are those of the docs, put into a copy of the package.
"""

from __future__ import annotations

import re

import pytest
from scratch_package import REPOSITORY, blocks, run_scratch, scratch

#: Reads the small experiment with the lines more, and the same with a mistake in each.
READ = """
import copy
import sys
from pathlib import Path

import yaml

from revocab import __main__ as entry
from revocab.config import validate
from revocab.errors import RevocabError
from revocab.plan import Plan

toys = Path(sys.argv[1])
values = yaml.safe_load(Path(sys.argv[2]).read_text())
values["runs"]["mistral"]["methods"] |= yaml.safe_load(sys.argv[3])
values["tokenizers"] |= yaml.safe_load(sys.argv[4])
values["models"] |= yaml.safe_load(sys.argv[5])
values["evaluation"]["multiple_choice"]["tasks"] |= yaml.safe_load(sys.argv[6])
Path("riddles.jsonl").write_text(
    '{"id": "1", "question": "What purrs?", "choices": ["a cat", "the mat"], "answer": 0}\\n' * 4
)


def refused(changes, *said):
    wrong = copy.deepcopy(values)
    for key, value in changes.items():
        *parents, last = key.split(".")
        place = wrong
        for parent in parents:
            place = place[parent]
        place[last] = value
    try:
        validate(wrong)
    except RevocabError as error:
        assert all(any(part in problem for problem in error.problems) for part in said), error
        assert len(error.problems) == len(said), error
    else:
        raise AssertionError("accepted")


experiment = validate(values)
plan = Plan(experiment)
step = plan.step("init_embeddings", run="mistral-scaled-mean")
assert step.job.method == "scaled-mean" and step.job.option == {"scale": 0.5}
step = plan.step("build_tokenizer", tokenizer="trimmed")
assert step.job.construction == "prune" and step.job.option["uses"] == 3
assert {*step.inputs} == {"base", "corpora"} and step.inputs["base"].path.endswith("source")
step = plan.step("change_model", model="ablated")
assert step.job.change == "ablate" and step.job.option == {"ending": "o_proj.weight"}
step = plan.step("build_task", task="riddles_en")
assert step.job.template == "riddle" and step.files()["data"] == ["riddles.jsonl"]
assert [Path(file).name for file in step.also] == ["riddle.yaml", "base.yaml"]
tasks = plan.step("score_multiple_choice", run="mistral-base").inputs["tasks"]
(scoring,) = [task for task in tasks if "riddles" in task.path]
assert scoring.path == step.out
assert not {"torch", "transformers", "tokenizers"} & set(sys.modules)
from revocab.io import read_json
"""
METHOD = """
for method, option in (("scaled-mean", ["--option", "scale=0.5"]), ("mean", [])):
    entry.main([
        "init", "--source", str(toys / "untied"), "--target-tokenizer",
        str(toys / "target-tokenizer"), "--method", method, *option, "--out", method, "--quiet",
    ])
from safetensors.torch import load_file

rows, mean = (load_file(f"{name}/model.safetensors") for name in ("scaled-mean", "mean"))
rows, mean = rows["lm_head.weight"], mean["lm_head.weight"]
new = (rows != mean).any(1)
assert int(new.sum()) == read_json("scaled-mean/provenance.json")["counts"]["missing"]
assert (rows[new] - 0.5 * mean[new]).abs().max() < 1e-6
card = Path("scaled-mean/README.md").read_text()
assert "Scaled mean" not in card and "where it comes from" in card

from revocab.config import expand
from revocab.report.names import method_label

(run,) = [run for run in expand(experiment) if run.name == "scaled-mean"]
assert method_label(run).startswith("Scaled mean"), method_label(run)

methods = "runs.mistral.methods."
refused({f"{methods}scaled-mean": {"scalle": 1}, f"{methods}scaled-maen": {}},
        "scaled-mean.scalle: unknown key", "did you mean 'scaled-mean'?")
"""
CONSTRUCTION = """
often = '{"text": "the cat sat on the mat and the dog sat too"}\\n'
Path("rows.jsonl").write_text(3 * often + '{"text": "x"}\\n')
entry.main(
    "prepare --corpus c --language en --files rows.jsonl --heldout-bytes 1 --out corpus".split()
)
entry.main([
    "tokenizer", "--construction", "prune", "--base", str(toys / "source-tokenizer"),
    "--corpora", "c=corpus", "--option", "uses=1", "--out", "trimmed",
])
from revocab.tokenizers.load import load_tokenizer

base, trimmed = load_tokenizer(toys / "source-tokenizer"), load_tokenizer("trimmed")
facts = read_json("trimmed/manifest.json")
assert 0 < facts["dropped"] == len(base) - len(trimmed) and facts["construction"] == "prune"
for text in ("the cat sat on the mat", "and the dog sat too"):
    assert base.tokenize(text) == trimmed.tokenize(text)

wrong = {"base": "source", "corpora": {"world-it": 1.0}, "uses": 0}
refused({"tokenizers.trimmed": {"prune": wrong}}, "trimmed.prune.uses: expected at least 1")
wrong = {"base": "nothing", "corpora": {"world-it": 1.0}}
refused({"tokenizers.trimmed": {"prune": wrong}}, "no tokenizer 'nothing'")
"""
CHANGE = """
entry.main([
    "change", "--change", "ablate", "--model", str(toys / "untied"),
    "--option", "ending=o_proj.weight", "--out", "ablated", "--quiet",
])
before, after = (load_file(f"{at}/model.safetensors") for at in (toys / "untied", "ablated"))
for name in before:
    assert (after[name] == (0 if name.endswith("o_proj.weight") else before[name])).all(), name
assert read_json("ablated/manifest.json")["zero"] == 2
assert "2 tensors are zero" in Path("ablated/README.md").read_text()

refused({"models.ablated.ablate": {"model": "mistral", "endign": "x", "ending": ""}},
        "ablate.endign: unknown key (allowed: ending, model)", "ablate.ending: expected text")
refused({"models.ablated.ablate": {"model": "mistal", "ending": "x"}},
        "models.ablated.ablate.model: no model 'mistal'")
"""
TASK = """
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

refused({"evaluation.multiple_choice.tasks.riddles_en.template": "ridle"}, "no template 'ridle'")
"""
#: The page, the section and the language that show a file; its place; what the line is called.
SHOWN = (
    ("extending.md", "A method", "python", "initialise/methods/scaled_mean.py", "scaled-mean"),
    ("extending.md", "A construction of a tokenizer", "python",
     "tokenizer_building/constructions/prune.py", "trimmed"),
    ("extending.md", "A change of a model", "python", "models/changes/ablate.py", "ablated"),
    ("evaluation.md", None, "yaml", "evaluation/multiple_choice/templates/riddle.yaml",
     "riddles_en"),
)  # fmt: skip


def line(page: str, name: str) -> str:
    """Return the line of an experiment that a page shows of a thing."""
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    (line_of_it,) = re.findall(rf"`({name}: {{.*}})`", text)
    return line_of_it


@pytest.mark.long
def test_one_file_and_one_line(toys, tmp_path):
    files = {}
    for page, section, kind, file, _ in SHOWN:
        shown = blocks(page, kind, section)
        (files[file],) = shown if section else [b for b in shown if b.startswith("include:")]
        assert f"`src/revocab/{file}`" in (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    scratch(tmp_path, **files)
    small = REPOSITORY / "tests/experiments/small.yaml"
    lines = [line(page, name) for page, _, _, _, name in SHOWN]
    script = READ + METHOD + CONSTRUCTION + CHANGE + TASK
    run_scratch(tmp_path, script, toys, small, *lines)
