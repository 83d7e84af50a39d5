"""Names of an experiment's files, relative to the folder that Snakemake runs in."""

from __future__ import annotations

from collections.abc import Callable
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


def _below(folder: str, pattern: str) -> Callable[..., str]:
    """Return the method that fills ids into the name of a file below ``results`` or ``resources``.

    Ids may be wildcards in braces.
    """
    return lambda self, *ids: f"{getattr(self, folder)}/{pattern.format(*ids)}"


class Paths:
    """Names of folders and files of one experiment."""

    def __init__(self, experiment: str):
        self.results, self.resources = f"results/{experiment}", f"resources/{experiment}"
        self.world = f"{self.resources}/world"
        self.experiment_file = f"{self.results}/experiment.json"
        self.fertility = f"{self.results}/fertility"
        self.parameters = f"{self.results}/parameters.csv"
        self.scale = f"{self.results}/scale"

    # By corpus.
    corpus = _below("resources", "corpora/{}")
    answers = _below("resources", "answers/{}")
    judged = _below("resources", "judged/{}")
    # By tokenizers: one; source and target; tokenizer, mixture and recipe; and length; and recipe.
    tokenizer = _below("results", "tokenizers/{}")
    auxiliary = _below("results", "auxiliary/{}")
    intersection = _below("results", "intersections/{}--{}")
    packed = _below("results", "packed/{}--{}--{}")
    heldout = _below("results", "heldout/{}--{}")
    heldout_answers = _below("results", "heldout_answers/{}--{}")
    # By model; by task; by run; by group.
    model = _below("results", "models/{}")
    task = _below("results", "tasks/{}.yaml")
    prompts = _below("results", "prompts/{}.jsonl")
    run = _below("results", "runs/{}")
    generation = _below("results", "runs/{}/generation")
    adoption = _below("results", "adoption/{}.json")
    efficiency = _below("results", "efficiency/{}.json")
    similarity = _below("results", "similarity/{}")
    significance = _below("results", "significance/{}/significance.csv")

    def checkpoint(self, folder: str, step: Step) -> str:
        return f"{folder}/checkpoints/{step if step == BEST else f'step-{step:06d}'}"
