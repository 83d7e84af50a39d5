"""What an experiment shows by itself: the winner, fertility, chance, starts, their order, the base.

A difference counts where its error allows it. What needs all of several differences needs each
interval by itself; that one is the other way round, or which is the greatest, needs intervals that
hold for all at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice.families import family_chance
from revocab.evaluation.over_seeds import (
    FEWEST_SEEDS,
    Difference,
    SeedInterval,
    all_of,
    deviation,
    paired_interval,
    tell,
)
from revocab.io import read_jsonl
from revocab.report.annotations import Experiment, Run
from revocab.report.claim import Claim, ClaimKind
from revocab.report.names import method_label
from revocab.report.results import Record, Results, number
from revocab.report.results.heldout_losses import heldout_curve
from revocab.report.results.scores import AVERAGE, average_task
from revocab.report.tables.significance import is_marked
from revocab.report.template import notes
from revocab.report.values import HeldoutLoss, TaskScore, difference
from revocab.training.recipe import ANSWERS

#: By how much fertility must fall.
FALL = 0.2
#: A family counts as above or below chance if it is so by more than this many errors; so many
#: English families must be.
STANDARD_ERRORS, FAMILIES = 2, 4
#: Runs that must start better than the run called ``random``, and all in the order expected.
BETTER, ORDER = ("sava", "fvt"), ("sava", "fvt", "random")
#: The checkpoint at which runs are compared with their base model.
STEP = "last"


def adapted_language(results: Results, group: str) -> str | None:
    """Return the language whose share grows most from what a group's source model was pretrained on
    to what the group's first run on text sees.

    Where the source model is not pretrained in this experiment, it is the language with the largest
    share; of equals, the one that the mixture names first. None if no run is trained on text:
    tuning on answers adapts a model to no language.
    """
    experiment = results.experiment
    runs = results.group(group, evaluated=False)
    recipes = experiment.recipes
    on_text = (
        run for run in runs if run.trains and run.recipe and recipes[run.recipe].loss != ANSWERS
    )
    run = next(on_text, None)
    if run is None:
        return None
    pretraining = experiment.models[run.source].pretrain
    before = language_shares(experiment, pretraining.mixture) if pretraining else {}
    shares = seen_shares(experiment, run)
    return max(shares, key=lambda language: shares[language] - before.get(language, 0))


def seen_shares(experiment: Experiment, run: Run) -> dict[str, float]:
    assert run.recipe is not None and run.mixture is not None  # trained
    stages = experiment.recipes[run.recipe].stages
    steps = {stage.name: stage.steps for stage in stages} if stages else {"all": 1}
    shares: dict[str, float] = {}
    for stage, taken in steps.items():
        mixture = run.stage_mixtures.get(stage, run.mixture)
        for language, share in language_shares(experiment, mixture).items():
            shares[language] = shares.get(language, 0) + share * taken / sum(steps.values())
    return shares


def language_shares(experiment: Experiment, mixture: str) -> dict[str, float]:
    parts = experiment.mixtures[mixture]
    by_size = [corpus for corpus, share in parts.items() if share == "size"]
    rest = 1 - sum(share for share in parts.values() if share != "size")
    shares: dict[str, float] = {}
    for corpus, share in parts.items():
        language = experiment.corpora[corpus].language
        # Sizes are unknown here: what the fixed shares leave is taken as split evenly.
        known = rest / len(by_size) if share == "size" else share
        shares[language] = shares.get(language, 0) + known
    return shares


def adapted(results: Results) -> Iterator[tuple[str, str, list[Run]]]:
    """Yield each group that is adapted to a language, the language, and its trained runs."""
    for group in results.experiment.runs:
        language = adapted_language(results, group)
        if language is not None:
            runs = results.group(group, evaluated=False)
            yield group, language, [run for run in runs if run.trains]


# Which run ends best ------------------------------------------------------------------------------


def winners(results: Results) -> Iterator[Claim]:
    """Yield which run of a group ends best on held-out text, and whether it is ahead of all others.

    The winner is picked by the losses that are then compared. Its intervals therefore hold for all
    pairs of the group's runs at once, whichever run had won.
    """
    for group, language, runs in adapted(results):
        loss = HeldoutLoss(language=language, step="last")
        losses = [(loss.cell(results, run).value, run) for run in runs]
        ended = [(value, run) for value, run in losses if value is not None]
        if len(ended) < 2:
            continue
        (best, winner), *others = sorted(ended, key=lambda pair: pair[0])
        leads, pairs = leads_of(results, loss, winner, [run for _, run in others])
        # An interval is of the seeds that both have, and so is its middle.
        entries: list[dict[str, Any]] = [
            {"run": run, "value": value, "lead": lead,
             "ahead": value - best if lead is None else lead.difference}
            for (value, run), lead in zip(others, leads, strict=True)
        ]  # fmt: skip
        first, *rest = entries
        few = [each for each in rest if each["lead"] is None and first["lead"] is not None]
        yield claim_of(
            "winner",
            all_of(None if lead is None else tell(lead.low, lead.high) for lead in leads),
            label=results.experiment.runs[group].label,
            language=language,
            winner=winner,
            best=best,
            first=first,
            unsure=[each for each in rest if each["lead"] and each["lead"].low <= 0],
            few=few,
            pairs=pairs,
        )


def leads_of(
    results: Results, loss: HeldoutLoss, winner: Run, others: Sequence[Run]
) -> tuple[list[SeedInterval | None], int]:
    """Return by how much each other run loses, None where seeds are too few to tell; and for how
    many pairs of runs these intervals hold at once.
    """
    ours, *theirs = [loss.by_seed(results, run) for run in (winner, *others)]
    pairs = math.comb(sum(len(values) >= FEWEST_SEEDS for values in (ours, *theirs)), 2)
    leads: list[SeedInterval | None] = []
    for values in theirs:
        seeds = [seed for seed in ours if seed in values]
        sides = [values[seed] for seed in seeds], [ours[seed] for seed in seeds]
        enough = len(seeds) >= FEWEST_SEEDS
        leads.append(paired_interval(*sides, comparisons=pairs) if enough else None)
    return leads, pairs


# Tokenizers and base models -----------------------------------------------------------------------


def reductions(results: Results) -> list[Record]:
    """Return, for every pair of tokenizers that runs or ``intersections`` name, how much fertility
    falls on each corpus from the first tokenizer to the second.
    """
    measured = results.measured_tokenizers
    rows = []
    for source, target in results.tokenizer_pairs():
        for corpus in results.experiment.fertility.corpora:
            if (source, corpus) in measured and (target, corpus) in measured:
                first, second = (measured[place, corpus] for place in (source, target))
                before, after = number(first["fertility"]), number(second["fertility"])
                assert before is not None and after is not None  # measured
                row = {"source": source, "target": target, "corpus": corpus, "before": before}
                row |= {"language": first["language"], "after": after, "fall": 1 - after / before}
                rows.append(row)
    return rows


def falls(results: Results) -> Iterator[Claim]:
    """Yield whether fertility falls, in the languages that a tokenizer is for."""
    languages: dict[tuple[str, str], set[str | None]] = {}
    for run in results.runs:
        if not run.keeps_vocabulary:
            pair = (run.source_tokenizer, run.target)
            languages.setdefault(pair, set()).add(adapted_language(results, run.group))
    everywhere = set().union(*languages.values())
    for row in reductions(results):
        if row["language"] in languages.get((row["source"], row["target"]), everywhere):
            trained = row["corpus"] in results.trained_on(row["target"])
            yield claim_of("fertility", row["fall"] >= FALL, least=FALL, trained=trained, **row)


def chance(results: Results, task: str) -> float | None:
    """Return the accuracy of blind guessing: the mean of 1 / choices over the scored items.

    Falls back on the family's usual number of choices where the items are not on this machine.
    """
    setting = results.experiment.evaluation.multiple_choice
    data = setting.tasks[task].data
    path = Path(data.path) if data and data.path else None
    if data and data.world:
        path = results.resources / "world" / f"{data.world}.jsonl.gz"
    if path is not None:
        try:
            choices = [len(row["choices"]) for row in read_jsonl(path)][: setting.limit]
            return math.fsum(1 / count for count in choices) / len(choices)
        except (RevocabError, KeyError, ZeroDivisionError):
            pass  # not here, or of another shape: the usual number of choices is known
    return family_chance(results.family(task))


def scored(results: Results, group: str, language: str) -> list[Record]:
    base = results.base(group)
    rows = []
    for task in results.choice_tasks(language):
        score = results.scores.choice(base.id, 0, task, results.family(task))
        guess = chance(results, task)
        if score is None or guess is None:
            continue
        stderr = score["stderr"] or 0.0
        reach = STANDARD_ERRORS * stderr
        above = tell(score["value"] - reach - guess, score["value"] + reach - guess)
        row = {"task": task, "value": score["value"], "stderr": stderr, "chance": guess}
        rows.append({**row, "above": above})
    return rows


def above_chance(results: Results) -> Iterator[Claim]:
    """Yield whether a base model answers better than blind guessing."""
    for group in results.experiment.runs:
        rows = scored(results, group, "en")
        if len(rows) < FAMILIES or results.base(group).scores_of:
            continue
        verdicts = [row["above"] for row in rows]
        above, unclear = verdicts.count(True), verdicts.count(None)
        yield claim_of(
            "above_chance",
            tell(above - FAMILIES + 0.5, above + unclear - FAMILIES + 0.5),
            label=results.base(group).label,
            errors=STANDARD_ERRORS,
            families=FAMILIES,
            above=above,
            rows=rows,
        )


# How runs begin -----------------------------------------------------------------------------------


def better_starts(results: Results) -> Iterator[Claim]:
    """Yield whether the runs of :data:`BETTER` have fewer held-out bits per byte than random, in
    the adapted language at the first checkpoint, by intervals over seeds that hold at once.
    """
    for group, language, trained in adapted(results):
        runs = {run.name: run for run in trained}
        named = [runs[name] for name in BETTER if name in runs]
        loss = HeldoutLoss(language=language, step="first")
        for run in named if "random" in runs else ():
            found = difference(results, (loss, runs["random"]), (loss, run))
            if found is None:
                continue
            interval = found.interval(len(named))
            yield claim_of(
                "better_start",
                None if interval is None else tell(*interval),
                label=results.base(group).label,
                language=language,
                name=run.name,
                losses=[loss.cell(results, each).value or 0.0 for each in (run, runs["random"])],
                interval=interval,
                seeds=found.seeds,
                at_once=len(named),
            )


def early_order(results: Results) -> Iterator[Claim]:
    """Yield, of runs with seeds, whether they are in the order expected in early held-out loss."""
    for group, language, trained in adapted(results):
        named = {run.name: run for run in trained}
        runs = [named[name] for name in ORDER if name in named]
        if any(len(results.replicates(run)) < FEWEST_SEEDS for run in runs):
            continue
        # By ascending seed, so that those of two runs belong together.
        curves = [
            [
                heldout_curve(results, replicate, language)
                for replicate in sorted(results.replicates(run), key=lambda run: run.seed)
            ]
            for run in runs
        ]
        steps = {step for of in curves for curve in of for step in curve if step}
        if len(runs) < 2 or not steps:
            continue
        step = min(steps)
        where = {"label": results.experiment.runs[group].label, "language": language, "step": step}
        values = [[curve[step] for curve in of if step in curve] for of in curves]
        yield order_claim(where, [method_label(run) for run in runs], values)


def order_claim(
    where: dict[str, Any], labels: Sequence[str], values: Sequence[Sequence[float]]
) -> Claim:
    """Return the claim on values by seed that are expected to ascend from one run to the next."""
    if len({*map(len, values)}) > 1 or len(values[0]) < FEWEST_SEEDS:
        return claim_of("early_order", None, **where, labels=labels, runs=[])
    pairs = [
        [paired_interval(worse, of, comparisons=n) for n in (1, len(values) - 1)]
        for of, worse in pairwise(values)
    ]
    return claim_of(
        "early_order",
        all_of(tell(alone.low, at_once.high) for alone, at_once in pairs if alone and at_once),
        **where,
        labels=labels,
        seeds=len(values[0]),
        runs=[(fmean(of), deviation(of)) for of in values],
        steps=[(alone, *pairwise_labels) for (alone, _), pairwise_labels in zip(
            pairs, pairwise(labels), strict=True)],
    )  # fmt: skip


# Adapted models and their base --------------------------------------------------------------------


def beats_base(results: Results) -> Iterator[Claim]:
    """Yield whether adapted models end better than the base model in the adapted language.

    Whether a difference is more than chance is told by the comparison item by item where a table
    shows one, else by the errors of both averages, over items and, of runs that have any, over
    seeds.
    """
    for group, language, trained in adapted(results):
        average, base = TaskScore.average(language, STEP), results.base(group)
        level = average.cell(results, base)
        if level.value is None:
            continue
        compared = comparisons(results, group, average_task(language))
        runs = [run for run in trained if run.evaluate]
        gains = [(run, difference(results, (average, run), (average, base))) for run in runs]
        known = [(run, found) for run, found in gains if found is not None]
        rows = [
            {"run": run, "cell": average.cell(results, run), "found": found,
             "compared": compared.get((run.id, base.id))}
            for run, found in known
        ]  # fmt: skip
        if known:
            yield claim_of(
                "beats_base",
                all_of(is_above(found, len(rows), compared.get((run.id, base.id)))
                       for run, found in known),
                label=base.label, language=language, level=level, rows=rows,
            )  # fmt: skip


def comparisons(results: Results, group: str, task: str) -> dict[tuple[str, str], Record]:
    """Return the comparisons of a group's runs on a task by pair, in both orders, with the sign of
    the difference; none where no table shows them.
    """
    shown = {pair for table in results.experiment.tables.values() for pair in table.compared()}
    if (group, STEP) not in shown:
        return {}
    differences: dict[tuple[str, str], Record] = {}
    for row in results.csv("significance", group, "significance.csv"):
        if (row["step"], row["task"], row["metric"]) == (STEP, task, AVERAGE):
            found = float(row["difference"])
            differences[row["run"], row["other"]] = {**row, "difference": found}
            differences[row["other"], row["run"]] = {**row, "difference": -found}
    return differences


def is_above(found: Difference, runs: int, compared: Record | None = None) -> bool | None:
    """Return whether a run is above its base model, one of so many; None: it cannot be told."""
    if compared is not None:
        return compared["difference"] > 0 if is_marked(compared) else None
    alone, at_once = found.interval(), found.interval(runs)
    return None if alone is None or at_once is None else tell(alone[0], at_once[1])


def claim_of(kind: str, holds: bool | None, **about: Any) -> Claim:
    """Return a claim by its macro in ``templates/notes.j2``: a line each for what it states and for
    its numbers.
    """
    statement, *numbers = notes(f"claim_{kind}", about)
    return Claim(statement, " ".join(numbers), holds)


CLAIMS = tuple(
    ClaimKind(name, place, find)
    for place, (name, find) in enumerate(
        {
            "winner": winners, "fertility": falls, "above-chance": above_chance,
            "better-start": better_starts, "early-order": early_order, "beats-base": beats_base,
        }.items()
    )
)  # fmt: skip
