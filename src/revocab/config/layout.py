"""An experiment's runs and the places of its files: what plans and reports both start from."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from revocab.config.expand import Run
from revocab.config.lineage import compared_pairs
from revocab.config.paths import Paths

if TYPE_CHECKING:
    from revocab.config.schema import Experiment


class Layout:
    """Which runs an experiment has, and where what is made of them lies. It reads no result."""

    def __init__(self, experiment: Experiment):
        self.experiment = experiment
        self.paths = Paths(experiment.experiment)

    @cached_property
    def runs(self) -> dict[str, Run]:
        return self.experiment.expanded

    def replicates(self, run: str) -> list[Run]:
        """Return the run with an id, or the replicates shown under it; empty if there are none."""
        return [each for each in self.runs.values() if run in (each.id, each.replicate_of)]

    def evaluated(self, group: str | None = None) -> list[Run]:
        """Return the runs whose checkpoints are scored, of one group or of all.

        Of a model that several groups show as it is, the first of them has the scores.
        """
        runs = [run for run in self.runs.values() if run.evaluate and group in (None, run.group)]
        return [self.runs[name] for name in dict.fromkeys(run.scored_id for run in runs)]

    def heldout_length(self, run: Run) -> int | None:
        """Return the length of a run's held-out windows: its recipe's; else what the experiment
        says; else that of the first trained run of its group, or of another.
        """
        runs = list(self.runs.values())
        stated = self.experiment.evaluation.heldout_length
        if stated and not run.trains:
            return stated
        near = [run, *(other for other in runs if other.group == run.group), *runs]
        recipes = self.experiment.recipes
        named = (run.recipe for run in near if run.recipe)
        return next((recipes[name].sequence_length for name in named), None)

    @property
    def intersections(self) -> list[tuple[str, str]]:
        needed = compared_pairs(self.experiment, self.runs.values())
        scale = self.experiment.scale
        extra = [(scale.source_tokenizer, scale.target_tokenizer)] if scale else []
        return list(dict.fromkeys([*needed, *self.experiment.intersections, *extra]))
