"""Tables 8 and 9: the prompt of one query, shown with one of its shots."""

from __future__ import annotations

from typing import Literal

from revocab.closed import GenerationTaskId
from revocab.io import read_jsonl
from revocab.report.annotations import Layout
from revocab.report.kind import TableOptions
from revocab.report.results import Results
from revocab.report.table_parts.table import MISSING, Row, Table, text


class PromptsTable(TableOptions):
    """The prompts in use."""

    kind: Literal["prompts"]
    #: Tasks whose prompts are shown.
    tasks: list[GenerationTaskId]

    def build(self, results: Results) -> Table:
        from revocab.evaluation.generation.prompts import render

        rows = []
        for task in self.tasks:
            path = f"prompts/{task}.jsonl"
            setting = results.experiment.evaluation.generation.tasks[task]
            query = next(iter(read_jsonl(results.root / path)), None) if results.has(path) else None
            prompt = render(query, min(1, len(query["shots"]))) if query else MISSING
            reference = query["references"][0] if query else MISSING
            direction = "-".join(language.upper() for language in setting.direction)
            cells = [text(task), text(direction), text(str(setting.shots))]
            rows.append(Row([*cells, text(prompt, path), text(reference, path)]))
        note = (
            "The first query of each task; evaluation uses the number of shots given, separated by "
            "blank lines. Shots are drawn per query with a fixed seed, equal for every checkpoint."
        )
        header = ["Task", "Languages", "Shots", "Prompt (one shot shown)", "Reference"]
        widths = r"lllp{0.45\textwidth}p{0.2\textwidth}"
        return Table(header, rows, [note], texts=True, latex_columns=widths)

    def needs(self, layout: Layout) -> list[str]:
        return [layout.paths.prompts(task) for task in self.tasks]


TABLE = PromptsTable
