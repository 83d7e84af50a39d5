"""The first screen of the page: what ran, what came out, what it cost, what it cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from revocab import __version__
from revocab.report.claim import Claim
from revocab.report.claims.winner import find as winners
from revocab.report.names import in_order
from revocab.report.page.cautions import limitations
from revocab.report.results import Results

#: Kinds of figures that tell most at a glance, the best first.
TELLING = ("heldout", "average_score", "loss", "models_by_language", "bars")

#: Of claims that hold, that do not, and that cannot be told; the first say most.
MARKS = {True: "✓", False: "✗", None: "?"}


@dataclass(frozen=True)
class Line:
    """One line: what it is about, its text, and where more of it stands on the page.

    ``measured``: it holds times or a machine, which differ when the same experiment runs again.
    """

    about: str
    text: str
    link: str = ""
    measured: bool = False


def picture(results: Results) -> str | None:
    """Return the id of the figure at the top: one of the most telling kind, of those the last,
    which is the experiment's own where others repeat a paper's.
    """
    figures = results.experiment.figures
    of_kinds = [
        [name for name in in_order(figures) if figures[name].kind == kind] for kind in TELLING
    ]
    return next((names[-1] for names in of_kinds if names), next(iter(in_order(figures)), None))


def lines(results: Results, claims: Sequence[Claim]) -> list[Line]:
    trained = [run for run in results.runs if run.trains]
    labels = list(dict.fromkeys(results.model_label(run) for run in results.runs))
    ran = f"{len(results.runs)} runs, {len(trained)} of them trained: {'; '.join(labels)}. "
    ran += f"{len(results.scores.rows):,} scores."
    lines = [Line("What ran", ran, "provenance")]
    best = sorted(winners(results), key=lambda claim: list(MARKS).index(claim.holds))
    if best:
        came = f"{MARKS[best[0].holds]} {best[0].statement}: {best[0].numbers}."
        lines.append(Line("What came out", came, "shows"))
    if claims:
        holds = [claim.holds for claim in claims]
        counts = [holds.count(verdict) for verdict in MARKS]
        words = (f"✓ {counts[0]} hold", f"✗ {counts[1]} do not", f"? {counts[2]} cannot be told")
        shown = [word for word, count in zip(words, counts, strict=True) if count]
        lines.append(Line("Claims", ", ".join(shown), "shows"))
    if cost := cost_in_words(results):
        lines.append(Line("What it cost", cost, "timings", measured=True))
    cautions = limitations(results)
    if cautions:
        lines.append(Line("What it cannot tell", cautions[0], "limitations"))
    lines.append(Line("Made by", made_by(results), "provenance", measured=True))
    return lines


def cost_in_words(results: Results) -> str:
    folders = [("models", model) for model in results.experiment.models]
    folders += [("runs", run.id) for run in results.runs if run.trains]
    timings = [timing for parts in folders if (timing := results.json(*parts, "timing.json"))]
    if not timings:
        return ""
    seconds = sum(timing.get("seconds") or 0 for timing in timings)
    peak = max(timing.get("peak_memory_bytes") or 0 for timing in timings)
    devices = ", ".join(sorted({str(timing.get("device")) for timing in timings}))
    spent = f"{seconds / 60:.1f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
    return (
        f"{len(timings)} trainings in {spent} ({devices}), at most {peak / 1e9:.2f} GB of memory "
        "each."
    )


def made_by(results: Results) -> str:
    started = results.json("machine.json") or {}
    keys = ("revocab", "commit", "date", "machine", "command")
    known = {"revocab": __version__, **started}
    return "; ".join(f"{key} {known[key]}" for key in keys if known.get(key)) + "."
