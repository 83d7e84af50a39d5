"""Experiment files of careless and hostile users: each is refused in a line that names what is
wrong, before anything is planned.

Values that no key of its type takes are derived from the schema
(tests/workflow/test_wrong_values.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from one_group import SMALL, changed
from refusals import problems

from revocab.experiment import read, validate

NAN, INF = float("nan"), float("inf")
TRAIN, GENERATION = "recipes.train", "evaluation.generation"
CHOICES = "evaluation.multiple_choice"
METHODS = "runs.mistral.methods"
SAVA = f"{METHODS}.sava"
SHAPE = "models.mistral.pretrain.architecture"
CORPUS, TASK = "corpora.world-it", f"{GENERATION}.tasks.squad_it"
STAND_IN = {"tokenizer": "source"}
PAIR = {"source_tokenizer": "source", "target_tokenizer": "target"}
ARC = {"family": "arc_easy", "language": "en"}
LORA = {"train": ["lora"], "lora": {"rank": 4, "alpha": 4}}
CLAIM = {"says": "x", "place": "1", "shared_tokens": {"source": "source", "target": "target"}}


def stage(**keys: Any) -> list[dict[str, Any]]:
    return [{"name": "only", "steps": 20, **keys}]


def lora(**keys: Any) -> list[dict[str, Any]]:
    return stage(train=["lora"], lora={**LORA["lora"], **keys})


def claims(**keys: Any) -> dict[str, Any]:
    return {"kind": "claims", "title": "t", "claims": [{**CLAIM, **keys}]}


#: The key that is changed, its value, and what a line must name.
WRONG_FILES: list[tuple[str, Any, str]] = [
    # Numbers.
    ("seed", 2**32, "seed: give at most 4,294,967,295"),
    (f"{SAVA}.for.seed", [-1, 2], f"{SAVA}.for.seed.0: "),
    (f"{METHODS}.asymmetric", {"script": "Latn1"}, "script: 'Latn1' is no script; give Unicode's"),
    (f"{SAVA}.for.seed", [1, 1], f"{SAVA}.for.seed: a seed is given twice"),
    (f"{TRAIN}.learning_rate", 1e30, "learning_rate: give at most 10"),
    (f"{TRAIN}.learning_rate", 0, "learning_rate: "),
    (f"{TRAIN}.weight_decay", 1e30, "weight_decay: give at most 100"),
    (f"{TRAIN}.adam_epsilon", 1e5, "adam_epsilon: give at most 1: no update"),
    (f"{TRAIN}.adam_beta1", 1.0, "adam_beta1: "),
    (f"{TRAIN}.gradient_clip", 1e30, "gradient_clip: give at most"),
    (f"{TRAIN}.warmup_steps", 20, f"{TRAIN}.warmup_steps: 20 must be below 20"),
    (f"{TRAIN}.warmup_share", 2, "warmup_share: "),
    (f"{TRAIN}.heldout_every", 21, f"{TRAIN}.heldout_every: 21 is more than the 20 steps"),
    (f"{TRAIN}.checkpoint_every", 21, "checkpoint_every: 21 is more than the 20 steps"),
    (f"{TRAIN}.sequence_length", 600, "context_length: 512 tokens, but recipes.train"),
    (f"{SAVA}.ridge", 1e30, f"{SAVA}.ridge: give at most"),
    (f"{SAVA}.anchors", 0, f"{SAVA}.anchors: "),
    ("mixtures.bilingual", {"world-it": NAN, "world-en": 0.5}, "world-it: "),
    ("mixtures.bilingual", {"world-it": 0.7, "world-en": 0.5}, "shares sum to 1.2"),
    ("mixtures.bilingual", {"world-it": -0.5, "world-en": 1.5}, "world-it: "),
    ("tables.c", claims(at_least=NAN), "tables.c.claims.0.at_least: "),
    (f"{CORPUS}.keep", {"x": {"min": NAN}}, f"{CORPUS}.keep.x.min: "),
    (f"{CORPUS}.keep", {"x": {"min": 3, "max": 1}}, "keep.x: min 3 is above max 1"),
    (f"{CORPUS}.keep", {"x": {}}, "keep.x: says nothing"),
    (f"{CORPUS}.limit_bytes", 0, f"{CORPUS}.limit_bytes: "),
    ("similarity.anchors", 10**9, "similarity.anchors: give at most"),
    ("tokenizers.target.train.vocabulary_size", 1, "vocabulary_size: "),
    (f"{SAVA}.seed", 10**4000, f"{SAVA}.seed: give at most"),
    (f"{TRAIN}.batch_size", 10**8, "batch_size: give at most 1,000,000"),
    (f"{SHAPE}.layers", 10**9, f"{SHAPE}.layers: give at most 1,000"),
    # What a model has no room for, or does not have.
    (f"{CHOICES}.shots", 10**6, f"{CHOICES}.shots: give at most 10,000: no prompt"),
    (f"{TASK}.shots", 600, f"{TASK}.shots: 600 leaves no room for a prompt"),
    (f"{TASK}.max_new_tokens", 600, f"{TASK}.max_new_tokens: 600 leaves no room for a prompt"),
    (f"{GENERATION}.max_new_tokens", 512, "max_new_tokens: 512 must be less than context_length"),
    (f"{GENERATION}.context_length", 2048, "evaluation.generation.context_length is 2048"),
    ("evaluation.efficiency.new_tokens", 600, "evaluation.efficiency.new_tokens is 600"),
    (f"{SHAPE}.heads", 5, "each must be a multiple of the next"),
    (f"{SHAPE}.heads", 64, "a head is 1 wide, and must be even"),
    (f"{SHAPE}.head_dim", 3, f"{SHAPE}.head_dim: unknown key"),
    (f"{TRAIN}.stages", lora(rank=1000), "stages.only.lora.rank: 1000 is more than the 48"),
    (f"{TRAIN}.stages", lora(layers=[7]), "lora.layers: 7: the model has 2; give -2 to 1"),
    (f"{TRAIN}.stages", lora(layers=[True]), "lora.layers.0: "),
    (f"{TRAIN}.stages", lora(modules=["q_porj"]), "'q_porj' is not a linear module"),
    (f"{TRAIN}.stages", stage(train=["nothing"]), "only.train: 'nothing' fits no parameter"),
    (f"{TRAIN}.stages", stage(train=["added_blocks"]), "block expansion did not make the model"),
    (f"{TRAIN}.stages", stage(train=["("]), "'(' is not a regular expression"),
    (f"{TRAIN}.stages", stage(groups={"x9": {"weight_decay": 0.1}}), "groups: 'x9' fits no"),
    (f"{TRAIN}.stages", stage(train=["lora"]), "train names 'lora'; give lora:"),
    (f"{TRAIN}.stages", stage(train=["new_rows"]), "trains new_rows, but a stand-in has no source"),
    (f"{TRAIN}.stages", stage(train=["new_rows", "all"]), "all beside train: new_rows"),
    (f"{TRAIN}.stages", stage(groups={"new_rows": {}}), "new_rows rates of their own, but train"),
    (
        f"{TRAIN}.stages",
        stage(train=["new_rows"], groups={"new_rows": {"weight_decay": 0.1}}),
        "groups.new_rows.weight_decay: 0.1; new_rows have none",
    ),
    (f"{TRAIN}.stages", stage(train=[]), "train: "),
    (f"{TRAIN}.stages", [], f"{TRAIN}.stages: "),
    # Nothing in a list.
    (f"{SAVA}.for.seed", [], f"{SAVA}.for.seed: "),
    (f"{CHOICES}.steps", [], f"{CHOICES}.steps: "),
    (f"{GENERATION}.steps", [], "is not scored at"),
    ("evaluation.heldout", [], "evaluation.heldout: names no corpus"),
    ("tables.choices_it.steps", [], "tables.choices_it: steps: is empty"),
    ("tables.similarity.groups", [], "tables.similarity: groups: is empty"),
    ("tables.prompts.tasks", [], "tables.prompts: tasks: is empty"),
    ("figures.loss.runs", [], "figures.loss.runs: "),
    ("tables.c", {"kind": "claims", "title": "t", "claims": []}, "claims: "),
    ("scale", {**PAIR, "methods": {}}, "scale.methods: "),
    ("runs", {}, "no run group 'mistral'"),
    # The same twice.
    ("evaluation.heldout", ["world-it"] * 2, "evaluation.heldout: names 'world-it' 2 times"),
    ("fertility.tokenizers", ["source"] * 3, "fertility.tokenizers: names 'source' 3 times"),
    ("figures.loss.runs", ["mistral-sava"] * 2, "figures.loss: runs: names 'mistral-sava' twice"),
    ("tables.choices_it.steps", ["last", "last"], "choices_it: steps: names 'last' twice"),
    ("tables.similarity.groups", ["mistral"] * 2, "tables.similarity: groups: names 'mistral'"),
    ("tables.prompts.tasks", ["squad_it"] * 2, "tables.prompts: tasks: names 'squad_it' twice"),
    # What has none of what is shown.
    ("figures.loss.runs", ["mistral-base"], "figures.loss.runs: 'mistral-base' is not trained"),
    # Text that a terminal would obey.
    ("title", "a\x1b[31mb", "title: "),
    ("title", "a\u202eb", "title: "),
    ("tables.similarity.title", "\x07", "tables.similarity.title: "),
    # Languages.
    (f"{CORPUS}.language", "klingon", "language: "),
    (f"{CORPUS}.language", "xx", "language: no language has the code xx; give one of ISO 639"),
    (f"{CORPUS}.language", "gr", "language: no language has the code gr: write el"),
    (f"{CORPUS}.language", "ita", f"{CORPUS}.language: the code of ita is it; write that"),
    (f"{CORPUS}.language", "ger", f"{CORPUS}.language: the code of ger is de; write that"),
    (f"{CORPUS}.language", "zho-hans", f"{CORPUS}.language: the code of zho is zh"),
    (f"{TASK}.direction", ["eng"], "direction.0: the code of eng is en"),
    (f"{CORPUS}.language", False, ".language: "),
    (f"{CHOICES}.tasks.hellaswag_it.language", "klingon", ".language: "),
    (f"{TASK}.direction", ["klingon"], "direction.0: "),
    (f"{TASK}.direction", ["it", "en"], "direction: "),
    ("fertility.parallel.languages", ["en", "klingon"], "languages.1: "),
    ("runs.mistral.languages", ["de"], "runs.mistral.languages: no language with tasks 'de'"),
    # Paths, by what lies there.
    (f"{CORPUS}.source", {"path": "text.md"}, f"{CORPUS}.source.path: text.md: allowed are"),
    (f"{CORPUS}.source", {"path": "empty"}, "empty: no file of a supported format"),
    (f"{CORPUS}.source", {"path": "none"}, "'none' does not exist"),
    (f"{CORPUS}.source", {"path": "a/" * 2500}, f"{CORPUS}.source.path: "),
    (f"{CORPUS}.source", {"path": "a" * 300}, f"{CORPUS}.source.path: {'a' * 120}: File name"),
    (f"{CORPUS}.source", {"lines": {"it": "a" * 300}}, f"{CORPUS}.source.lines.it: {'a' * 120}"),
    ("models.mistral", {**STAND_IN, "path": "a" * 300}, f"models.mistral.path: {'a' * 120}: File"),
    ("paper_values", "a" * 300, f"paper_values: {'a' * 120}: File name too long"),
    ("extensions", "a" * 300, "extensions: 'aaa"),
    ("extensions", "a/" * 2500, "extensions: "),
    ("recipes.answers.chat_template", "a" * 300, "recipes.answers.chat_template: aaa"),
    (f"{CHOICES}.templates", "a" * 300, f"{CHOICES}.templates: aaa"),
    ("experiment", "a" * 101, "experiment: "),
    (f"{CORPUS}.source", {"pattern": "*.md"}, f"{CORPUS}.source.pattern: text.md: allowed are"),
    (f"{CORPUS}.source", {"pattern": "*.none"}, "'*.none': no file matches"),
    (f"{CORPUS}.source", {"lines": {"it": "empty"}}, "lines.it: empty: a folder, not a file"),
    (f"{CORPUS}.source", {"world": "documents.xx"}, "no part of the world 'documents.xx'"),
    (f"{CORPUS}.source", {"path": "{data_root}/it.jsonl"}, "data_root: this experiment reads"),
    (f"{CORPUS}.source", {}, "exactly one of world, path, pattern, lines, hub"),
    ("tokenizers.source", {"path": "text.md"}, "tokenizers.source.path: text.md: holds no tok"),
    ("tokenizers.source", {"path": "empty"}, "tokenizers.source.path: empty: holds no tok"),
    ("models.mistral", {**STAND_IN, "path": "text.md"}, "text.md: a file, not a folder"),
    ("models.mistral", {**STAND_IN, "path": "empty"}, "empty: not a model folder"),
    ("paper_values", "text.md", "paper_values: text.md: a file, not a folder"),
    ("auxiliary", {"vectors": "empty"}, "auxiliary.vectors: empty: a folder, not a file"),
    (f"{CHOICES}.templates", "text.md", f"{CHOICES}.templates: text.md: a file, not a folder"),
    ("recipes.answers.chat_template", "empty", "no file 'empty', and no template of this name"),
    ("recipes.answers.chat_template", "bad.jinja", "bad.jinja, line 2: not a chat template"),
    ("recipes.answers.chat_template", "latin.jinja", "latin.jinja: not UTF-8 text (byte 1)"),
    # Names.
    (f"{CHOICES}.tasks.arc_easy_en", {**ARC, "harness": "arc_esay"}, "no task 'arc_esay'"),
    ("scale", {**PAIR, "methods": {"savaa": {}}}, "scale.methods.savaa.method: "),
    ("runs.mistral.methods.savaa", {}, "runs.mistral.methods.savaa.method: "),
    (f"{SAVA}.recipe", "trian", "did you mean 'train'?"),
    (f"{SAVA}.step", 3, f"{SAVA}.step: unknown key"),
    ("models.mistral", {**STAND_IN, "hub": "not an id"}, "models.mistral.hub: "),
    ("models.mistral", {**STAND_IN, "hub": "../x"}, ".hub: "),
    (
        "models.mistral", {**STAND_IN, "hub": "a/b", "revision": "x y"},
        "models.mistral.revision: ",
    ),
    (f"{CORPUS}.source", {"hub": {"id": "an id"}}, "source.hub.id: "),
    ("experiment", "No Id", "experiment: "),
    ("experiment", "../evil", "experiment: "),
    ("experiment", "a;rm -rf b", "experiment: "),
    ("mixtures", {"not an id": {}}, "mixtures.not an id: "),
    (f"{METHODS}.new", {"method": "lapt", "pad_to": 64}, f"{METHODS}.new.pad_to: unknown key"),
    ("title", "", "title: "),
    ("title", "two\nlines", "title: "),
    ("recipies", {}, "recipies: unknown key"),
    ("tables.choices_it.kind", "choice", "tables.choices_it.kind: "),
    # What nothing would read, and what something needs.
    ("runs.mistral.methods.fvt", {"helper": "helper"}, "fvt.helper: method 'fvt' reads no helper"),
    ("runs.mistral.methods.fvt", {"donor": {"run": "mistral-sava"}}, "reads no other run"),
    ("runs.mistral.methods.new", {"method": "lapt", "target": "target"}, "keeps the vocabulary"),
    ("runs.mistral.helper", None, "'sava' needs a helper model"),
    (f"{CORPUS}.heldout_bytes", 0, "'world-it' holds out no text"),
    (f"{CORPUS}.copying", "word", f"{CORPUS}.copying: "),
    (f"{CORPUS}.scripts", ["Klingon"], "Klingon"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "empty").mkdir()
    (folder / "text.md").write_text("text")
    (folder / "bad.jinja").write_text("{% for m in messages %}\n{{ m \n")
    (folder / "latin.jinja").write_bytes("pè".encode("latin-1"))
    return folder


@pytest.mark.parametrize(("key", "value", "named"), WRONG_FILES)
def test_a_wrong_file_is_refused_by_what_is_wrong(folder, monkeypatch, key, value, named):
    monkeypatch.chdir(folder)
    lines = problems(changed({key: value}))
    assert any(named in line for line in lines), lines
    assert all(len(line) < 1000 for line in lines)


#: What looks odd and is right.
RIGHT_FILES: dict[str, dict[str, Any]] = {
    "nothing is generated": {GENERATION: None, "tables.prompts": None, "tables.generation": None,
                             "tables.answers": None},
    "text in capitals": {f"{CORPUS}.source": {"path": "IT.JSONL"}},
    "compressed text in capitals": {f"{CORPUS}.source": {"path": "IT.TXT.GZ"}},
    "items in capitals": {f"{CHOICES}.tasks.arc_easy_en.data": {"path": "IT.JSONL"}},
    "a language with a script": {"corpora.more": {"language": "zh-hans", "source": {
        "world": "documents.it"}}},
    "every parameter by a pattern": {f"{TRAIN}.stages": stage(train=["embed", "layers", "norm"])},
    "a low-rank adapter": {f"{TRAIN}.stages": lora(layers=[-1], modules=["mlp", "q_proj"])},
}  # fmt: skip


@pytest.mark.parametrize("case", RIGHT_FILES)
def test_what_only_looks_wrong_is_accepted(tmp_path, monkeypatch, case):
    for name in ("IT.JSONL", "IT.TXT.GZ"):
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    validate(changed(RIGHT_FILES[case]))


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path):
    file = tmp_path / "bom.yaml"
    file.write_text(yaml.safe_dump(SMALL), encoding="utf-8-sig")
    assert read(file) == validate(SMALL)
