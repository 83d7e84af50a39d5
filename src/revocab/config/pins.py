"""The commits that finished results were made from, as an overlay that pins an experiment."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from revocab.errors import RevocabError
from revocab.io import read_json, write_text

Keys = tuple[str, ...]


@dataclass
class Pins:
    """``overlay``: revisions under the experiment's keys. ``loose``: what could not be pinned."""

    overlay: dict[str, Any] = field(default_factory=dict)
    loose: list[str] = field(default_factory=list)

    def add(self, keys: Keys, value: str) -> None:
        """Set the value at a path of keys."""
        place = self.overlay
        for key in keys[:-1]:
            place = place.setdefault(key, {})
        place[keys[-1]] = value


@dataclass(frozen=True)
class Pinned:
    """Where an experiment names a revision, and where its results say which commit that was."""

    keys: Keys
    file: Path
    inside: Keys


def recorded(experiment: dict[str, Any], results: Path, resources: Path) -> Iterator[Pinned]:
    """Yield every Hub source whose commit stands in a manifest or a task file."""
    for name, corpus in experiment["corpora"].items():
        if corpus["source"].get("hub"):
            file = resources / "corpora" / name / "manifest.json"
            yield Pinned(("corpora", name, "source", "hub", "revision"), file, ("source", "commit"))
    for name, tokenizer in experiment["tokenizers"].items():
        part = ("substitute",) if tokenizer.get("substitute") else ()
        if tokenizer.get("hub") or (tokenizer.get("substitute") or {}).get("hub"):
            file = results / "tokenizers" / name / "manifest.json"
            yield Pinned(("tokenizers", name, *part, "revision"), file, ("commit",))
    for name, model in experiment["models"].items():
        if model.get("hub"):
            file = results / "models" / name / "manifest.json"
            yield Pinned(("models", name, "revision"), file, ("commit",))
    for name, task in experiment["evaluation"]["generation"]["tasks"].items():
        for part in ("pool", "test"):
            if task[part].get("hub"):
                keys = ("evaluation", "generation", "tasks", name, part, "hub", "revision")
                yield Pinned(keys, results / f"prompts/{name}.manifest.json", (part, "commit"))
    for name, task in experiment["evaluation"]["multiple_choice"]["tasks"].items():
        if (task.get("data") or {}).get("hub"):
            keys = ("evaluation", "multiple_choice", "tasks", name, "data", "hub", "revision")
            inside = ("dataset_kwargs", "revision")
            yield Pinned(keys, results / f"tasks/{name}.yaml", inside)


def find_pins(results: Path, resources: Path) -> Pins:
    """Return the commits of every Hub source of finished results.

    Raises :class:`RevocabError` naming every file that is not there.
    """
    experiment = read_json(results / "experiment.json")["experiment"]
    pins, problems = Pins(), []
    for one in recorded(experiment, results, resources):
        if not one.file.is_file():
            problems.append(f"{one.file}: not there; run the experiment to its end first")
            continue
        found = yaml.safe_load(one.file.read_text(encoding="utf-8"))  # JSON is YAML
        for key in one.inside:
            found = found[key]
        pins.add(one.keys, found)
    if problems:
        raise RevocabError(problems)
    pin_harness_tasks(pins, experiment, results)
    pin_comet(pins, experiment, results)
    return pins


def table_rows(results: Path, name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table that every scored run has."""
    for path in sorted(results.glob(f"runs/*/{name}")):
        with path.open(encoding="utf-8", newline="") as handle:
            yield from csv.DictReader(handle)


def pin_harness_tasks(pins: Pins, experiment: dict[str, Any], results: Path) -> None:
    """Pin tasks that the harness ships to the commit that the score tables name."""
    commits: dict[str, set[str]] = {}
    for row in table_rows(results, "multiple_choice.csv"):
        commits.setdefault(row["task"], set()).update(row["data_revision"].split())
    for name, task in experiment["evaluation"]["multiple_choice"]["tasks"].items():
        if not task.get("harness"):
            continue
        found = sorted(commits.get(name, ()))
        if len(found) == 1:
            keys = ("evaluation", "multiple_choice", "tasks", name, "revision")
            pins.add(keys, found[0])
        else:
            said = f"{len(found)} commits ({', '.join(found)})" if found else "no commit"
            pins.loose.append(f"multiple-choice task {name}: its scores name {said}")


def pin_comet(pins: Pins, experiment: dict[str, Any], results: Path) -> None:
    """Pin COMET models of the Hub to the commit that scored the outputs."""
    commits = {
        row["metric"]: row["model_revision"]
        for row in table_rows(results, "generation/comet.csv")
        if row["model_revision"]
    }
    setting = experiment["evaluation"]["generation"]
    for metric, key in (("comet22", "comet_model"), ("xcomet", "xcomet_model")):
        if setting.get(key) and metric in commits:
            repository = setting[key].partition("@")[0]
            pins.add(("evaluation", "generation", key), f"{repository}@{commits[metric]}")


def write_pins(results: Path, resources: Path | None, out: Path) -> Pins:
    """Write the overlay and return what it holds.

    Raises :class:`RevocabError` if the results lack a file, or nothing in them is of the Hub.
    """
    results = Path(results)
    name = read_json(results / "experiment.json")["experiment"]["experiment"]
    pins = find_pins(results, resources or results.parent.parent / "resources" / name)
    if not pins.overlay:
        raise RevocabError(f"{results}: nothing in these results came from the Hub; nothing to pin")
    head = (
        f"# The commits that the results of {name!r} were made from. Laid over the experiment:\n"
        "#   snakemake --configfile EXPERIMENT THIS_FILE\n"
    )
    write_text(out, head + yaml.safe_dump(pins.overlay, sort_keys=False, width=1000))
    return pins
