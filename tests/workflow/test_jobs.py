"""Every job that Snakemake plans: its command reads its command line, which fits the rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from planning import call_of, words_of

from revocab.marker import paths_in
from revocab.verbs import find


@pytest.fixture(scope="module")
def jobs(finished) -> dict[str, Any]:
    """The jobs of the experiment that has one thing of every kind, by name."""
    return finished.plan().jobs


def test_every_command_line_is_read(jobs):
    assert len({name.partition(":")[0] for name in jobs}) > 25
    for name, job in jobs.items():
        call = call_of(job)
        assert (call.job, call.arguments.options.canonical()) == (
            name.replace(":", "--"),
            job.params.options,
        )


def test_outputs_lie_where_the_command_writes(jobs):
    """Below the folder, or beside a file (scores of items, a manifest), and nowhere else."""
    for name, job in jobs.items():
        out = call_of(job).arguments.out
        for declared in map(Path, job.output):
            below = declared.is_relative_to(out)
            beside = declared.parent == out.parent and (
                declared.name.startswith(out.stem) or declared.name == "manifest.json"
            )
            assert below or beside, f"{name}: {declared} is not of {out}"


def test_what_a_job_reads_is_waited_for(jobs):
    """A folder stands for its manifest, a checkpoint for that of its run."""
    for name, job in jobs.items():
        files = [Path(file) for file in job.input]
        for path in paths_in({**dict(call_of(job).arguments), "out": None}):
            if path.parts[0] not in ("results", "resources"):
                continue  # it may lie outside the workflow: nothing makes it
            whole = [one for one in (path, *path.parents) if one / "manifest.json" in files]
            within = [file for file in files if file == path or file.is_relative_to(path)]
            assert whole or within, f"{name}: nothing waits for {path}"


def test_a_rule_that_uses_a_gpu_declares_it(jobs):
    """So that ``--resources gpu=1`` runs them one at a time."""
    for name, job in jobs.items():
        command, *_ = words_of(job)
        device = find(command).machine.get("device")
        uses = command in ("train_model", "score_comet") or (
            device is not None and device.default == "auto"
        )
        assert job.resources.get("gpu", 0) == int(uses), name
