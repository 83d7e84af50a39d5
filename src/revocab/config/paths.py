"""Where everything of an experiment lies, relative to the folder that Snakemake runs in.

Ids may be wildcards in braces: the same functions give the patterns of the rules.
"""

from __future__ import annotations

from dataclasses import dataclass

from revocab.closed import BEST, Step

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Paths:
    """Names of folders and files of one experiment."""

    experiment: str

    @property
    def results(self) -> str:
        """Return the folder of results."""
        return f"results/{self.experiment}"

    @property
    def resources(self) -> str:
        """Return the folder of corpora and world."""
        return f"resources/{self.experiment}"

    @property
    def world(self) -> str:
        """Return the folder of the generated world."""
        return f"{self.resources}/world"

    @property
    def experiment_file(self) -> str:
        """Return the file of the experiment with every default, and its runs."""
        return f"{self.results}/experiment.json"

    def corpus(self, corpus: str) -> str:
        """Return the folder of a prepared corpus."""
        return f"{self.resources}/corpora/{corpus}"

    def answers(self, corpus: str) -> str:
        """Return the folder of a corpus's conversations as a model answers them."""
        return f"{self.resources}/answers/{corpus}"

    def judged(self, corpus: str) -> str:
        """Return the folder of those that a judge keeps."""
        return f"{self.resources}/judged/{corpus}"

    def tokenizer(self, tokenizer: str) -> str:
        """Return a tokenizer folder."""
        return f"{self.results}/tokenizers/{tokenizer}"

    def intersection(self, source: str, target: str) -> str:
        """Return the folder of what two vocabularies share."""
        return f"{self.results}/intersections/{source}--{target}"

    @property
    def fertility(self) -> str:
        """Return the folder of the report on tokenizers."""
        return f"{self.results}/fertility"

    @property
    def parameters(self) -> str:
        """Return the table of parameter counts."""
        return f"{self.results}/parameters.csv"

    def auxiliary(self, target: str) -> str:
        """Return the folder of a target vocabulary's fastText vectors."""
        return f"{self.results}/auxiliary/{target}"

    def model(self, model: str) -> str:
        """Return the folder in which a model's manifest lies."""
        return f"{self.results}/models/{model}"

    def run(self, run: str) -> str:
        """Return the folder of a run."""
        return f"{self.results}/runs/{run}"

    def checkpoint(self, folder: str, step: Step) -> str:
        """Return a checkpoint's folder within that of a run or model; step 0 lies elsewhere."""
        return f"{folder}/checkpoints/{step if step == BEST else f'step-{step:06d}'}"

    def packed(self, tokenizer: str, mixture: str, recipe: str) -> str:
        """Return the folder of packed rows."""
        return f"{self.results}/packed/{tokenizer}--{mixture}--{recipe}"

    def heldout(self, tokenizer: str, length: str) -> str:
        """Return the folder of held-out windows."""
        return f"{self.results}/heldout/{tokenizer}--{length}"

    def heldout_answers(self, tokenizer: str, recipe: str) -> str:
        """Return the folder of held-out windows of recipes that learn answers."""
        return f"{self.results}/heldout_answers/{tokenizer}--{recipe}"

    def probe(self, task: str) -> str:
        """Return the folder of a task's items that are made from held-out text."""
        return f"{self.resources}/probes/{task}"

    def task(self, task: str) -> str:
        """Return the file of a multiple-choice task."""
        return f"{self.results}/tasks/{task}.yaml"

    def prompts(self, task: str) -> str:
        """Return the file of a generative task's prompts."""
        return f"{self.results}/prompts/{task}.jsonl"

    def generation(self, run: str) -> str:
        """Return the folder of a run's outputs."""
        return f"{self.run(run)}/generation"

    def similarity(self, group: str) -> str:
        """Return the folder of a group's similarities."""
        return f"{self.results}/similarity/{group}"

    def significance(self, group: str) -> str:
        """Return the table of a group's comparisons."""
        return f"{self.results}/significance/{group}/significance.csv"

    def efficiency(self, run: str) -> str:
        """Return the file of a run's speed and memory."""
        return f"{self.results}/efficiency/{run}.json"
