"""``--out`` against every kind of place that is not the command's own: refused, nothing touched."""

from __future__ import annotations

import shutil
from importlib import import_module

import pytest
from output_verbs import FILES, VERBS, architectures, call, run_words, tree, write_inputs

from revocab.__main__ import command_files
from revocab.io import read_json
from revocab.marker import MARKER, read_marker
from revocab.output import strangers

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
        before = tree(tmp_path), tree(world)
        capsys.readouterr()
        assert call(verb, world / "given", world / "made", out) == 1
        said = capsys.readouterr().err
        assert said.startswith("error: ") and "Traceback" not in said
        assert all(word in said for word in words), said
        assert (tree(tmp_path), tree(world)) == before

    return run


verbs = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.script)
readers = pytest.mark.parametrize(
    "verb", [verb for verb in VERBS if verb.source], ids=lambda verb: verb.script
)


def test_every_script_is_listed():
    writes = {"export_results": "folder"}
    for name in command_files():
        command = import_module(f"revocab.commands.{name}").COMMAND
        writes[command.name] = command.writes
    assert writes == dict.fromkeys(BY_NAME, "folder") | dict.fromkeys(FILES, "file")


@verbs
def test_a_folder_with_files_of_the_user(verb, refused, tmp_path):
    out = tmp_path / "out"
    (out / verb.below / "deep").mkdir(parents=True)
    (out / verb.below / "deep" / "notes.txt").write_text("mine")
    refused(verb, out, "deep/notes.txt", "give another folder")


@verbs
def test_a_file_of_the_user_beside_ours(verb, refused, world, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(world / "made" / verb.script, out)
    (out / verb.below / "notes.txt").write_text("mine")
    refused(verb, out, "did not write: notes.txt", "move them elsewhere")


@verbs
def test_what_an_earlier_version_wrote(verb, refused, world, tmp_path):
    """Its files look like ours, but nothing says that they are."""
    out = tmp_path / "out"
    shutil.copytree(world / "made" / verb.script, out)
    for claim in [*out.rglob(MARKER)]:
        claim.unlink()
    refused(verb, out, "an earlier version of revocab", "remove it first")


@verbs
def test_what_another_command_wrote(verb, refused, world, tmp_path):
    other = "build_tokenizer" if verb.script != "build_tokenizer" else "build_demoworld"
    out = tmp_path / "out"
    shutil.copytree(world / "made" / other, out / verb.below)
    refused(verb, out, f"says '{read_marker(out / verb.below).kind}', but this command writes")


@readers
def test_the_source_itself(verb, refused, world):
    place = world / "given" / verb.source
    if verb.below:
        refused(verb, place, "lies inside the input")
    else:
        refused(verb, place, "the input")


@readers
def test_the_folder_around_the_source(verb, refused, world):
    if verb.below:  # there it would write to a folder of its own
        pytest.skip("writes to a folder below")
    in_place = verb.script in ("train_model", "generate_text")  # they may stand around an input
    refused(verb, world / "given", "and no .revocab.json" if in_place else "holds the input")


@verbs
@pytest.mark.parametrize("place", [".", "..", "../.."])
def test_the_current_folder_and_those_above_it(verb, place, refused, tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "keep.txt").write_text("mine")
    monkeypatch.chdir(tmp_path / "a" / "b")
    whole = BY_NAME[verb.script].__class__(verb.script, verb.arguments, verb.source, verb.flag)
    refused(whole, place, "the current folder, or one above it")


@verbs
def test_a_link(verb, refused, world, tmp_path):
    """Whatever is behind it, be it our own folder."""
    real = tmp_path / "real"
    shutil.copytree(world / "made" / verb.script, real)
    out = tmp_path / "out"
    if verb.below:
        out.mkdir()
    (out / verb.below).symlink_to(real / verb.below)
    refused(verb, out, "a symbolic link")


@verbs
def test_a_file(verb, refused, tmp_path):
    (tmp_path / "out").write_text("mine")
    refused(verb, tmp_path / "out", "a file")


@verbs
def test_what_was_changed_since(verb, refused, world, tmp_path):
    """A file that the command wrote and the user has edited is the user's."""
    out = tmp_path / "out"
    shutil.copytree(world / "made" / verb.script, out)
    sizes = read_marker(out / verb.below).files
    checked = [name for name, size in sizes.items() if size is not None]
    if not checked:
        pytest.skip("written in place: its claim holds no sizes")
    with (out / verb.below / checked[-1]).open("a") as handle:
        handle.write("and a line of mine")
    refused(verb, out, f"{checked[-1]} (changed since it was written)")


@verbs
def test_the_same_job_again_writes_the_same_bytes(verb, world, capsys):
    made = world / "made"
    out = made / verb.script
    before = tree(out)
    assert call(verb, world / "given", made, out) == 0
    after = tree(out)
    assert [*after] == [*before]
    different = {name for name in before if before[name] != after[name]}
    assert {name for name in different if not name.endswith(MEASURED)} == set()
    place = out / verb.below
    assert str(world).encode() not in b"".join(filter(None, [after.get(MARKER)]))
    assert not [one for one in place.parent.glob(".*") if one.name != MARKER]


def test_a_claim_names_every_file(world):
    for verb in VERBS:
        place = world / "made" / verb.script / verb.below
        claim = read_marker(place)
        assert claim is not None and not claim.unfinished, verb.script
        if verb.script != "train_model":  # its checkpoints have claims of their own
            assert strangers(place, claim) == [], verb.script


def test_a_claim_does_not_travel_with_a_model(world):
    for verb in ("init_embeddings", "fetch_model"):
        place = world / "made" / verb / BY_NAME[verb].below
        assert read_marker(place).kind != "untrained model"
        assert MARKER not in read_marker(place).files


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


def test_fewer_shards_and_fewer_steps_leave_none_of_the_others(world, tmp_path):
    for name, more, gone in (
        ("pack_tokens", ("--rows", 4), "tokens-00001.npy"),
        ("generate_text", (), "step-000009/q.jsonl"),
    ):
        out = tmp_path / name
        given, made = world / "given", world / "made"
        first = ("--models", f"9={given / 'source'}") if name == "generate_text" else ()
        assert call(BY_NAME[name], given, made, out, *first) == 0
        assert (out / gone).is_file()
        assert call(BY_NAME[name], given, made, out, *more) == 0
        assert not (out / gone).exists()
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
                *("--task", "t", "--kind", "question_answering", "--direction", "it"),
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


def test_a_claim_says_little(world):
    """No time in it and no path of this machine."""
    content = read_json(world / "made" / "init_embeddings" / MARKER)
    assert set(content) == {"kind", "files"}
    assert "model.safetensors" in content["files"]
