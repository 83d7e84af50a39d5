"""What tables and figures of held-out losses say of their unit, and what an experiment may lack."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from revocab.closed import PLACES, Id, Step
from revocab.languages import language_label
from revocab.report.kind import manifest
from revocab.report.references import unknowns

if TYPE_CHECKING:
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment


def unit(reference: str | None) -> str:
    return f"nats per token of {reference}" if reference else "bits per byte"


def text_languages(experiment: Experiment) -> list[str]:
    """Return the languages of held-out text that is no conversation, in the file's order."""
    from revocab.config.lineage import text_corpora  # imports the schema, which imports kinds

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
    yield from unknowns(f"{key}.{listed}", languages or (), known, "language with held-out text")
    named = [] if reference is None else [reference]
    yield from unknowns(f"{key}.reference", named, experiment.tokenizers, "tokenizer")


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
    listed = ", ".join(language_label(one) for one in languages)
    if reference is None:
        return f"Loss on held-out text ({listed}) in bits per byte; lower is better."
    return (
        f"Loss on held-out text ({listed}) in nats per token of the tokenizer {reference}: the "
        "nats of the text divided by that tokenizer's number of tokens, whatever tokenizer a "
        "model has. Lower is better."
    )
