"""Papers' experiments from end to end from a filled cache: only budgets differ (docs/machines.md).

What config/sava.yaml alone has is tested in ``test_hub_paper.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import hub_bilingual
import hub_lep
import hub_vocadt
import pytest
import torch
from hub_experiments import (
    PROFILES,
    beside_published,
    files_of,
    offline_snakemake,
    other_than_budgets,
    rows_of,
    under,
)
from safetensors.torch import load_file

from revocab.evaluation.metrics import COMET_METRICS
from revocab.experiment import read
from revocab.experiment.layout import Layout
from revocab.io import read_json

#: What writes the stand-ins of an experiment.
EXPERIMENTS: dict[str, ModuleType] = {
    "bilingual": hub_bilingual,
    "lep": hub_lep,
    "vocadt": hub_vocadt,
}
#: For the experiments that ask for a model of COMET.
WITHOUT_COMET = "config/overlays/without-comet.yaml"
OVERLAYS = Path(__file__).parents[2] / "config/overlays"
PICO = sorted(path.stem.removeprefix("pico-") for path in OVERLAYS.glob("pico-*.yaml"))


@dataclass(frozen=True)
class Made:
    """A finished experiment."""

    layout: Layout
    results: Path
    resources: Path


@pytest.mark.parametrize("experiment", PICO)
def test_the_overlay_changes_budgets_only(repository, experiment):
    assert other_than_budgets(repository, experiment) == set()


@pytest.mark.parametrize("experiment", PICO)
def test_the_overlay_leaves_no_kind_out(repository, monkeypatch, experiment):
    """Methods, constructions, tasks, tables, figures and stages that are trained; of rules, see
    test_shipped.py.
    """
    monkeypatch.chdir(repository)

    def kinds(*files: str) -> dict[str, set[object]]:
        used = read(*files)
        runs, evaluation = used.expanded.values(), used.evaluation
        recipes = [used.recipes[run.recipe] for run in runs if run.recipe]
        return {
            "methods": {run.method for run in runs},
            "constructions": {one.construction()[0] for one in used.tokenizers.values()},
            "stages": {str(stage.train) for recipe in recipes for stage in recipe.stages or ()},
            "tasks": {*evaluation.multiple_choice.tasks, *evaluation.generation.tasks},
            "tables": {(name, table.kind) for name, table in used.tables.items()},
            "figures": {(name, figure.kind) for name, figure in used.figures.items()},
        }

    file, overlay = files_of(experiment)
    assert kinds(file, overlay) == kinds(file)


@pytest.fixture(
    scope="module",
    params=[(name, profile) for name in EXPERIMENTS for profile in PROFILES],
    ids="-".join,
)
def made(request, repository, tmp_path_factory) -> Made:
    """An experiment of EXPERIMENTS, run at pico size under a profile."""
    name, profile = request.param
    content = EXPERIMENTS[name]
    root = content.write_hub(tmp_path_factory.mktemp("hub"))
    files = [*files_of(name), WITHOUT_COMET]
    run = offline_snakemake(root, tmp_path_factory.mktemp("home"))
    run(repository, *under(profile), "--configfile", *files)
    layout = Layout(read(*(repository / file for file in files)))
    places = (layout.paths.results, layout.paths.resources)
    return Made(layout, *(repository / place for place in places))


@pytest.mark.hub
def test_every_table_is_filled_with_published_values_beside_ours(made):
    assert read_json(made.results / "checks.json")["problems"] == 0
    published = Path(made.layout.experiment.paper_values)
    apart = {metric.name for metric in COMET_METRICS.values()}
    for table, options in made.layout.experiment.tables.items():
        rows = rows_of(made.results, table)
        assert rows, table
        # The cache has no model for what is measured in an environment of its own.
        beside = (published / f"{table}.csv").is_file() and vars(options).get("metric") not in apart
        assert not beside or beside_published(rows), table
    for figure in made.layout.experiment.figures:
        assert (made.results / f"figures/{figure}.svg").is_file()


@pytest.mark.hub
def test_every_hub_source_is_recorded_with_its_commit(made):
    named = [
        *(("models", one) for one, of in made.layout.experiment.models.items() if of.hub),
        *(("tokenizers", one) for one, of in made.layout.experiment.tokenizers.items() if of.hub),
    ]
    manifests = [made.results / kind / one / "manifest.json" for kind, one in named]
    # Of questions that a model answers, the commit is beside the answers.
    manifests += [
        made.resources / ("answers" if corpus.answers else "corpora") / one / "manifest.json"
        for one, corpus in made.layout.experiment.corpora.items()
        if corpus.source and corpus.source.hub
    ]
    assert manifests
    for path in manifests:
        if path.exists():  # a tokenizer that no job reads is not fetched
            found = read_json(path)
            assert re.fullmatch(r"[0-9a-f]{40}", found.get("source", found)["commit"]), path


@pytest.mark.hub
def test_logs_hold_no_traceback(made):
    for log in (made.results / "logs").rglob("*.log"):
        assert "Traceback" not in log.read_text(), log


@pytest.mark.hub
@pytest.mark.parametrize("made", [("bilingual", "default")], indirect=True)
def test_new_blocks_alone_are_trained(made):
    def last(run: str) -> Path:
        step = made.layout.runs[run].steps[-1]
        return made.results / f"runs/{run}/checkpoints/step-{step:06}"

    before = load_file(last("blocks-embeddings") / "model.safetensors")
    for run in ("blocks-mixes-arabic", "blocks-mixes-one-nine"):
        after = load_file(last(run) / "model.safetensors")
        added = read_json(last(run) / "config.json")["added_blocks"]
        places = tuple(f"model.layers.{one}." for one in added)
        moved = {name for name in before if not torch.equal(before[name], after[name])}
        assert moved == {name for name in before if name.startswith(places)}
