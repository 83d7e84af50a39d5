"""Things of every kind outside the package: the files of the docs, beside an experiment."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from scratch_package import blocks

from revocab import extensions, imports
from revocab.corpora.read import texts
from revocab.imports import code_hash
from revocab.io import read_json, write_jsonl
from revocab.verbs import find, places

pytestmark = pytest.mark.long

#: The section of docs/extending.md that shows a file, and where that lies in the package.
SHOWN = {
    "A method": "initialise/methods/scaled_mean.py",
    "A table": "report/tables/group_sizes.py",
    "A figure": "report/figures/steps.py",
    "A claim": "report/claims/trained.py",
    "A kind of generation task": "evaluation/generation/kinds/summary.py",
    "An inference engine": "evaluation/inference/engines/plain.py",
    "A construction of a tokenizer": "vocabulary/building/constructions/prune.py",
    "A change of a model": "models/changes/ablate.py",
}
GERMANIC = "name: Low German\nwords: {question: Fraag, answer: Antwoort, text: Text}\n"
RIDDLE = "include: base.yaml\ndoc_to_text: 'Riddel: {{question}}'\n"
SHORT = "{% for message in messages %}{% generation %}{{ message.content }}"
SHORT += "{% endgeneration %}{% endfor %}"
RECIPE = (
    "{sequence_length: 64, batch_size: 2, steps: 4, learning_rate: 1.0e-3, checkpoint_every: 4}"
)
#: Says what is found, by kind.
FOUND = """
import json

from revocab.extensions import files_in
from revocab.training.chat.template import FOLDER as CHATS
from revocab.evaluation.generation.kind import generation_kinds
from revocab.evaluation.inference.engine import engines
from revocab.evaluation.multiple_choice.tasks import find_template, load_template
from revocab.initialise.method import methods
from revocab.languages import fill, languages
from revocab.models.change import changes
from revocab.report.claims import claim_kinds
from revocab.report.kind import figure_kinds, table_kinds
from revocab.vocabulary.building.construction import constructions
from revocab.training.named_recipes import named_recipe

print(json.dumps({
    "names": [*methods(), *engines(), *table_kinds(), *figure_kinds(), *claim_kinds(),
              *generation_kinds(), *languages(), *files_in(CHATS, ".jinja"), *constructions(),
              *changes()],
    "recipe": named_recipe("recipes.a", {"like": "mine"})[0],
    "template": load_template(find_template("riddle")),
    "words": fill(["<<question>>"], "nds"),
}))
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder with one thing of each kind, in ``mine``."""
    files = {
        "languages/nds.yaml": GERMANIC,
        "training/recipes/mine.yaml": RECIPE,
        "evaluation/multiple_choice/templates/riddle.yaml": RIDDLE,
        "training/chat/templates/short.jinja": SHORT,
    }
    for section, place in SHOWN.items():
        files[place] = "\n".join(blocks("extending.md", "python", section))
    for place, content in files.items():
        (tmp_path / "mine" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / place).write_text(content, encoding="utf-8")
    return tmp_path


def python(folder: Path, *words: object, own: str | None = "mine") -> subprocess.CompletedProcess:
    environment = {**os.environ, **({"REVOCAB_EXTENSIONS": own} if own else {})}
    return subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_things_of_every_kind_are_found_outside_the_package(folder):
    done = python(folder, "-c", FOUND)
    assert not done.returncode, done.stderr
    before = json.loads(done.stdout)
    names = {"scaled-mean", "plain", "group_sizes", "steps", "trained", "summary", "nds", "short"}
    names |= {"prune", "ablate"}
    assert names <= {*before["names"]}
    assert before["recipe"]["sequence_length"] == 64
    assert before["template"]["doc_to_text"] == "Riddel: {{question}}"
    assert before["template"]["output_type"] == "multiple_choice"  # of the package's base.yaml
    assert before["words"] == ["Fraag"]


def forget() -> None:
    for name in ("code_hash", "file_hash", "_imported", "_data", "_is_module"):
        getattr(imports, name).cache_clear()


def hashes() -> dict[str, str]:
    """Return the hash of each verb's code, as a process that begins now would have it."""
    forget()
    return {
        name: code_hash(name, f"verbs/{place.module}.py", find(name).finds)
        for name, place in places().items()
    }


