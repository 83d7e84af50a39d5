"""Prompts of a task with what several runs answered, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from revocab.closed import GenerationTaskId, ShownRunId
from revocab.io import read_jsonl
from revocab.limits import Count
from revocab.report.annotations import Experiment, Layout, Run
from revocab.report.kind import TableOptions
from revocab.report.names import method_label
from revocab.report.references import of_runs, unscored_runs
from revocab.report.results import Results
from revocab.report.results.folder import outputs_file
from revocab.report.table_parts.table import MISSING, Row, Table, text

#: Where Unicode shows control characters; a tab and the end of a line stay what they are.
PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"} | {
    0x7F: 0x2421,
    # What turns the direction of text around would do so in the cells that follow.
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}


class ExamplesTable(TableOptions):
    """What runs answered to the same prompts of a task."""

    kind: Literal["examples"]
    task: GenerationTaskId
    #: A column each.
    runs: list[ShownRunId] = Field(min_length=1)
    number: Count = Field(default=3, description="number of queries, from the first")

    def build(self, results: Results) -> Table:
        """Return a row per query: prompt without shots, reference, the answer of every run."""
        from revocab.evaluation.generation.prompts import render

        path = f"prompts/{self.task}.jsonl"
        prompts = list(read_jsonl(results.root / path))[: self.number] if results.has(path) else []
        runs = [results.run(run) for run in self.runs]
        answers = [self.answers(results, run) for run in runs]
        rows = []
        for prompt in prompts:
            right = prompt["references"][0] if prompt["references"] else MISSING
            asked = [text(shown(content), path) for content in (render(prompt, 0), right)]
            # An answer is no number to be missed where there is none.
            answered = [
                text(shown(answer[prompt["id"]]["output"]) if prompt["id"] in answer else MISSING)
                for answer in answers
            ]
            rows.append(Row([text(prompt["id"]), *asked, *answered]))
        several = len({run.group for run in runs}) > 1
        names = [
            f"{method_label(run)} ({results.model_label(run)})" if several else method_label(run)
            for run in runs
        ]
        header = ["Query", "Prompt (no shots shown)", "Reference", *names]
        note = (
            f"The first {self.number} queries of {self.task}, not chosen by their answers; "
            "control characters are shown as symbols."
        )
        return Table(header, rows, [note], texts=True)

    def answers(self, results: Results, run: Run) -> dict[str, dict[str, Any]]:
        """Return a run's last stored answers by the id of their query; of replicates, the first's.

        Nothing where none are there yet.
        """
        path = outputs_file(results.replicates(run)[0], run.steps[-1], self.task)
        if not results.has(path):
            return {}
        return {row["id"]: row for row in read_jsonl(results.root / path)}

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        yield from unscored_runs(experiment, key, self.runs, [self.task], "last")
        generated = experiment.evaluation.generation.tasks
        limit = generated[self.task].limit if self.task in generated else None
        if limit is not None and limit < self.number:
            yield (
                f"{key}.number: {self.number} queries, and {self.task} is limited to {limit}; "
                f"give at most {limit}"
            )

    def scores(self, experiment: Experiment) -> Iterator[tuple[str, str]]:
        return of_runs(experiment, self.runs, [self.task])

    def limited(self, results: Results) -> None:
        """Return None: it shows no score."""

    def needs(self, layout: Layout) -> list[str]:
        return [layout.paths.prompts(self.task)]

    def gaps(self, results: Results) -> Iterator[str]:
        for run in map(results.run, self.runs):
            if run.evaluate and not self.answers(results, run):
                yield f"{run.id}: no stored answers to {self.task} at last; generate them"


def shown(content: str) -> str:
    return content.replace("\r\n", "\n").translate(PICTURES).strip() or "(nothing)"


TABLE = ExamplesTable
