"""``--out`` against every kind of place that is not the command's own: refused, nothing touched."""

from __future__ import annotations

import shutil

import pytest
from output_verbs import FILES, VERBS, architectures, call, run_words, stamps, tree, write_inputs

from revocab.marker import MARKER, read_marker
from revocab.output import files_below, strangers
from revocab.verbs import find, places

BY_NAME = {verb.script: verb for verb in VERBS}
#: Measurements: their bytes differ from run to run.
MEASURED = ("scale.csv", "timing.json")


@pytest.fixture(scope="module")
def world(toys, tmp_path_factory):
    """The inputs, and what each verb makes of them; they write to folders that exist, empty."""
    root = tmp_path_factory.mktemp("world")
    write_inputs(root / "given", toys)
    for verb in VERBS:
        (root / "made" / verb.script).mkdir(parents=True)
        assert call(verb, root / "given", root / "made", root / "made" / verb.script) == 0
    return root


@pytest.fixture
def refused(world, tmp_path, capsys):
    """Run a verb against a place; it must be refused in words, and change nothing anywhere."""

    def run(verb, out, *words):
        before = stamps(tmp_path), stamps(world)
        capsys.readouterr()
        assert call(verb, world / "given", world / "made", out) == 1
        said = capsys.readouterr().err
        assert said.startswith("error: ") and "Traceback" not in said
        assert all(word in said for word in words), said
        assert (stamps(tmp_path), stamps(world)) == before

    return run


verbs = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.script)
readers = pytest.mark.parametrize(
    "verb", [verb for verb in VERBS if verb.source], ids=lambda verb: verb.script
)
#: They are written in place, and may stand around an input.
IN_PLACE = ("train_model", "generate_text")


def test_every_script_is_listed():
    writes = {"export_results": "folder"}
    writes |= {name: find(name).writes for name in places()}
    assert writes == dict.fromkeys(BY_NAME, "folder") | dict.fromkeys(FILES, "file")


def with_file_of_the_user(out, below, made):
    (out / below / "deep").mkdir(parents=True)
    (out / below / "deep" / "notes.txt").write_text("mine")
    return "deep/notes.txt"


def with_file_beside_ours(out, below, made):
    shutil.copytree(made, out)
    (out / below / "notes.txt").write_text("mine")
    return "did not write: notes.txt"


def without_marker(out, below, made):
    shutil.copytree(made, out)
    for marker in [*out.rglob(MARKER)]:
        marker.unlink()
    return f"no {MARKER}"


def of_another_command(out, below, made):
    other = "build_demoworld" if made.name == "build_tokenizer" else "build_tokenizer"
    shutil.copytree(made.with_name(other), out / below)
    return f"says '{read_marker(out / below).kind}'"


def behind_a_link(out, below, made):
    """Be it our own folder."""
    real = out.with_name("real")
    shutil.copytree(made, real)
    if below:
        out.mkdir()
    (out / below).symlink_to(real / below)
    return "a symbolic link"


def a_file(out, below, made):
    out.write_text("mine")
    return "a file"


def changed_since(out, below, made):
    """A file that the command wrote and the user has edited is the user's."""
    shutil.copytree(made, out)
    name = [*read_marker(out / below).files][-1]
    with (out / below / name).open("a") as handle:
        handle.write("and a line of mine")
    return f"{name} (changed since it was written)"


PLACES = [with_file_of_the_user, without_marker, of_another_command, behind_a_link, a_file]
#: Every verb at the places where a user's work would be lost, and at one of the others in turn: all
#: verbs refuse by the same code.
REFUSED = [
    pytest.param(verb, place, id=f"{place.__name__}-{verb.script}")
    for number, verb in enumerate(VERBS)
    for place in (with_file_beside_ours, changed_since, PLACES[number % len(PLACES)])
    if place is not changed_since or verb.script not in IN_PLACE  # a killed run leaves any size
]


@pytest.mark.parametrize(("verb", "place"), REFUSED)
def test_what_is_not_our_own_is_refused(verb, place, refused, world, tmp_path):
    refused(
        verb, tmp_path / "out", place(tmp_path / "out", verb.below, world / "made" / verb.script)
    )


@readers
def test_the_source_and_the_folder_around_it(verb, refused, world):
    place = world / "given" / verb.source
    refused(verb, place, "lies inside the input" if verb.below else "the input")
    if not verb.below:
        words = f"and no {MARKER}" if verb.script in IN_PLACE else "holds the input"
        refused(verb, world / "given", words)


@verbs
@pytest.mark.parametrize("place", [".", "../.."])
def test_the_current_folder_and_those_above_it(verb, place, refused, tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "keep.txt").write_text("mine")
    monkeypatch.chdir(tmp_path / "a" / "b")
    whole = BY_NAME[verb.script].__class__(verb.script, verb.arguments, verb.source, verb.flag)
    refused(whole, place, "the current folder, or one above it")


@verbs
def test_the_same_job_again_writes_the_same_bytes_and_marks_them(verb, world):
    made = world / "made"
    out = made / verb.script
    before = tree(out)
    assert call(verb, world / "given", made, out) == 0
    after = tree(out)
    assert [*after] == [*before]
    different = {name for name in before if before[name] != after[name]}
    measured = {name for name in different if name.endswith(MEASURED)}
    assert different - measured <= ({MARKER} if measured else set())
    place = out / verb.below
    marker = read_marker(place)
    assert marker is not None and marker.finished
    files = {str(file) for file in files_below(place)}
    assert marker.files.keys() == {name for name in files if not name.endswith(MARKER)}
    assert all(stamp.fits(place / name) for name, stamp in marker.files.items())
    command = None if verb.script == "export_results" else verb.script
    assert (marker.command or None, marker.name, marker.inputs) == (command, "", {})
    assert str(world).encode() not in (place / MARKER).read_bytes()
    assert not [one for one in place.parent.glob(".*") if one.name != MARKER]


