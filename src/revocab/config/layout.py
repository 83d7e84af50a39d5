"""An experiment's runs and the places of its files, relative to the folder that Snakemake runs in.

Ids may be wildcards in braces: the same functions give the patterns of the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from revocab.closed import BEST, Step
from revocab.config.expand import Run
from revocab.config.lineage import compared_pairs

if TYPE_CHECKING:
    from revocab.config.schema import Experiment


MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Paths:
    """Names of folders and files of one experiment."""

    experiment: str

    @property
    def results(self) -> str:
        return f"results/{self.experiment}"

    @property
    def resources(self) -> str:
        return f"resources/{self.experiment}"

    @property
    def world(self) -> str:
        return f"{self.resources}/world"

    @property
    def experiment_file(self) -> str:
        return f"{self.results}/experiment.json"

    def corpus(self, corpus: str) -> str:
        return f"{self.resources}/corpora/{corpus}"

    def answers(self, corpus: str) -> str:
        return f"{self.resources}/answers/{corpus}"

    def judged(self, corpus: str) -> str:
        return f"{self.resources}/judged/{corpus}"

    def tokenizer(self, tokenizer: str) -> str:
        return f"{self.results}/tokenizers/{tokenizer}"

    def intersection(self, source: str, target: str) -> str:
        return f"{self.results}/intersections/{source}--{target}"

    @property
    def fertility(self) -> str:
        return f"{self.results}/fertility"

    @property
    def parameters(self) -> str:
        return f"{self.results}/parameters.csv"

    def auxiliary(self, target: str) -> str:
        return f"{self.results}/auxiliary/{target}"

    def model(self, model: str) -> str:
        return f"{self.results}/models/{model}"

    def run(self, run: str) -> str:
        return f"{self.results}/runs/{run}"

    def checkpoint(self, folder: str, step: Step) -> str:
        return f"{folder}/checkpoints/{step if step == BEST else f'step-{step:06d}'}"

    def packed(self, tokenizer: str, mixture: str, recipe: str) -> str:
        return f"{self.results}/packed/{tokenizer}--{mixture}--{recipe}"

    def heldout(self, tokenizer: str, length: str) -> str:
        return f"{self.results}/heldout/{tokenizer}--{length}"

    def heldout_answers(self, tokenizer: str, recipe: str) -> str:
        return f"{self.results}/heldout_answers/{tokenizer}--{recipe}"

    def task(self, task: str) -> str:
        return f"{self.results}/tasks/{task}.yaml"

    def prompts(self, task: str) -> str:
        return f"{self.results}/prompts/{task}.jsonl"

    def generation(self, run: str) -> str:
        return f"{self.run(run)}/generation"

    def similarity(self, group: str) -> str:
        return f"{self.results}/similarity/{group}"

    def significance(self, group: str) -> str:
        return f"{self.results}/significance/{group}/significance.csv"

    def efficiency(self, run: str) -> str:
        return f"{self.results}/efficiency/{run}.json"


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
