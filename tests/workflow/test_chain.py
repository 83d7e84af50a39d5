"""What is changed after a job has ended is named by the next job that reads it, or by the check."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from run_snakemake import small_checkout

from revocab import chain
from revocab.__main__ import main
from revocab.config import read
from revocab.io import read_json, write_json
from revocab.plan import Plan

FILE = "tests/experiments/small.yaml"


@pytest.fixture(scope="module")
def checkout(repository, small, tmp_path_factory) -> Iterator[Path]:
    """A copy of the small experiment's results, as the current folder."""
    folder = small_checkout(repository, tmp_path_factory.mktemp("chain") / "checkout")
    with contextlib.chdir(folder):
        yield folder


@pytest.fixture(scope="module")
def plan(checkout) -> Plan:
    return Plan(read(FILE))


@pytest.fixture(scope="module")
def records(plan) -> dict[str, chain.Record]:
    read = [chain.Record.read(record_of(plan, name)) for name in plan.jobs]
    return {record.name: record for record in read if record is not None}


def record_of(plan: Plan, name: str) -> Path:
    return Path(plan.paths.records) / f"{name}.json"


def problems(plan: Plan) -> list[str]:
    return list(chain.problems(Path(plan.paths.records), plan.jobs))


@contextlib.contextmanager
def changed(file: Path, content: bytes | None, *, keep_time: bool = False) -> Iterator[None]:
    """Give a file another content, or take it away, for a while."""
    stat, before = file.stat(), file.read_bytes()
    try:
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
            if keep_time:
                os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        yield
    finally:
        file.write_bytes(before)
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def flipped(content: bytes) -> bytes:
    """Return the content with another bit in the middle."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def test_every_job_has_left_a_record_and_all_is_as_it_was(plan, records):
    assert plan.needed_jobs().keys() == records.keys()
    assert problems(plan) == []
    # Of what lies outside the folder there is nothing, nor of the machine.
    assert all(
        not Path(file).is_absolute() for record in records.values() for file in record.writes
    )


def test_a_flipped_bit_of_any_file_is_named_with_its_job(plan, records):
    """Of one file of each name in each kind of job, whatever its time says."""
    tried = {
        (name.partition("--")[0], Path(file).name): (name, Path(file))
        for name, record in records.items()
        for file, stamp in record.writes.items()
        if stamp.size
    }
    assert len(tried) > 60
    needed = plan.needed_jobs()
    for name, file in tried.values():
        with changed(file, flipped(file.read_bytes()), keep_time=True):
            (problem,) = chain.changed(records[name], fully=True)
        assert problem.startswith(f"{file}: not as the job {name.replace('--', ' ', 1)} wrote it")
        target = problem.partition("--forcerun ")[2].partition(",")[0]
        rule, manifest = name.partition("--")[0], f"{plan.job(name).out}/manifest.json"
        assert target in {*needed[name].files, rule, manifest}


def test_the_check_names_what_is_changed_missing_or_of_another_run(plan, records):
    runs = sorted(run.id for run in plan.runs.values() if run.trains)
    first, second = (Path(plan.paths.run(run)) for run in runs[:2])
    own = {Path(file) for record in records.values() for file in record.writes}
    shared = [file for file in sorted(own) if file.is_relative_to(first)]
    swapped = 0
    for file in shared:
        other = second / file.relative_to(first)
        if other.is_file() and other.read_bytes() != file.read_bytes():
            with changed(file, other.read_bytes()):
                told = problems(plan)
            assert any(line.startswith(str(file)) for line in told), (file, told)
            swapped += 1
    assert swapped >= 5
    scores = Path(plan.paths.results) / "scores.parquet"
    with changed(scores, None):
        assert any(line.startswith(f"{scores} is missing") for line in problems(plan))


def test_all_damaged_records_are_told_at_once(plan, records):
    first, second = (record_of(plan, name) for name in sorted(records)[:2])
    with changed(first, b"{}"), changed(second, b"[1"):
        told = problems(plan)
    assert sorted(told) == [
        f"{file}: not what a job has recorded; run the experiment with --forcerun"
        f" {file.stem.partition('--')[0]}"
        for file in sorted((first, second))
    ]


def test_the_next_job_names_what_it_would_have_believed(plan, records, capsys):
    name = next(name for name in records if name.startswith("score_multiple_choice--"))
    weights = next(Path(file) for file in records[name].reads if file.endswith(".safetensors"))
    words = plan.words(plan.job(name))[1:]
    out = Path(plan.job(name).out)
    before = out.read_bytes()
    with changed(weights, flipped(weights.read_bytes())):
        with pytest.raises(SystemExit):
            main(words)
        said = capsys.readouterr().err
        assert f"error: {weights}: not as the job " in said and len(said.splitlines()) == 1
    assert out.read_bytes() == before


def test_a_copy_of_a_file_is_that_file(plan, records):
    name, file = next((name, Path(next(iter(job.writes)))) for name, job in records.items())
    copied = file.with_name("copy")
    shutil.copy(file, copied)
    with changed(file, copied.read_bytes()):
        assert not [*chain.changed(records[name], fully=False)]
    copied.unlink()


def test_a_job_that_read_another_content_is_named(plan, records):
    name = next(name for name, record in records.items() if record.reads)
    file, path = next(iter(records[name].reads)), record_of(plan, name)
    content = read_json(path)
    write_json(path, {**content, "reads": {**content["reads"], file: "0" * 64}})
    (problem,) = problems(plan)
    assert problem.startswith(f"{file}: the job {name.replace('--', ' ', 1)} read another content")
    write_json(path, content)


@pytest.mark.parametrize("content", [[], {}, {"out": "x", "writes": {"x": 1}, "reads": {}}])
def test_a_damaged_record_is_named_with_what_helps(tmp_path, content):
    write_json(tmp_path / "make_tables.json", content)
    (problem,) = chain.problems(tmp_path, ["make_tables"])
    assert re.search(r"make_tables\.json: not what .* --forcerun make_tables", problem)


def test_results_without_records_are_not_accused(plan, tmp_path):
    assert list(chain.problems(tmp_path, plan.jobs)) == []