def test_a_change_there_makes_jobs_again_as_one_in_the_package(folder, monkeypatch, request):
    request.addfinalizer(forget)
    monkeypatch.setenv("REVOCAB_EXTENSIONS", str(folder / "mine"))
    before = hashes()
    for place, more, concerned, spared in (
        (SHOWN["A method"], "\n# a comment\n", (), ("init_embeddings",)),
        (
            SHOWN["A method"],
            "\nVALUE = 1\n",
            ("init_embeddings",),
            ("pack_tokens", "generate_text"),
        ),
        (SHOWN["An inference engine"], "\nVALUE = 1\n", ("generate_text",), ("init_embeddings",)),
        ("languages/nds.yaml", "colours: ['#000000']\n", ("make_figures",), ("fetch_model",)),
    ):
        with (folder / "mine" / place).open("a") as file:
            file.write(more)
        after = hashes()
        assert all(before[rule] != after[rule] for rule in concerned), place
        assert all(before[rule] == after[rule] for rule in spared), place
        before = after


@pytest.mark.parametrize(
    ("place", "content", "said"),
    [
        ("languages/it.yaml", "name: Italian\n", "languages/it.yaml, and again mine/languages/it"),
        ("initialise/methods/omp.py", "METHOD = 1", "methods/omp.py, and again mine/initialise"),
        ("initialise/methods/empty.py", "", "mine/initialise/methods/empty.py: defines no METHOD"),
        (
            "initialise/methods/again.py",
            "from revocab.initialise.methods.sava import METHOD",
            "'sava': is mine/initialise/methods/again.py, and again",
        ),
    ],
)
def test_a_name_that_there_is_already_names_both_files(folder, place, content, said):
    (folder / "mine" / place).write_text(content)
    done = python(folder, "-c", FOUND)
    assert done.returncode and said in done.stderr, done.stderr


@pytest.fixture
def experiment(folder, toys) -> Path:
    """An experiment that uses one thing of each kind."""
    cats = [f"de Katt {n} is to Huus un slöppt" for n in range(99)]
    (folder / "nds.txt").write_text("\n\n".join(cats))
    write_jsonl(
        folder / "rows.jsonl",
        [
            {"id": str(n), "text": cat, "summary": "de Katt", "question": cat, "answer": n % 2}
            | {"choices": ["Katt", "Huus"]}
            for n, cat in enumerate(cats[:2])
        ],
    )
    (folder / "model").symlink_to(toys / "untied")
    place, rows = {"path": "model"}, {"path": "rows.jsonl"}
    corpora = {"nds": {"language": "nds", "source": {"path": "nds.txt"}, "heldout_bytes": 300}}
    group = {"label": "Toy", "source": "toy", "target": "new", "mixture": "all", "recipe": "mine"}
    ablated = {**group, "source": "ablated", "target": "trimmed", "methods": {"fvt": {}}}
    summaries = {"kind": "summary", "direction": ["nds"], "shots": 0, "pool": rows, "test": rows}
    riddles = {"family": "riddles", "language": "nds", "template": "riddle", "data": rows}
    values = {
        "experiment": "mine",
        "title": "Mine",
        "extensions": "mine",
        "corpora": corpora,
        "tokenizers": {
            "old": place,
            "new": {"path": str(toys / "target-tokenizer")},
            "trimmed": {"prune": {"base": "old", "corpora": {"nds": 1.0}}},
        },
        "mixtures": {"all": {"nds": 1.0}},
        "recipes": {"mine": {"like": "mine", "repeat_corpora": True}},
        "models": {
            "toy": {"tokenizer": "old", **place},
            "ablated": {"tokenizer": "old", "ablate": {"model": "toy", "ending": "o_proj.weight"}},
        },
        "runs": {
            "toy": {**group, "methods": {"scaled-mean": {"scale": 0.5}}},
            "ablated": ablated,
        },
        "evaluation": {
            "heldout": ["nds"],
            "multiple_choice": {
                "engine": "plain", "shots": 0, "steps": ["last"], "tasks": {"riddles_nds": riddles},
            },
            "generation": {
                "engine": "plain", "max_new_tokens": 4, "tasks": {"news_nds": summaries},
            },
        },
        "tables": {
            "sizes": {"kind": "group_sizes", "title": "Sizes", "groups": ["toy"]},
            "texts": {"kind": "generation", "title": "Texts", "group": "toy"},
            "choices": {
                "kind": "multiple_choice", "title": "Riddles", "group": "toy", "language": "nds",
            },
        },
        "figures": {"steps": {"kind": "steps", "title": "Steps"}},
    }  # fmt: skip
    (folder / "mine.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    return folder


def test_an_experiment_names_the_folder_and_its_jobs_see_it(experiment):
    done = python(experiment, "-m", "revocab", "run", "mine.yaml", "--cores", "2", own=None)
    assert not done.returncode, done.stderr[-3000:]
    results = experiment / "results/mine"
    assert (results / "tables/sizes.csv").read_text() == "Group,Runs\ntoy,2\n"
    assert "Length" in (results / "tables/texts.csv").read_text()
    assert (results / "figures/steps.svg").is_file()
    page = (results / "report.html").read_text(encoding="utf-8")
    assert all(said in page for said in ("Scaled mean", "Low German", "Toy was adapted"))

    again = python(experiment, "-m", "revocab", "run", "mine.yaml", "-n", own=None)
    assert "Nothing to be done" in again.stdout + again.stderr
    method = experiment / "mine" / SHOWN["A method"]
    method.write_text(method.read_text().replace("mean(0)", "mean(0) * 2"))
    again = python(experiment, "-m", "revocab", "run", "mine.yaml", "-n", own=None)
    assert "init_embeddings" in again.stdout and "pack_tokens" not in again.stdout


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("/etc", "extensions: received '/etc'; give a folder inside"),
        ("../x", "extensions: received '../x'; give a folder inside"),
        ("none", "extensions: 'none' is no folder"),
    ],
)
def test_only_a_folder_beside_the_experiment_is_used(experiment, named, said):
    file = experiment / "mine.yaml"
    file.write_text(file.read_text().replace("extensions: mine", f"extensions: {named}"))
    done = python(experiment, "-m", "revocab", "run", "mine.yaml", "-n", own=None)
    assert done.returncode and said in done.stderr, done.stderr


