"""The losses of a probe's finished runs, read from its results folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from revocab.adapting.choices import ALONE, TOGETHER
from revocab.adapting.probe_file import EQUAL, FILE, GROUP, UNCHANGED, ranking_id, recipe_id
from revocab.adapting.probe_findings import BySeed, Probe, judge
from revocab.errors import RevocabError
from revocab.evaluation.ranking import Sample
from revocab.plan.plan import Plan
from revocab.report.results import Results
from revocab.report.table_parts.ranked_runs import trained_runs
from revocab.report.tables.ranking import RankingTable


def read_results(plan: Plan, out: Path) -> Probe:
    """Return what a finished probe in the folder ``out`` found.

    Raises :class:`RevocabError` where its experiment file was changed so that nothing can be read.
    """
    results = Results(out / plan.paths.results)
    experiment, runs = results.experiment, trained_runs(results, GROUP)
    target = experiment.tokenizers["target"].extend
    named = [ranking_id(language) for language in target.corpora] if target else []
    shown = [experiment.tables.get(name) for name in named]
    tables = [table for table in shown if isinstance(table, RankingTable)]
    if target is None or len(tables) < len(named):
        given = zip(named, shown, strict=True)
        gone = [f"tables.{name}" for name, table in given if table not in tables]
        raise RevocabError(
            f"{out / FILE}: {key}: what a probe says is read from it, and it is gone; put it back"
            for key in (gone or ["tokenizers.target.extend"])
        )
    losses = losses_of(results, tables)
    ways = {recipe_id(way): way for way in ALONE}
    starts = {
        name: (run.method, ways.get(run.recipe or "", TOGETHER))
        for name, run in runs.items()
        if name != UNCHANGED
    }
    run = runs[UNCHANGED]
    recipe = experiment.recipes[run.recipe or ""]
    model = experiment.models[run.source]
    keys = {key: getattr(model, key) for key in ("path", "hub", "revision")}
    place = {key: str(value) for key, value in keys.items() if value is not None}
    if not place:  # a stand-in, whose folder is here
        place = {"path": str((out / plan.root(run.id).path).absolute())}
    return Probe(
        model=experiment.runs[GROUP].label,
        place=place,
        languages=[*target.corpora],
        vocabulary=target.size,
        saved=saved_tokens(results, [*target.corpora]),
        steps=run.steps[-1],
        tokens=run.steps[-1] * recipe.batch_size * recipe.sequence_length,
        seeds=len(results.replicates(run)),
        judgement=judge(losses.pop(UNCHANGED), losses, starts),
    )


def losses_of(results: Results, tables: Sequence[RankingTable]) -> dict[str, BySeed]:
    """Return the losses of each run's seeds at the place of comparison, means over languages."""
    by_language = [losses_in(results, table) for table in tables]
    names = by_language[0]
    return {name: mean_by_seed([losses[name] for losses in by_language]) for name in names}


def losses_in(results: Results, table: RankingTable) -> dict[str, BySeed]:
    names = table.names(results)
    every = [*table.entries(results, [GROUP], names)]
    ends = table.ends(every, EQUAL)
    # Operations of a training that blew up at once are not known: then the same number of steps.
    point = "last" if None in ends else EQUAL
    return {name: entry.sample(point, ends)[0] for name, entry in zip(names, every, strict=True)}


def mean_by_seed(sample: Sample) -> BySeed:
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in sample)))
    return {seed: fmean(by_seed[seed] for by_seed in sample) for seed in seeds}


def saved_tokens(results: Results, languages: Sequence[str]) -> float:
    rows: Mapping[tuple[str, str], Mapping[str, str]] = results.measured_tokenizers
    old, new = (
        sum(int(rows[tokenizer, language]["tokens"]) for language in languages)
        for tokenizer in ("source", "target")
    )
    return 1 - new / old
