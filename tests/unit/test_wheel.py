"""The package as installed somewhere else, without the checkout: what `pip install` gives."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from revocab.io import read_csv, write_jsonl

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDERS = ("envs", "profiles", "workflow")
#: What a run reads of a checkout.
WORKFLOW = (
    "Snakefile",
    *(
        str(file.relative_to(REPOSITORY))
        for folder in FOLDERS
        for file in (REPOSITORY / folder).rglob("*.*")
        if file.is_file()
    ),
)
EXPERIMENT = (REPOSITORY / "tests/experiments/fertility.yaml").read_text(encoding="utf-8")


def build(folder: Path) -> Path:
    """Build the wheel from a copy, so that nothing is left in the checkout; return its contents."""
    copy, wheels, contents = folder / "copy", folder / "wheels", folder / "contents"
    shutil.copytree(
        REPOSITORY / "src" / "revocab",
        copy / "src" / "revocab",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", *WORKFLOW):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, copy / name)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(wheels), "."]
    subprocess.run(command, cwd=copy, check=True)
    with zipfile.ZipFile(next(wheels.glob("revocab-*.whl"))) as wheel:
        wheel.extractall(contents)
    return contents


@pytest.fixture(scope="module")
def contents(tmp_path_factory) -> Path:
    """The files of the wheel."""
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture
def run(contents, tmp_path) -> Callable[..., str]:
    """Run Python with the wheel, in a folder that has nothing of the checkout."""

    def call(*arguments: object) -> str:
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(contents)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.returncode, done.stderr
        return done.stdout

    return call


def test_the_wheel_has_every_file_of_the_package(contents):
    kept = {file.relative_to(contents / "revocab") for file in (contents / "revocab").rglob("*.*")}
    for file in (REPOSITORY / "src" / "revocab").rglob("*.*"):
        if file.suffix in {".py", ".yaml", ".j2", ".typed"}:
            assert file.relative_to(REPOSITORY / "src" / "revocab") in kept


def test_the_wheel_has_every_file_of_the_workflow(contents):
    folder = contents / "revocab" / "dag"
    shipped = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert shipped == {*WORKFLOW}


def test_an_experiment_runs_in_an_empty_folder_by_the_wheel_alone(contents, run, tmp_path):
    texts = [f"il gatto {n} è a casa, il cane legge {n * n} libri in giardino" for n in range(90)]
    write_jsonl(tmp_path / "text.jsonl", [{"text": text} for text in texts])
    (tmp_path / "mine.yaml").write_text(EXPERIMENT)
    run("-m", "revocab", "run", "mine.yaml", "--cores", "1")
    report = (tmp_path / "results/mine/report.html").read_text(encoding="utf-8")
    assert "Tokens per word" in report
    assert {file.name for file in tmp_path.iterdir()} == {
        ".snakemake", "mine.yaml", "resources", "results", "text.jsonl"
    }  # fmt: skip


# Extras ------------------------------------------------------------------------------------------


def needed(own: Distribution, extra: str) -> dict[str, Distribution]:
    """Return the libraries that the package with an extra brings, and all that these bring."""
    waiting, known = [(own, frozenset({extra}))], {(own.name, frozenset({extra}))}
    libraries: dict[str, Distribution] = {}
    while waiting:
        package, extras = waiting.pop()
        for line in package.requires or ():
            part = Requirement(line)
            if part.marker and not any(part.marker.evaluate({"extra": name}) for name in extras):
                continue
            brought = own if part.name == own.name else distribution(part.name)
            pair = (brought.name, frozenset(part.extras or {""}))
            if pair not in known:
                known.add(pair)
                waiting.append((brought, pair[1]))
            if brought is not own:
                libraries[brought.name] = brought
    return libraries


@pytest.fixture(scope="module")
def linked(contents, tmp_path_factory) -> Callable[[str], Path]:
    """Return the Python of an environment that holds the wheel and what one extra brings, as links
    to the libraries installed here: as strict as an installation, and made in seconds.
    """
    own = PathDistribution(next(contents.glob("revocab-*.dist-info")))

    def python(extra: str) -> Path:
        folder = tmp_path_factory.mktemp(f"extra-{extra}")
        venv.create(folder, symlinks=True, with_pip=False)
        places = {entry.name: entry for entry in contents.iterdir()}
        for library in needed(own, extra).values():
            tops = {file.parts[0] for file in library.files or ()} - {"..", "__pycache__"}
            places |= {top: Path(str(library.locate_file(top))) for top in tops}
        site = next(folder.glob("lib/python*/site-packages"))
        for name, place in places.items():
            (site / name).symlink_to(place)
        return folder / "bin" / "python"

    return python


def call(python: Path, folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in a folder; nothing of this environment is on its path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(python), "-m", "revocab", *line.split()]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def succeed(python: Path, folder: Path, lines: Sequence[str]) -> list[str]:
    """Run command lines; return what each printed."""
    printed = []
    for line in lines:
        done = call(python, folder, line)
        assert not done.returncode, (line, done.stderr)
        printed.append(done.stdout)
    return printed


def refused(python: Path, folder: Path, line: str, library: str, extra: str) -> None:
    done = call(python, folder, line)
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"error: revocab {line.partition(' ')[0]} needs '{library}'")
    assert f"pip install 'revocab[{extra}]" in last


PREPARE = "prepare --files text.jsonl --corpus c --language it --heldout-bytes 200 --out c"
PACK = (
    "pack --tokenizer source-tokenizer --corpora c=c --shares c=1 --sequence-length 32 --steps 2"
    " --batch-size 2 --seed 1 --out packed"
)
HELD_OUT = "pack_heldout --tokenizer source-tokenizer --corpora c=c --sequence-length 32 --out h"
INIT = "init fvt --source untied --target-tokenizer target-tokenizer --out adapted"
TRAIN = (
    "train --model untied --packed packed --heldout h --steps 2 --batch-size 2"
    " --learning-rate 1e-3 --checkpoint-every 2 --seed 1 --out run"
)
VECTORS = (
    "train_auxiliary --target-tokenizer target-tokenizer --source-tokenizers source-tokenizer"
    " --corpora c=c --out v"
)
TASK = "task --task riddles --template completion --data riddles.jsonl --out riddles.yaml"
SCORE = "score --models 0=untied --tasks riddles.yaml --run m --out scores.csv"


@pytest.fixture
def work(toys, tmp_path) -> Path:
    """A folder with small models, tokenizers, a text and questions."""
    for part in toys.iterdir():
        (tmp_path / part.name).symlink_to(part)
    texts = [f"il gatto {n} è a casa, il cane legge {n * n} libri in giardino" for n in range(90)]
    write_jsonl(tmp_path / "text.jsonl", [{"text": text} for text in texts])
    choices = ["a casa", "il cane"]
    write_jsonl(
        tmp_path / "riddles.jsonl",
        [
            {"id": str(n), "context": f"gatto {n} è", "choices": choices, "answer": n % 2}
            for n in range(2)
        ],
    )
    (tmp_path / "mine.yaml").write_text(EXPERIMENT)
    return tmp_path


def installed(contents: Path, folder: Path) -> Path:
    """Install the wheel, and nothing else, into a fresh environment by pip; return its Python."""
    wheel = next((contents.parent / "wheels").glob("revocab-*.whl"))
    venv.create(folder, symlinks=True, with_pip=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    locked = ["--quiet", "--constraint", str(REPOSITORY / "requirements.lock")]
    run = partial(subprocess.run, capture_output=True, text=True, check=False)
    probe = run([*pip, "download", "--no-deps", "--dest", str(folder), *locked, "mdurl"])
    if probe.returncode:
        pytest.skip(f"no package index: {probe.stderr.splitlines()[-1]}")
    done = run([*pip, "install", *locked, str(wheel)])
    assert not done.returncode, done.stderr
    return folder / "bin" / "python"


def test_tokenizers_need_no_extra(contents, work, tmp_path_factory):
    python = installed(contents, tmp_path_factory.mktemp("light") / "venv")
    packages = {path.name for path in next(python.parents[1].glob("lib/*/site-packages")).iterdir()}
    assert "tokenizers" in packages and not packages & {"torch", "snakemake", "datasets", "scipy"}
    *_, fertility, intersection, check = succeed(
        python,
        work,
        [
            "--help",
            PREPARE,
            "tokenizer train --corpora c=c --vocabulary-size 300 --alphabet byte_fallback --out t",
            "tokenizer extend --base source-tokenizer --corpora c=c --add 9 --out e",
            "fertility --tokenizers s=source-tokenizer e=e --corpora c=c --out f",
            "intersect --source source-tokenizer --target e --out i",
            "check untied",
        ],
    )
    rows = {row["tokenizer"]: float(row["fertility"]) for row in read_csv(work / "f/fertility.csv")}
    assert 1 < rows["e"] < rows["s"] and f"{rows['e']:.3f}" in fertility
    # One of the nine stands for a byte that the base has a token for.
    assert "8 are new" in intersection and "revocab[models]" in check
    refused(python, work, INIT, "torch", "models")
    refused(python, work, "run mine.yaml", "psutil", "workflow")


def test_models_are_made_and_checked_with_their_extra(linked, work):
    python = linked("models")
    *_, check = succeed(
        python, work, [INIT, "check adapted", "export adapted --out exported", "check untied"]
    )
    assert (work / "exported").exists() and "revocab[models]" not in check
    assert (work / "adapted" / "model.safetensors").is_file()
    refused(python, work, "run mine.yaml", "psutil", "workflow")


def test_models_are_trained_with_their_extra(linked, work):
    python = linked("train")
    succeed(python, work, [PREPARE, PACK, HELD_OUT, TRAIN])
    assert (work / "run/checkpoints/step-000002/model.safetensors").is_file()
    succeed(python, work, [TASK])
    refused(python, work, SCORE, "lm_eval", "evaluate")


def test_models_are_scored_with_their_extra(linked, work):
    python = linked("evaluate")
    succeed(python, work, [TASK, SCORE])
    assert {row["task"] for row in read_csv(work / "scores.csv")} == {"riddles"}
    refused(python, work, "run mine.yaml", "snakemake", "workflow")
    succeed(python, work, [PREPARE])
    refused(python, work, VECTORS, "gensim", "train")


def test_experiments_on_tokenizers_run_with_the_workflow_alone(linked, work):
    python = linked("workflow")
    succeed(python, work, ["run mine.yaml --cores 1", "plan mine.yaml"])
    assert "Tokens per word" in (work / "results/mine/report.html").read_text(encoding="utf-8")
    refused(python, work, INIT, "torch", "models")
