"""Prompts of a task with what several runs answered, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from revocab.closed import Id, Step
from revocab.io import read_jsonl
from revocab.report import notes
from revocab.report.asked import of_runs
from revocab.report.kind import KindOptions, TableKind
from revocab.report.names import method_label
from revocab.report.references import unknown_runs, unknown_tasks, unscored_runs
from revocab.report.results import Results
from revocab.report.table_parts.table import MISSING, Cell, Row, Table, text

if TYPE_CHECKING:
    from revocab.config.expand import Run
    from revocab.config.layout import Layout
    from revocab.config.schema import Experiment

#: Where Unicode shows control characters; a tab and the end of a line stay what they are.
PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"} | {
    0x7F: 0x2421,
    # What turns the direction of text around would do so in the cells that follow.
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}


class ExamplesTable(KindOptions):
    """What runs answered to the same prompts of a task."""

    kind: Literal["examples"]
    task: Id
    runs: list[Id] = Field(min_length=1)
    step: Step = "last"
    number: int = Field(default=3, ge=1, description="number of queries, from the first")
    characters: int | None = Field(
        default=None,
        ge=1,
        description="maximum characters of a prompt or an answer; default: all of it",
    )


def build(results: Results, identifier: str, options: ExamplesTable) -> Table:
    """Return a row per query: prompt without shots, reference, the answer of every run."""
    from revocab.evaluation.generation.prompts import render

    path = f"prompts/{options.task}.jsonl"
    prompts = list(read_jsonl(results.root / path))[: options.number] if results.has(path) else []
    runs = [results.run(one) for one in options.runs]
    answers = [answers_of(results, run, options) for run in runs]
    rows = []
    for prompt in prompts:
        right = prompt["references"][0] if prompt["references"] else MISSING
        told = [shown(render(prompt, 0), options), shown(right, options)]
        given = [answer_cell(run, one, prompt["id"], options)
                 for run, one in zip(runs, answers, strict=True)]  # fmt: skip
        rows.append(Row([text(prompt["id"]), *[text(one, path) for one in told], *given]))
    several = len({run.group for run in runs}) > 1
    names = [
        f"{method_label(run)} ({results.model_label(run)})" if several else method_label(run)
        for run in runs
    ]
    return Table(
        identifier,
        options.kind,
        options.title,
        ["Query", "Prompt (no shots shown)", "Reference", *names],
        rows,
        [
            f"The first {options.number} queries of {options.task}, not chosen by their answers; "
            "control characters are shown as symbols.",
            *notes.synthetic(results),
        ],
        texts=True,
    )


def answers_of(results: Results, run: Run, options: ExamplesTable) -> dict[str, dict[str, Any]]:
    """Return a run's stored answers by the id of their query; none are there yet: nothing.

    Of replicates, those of the first.
    """
    at = run.select([options.step])
    if not at:
        return {}
    path = answer_path(results.replicates(run)[0], at[0], options.task)
    if not results.has(path):
        return {}
    return {row["id"]: row for row in read_jsonl(results.root / path)}


def answer_path(run: Run, step: int, task: str) -> str:
    """Return the file of a run's answers, in the results folder."""
    return f"runs/{run.scored_id}/generation/step-{step:06d}/{task}.jsonl"


def answer_cell(
    run: Run, answers: dict[str, dict[str, Any]], query: str, options: ExamplesTable
) -> Cell:
    """Return an answer; it is no number to be missed where there is none."""
    found = answers.get(query)
    if found is None:
        return text(MISSING)
    return text(shown(found["output"], options))


def shown(content: str, options: ExamplesTable) -> str:
    """Return text as a cell shows it: without control characters, and cut where that is asked."""
    clean = content.replace("\r\n", "\n").translate(PICTURES).strip()
    if options.characters is not None and len(clean) > options.characters:
        clean = clean[: options.characters].rstrip() + "…"
    return clean or "(nothing)"


def problems(experiment: Experiment, key: str, options: ExamplesTable) -> Iterator[str]:
    """Yield a problem for a task or runs that are not there, and runs without answers."""
    yield from unknown_runs(experiment, key, options.runs)
    yield from unknown_tasks(experiment, key, [options.task])
    yield from unscored_runs(experiment, key, options.runs, [options.task], options.step)
    generated = experiment.evaluation.generation.tasks
    limit = generated[options.task].limit if options.task in generated else None
    if limit is not None and limit < options.number:
        yield (
            f"{key}.number: {options.number} queries, and {options.task} is limited to {limit}; "
            f"give at most {limit}"
        )


def scores(experiment: Experiment, options: ExamplesTable) -> Iterator[tuple[str, str]]:
    """Yield the task: what is shown must have been generated."""
    return of_runs(experiment, options.runs, [options.task])


def needs(layout: Layout, options: ExamplesTable) -> list[str]:
    """Return the prompts."""
    return [layout.paths.prompts(options.task)]


def gaps(results: Results, options: ExamplesTable) -> Iterator[str]:
    """Yield a line for every run without stored answers."""
    for run in map(results.run, options.runs):
        if run.evaluate and not answers_of(results, run, options):
            yield f"{run.id}: no stored answers to {options.task} at {options.step}; generate them"


TABLE = TableKind(
    options=ExamplesTable, build=build, problems=problems, scores=scores, needs=needs, gaps=gaps
)
