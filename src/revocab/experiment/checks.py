"""What a schema cannot say: ids that must exist, sums, and combinations that cannot work.

Every check yields problems; none raises, so that a user sees all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from revocab.closed import EVERY, unknown
from revocab.errors import refused
from revocab.evaluation.inference.engine import engines_for
from revocab.experiment.check_files import check_sources
from revocab.experiment.check_ids import check_names, wrong_references
from revocab.experiment.check_models import (
    check_answers,
    check_cycles,
    check_lengths,
    check_models,
    check_number_of_checkpoints,
    check_parameters,
    check_trainings,
)
from revocab.experiment.check_runs import check_identities, check_runs
from revocab.experiment.check_tasks import check_tasks, holds_out_nothing
from revocab.experiment.schema import Experiment
from revocab.limits import ENTRIES
from revocab.report.references import wrong_steps


def check_mixtures(experiment: Experiment) -> Iterator[str]:
    mixtures: dict[str, Mapping[str, Any]] = {
        f"mixtures.{name}": mixture for name, mixture in experiment.mixtures.items()
    }
    for name, tokenizer in experiment.tokenizers.items():
        built, options = tokenizer.construction()
        for option, mixture in options.named(options.mixtures):
            mixtures[f"tokenizers.{name}.{built}.{option}"] = mixture
    for key, mixture in mixtures.items():
        fixed = [share for share in mixture.values() if share != "size"]
        total, some_by_size = sum(fixed), len(fixed) < len(mixture)
        summands = " + ".join(f"{share:g}" for share in fixed) or "nothing"
        if some_by_size and total >= 1 - 1e-6:
            yield (
                f"{key}: shares sum to {total:g} ({summands}), which leaves nothing for the"
                " corpora with share 'size'; lower them below 1"
            )
        elif not some_by_size and abs(total - 1) > 1e-6:
            yield f"{key}: shares sum to {total:g} ({summands}); they must sum to 1"


def check_measured(experiment: Experiment) -> Iterator[str]:
    """Yield the problems of what is measured, and on which text."""
    e, fertility, evaluation = experiment, experiment.fertility, experiment.evaluation
    for section in ("multiple_choice", "generation"):
        steps = getattr(evaluation, section).steps or ()
        named = [step for step in steps if step != EVERY]
        for group in e.runs:
            yield from wrong_steps(e, f"evaluation.{section}.steps", group, named)
    if bool(fertility.tokenizers) != bool(fertility.corpora):
        yield (
            f"fertility: {len(fertility.tokenizers)} tokenizers on {len(fertility.corpora)} "
            "corpora; name at least one of each, or none"
        )
    trained = [f"models.{name}" for name, model in e.models.items() if model.pretrain]
    trained += [run.key for run in e.expanded.values() if run.recipe]
    if trained and not evaluation.heldout:
        yield f"evaluation.heldout: names no corpus, but {trained[0]} is trained; name one"
    texts = [("evaluation.heldout", name) for name in evaluation.heldout]
    for section in ("efficiency", "adoption"):
        if options := getattr(evaluation, section):
            texts.append((f"evaluation.{section}.corpus", options.corpus))
    if fertility.split == "heldout":
        texts += [("fertility.corpora", name) for name in fertility.corpora]
    for key, name in texts:
        yield from holds_out_nothing(e, key, name)
    timed = engines_for("efficiency")
    if evaluation.efficiency and evaluation.generation.engine not in timed:
        yield (
            f"evaluation.generation.engine: {evaluation.generation.engine!r} cannot measure"
            f" evaluation.efficiency; use {' or '.join(timed)}, or leave out evaluation.efficiency"
            " and its tables"
        )


def check_tables_and_figures(experiment: Experiment, wrong: Sequence[str]) -> Iterator[str]:
    """Yield what tables and figures lack; of those with an id that names nothing, at one of the
    keys ``wrong``, nothing else is said.
    """
    for section in ("tables", "figures"):
        for name, options in getattr(experiment, section).items():
            if not any(key.startswith(f"{section}.{name}.") for key in wrong):
                yield from options.problems(experiment, f"{section}.{name}")


def check_parallel(experiment: Experiment) -> Iterator[str]:
    parallel, key = experiment.fertility.parallel, "fertility.parallel.languages"
    if parallel is None:
        return
    if len(set(parallel.languages)) < len(parallel.languages):
        yield f"{key}: {parallel.languages} has duplicates; name each once"
    if (known := parallel.source.lines) is not None:
        unnamed = (language for language in parallel.languages if language not in known)
        yield from (unknown(key, language, known, "language in lines") for language in unnamed)


def check(experiment: Experiment) -> list[str]:
    """Return every problem of a well-formed experiment, in a stable order. If the experiment is too
    large, that is the only problem reported.
    """
    if large := [*check_entries(experiment)] or [*check_number_of_checkpoints(experiment)]:
        return large
    wrong = [*wrong_references(experiment)]
    problems = [problem for _, problem in wrong]
    checks: tuple[Callable[[Experiment], Iterator[str]], ...] = (
        check_names,
        check_cycles,
        check_models,
        check_answers,
        check_mixtures,
        check_identities,
        check_runs,
        check_trainings,
        check_parameters,
        check_lengths,
        check_measured,
        partial(check_tables_and_figures, wrong=[key for key, _ in wrong]),
        check_parallel,
        check_sources,
        check_tasks,
    )
    for find in checks:
        # Where a file cannot be read, what was found before that stays.
        before: list[str] = []
        problems += refused(before.extend, find(experiment))
        problems += before
    return list(dict.fromkeys(problems))


def check_entries(experiment: Experiment) -> Iterator[str]:
    evaluation = experiment.evaluation
    sections = {name: getattr(experiment, name) for name in Experiment.model_fields}
    sections |= {
        f"evaluation.{name}.tasks": getattr(evaluation, name).tasks
        for name in ("multiple_choice", "generation")
    }
    for key, entries in sections.items():
        if isinstance(entries, dict | list) and len(entries) > ENTRIES:
            yield f"{key}: {len(entries):,} entries; give at most {ENTRIES:,} to one experiment"
