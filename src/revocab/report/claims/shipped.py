"""What an experiment shows by itself: the winner, fertility, the base.

A difference counts where its error allows it. What needs all of several differences needs each
interval by itself; that one is the other way round, or which is the greatest, needs intervals that
hold for all at once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from revocab.evaluation.over_seeds import FEWEST_SEEDS, Difference, all_of, paired_difference, tell
from revocab.report.annotations import Experiment, Run
from revocab.report.claims import Claim
from revocab.report.results import Record, Results, number
from revocab.report.results.scores import AVERAGE, average_task
from revocab.report.table import difference
from revocab.report.tables.significance import is_marked
from revocab.report.template import notes
from revocab.report.values import Average, HeldoutLoss
from revocab.training.recipe import ANSWERS

#: By how much fertility must fall.
FALL = 0.2
#: The checkpoint at which runs are compared with their base model.
STEP = "last"


def claims(results: Results) -> Iterator[Claim]:
    for find in (winners, falls, beats_base):
        yield from find(results)


CLAIMS = claims


def claim_of(kind: str, holds: bool | None, **about: Any) -> Claim:
    """Return a claim by its macro in ``templates/notes.j2``: a line each for what it states and for
    its numbers.
    """
    statement, *numbers = notes(f"claim_{kind}", about)
    return Claim(statement, " ".join(numbers), holds)


def adapted_language(results: Results, group: str) -> str | None:
    """Return the language whose share grows most from what a group's source model was pretrained on
    to what the group's first run on text sees. Where the source model is not pretrained in this
    experiment, it is the language with the largest share; of equals, the one that the mixture names
    first. None if no run is trained on text: tuning on answers adapts a model to no language.
    """
    experiment = results.experiment
    for run in results.group(group, evaluated=False):
        recipe = experiment.recipes.get(run.recipe or "")
        if not run.trains or recipe is None or run.mixture is None or recipe.loss == ANSWERS:
            continue
        stages = [
            (run.stage_mixtures.get(stage.name, run.mixture), stage.steps)
            for stage in recipe.stages or ()
        ]
        pretraining = experiment.models[run.source].pretrain
        before = language_shares(experiment, [(pretraining.mixture, 1)] if pretraining else ())
        shares = language_shares(experiment, stages or [(run.mixture, 1)])
        return max(shares, key=lambda language: shares[language] - before[language])
    return None


def language_shares(experiment: Experiment, stages: Iterable[tuple[str, int]]) -> dict[str, float]:
    """Return the share of each language in mixtures that are trained on for so many steps."""
    stages = list(stages)
    shares: dict[str, float] = defaultdict(float)
    for mixture, steps in stages:
        parts = experiment.mixtures[mixture]
        fixed = [share for share in parts.values() if share != "size"]
        # Sizes are unknown here: what the fixed shares leave is taken as split evenly.
        rest = (1 - sum(fixed)) / max(1, len(parts) - len(fixed))
        for corpus, share in parts.items():
            part = (rest if share == "size" else share) * steps / sum(taken for _, taken in stages)
            shares[experiment.corpora[corpus].language] += part
    return shares


def adapted(results: Results) -> Iterator[tuple[str, str, list[Run]]]:
    """Yield each group that is adapted to a language, the language, and its trained runs."""
    for group in results.experiment.runs:
        language = adapted_language(results, group)
        if language is not None:
            runs = results.group(group, evaluated=False)
            yield group, language, [run for run in runs if run.trains]


def winners(results: Results) -> Iterator[Claim]:
    """Yield which run of a group ends best on held-out text, and whether it is ahead of all others.
    The winner is picked by the losses that are then compared. Its intervals therefore hold for all
    pairs of the group's runs at once, whichever run had won.
    """
    for group, language, runs in adapted(results):
        loss = HeldoutLoss(language=language, step="last")
        cells = [(run, loss.cell(results, run)) for run in runs]
        ended = [(cell.value, run, cell) for run, cell in cells if cell.value is not None]
        if len(ended) < 2:
            continue
        (best, winner, ours), *others = sorted(ended, key=lambda each: each[0])
        pairs = math.comb(sum(len(cell.by_seed) >= FEWEST_SEEDS for *_, cell in ended), 2)
        leads = []
        for *_, cell in others:
            _, lead = paired_difference(cell.by_seed, ours.by_seed, comparisons=pairs)
            leads.append(lead if lead is not None and lead.seeds >= FEWEST_SEEDS else None)
        # An interval is of the seeds that both have, and so is its middle.
        entries: list[dict[str, Any]] = [
            {"run": run, "value": value, "lead": lead,
             "ahead": value - best if lead is None else lead.difference}
            for (value, run, _), lead in zip(others, leads, strict=True)
        ]  # fmt: skip
        first, *rest = entries
        holds = all_of(None if lead is None else tell(lead.low, lead.high) for lead in leads)
        yield claim_of(
            "winner",
            holds,
            label=results.experiment.runs[group].label,
            language=language,
            winner=winner,
            best=best,
            first=first,
            unsure=[each for each in rest if each["lead"] and each["lead"].low <= 0],
            few=[each for each in rest if first["lead"] and each["lead"] is None],
            pairs=pairs,
        )


def falls(results: Results) -> Iterator[Claim]:
    """Yield whether fertility falls between two tokenizers that runs or ``intersections`` name, in
    the languages that the second is for.
    """
    measured = results.measured_tokenizers
    languages: dict[tuple[str, str], set[str | None]] = {}
    for run in results.runs:
        if not run.keeps_vocabulary:
            pair = (run.source_tokenizer, run.target)
            languages.setdefault(pair, set()).add(adapted_language(results, run.group))
    everywhere = set().union(*languages.values())
    for source, target in results.tokenizer_pairs():
        for corpus in results.experiment.fertility.corpora:
            rows = [measured.get((tokenizer, corpus), {}) for tokenizer in (source, target)]
            before, after = (number(row.get("fertility")) for row in rows)
            language, spoken = rows[0].get("language"), languages.get((source, target), everywhere)
            if before and after is not None and language in spoken:
                fall, trained = 1 - after / before, corpus in results.trained_on(target)
                about = {"source": source, "target": target, "corpus": corpus, "trained": trained}
                about |= {"language": language, "before": before, "after": after, "fall": fall}
                yield claim_of("fertility", fall >= FALL, least=FALL, **about)


def beats_base(results: Results) -> Iterator[Claim]:
    """Yield whether adapted models end better than the base model in the adapted language. Whether
    a difference is more than chance is told by the comparison item by item where a table shows one,
    else by the errors of both averages, over items and, of runs that have any, over seeds.
    """
    for group, language, trained in adapted(results):
        average, base = Average(language=language), results.base(group)
        level = average.cell(results, base)
        compared = comparisons(results, group, average_task(language))
        rows: list[dict[str, Any]] = []
        for run in (run for run in trained if run.evaluate):
            cell = average.cell(results, run)
            if found := difference(cell, level):
                row = {"run": run, "cell": cell, "found": found}
                rows.append({**row, "compared": compared.get((run.id, base.id))})
        verdicts = [is_above(row["found"], len(rows), row["compared"]) for row in rows]
        if rows:
            about = {"label": base.label, "language": language, "level": level}
            yield claim_of("beats_base", all_of(verdicts), **about, rows=rows)


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
