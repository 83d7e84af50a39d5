"""Table 7: similarity to the helper at the beginning and end of training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from revocab.closed import GroupId
from revocab.report import notes
from revocab.report.annotations import Experiment, Layout, Run
from revocab.report.kind import TableOptions, manifest
from revocab.report.names import method_label
from revocab.report.references import no_new_rows
from revocab.report.results import Results
from revocab.report.table_parts.table import Table, mark_columns
from revocab.report.table_parts.value_table import value_row
from revocab.report.values.task_scores import HelperSimilarity


class SimilarityTable(TableOptions):
    """Similarity to the helper at the beginning and end of training."""

    kind: Literal["similarity"]
    #: Columns, two each.
    groups: list[GroupId]

    def may_be_empty(self, results: Results) -> bool:
        """Runs without a helper have none; :meth:`gaps` knows the others."""
        return True

    def build(self, results: Results) -> Table:
        groups = results.experiment.runs
        by_name: dict[str, dict[str, Run]] = {}
        header, over = ["Model"], [""]
        for group in self.groups:
            runs = results.group(group)
            for run in runs:
                if run.learns_rows_of(groups[group].target):
                    by_name.setdefault(run.name, {})[group] = run
            steps = sorted({run.steps[-1] for run in runs if run.trains})
            header += ["@0", f"@{steps[0]}" if len(steps) == 1 else "@last"]
            over += [groups[group].label] * 2
        rows = []
        for named in by_name.values():
            places = [
                (HelperSimilarity(step=step), named.get(group))
                for group in self.groups
                for step in (0, "last")
            ]
            rows.append(value_row(results, method_label(next(iter(named.values()))), places))
        mark_columns(rows, ["higher"] * (len(header) - 1))
        said = [measured_note(results, self.groups), *shared_notes(results, self.groups)]
        said.append("Best in bold, second underlined.")
        said += [*notes.seeds(results, *self.groups), *notes.published(results)]
        return Table(header, rows, said, over=over)

    def problems(self, experiment: Experiment, key: str) -> Iterator[str]:
        return no_new_rows(experiment, key, *self.groups)

    def needs(self, layout: Layout) -> list[str]:
        return [manifest(layout.paths.similarity(group)) for group in self.groups]

    def gaps(self, results: Results) -> Iterator[str]:
        for run in results.runs:
            group = results.experiment.runs[run.group]
            shown = run.group in self.groups and run.evaluate and group.helper
            for step in (0, run.steps[-1]) if shown and run.learns_rows_of(group.target) else ():
                if HelperSimilarity(step=step).of_training(results, run).value is None:
                    yield f"similarity: {run.id} has none at step {step}; measure it"


def measured_note(results: Results, groups: list[str]) -> str:
    setting = results.experiment.similarity
    helpers = sorted({results.experiment.runs[group].helper or "none" for group in groups})
    kind = "dot products with" if setting.relative == "dot" else "cosines to"
    return (
        f"Mean cosine × 100 between relative representations of the input embeddings ({kind} "
        f"{setting.anchors} word-start and {setting.anchors} continuation anchors). "
        f"Helper: {', '.join(helpers)}. Runs that keep the source vocabulary have no such value."
    )


def shared_notes(results: Results, groups: list[str]) -> list[str]:
    """Return a note for every group whose helper has another tokenizer than the target."""
    manifests = {
        group: results.json("similarity", group, "manifest.json") or {} for group in groups
    }
    return [
        f"{results.experiment.runs[group].label}: {manifest['helper']} has another tokenizer;"
        f" only the {manifest['helper_tokens_compared']:,} of the target's"
        f" {manifest['tokens_compared']:,} tokens that it shares are compared, anchors included."
        for group, manifest in manifests.items()
        if "helper_tokens_compared" in manifest
    ]


TABLE = SimilarityTable
