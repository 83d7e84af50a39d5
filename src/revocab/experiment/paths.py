"""Names of an experiment's files, relative to the folder that Snakemake runs in.

Ids may be wildcards in braces: the same functions give the patterns of the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from revocab.closed import BEST, Step

MANIFEST = "manifest.json"


def manifest(folder: str) -> str:
    """Return the file whose presence says that a folder is whole."""
    return f"{folder}/{MANIFEST}"


class Model(NamedTuple):
    """A model's folder, and the manifest of the job that made it, which may have made others."""

    folder: str
    manifest: str


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

    @property
    def scale(self) -> str:
        return f"{self.results}/scale"

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

    def adoption(self, run: str) -> str:
        return f"{self.results}/adoption/{run}.json"

    def efficiency(self, run: str) -> str:
        return f"{self.results}/efficiency/{run}.json"
