"""What is changed after a job has ended is named by the next job that reads it, or by the check."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from planning import Plan, call_of, config_of, words_of, workflow_of
from run_snakemake import small_checkout, snakemake

from revocab.__main__ import main
from revocab.experiment import read
from revocab.experiment.layout import Layout
from revocab.io import read_json, write_json
from revocab.marker import MARKER, Marked, Marker, beside, changed_since, read_marker
from revocab.verbs.results import files_of

FILE = "tests/experiments/small.yaml"
RESULTS = Path("results/small")
#: What shows numbers: each refuses to read what was changed.
SHOWN = ("collect_scores", "compare_runs--mistral", "make_tables", "make_figures", "build_report")


@pytest.fixture(scope="module")
def checkout(repository, small, tmp_path_factory) -> Iterator[Path]:
    """A copy of the small experiment's results, as the current folder."""
    folder = small_checkout(repository, tmp_path_factory.mktemp("chain") / "checkout")
    with contextlib.chdir(folder):
        yield folder


@pytest.fixture(scope="module")
def layout(checkout) -> Layout:
    return Layout(read(FILE))


@pytest.fixture(scope="module")
def jobs(checkout) -> dict[str, Any]:
    """The jobs of the experiment, by the names that markers give them."""
    with workflow_of(checkout, config_of(checkout, FILE)) as workflow:
        return {name.replace(":", "--"): job for name, job in Plan(workflow.dag).jobs.items()}


@pytest.fixture(scope="module")
def marked(jobs) -> dict[str, Marked]:
    """What each job of the experiment has written, by its name."""
    found = {}
    for name, job in jobs.items():
        out = call_of(job).arguments.out
        marker = Marker.model_validate(read_json(out / MARKER if out.is_dir() else beside(out)))
        assert marker.finished and marker.name == name
        found[name] = Marked(out if out.is_dir() else out.parent, marker, [*marker.files])
    return found


def told(layout: Layout) -> list[str]:
    return list(changed_since(files_of(layout, published=True), "small"))


@contextlib.contextmanager
def changed(file: Path, content: bytes | None) -> Iterator[None]:
    """Give a file another content with its old time, or take it away, for a while."""
    stat, before = file.stat(), file.read_bytes()

    def put(data: bytes) -> None:
        file.write_bytes(data)
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    try:
        file.unlink() if content is None else put(content)
        yield
    finally:
        put(before)


