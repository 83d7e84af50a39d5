"""Held-out losses of runs by language and step: per byte, or per token of a reference tokenizer.

Loss per token cannot be compared between tokenizers, since they cut the same text into different
numbers of tokens. The nats of the whole text can: divided by its bytes they give bits per byte,
divided by the tokens of one reference tokenizer a loss in the unit of that tokenizer (L times
N / N_reference, as in appendix B of Gosal et al.). Both rank models alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from revocab.closed import PLACES, Id, Step, unknown
from revocab.io import read_json
from revocab.languages import language_label
from revocab.report.prerequisites import manifest

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment
    from revocab.report.results.folder import Results

#: Number of tokens by corpus and bytes of its held-out text.
TokenCounts = Mapping[tuple[str, int], int]


def token_counts(results: Results, tokenizer: str) -> TokenCounts:
    """Return how many tokens a tokenizer cuts each held-out text into.

    The length of windows changes no count. Bytes are part of the key, so that counts of another
    text, left in the folder, are not taken.
    """
    files = sorted(results.root.glob(f"heldout/{tokenizer}--*/manifest.json"))
    return {
        (corpus, found["bytes"]): found["tokens"]
        for file in files
        for corpus, found in read_json(file)["corpora"].items()
    }


def heldout_curve(
    results: Results,
    run: Run,
    language: str,
    reference: str | None = None,
    *,
    answers: bool = False,
) -> dict[int, float]:
    """Return the loss on all held-out text of a language by step, ascending.

    Answers in conversations do not count, or with ``answers`` they alone. In bits per byte; with
    ``reference``, in nats per token of that tokenizer on the same text. A step at which a text has
    no loss, or no count of tokens, is left out.
    """
    counts = token_counts(results, reference) if reference else {}
    sums: dict[int, list[float]] = {}
    rows = results.heldout_answers if answers else results.heldout_text
    for row in rows(run, language):
        bits = math.nan if row["bits_per_byte"] is None else row["bits_per_byte"]
        size = counts.get((row["corpus"], row["bytes"]), math.nan) if reference else row["bytes"]
        total = sums.setdefault(row["step"], [0.0, 0.0])
        total[0] += bits * row["bytes"]
        total[1] += size
    unit = math.log(2) if reference else 1.0
    losses = {step: bits * unit / size for step, (bits, size) in sorted(sums.items()) if size}
    return {step: loss for step, loss in losses.items() if not math.isnan(loss)}


def loss_at(run: Run, curve: Mapping[int, float], step: Step) -> float | None:
    """Return a run's loss at a step; None if it has none there.

    A number may be a step at which only held-out loss was measured. A run that is not trained has
    step 0, whatever is wanted.
    """
    if isinstance(step, int) and run.trains:
        return curve.get(step)
    return next((curve[one] for one in run.select([step]) if one in curve), None)


def steps_to_reach(
    curve: Mapping[int, float], loss: float, interpolate: bool = True
) -> float | None:
    """Return after how many steps a loss is reached; None if it is not.

    That is the first measured step at or below it; with ``interpolate``, where a straight line from
    the step before reaches it.
    """
    before: tuple[int, float] | None = None
    for step, value in sorted(curve.items()):
        if value <= loss:
            if before is None or not interpolate:
                return float(step)
            share = (before[1] - loss) / (before[1] - value)
            return before[0] + share * (step - before[0])
        before = step, value
    return None


def unit(reference: str | None) -> str:
    """Return the unit of a loss as readers see it."""
    return f"nats per token of {reference}" if reference else "bits per byte"


def languages_shown(results: Results, languages: Sequence[Id] | None) -> list[str]:
    """Return the languages that are named, else those of all held-out text."""
    return list(languages) if languages is not None else text_languages(results.experiment)


def text_languages(experiment: Experiment) -> list[str]:
    """Return the languages of held-out text that is no conversation, in the file's order."""
    from revocab.config.corpora import text_corpora  # imports the schema, which imports kinds

    corpora = experiment.corpora
    texts = text_corpora(experiment, experiment.evaluation.heldout)
    return list(dict.fromkeys(corpora[one].language for one in texts if one in corpora))


def answer_languages(experiment: Experiment) -> list[str]:
    """Return the languages of held-out conversations, in the file's order."""
    named = (experiment.corpora.get(one) for one in experiment.evaluation.heldout)
    return list(dict.fromkeys(one.language for one in named if one and one.holds_conversations))


def counted_files(layout: Layout, runs: Iterable[str], reference: str | None) -> list[str]:
    """Return the file with the reference tokenizer's counts, none where there is none."""
    if reference is None:
        return []
    lengths = (layout.heldout_length(one) for run in runs for one in layout.replicates(run))
    length = next((one for one in lengths if one), None)
    return [manifest(layout.paths.heldout(reference, str(length)))] if length else []


def heldout_problems(
    experiment: Experiment,
    key: str,
    languages: Iterable[Id] | None,
    reference: str | None,
    *,
    listed: str = "languages",
) -> Iterator[str]:
    """Yield a problem for languages without held-out text, and for an unknown tokenizer.

    ``listed``: the key that has the languages.
    """
    if not experiment.evaluation.heldout:
        yield f"{key}: shows held-out loss, and evaluation.heldout names no corpus; name one"
        return
    known = text_languages(experiment)
    for language in languages or ():
        if language not in known:
            yield unknown(f"{key}.{listed}", language, known, "language with held-out text")
    if reference is not None and reference not in experiment.tokenizers:
        yield unknown(f"{key}.reference", reference, experiment.tokenizers, "tokenizer")


def unmeasured_steps(
    experiment: Experiment, key: str, runs: Iterable[str], steps: Iterable[Step]
) -> Iterator[str]:
    """Yield a problem for every step at which no trained run's held-out loss is measured."""
    from revocab.config.lineage import method_runs, run_steps, single_runs

    made = method_runs(experiment)
    numbers: set[int] = set()
    names: dict[str, None] = dict.fromkeys(PLACES)
    for run in single_runs(experiment, runs):
        group, name = made.get(run, (None, ""))
        recipe = experiment.recipes.get(group.setting(name, "recipe")) if group else None
        if recipe is not None:
            numbers.update(recipe.heldout_steps)
            names.update(dict.fromkeys(run_steps(experiment, run)[1]))
    if not numbers:
        return  # all runs have step 0 and no other, whatever is wanted
    for step in steps:
        if step not in numbers and step not in names:
            yield (
                f"{key}: held-out loss is measured at no step {step!r} of these runs (measured: "
                f"{', '.join(map(str, sorted(numbers)))}; or by name: {', '.join(names)}); "
                "heldout_every of their recipes adds steps"
            )


def unit_note(languages: Sequence[str], reference: str | None) -> str:
    """Return the sentence on what the losses are."""
    listed = ", ".join(language_label(one) for one in languages)
    if reference is None:
        return f"Loss on held-out text ({listed}) in bits per byte; lower is better."
    return (
        f"Loss on held-out text ({listed}) in nats per token of the tokenizer {reference}: the "
        "nats of the text divided by that tokenizer's number of tokens, whatever tokenizer a "
        "model has. Lower is better."
    )
