"""The README's `revocab adapt` of a reader's own model: killed and continued, equal bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from printed import printed
from sound_models import WITH_TABLES, write_sound
from toy_models import SOURCE_WORDS, build_model, build_tokenizer
from waiting import steps_made, wait_until

import revocab
from revocab.demoworld.build import documents
from revocab.demoworld.stories import build
from revocab.errors import RevocabError
from revocab.io import read_csv
from revocab.models.folder import ModelFolder
from revocab.models.token_rows import PER_LAYER, PER_LAYER_ROWS
from revocab.product.check.kind import look_at
from revocab.product.verify.verify import VerifyOptions, verified_model
from revocab.vocabulary.tokenizers.load import load_tokenizer

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).resolve().parents[2]
#: What is compared of a finished run, in its output folder and in that of its training.
KEPT = (
    "results/adapt/tables/before-and-after.csv",
    *(f"model/{name}" for name in ("model.safetensors", "tokenizer.json", "provenance.json")),
)
KEPT_OF_RUN = ("losses.csv", "heldout.csv")


def run_of(out: Path) -> Path:
    """Return the folder of the training, which is called after what it makes."""
    folders = [*out.glob("results/adapt/runs/adapted-extended-by-*-tokens")]
    return folders[0] if folders else out / "none"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """What the line names: a toy model, and texts of a made-up world (its Italian under the names
    of two other languages) with empty lines, or of a document per line.
    """
    folder = tmp_path_factory.mktemp("adapt")
    build_model(build_tokenizer(SOURCE_WORDS, 30, folder / "tokenizer"), folder / "my-model")
    world = build(17)
    italian, english = (
        [row["text"].replace("\n", " ") for row in documents(world, language, number, 17)]
        for language, number in (("it", 160), ("en", 60))
    )
    (folder / "swahili.txt").write_text("\n\n".join(italian[:80]), encoding="utf-8")
    (folder / "greek.txt").write_text("\n\n".join(italian[80:]), encoding="utf-8")
    (folder / "english.txt").write_text("\n".join(english), encoding="utf-8")
    return folder


def command(out: str) -> list[str]:
    """Return the line as printed, with fewer tokens, in a folder of its own."""
    (line,) = {
        line.words for line in printed(REPOSITORY) if line.words[:2] == ("adapt", "my-model")
    }
    flags = ["--tokens", "20480", "--cores", "2", "--out", out]
    return [sys.executable, "-m", "revocab", *line, *flags]


def finish(folder: Path, out: str) -> str:
    done = subprocess.run(command(out), cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def told_in(said: str) -> dict[str, list[str]]:
    """Return the words of each line by its first one."""
    return {line.split()[0]: line.split()[1:] for line in said.splitlines() if line.strip()}


def kept(out: Path) -> dict[str, bytes]:
    files = [*(out / name for name in KEPT), *(run_of(out) / name for name in KEPT_OF_RUN)]
    return {file.name: file.read_bytes() for file in files}


def but_speed(said: str) -> list[str]:
    return [line for line in said.splitlines() if not line.startswith("characters ")]


def test_a_killed_adaptation_goes_on_and_gives_the_same_bytes(folder, monkeypatch):
    with (folder / "killed.log").open("w") as log:
        first = subprocess.Popen(
            command("killed"), cwd=folder, stdout=log, stderr=log, start_new_session=True
        )
        wait_until(lambda: steps_made(run_of(folder / "killed")) >= 30, first)
        assert first.poll() is None, (folder / "killed.log").read_text()[-4000:]
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    assert not (run_of(folder / "killed") / "manifest.json").exists()
    said, undisturbed = finish(folder, "killed"), finish(folder, "whole")
    assert kept(folder / "killed") == kept(folder / "whole")
    assert but_speed(said) == but_speed(undisturbed.replace("whole", "killed"))
    said_again = finish(folder, "killed")  # nothing left to do
    assert said_again == said
    with monkeypatch.context() as patch:
        patch.chdir(folder)
        texts = {"sw": "swahili.txt", "el": "greek.txt"}, {"en": "english.txt"}
        budget = {"tokens": 20480, "cores": 2, "out": "killed"}
        model = revocab.adapt("my-model", texts[0], keep=texts[1], **budget)
    assert (folder / model).samefile(folder / "killed/model")
    table = (folder / "killed/results/adapt/tables/before-and-after.md").read_text("utf-8").strip()
    assert table in said
    assert (
        "sw: bits per byte, end" in table
        and "el: tokens per word" in table
        and "en: tokens per word" in table
    )
    told = told_in(said)
    assert (folder / told["page"][0]).is_file()
    assert (folder / told["model"][0] / "model.safetensors").is_file()
    compared = subprocess.run(
        [sys.executable, "-m", *told["compare"], "--limit-bytes", "3000"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert compared.returncode == 0, compared.stderr
    assert "bits per byte (95 % interval" in compared.stdout


def test_a_model_with_a_table_of_every_layer_is_adapted(folder):
    """Untied, as no published one is, and with fewer rows than tokens; nothing is refused."""
    write_sound(WITH_TABLES["gemma-3n-untied"], folder / "layers")
    line = "adapt layers --text sw=swahili.txt --tokens 4096 --cores 2 --out tables"
    done = subprocess.run(
        [sys.executable, "-m", "revocab", *line.split()],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    model = folder / told_in(done.stdout)["model"][0]
    made = ModelFolder(model)
    assert not made.tied and made.tensors[f"model.{PER_LAYER}"][1][0] == len(load_tokenizer(model))
    assert made.text_config[PER_LAYER_ROWS] == made.text_config["vocab_size"] > 340
    assert not [finding for finding in look_at(model) if finding.severity == "error"]
    results = verified_model(str(model), VerifyOptions(runtime=["tokenizers", "transformers"]))
    assert {result.state for result in results.results} == {"equal"}


def test_another_command_never_takes_the_file(folder, monkeypatch):
    from revocab.product.adapt import adapt

    monkeypatch.chdir(folder)
    (folder / "mine").mkdir()
    (folder / "mine/adapt.yaml").write_text("# of mine\n", encoding="utf-8")
    with pytest.raises(RevocabError, match="written by another command"):
        adapt(["my-model", "--text", "sw=swahili.txt", "--out", "mine"])


def test_new_starts_are_ranked_beside_the_old_vocabulary(folder):
    """`revocab new --template starts` as it is written, of a reader's own model and texts."""
    lines = (
        "new starts.yaml --template starts --model my-model --text sw=swahili.txt en=english.txt"
        " --vocabulary 500",
        "run starts.yaml --cores 2",
    )
    for line in lines:
        words = [sys.executable, "-m", "revocab", *line.split()]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    for language in ("sw", "en"):
        rows = read_csv(folder / f"results/starts/tables/ranking-{language}.csv")
        assert rows[0]["Method"] == "unchanged" and len(rows) == 5
        last = "bits per byte last checkpoint"
        assert all(row[last] and row[f"{last} seeds low"] for row in rows)