def flipped(content: bytes) -> bytes:
    """Return the content with another bit in the middle."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def call(words: list[str], capsys) -> str:
    """Return what a command says that fails."""
    with pytest.raises(SystemExit):
        main(words)
    return capsys.readouterr().err


def test_all_is_as_it_was(layout, marked):
    assert told(layout) == []
    for found in marked.values():
        paths = [*found.marker.files, *found.marker.inputs]
        assert not [path for path in paths if Path(path).is_absolute()]


def test_a_flipped_bit_of_any_file_is_named_with_its_job(jobs, marked):
    """Of one file of each name in each kind of job."""
    tried = {
        (name.partition("--")[0], Path(file).name): (name, file)
        for name, found in marked.items()
        for file, stamp in found.marker.files.items()
        if stamp.bytes
    }
    assert len(tried) > 60
    for name, file in tried.values():
        place = marked[name].folder / file
        with changed(place, flipped(place.read_bytes())):
            problem = marked[name].problem(read=False)
        assert problem.startswith(f"{place}: not as the job {name.replace('--', ' ', 1)} wrote it")
        target = problem.partition("--forcerun ")[2].partition(",")[0]
        assert target in {*jobs[name].output, name.partition("--")[0]}


def test_the_check_names_what_is_changed_missing_or_of_another_run(layout, marked):
    first, second = (Path(layout.paths.run(run)) for run in sorted(layout.trained)[:2])
    files = {found.folder / file for found in marked.values() for file in found.marker.files}
    swapped = 0
    for file in sorted(file for file in files if file.is_relative_to(first)):
        other = second / file.relative_to(first)
        if other.is_file() and other.read_bytes() != file.read_bytes():
            with changed(file, other.read_bytes()):
                assert any(line.startswith(str(file)) for line in told(layout)), file
            swapped += 1
    assert swapped >= 5
    with changed(RESULTS / "scores.parquet", None):
        assert any(line.startswith(f"{RESULTS}/scores.parquet") for line in told(layout))


def test_a_missing_or_damaged_marker_and_another_writer_are_named(layout, jobs, marked, capsys):
    files = [beside(RESULTS / "scores.parquet"), RESULTS / "tables" / MARKER]
    for content in (None, b"[1"):
        with changed(files[0], content), changed(files[1], content):
            named = {line.partition(": no marker")[0] for line in told(layout)}
        assert named == {f"{RESULTS}/scores.parquet", *layout.tables}
    name = next(name for name in marked if name.startswith("init_embeddings--"))
    folder, marker = marked[name].folder, marked[name].marker
    read_input = next(iter(marker.inputs))
    reader = words_of(jobs[name.replace("init_embeddings", "adapt_model")])
    with changed(folder / MARKER, (folder / MARKER).read_bytes()):
        marker.model_copy(update={"inputs": {read_input: "0" * 64}}).write(folder / MARKER)
        (problem,) = told(layout)
        assert "read another content" in problem
        marker.model_copy(update={"name": "", "inputs": {}}).write(folder / MARKER)
        for said in (*told(layout), call(reader, capsys)):
            assert f"{folder}: was not written by a job of the workflow" in said


def test_the_next_job_names_what_it_would_have_believed(jobs, marked, capsys):
    name = next(name for name in marked if name.startswith("score_multiple_choice--"))
    inputs = marked[name].marker.inputs
    weights = next(Path(file) for file in inputs if file.endswith(".safetensors"))
    out = call_of(jobs[name]).arguments.out
    before = out.read_bytes()
    with changed(weights, flipped(weights.read_bytes())):
        said = call(words_of(jobs[name]), capsys)
    assert f"error: {weights}: not as the job " in said and len(said.splitlines()) == 1
    assert out.read_bytes() == before


@pytest.mark.parametrize("name", SHOWN)
def test_what_shows_numbers_refuses_changed_ones(name, jobs, marked, capsys):
    """As a job and by hand, whether a file is named or read by way of its folder's manifest."""
    if name not in jobs:
        pytest.skip("the experiment has no such job")
    read = [Path(file) for file in marked[name].marker.inputs]
    tables = [file for file in read if file.suffix in (".csv", ".parquet")]
    words = words_of(jobs[name])
    by_hand = [words[0], "--results", str(RESULTS), "--out", str(call_of(jobs[name]).arguments.out)]
    if name.startswith("compare_runs"):
        by_hand += ["--group", "mistral", "--steps", "last"]
    for file in {file.name: file for file in tables}.values():
        with changed(file, flipped(file.read_bytes())):
            for given in (words, by_hand):
                assert f"{file}: not as the job " in call(given, capsys)


@pytest.mark.parametrize("file", ["report.html", "checks.json", "tables", "experiment.json"])
def test_the_check_by_hand_looks_at_what_is_published(file, marked, capsys, tmp_path):
    path = RESULTS / file
    path = next(path.glob("*.csv")) if path.is_dir() else path
    words = ["check_artefacts", "--results", str(RESULTS), "--out", str(tmp_path / "checks.json")]
    main(words)
    with changed(path, path.read_bytes() + b" "):
        assert f"{path}: not as the job " in call(words, capsys)


@pytest.mark.long  # two calls of Snakemake, which make the tables and the page again
def test_a_file_that_was_put_back_leaves_nothing_that_was_made_of_it(repository, checkout, marked):
    """Changed, run, put back with its old time, run again: the tables are those of the file."""
    file = next(RESULTS.glob("runs/*/multiple_choice.csv"))
    table = {path: path.read_bytes() for path in RESULTS.glob("tables/*.csv")}
    run = ("--cores", "1", "--rerun-triggers", "mtime", "--configfile", FILE)
    with changed(file, file.read_bytes().replace(b"0.", b"0.0")):
        os.utime(file)
        failed = snakemake(checkout, *run)
        assert failed.returncode == 1 and f"{file}: not as the job" in failed.stderr
    done = snakemake(checkout, *run)
    assert done.returncode == 0, done.stderr[-3000:]
    assert table == {path: path.read_bytes() for path in RESULTS.glob("tables/*.csv")}


def test_a_copy_of_results_elsewhere_is_not_accused(checkout, tmp_path):
    shutil.copytree(RESULTS, tmp_path / "copy")
    write_json(tmp_path / "copy/checks.json", {})
    assert read_json(tmp_path / "copy/checks.json") == {}
    marker = read_marker(tmp_path / "copy/tables")
    assert marker is not None and marker.name == "make_tables"
    main(
        ["check_artefacts", "--results", str(tmp_path / "copy"), "--out", str(tmp_path / "c.json")]
    )