@pytest.mark.parametrize("named", ["/etc", "../x", 3, None, ["mine"]])
def test_nothing_outside_is_looked_into_before_it_is_refused(monkeypatch, named):
    monkeypatch.delenv(extensions.VARIABLE, raising=False)
    extensions.use(named)
    assert extensions.own_folder() is None


def test_what_is_not_named_is_not_used(experiment):
    file = experiment / "mine.yaml"
    file.write_text(file.read_text().replace("extensions: mine\n", ""))
    done = python(experiment, "-m", "revocab", "run", "mine.yaml", "-n", own=None)
    assert done.returncode and "scaled-mean" in done.stderr
    assert not python(experiment, "-m", "revocab", "run", "mine.yaml", "-n").returncode


def test_a_job_as_the_page_adds_it(tmp_path, repository):
    for name in ("src", "workflow", "tests/experiments", "envs"):
        shutil.copytree(repository / name, tmp_path / name)
    shutil.copy2(repository / "Snakefile", tmp_path)
    module, verb = blocks("extending.md", "python", "A job")
    (rule,) = blocks("extending.md", "snakemake", "A job")
    (command, *_) = blocks("extending.md", "", "A job")
    package = tmp_path / "src/revocab"
    (package / "corpora/characters.py").write_text(module, encoding="utf-8")
    text = (repository / "docs/extending.md").read_text(encoding="utf-8")
    (path,) = re.findall(r"`(characters = _below\(.*\))`", text)
    for place, more in (
        (package / "verbs/text.py", verb),
        (package / "experiment/paths.py", f"    {path}\n"),  # the class ends the file
        (tmp_path / "workflow/rules/data.smk", rule),
    ):
        with place.open("a", encoding="utf-8") as file:
            file.write(f"\n\n{more}")
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    words = [sys.executable, "-m", *command.split()]
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    corpus = tmp_path / "resources/small/corpora/world-it"
    counted = read_json(tmp_path / "results/small/characters/world-it.json")
    assert counted == {"world-it": sum(map(len, texts(corpus, "train")))}
