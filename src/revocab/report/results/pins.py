"""The commits that finished results were made from, as an overlay that pins an experiment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from revocab.errors import RevocabError, refuse
from revocab.evaluation.metric import COMET_METRICS
from revocab.io import write_text
from revocab.output import check_files
from revocab.report.results.folder import Results

Keys = tuple[str, ...]
#: Where an experiment names a revision, and the file and keys where its results say which commit
#: that was.
Pinned = tuple[Keys, Path, Keys]


@dataclass
class Pins:
    """``overlay``: revisions under the experiment's keys. ``loose``: what could not be pinned."""

    overlay: dict[str, Any] = field(default_factory=dict)
    loose: list[str] = field(default_factory=list)

    def add(self, keys: Keys, value: str) -> None:
        place = self.overlay
        for key in keys[:-1]:
            place = place.setdefault(key, {})
        place[keys[-1]] = value


def recorded(results: Results, resources: Path) -> Iterator[Pinned]:
    """Yield every Hub source whose commit stands in a manifest or a task file."""
    experiment, root = results.experiment, results.root
    for name, corpus in experiment.corpora.items():
        if corpus.source.hub:
            file = resources / "corpora" / name / "manifest.json"
            yield ("corpora", name, "source", "hub", "revision"), file, ("source", "commit")
    for name, tokenizer in experiment.tokenizers.items():
        if tokenizer.hub:
            file = root / "tokenizers" / name / "manifest.json"
            yield ("tokenizers", name, "revision"), file, ("commit",)
    for name, model in experiment.models.items():
        if model.hub:
            file = root / "models" / name / "manifest.json"
            yield ("models", name, "revision"), file, ("commit",)
    for name, task in experiment.evaluation.generation.tasks.items():
        tasks = ("evaluation", "generation", "tasks")
        for part, source in (("pool", task.pool), ("test", task.test)):
            if source.hub:
                file = root / f"prompts/{name}.manifest.json"
                yield (*tasks, name, part, "hub", "revision"), file, (part, "commit")
    for name, choice in experiment.evaluation.multiple_choice.tasks.items():
        if choice.data and choice.data.hub:
            keys = ("evaluation", "multiple_choice", "tasks", name, "data", "hub", "revision")
            yield keys, root / f"tasks/{name}.yaml", ("dataset_kwargs", "revision")


def find_pins(results: Results, resources: Path) -> Pins:
    """Return the commits of every Hub source of finished results.

    Raises :class:`RevocabError` naming every file that is not there.
    """
    pins, problems = Pins(), []
    for keys, file, inside in recorded(results, resources):
        if not file.is_file():
            problems.append(f"{file}: not there; run the experiment to its end first")
            continue
        revision = yaml.safe_load(file.read_text(encoding="utf-8"))  # JSON is YAML
        for key in inside:
            revision = revision[key]
        pins.add(keys, revision)
    refuse(problems)
    parallel = results.experiment.fertility.parallel
    if parallel and parallel.source.hub:
        pins.loose.append(
            "fertility.parallel.source.hub: its commit is not recorded; give it a revision by hand"
        )
    pin_harness_tasks(pins, results)
    pin_comet(pins, results)
    return pins


def pin_harness_tasks(pins: Pins, results: Results) -> None:
    commits: dict[str, set[str]] = {}
    for run in results.runs:
        for row in results.csv("runs", run.id, "multiple_choice.csv"):
            commits.setdefault(row["task"], set()).update(row["data_revision"].split())
    for name, task in results.experiment.evaluation.multiple_choice.tasks.items():
        if not task.harness:
            continue
        named = sorted(commits.get(name, ()))
        if len(named) == 1:
            keys = ("evaluation", "multiple_choice", "tasks", name, "revision")
            pins.add(keys, named[0])
        else:
            commit_words = f"{len(named)} commits ({', '.join(named)})" if named else "no commit"
            pins.loose.append(
                f"evaluation.multiple_choice.tasks.{name}: its scores name {commit_words}; give it"
                " a revision by hand, or score it from a template with data.hub"
            )


def pin_comet(pins: Pins, results: Results) -> None:
    commits = {
        row["metric"]: row["model_revision"]
        for run in results.runs
        for row in results.csv("runs", run.id, "generation", "comet.csv")
        if row["model_revision"]
    }
    setting = results.experiment.evaluation.generation
    for key, metric in COMET_METRICS.items():
        model = getattr(setting, key)
        if model and metric.name in commits:
            repository = model.partition("@")[0]
            pins.add(("evaluation", "generation", key), f"{repository}@{commits[metric.name]}")


def write_pins(
    root: Path, out: Path, experiment: Path | None = None, resources: Path | None = None
) -> Pins:
    """Write the overlay and return what it holds.

    Raises :class:`RevocabError` if the results lack a file, or nothing in them is of the Hub.
    """
    results = Results(root, experiment)
    check_files(out, inputs=results.inputs)
    pins = find_pins(results, resources or results.resources)
    if not pins.overlay:
        raise RevocabError(f"{root}: nothing in these results came from the Hub; nothing to pin")
    head = (
        f"# Commits that the results of {results.name!r} were made from. Overlay for its"
        " experiment:\n"
        "#   snakemake --configfile EXPERIMENT THIS_FILE\n"
    )
    write_text(out, head + yaml.safe_dump(pins.overlay, sort_keys=False, width=1000))
    return pins
