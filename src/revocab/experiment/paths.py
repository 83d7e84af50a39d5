"""Names of an experiment's files, relative to the folder that Snakemake runs in."""

from __future__ import annotations

import re
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

    It takes the ids that the pattern names, in that order. They may be wildcards in braces: the
    same methods give the patterns of the rules.
    """
    names = re.findall(r"\{(\w+)\}", pattern)

    def path(self: Paths, *ids: str) -> str:
        filled = pattern.format(**dict(zip(names, ids, strict=True)))
        return f"{getattr(self, folder)}/{filled}"

    return path


class Paths:
    """Names of folders and files of one experiment."""

    def __init__(self, experiment: str):
        self.results, self.resources = f"results/{experiment}", f"resources/{experiment}"
        self.world = f"{self.resources}/world"
        self.experiment_file = f"{self.results}/experiment.json"
        self.fertility = f"{self.results}/fertility"
        self.parameters = f"{self.results}/parameters.csv"
        self.scale = f"{self.results}/scale"

    corpus = _below("resources", "corpora/{corpus}")
    answers = _below("resources", "answers/{corpus}")
    judged = _below("resources", "judged/{corpus}")
    tokenizer = _below("results", "tokenizers/{tokenizer}")
    auxiliary = _below("results", "auxiliary/{target}")
    intersection = _below("results", "intersections/{source}--{target}")
    packed = _below("results", "packed/{tokenizer}--{mixture}--{recipe}")
    heldout = _below("results", "heldout/{tokenizer}--{length}")
    heldout_answers = _below("results", "heldout_answers/{tokenizer}--{recipe}")
    model = _below("results", "models/{model}")
    task = _below("results", "tasks/{task}.yaml")
    prompts = _below("results", "prompts/{task}.jsonl")
    run = _below("results", "runs/{run}")
    generation = _below("results", "runs/{run}/generation")
    adoption = _below("results", "adoption/{run}.json")
    efficiency = _below("results", "efficiency/{run}.json")
    similarity = _below("results", "similarity/{group}")
    significance = _below("results", "significance/{group}/significance.csv")

    def checkpoint(self, folder: str, step: Step) -> str:
        return f"{folder}/checkpoints/{step if step == BEST else f'step-{step:06d}'}"