# Another job of the same kind ------------------------------------------------------------------


def test_another_training_leaves_what_other_jobs_put_beside_it(world, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(world / "made" / "train_model", out)
    shutil.copytree(world / "made" / "init_embeddings", out / "init")
    shutil.copytree(world / "made" / "generate_text", out / "generation")
    (out / "multiple_choice.csv").write_text("scores")
    (out / "multiple_choice_items.jsonl.gz").write_bytes(b"items")
    others = {
        name: one for name, one in tree(out).items() if name.startswith(("init", "gen", "mu"))
    }
    more = ("--checkpoint-every", 2)
    assert call(BY_NAME["train_model"], world / "given", world / "made", out, *more) == 0
    after = tree(out)
    assert others.items() <= after.items()
    assert [path.name for path in (out / "checkpoints").iterdir()] == ["step-000002"]


def test_training_never_takes_its_own_checkpoint_as_the_source(world, tmp_path, capsys):
    out = tmp_path / "run"
    shutil.copytree(world / "made" / "train_model", out)
    before = tree(out)
    more = ("--model", out / "checkpoints/step-000002")
    assert call(BY_NAME["train_model"], world / "given", world / "made", out, *more) == 1
    assert "is or holds the input" in capsys.readouterr().err
    assert tree(out) == before


def test_fewer_steps_leave_none_of_the_others(world, tmp_path):
    out, given, made = tmp_path / "out", world / "given", world / "made"
    first = ("--models", f"9={given / 'source'}")
    assert call(BY_NAME["generate_text"], given, made, out, *first) == 0
    assert (out / "step-000009/q.jsonl").is_file()
    assert call(BY_NAME["generate_text"], given, made, out) == 0
    assert not (out / "step-000009/q.jsonl").exists()
    assert strangers(out, read_marker(out)) == []


def test_missing_files_of_our_own_are_no_hindrance(world, tmp_path):
    """Snakemake removes the declared ones before it runs a job again."""
    for name, declared in (("init_embeddings", "manifest.json"), ("make_tables", "table01.csv")):
        out = tmp_path / name
        shutil.copytree(world / "made" / name, out)
        (out / declared).unlink()
        assert call(BY_NAME[name], world / "given", world / "made", out) == 0
        assert tree(out) == tree(world / "made" / name)


def test_the_manifest_beside_a_snapshot(world, tmp_path, refused):
    """It is ours only with the snapshot that it describes."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text("mine")
    refused(BY_NAME["fetch_model"], tmp_path / "out", "manifest.json: exists, but")


# Single files ----------------------------------------------------------------------------------


def count(monkeypatch, given, out):
    try:
        run_words("count_parameters", "--models", architectures(given), "--out", str(out))
    except SystemExit as ended:
        return ended.code
    return 0


def test_a_single_file_replaces_a_plain_file_and_nothing_else(world, tmp_path, monkeypatch, capsys):
    given = world / "given"
    plain = tmp_path / "plain.csv"
    for _ in range(2):
        assert count(monkeypatch, given, plain) == 0
    folder, link = tmp_path / "folder", tmp_path / "link.csv"
    folder.mkdir()
    link.symlink_to(plain)
    part = tmp_path / "adapted" / "config.json"
    shutil.copytree(world / "made" / "init_embeddings", part.parent)
    before = tree(tmp_path)
    for out, words in (
        (folder, "not a plain file"),
        (link, "a symbolic link"),
        (part, "is part of the adapted model there"),
        (plain / "below.csv", "is a file, not a folder"),
    ):
        assert count(monkeypatch, given, out) == 1
        assert words in capsys.readouterr().err
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("script", "arguments", "place"),
    [
        ("build_report", ["--results", "results"], "results/experiment.json"),
        ("check_artefacts", ["--results", "results"], "results/experiment.json"),
        ("collect_scores", ["--results", "results"], "results/experiment.json"),
        (
            "compare_runs",
            ["--results", "results", "--group", "mistral", "--steps", "last"],
            "results/experiment.json",
        ),
        (
            "build_prompts",
            [
                *("question_answering", "--task", "t", "--direction", "it"),
                *("--shots", "0", "--seed", "1", "--pool-files", "text/it.jsonl"),
                *("--test-files", "text/it.jsonl"),
            ],
            "text/it.jsonl",
        ),
        ("build_task", ["--task", "t", "--template", "it", "--templates", "text"], "text/it.yaml"),
        (
            "measure_efficiency",
            [
                *("--run", "r", "--step", "0", "--model", "source", "--text", "text/it.jsonl"),
                *("--corpus", "it", "--language", "it"),
            ],
            "text/it.jsonl",
        ),
        (
            "score_comet",
            [
                *("--run", "r", "--generation", "x", "--prompts", "q=prompts/q.jsonl"),
                *("--models", "comet22=none"),
            ],
            "prompts/q.jsonl",
        ),
        (
            "score_multiple_choice",
            ["--run", "r", "--models", "0=source", "--tasks", "text/it.jsonl"],
            "text/it.jsonl",
        ),
    ],
)
def test_a_single_file_is_never_an_input(
    script, arguments, place, world, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(world / "given")
    before = tree(world)
    with pytest.raises(SystemExit) as ended:
        run_words(script, *arguments, "--out", place)
    assert ended.value.code == 1
    assert "is the input" in capsys.readouterr().err
    assert tree(world) == before
