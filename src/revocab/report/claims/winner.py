"""Which run of a group ends best on held-out text, and by how much more than the next."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.evaluation.over_seeds import paired_interval
from revocab.languages import language_label
from revocab.report.claim import Claim, ClaimKind
from revocab.report.names import method_label
from revocab.report.results import Results
from revocab.report.results.adapted_language import adapted_language
from revocab.report.values.losses import HeldoutLoss


def find(results: Results) -> Iterator[Claim]:
    """Yield the run of each group with the least held-out loss at its last checkpoint, in the
    adapted language; it is ahead where the interval over seeds of its lead lies above 0.
    """
    for group, settings in results.experiment.runs.items():
        language = adapted_language(results, group)
        if language is None:
            continue
        loss = HeldoutLoss(language=language, step="last")
        losses = {
            run.id: (value, run)
            for run in results.group(group, evaluated=False)
            if run.trains and (value := loss.cell(results, run).value) is not None
        }
        if len(losses) < 2:
            continue
        (best, winner), (next_best, second) = sorted(losses.values(), key=lambda pair: pair[0])[:2]
        ours, others = loss.by_seed(results, winner), loss.by_seed(results, second)
        seeds = [seed for seed in ours if seed in others]
        over = paired_interval([others[seed] for seed in seeds], [ours[seed] for seed in seeds])
        numbers = f"{best:.4f} bits per byte; next {method_label(second)} {next_best:.4f}; "
        numbers += (
            f"lead {over.difference:.4f}, 95 % interval over {over.seeds} seeds {over.low:.4f} to "
            f"{over.high:.4f}"
            if over
            else f"lead {next_best - best:.4f}, one seed each, so without an interval"
        )
        yield Claim(
            f"{settings.label}: {method_label(winner)} ends best on held-out "
            f"{language_label(language)} text",
            numbers,
            over.low > 0 if over else None,
        )


CLAIMS = ClaimKind("winner", place=0, find=find)
