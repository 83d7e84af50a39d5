"""Texts as they were: the prompts of tasks, and what several runs answered to them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal

from pydantic import Field

from revocab.closed import GenerationTaskId, ShownRunId
from revocab.limits import Count
from revocab.report.annotations import Layout, Run
from revocab.report.kind import Place, TableOptions
from revocab.report.results import Results
from revocab.report.results.folder import outputs_file
from revocab.report.runs import RunIndex, method_label
from revocab.report.table import MISSING, Row, Table, text
from revocab.report.values import TaskScore

#: Where Unicode shows control characters; a tab and the end of a line stay what they are.
PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"} | {
    0x7F: 0x2421,
    # What turns the direction of text around would do so in the cells that follow.
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}


def prompts_of(results: Results, task: str, number: int) -> tuple[str, list[dict[str, Any]]]:
    """Return where a task's prompts stand, and the first of them; none where they are not yet."""
    path = f"prompts/{task}.jsonl"
    return path, [*islice(results.jsonl(path), number)]


class PromptsTable(TableOptions):
    """The prompt of one query of each task, shown with one of its shots."""

    kind: Literal["prompts"]
    #: Tasks whose prompts are shown.
    tasks: list[GenerationTaskId]

    def build(self, results: Results) -> Table:
        from revocab.evaluation.generation.prompts import render

        rows = []
        for task in self.tasks:
            setting = results.experiment.evaluation.generation.tasks[task]
            path, queries = prompts_of(results, task, 1)
            direction = "-".join(language.upper() for language in setting.direction)
            cells = [text(task), text(direction), text(str(setting.shots))]
            contents = [MISSING, MISSING]
            for query in queries:
                contents = [render(query, min(1, len(query["shots"]))), query["references"][0]]
            rows.append(Row([*cells, *(text(content, path) for content in contents)]))
        header = ["Task", "Languages", "Shots", "Prompt (one shot shown)", "Reference"]
        widths = r"lllp{0.45\textwidth}p{0.2\textwidth}"
        return Table(header, rows, texts=True, latex_columns=widths)

    def needs(self, layout: Layout) -> list[str]:
        return [layout.paths.prompts(task) for task in self.tasks]


class ExamplesTable(TableOptions):
    """What runs answered to the same prompts of a task, side by side."""

    kind: Literal["examples"]
    task: GenerationTaskId
    #: A column each.
    runs: list[ShownRunId] = Field(min_length=1)
    number: Count = Field(default=3, description="number of queries, from the first")

    def build(self, results: Results) -> Table:
        """Return a row per query: prompt without shots, reference, the answer of every run."""
        from revocab.evaluation.generation.prompts import render

        path, prompts = prompts_of(results, self.task, self.number)
        runs = [results.run(run) for run in self.runs]
        answers = [self.answers(results, run) for run in runs]
        rows = []
        for prompt in prompts:
            right = prompt["references"][0] if prompt["references"] else MISSING
            cells = [text(shown(content), path) for content in (render(prompt, 0), right)]
            # An answer is no number to be missed where there is none.
            for answer in answers:
                row = answer.get(prompt["id"])
                cells.append(text(shown(row["output"]) if row else MISSING))
            rows.append(Row([text(prompt["id"]), *cells]))
        several = len({run.group for run in runs}) > 1
        names = [
            f"{method_label(run)} ({results.model_label(run)})" if several else method_label(run)
            for run in runs
        ]
        return Table(["Query", "Prompt (no shots shown)", "Reference", *names], rows, texts=True)

    def answers(self, results: Results, run: Run) -> dict[str, dict[str, Any]]:
        """Return a run's last stored answers by the id of their query; of replicates, the first's.
        Nothing where none are there yet.
        """
        path = outputs_file(results.replicates(run)[0], run.steps[-1], self.task)
        return {row["id"]: row for row in results.jsonl(path)}

    def places(self, index: RunIndex) -> Iterator[Place]:
        return (Place(TaskScore(task=self.task), index.run(run)) for run in self.runs)

    def limited(self, results: Results) -> None:
        """Return None: it shows no score."""

    def needs(self, layout: Layout) -> list[str]:
        return [layout.paths.prompts(self.task)]


def shown(content: str) -> str:
    return content.replace("\r\n", "\n").translate(PICTURES).strip() or "(nothing)"


TABLE = (PromptsTable, ExamplesTable)
