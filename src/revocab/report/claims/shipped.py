"""What an experiment shows by itself: the winner, fertility, chance, starts, their order, the base.

A difference counts where its error allows it. What needs all of several differences needs each
interval by itself; that one is the other way round, or which is the greatest, needs intervals that
hold for all at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean

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
from revocab.languages import language_label
from revocab.report.annotations import Run
from revocab.report.claim import Claim, ClaimKind
from revocab.report.names import method_label
from revocab.report.results import Record, Results, number
from revocab.report.results.adapted_language import adapted_language
from revocab.report.results.heldout_losses import heldout_curve
from revocab.report.results.scores import AVERAGE, average_task
from revocab.report.table_parts.table import Cell
from revocab.report.tables.significance import is_marked
from revocab.report.values.losses import HeldoutLoss
from revocab.report.values.run_value import difference
from revocab.report.values.task_scores import TaskScore

#: By how much fertility must fall.
FALL = 0.2
#: A family counts as above or below chance if it is so by more than this many errors; so many
#: English families must be.
STANDARD_ERRORS, FAMILIES = 2, 4
#: Runs that must start better than the run called ``random``, and all in the order expected.
BETTER, ORDER = ("sava", "fvt"), ("sava", "fvt", "random")
#: The checkpoint at which runs are compared with their base model.
STEP = "last"


def adapted(results: Results) -> Iterator[tuple[str, str, list[Run]]]:
    """Yield each group that is adapted to a language, the language, and its trained runs."""
    for group in results.experiment.runs:
        language = adapted_language(results, group)
        if language is not None:
            runs = results.group(group, evaluated=False)
            yield group, language, [run for run in runs if run.trains]


def interval_text(interval: tuple[float, float] | None, seeds: int, at_once: int) -> str:
    if interval is None:
        return f"without an interval, which takes {FEWEST_SEEDS} seeds"
    of = f", for all {at_once} pairs of runs at once," if at_once > 1 else ""
    return f"95 % interval over {seeds} seeds{of} {interval[0]:.4f} to {interval[1]:.4f}"


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
        yield Claim(
            f"{results.experiment.runs[group].label}: {method_label(winner)} ends best on held-out "
            f"{language_label(language)} text",
            f"{best:.4f} bits per byte; {leads_text(best, others, leads, pairs)}",
            all_of(None if lead is None else tell(lead.low, lead.high) for lead in leads),
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


def leads_text(
    best: float,
    others: Sequence[tuple[float, Run]],
    leads: Sequence[SeedInterval | None],
    pairs: int,
) -> str:
    """Return the lead over the next run and over each other one that it may be by chance, every
    one with its own interval.
    """
    words = []
    for place, ((value, run), lead) in enumerate(zip(others, leads, strict=True)):
        name = f"next {method_label(run)} {value:.4f}; lead" if place == 0 else method_label(run)
        if place == 0 or (lead is not None and lead.low <= 0):
            # An interval is of the seeds that both have, and so is its middle.
            ahead = value - best if lead is None else lead.difference
            ends = None if lead is None else (lead.low, lead.high)
            words.append(
                f"{name} {ahead:.4f}, {interval_text(ends, lead.seeds if lead else 0, pairs)}"
            )
    few = [method_label(run) for (_, run), lead in zip(others[1:], leads[1:], strict=True)
           if lead is None and leads[0] is not None]  # fmt: skip
    if few:
        words.append(f"{', '.join(few)}: {interval_text(None, 0, pairs)}")
    first, *unsure = words
    return f"{first}; may be chance over {'; '.join(unsure)}" if unsure else first


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
            known = row["corpus"] in results.trained_on(row["target"])
            flatters = f"; {row['target']} was trained on {row['corpus']}, so this flatters it"
            change = f"falls by {row['fall']:.1%}" if row["fall"] >= 0 else (
                f"rises by {-row['fall']:.1%}"
            )  # fmt: skip
            yield Claim(
                f"{language_label(row['language'])} fertility on {row['corpus']} falls by at least "
                f"{FALL:.0%} from {row['source']} to {row['target']}",
                f"{row['before']:.3f} → {row['after']:.3f}: {change}{flatters if known else ''}",
                row["fall"] >= FALL,
            )


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
        listed = "; ".join(
            f"{row['task']} {100 * row['value']:.1f}±{100 * row['stderr']:.1f} "
            f"(chance {100 * row['chance']:.1f})"
            for row in rows
        )
        yield Claim(
            f"{results.base(group).label}: above chance by more than {STANDARD_ERRORS} standard "
            f"errors on at least {FAMILIES} English families",
            f"{above} of {len(rows)}: {listed}",
            tell(above - FAMILIES + 0.5, above + unclear - FAMILIES + 0.5),
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
        where = f"held-out {language_label(language)} bits per byte at the first checkpoint"
        for run in named if "random" in runs else ():
            found = difference(results, (loss, runs["random"]), (loss, run))
            if found is None:
                continue
            ours, random = (loss.cell(results, one).value or 0.0 for one in (run, runs["random"]))
            interval = found.interval(len(named))
            yield Claim(
                f"{results.base(group).label}: {where}, {run.name} < random",
                f"{ours:.4f} against {random:.4f}; "
                + interval_text(interval, found.seeds, len(named)),
                None if interval is None else tell(*interval),
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
        step, labels = min(steps), [method_label(run) for run in runs]
        where = f"{results.experiment.runs[group].label}: held-out {language_label(language)}"
        statement = f"{where} bits per byte at step {step}, {' < '.join(labels)}"
        values = [[curve[step] for curve in of if step in curve] for of in curves]
        yield order_claim(statement, labels, values)


def order_claim(statement: str, labels: Sequence[str], values: Sequence[Sequence[float]]) -> Claim:
    """Return the claim on values by seed that are expected to ascend from one run to the next."""
    if len({*map(len, values)}) > 1 or len(values[0]) < FEWEST_SEEDS:
        return Claim(statement, "", None)
    named = [*zip(labels, values, strict=True)]
    parts = [f"{label} {fmean(of):.4f} ± {deviation(of):.4f}" for label, of in named]
    verdicts = []
    for (label, of), (other, worse) in pairwise(named):
        alone, at_once = (paired_interval(worse, of, comparisons=n) for n in (1, len(named) - 1))
        assert alone is not None and at_once is not None  # at least FEWEST_SEEDS
        parts.append(
            f"{other} − {label} {alone.difference:.4f}, 95 % interval {alone.low:.4f} to "
            f"{alone.high:.4f}"
        )
        verdicts.append(tell(alone.low, at_once.high))
    return Claim(statement, f"{len(values[0])} seeds: {'; '.join(parts)}", all_of(verdicts))


# Adapted models and their base --------------------------------------------------------------------


@dataclass(frozen=True)
class Gain:
    """Whether a run is above its base model, and what is said of chance behind its value."""

    above: bool | None
    chance: str = ""


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
        listed, verdicts = [f"base {percent(level)}"], []
        for run, found in known:
            gain = gain_of(found, len(known), compared.get((run.id, base.id)))
            cell = average.cell(results, run)
            listed.append(f"{method_label(run)} {percent(cell)}{gain.chance}")
            verdicts.append(gain.above)
        if known:
            yield Claim(
                f"{base.label}: at the last checkpoint every adapted model beats the base model's "
                f"{language_label(language)} average",
                f"{listed[0]}; {', '.join(listed[1:])}",
                all_of(verdicts),
            )


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


def gain_of(found: Difference, runs: int, compared: Record | None = None) -> Gain:
    """Return what is known of a run's difference to its base model, one of so many."""
    if compared is not None:
        p = f" (p {float(compared['p_holm']):.3g}" if compared["p_holm"] else " (no p"
        p += f", {compared['seeds']} seeds)" if compared.get("seeds") else ")"
        return Gain(compared["difference"] > 0 if is_marked(compared) else None, p)
    alone, at_once = found.interval(), found.interval(runs)
    if alone is None or at_once is None:
        return Gain(None, " (no error known)")
    ends = " to ".join(f"{100 * end:+.2f}" for end in alone)
    seeds = f" over items and {found.seeds} seeds" if found.seeds > 1 else " over items"
    return Gain(tell(alone[0], at_once[1]), f" (95 % interval of the gain{seeds} {ends})")


def percent(cell: Cell) -> str:
    error = f"±{100 * cell.stderr:.2f}" if cell.stderr else ""
    return f"{100 * (cell.value or 0):.2f}{error}"


CLAIMS = tuple(
    ClaimKind(name, place, find)
    for place, (name, find) in enumerate(
        {
            "winner": winners, "fertility": falls, "above-chance": above_chance,
            "better-start": better_starts, "early-order": early_order, "beats-base": beats_base,
        }.items()
    )
)  # fmt: skip
