"""The closed model of an experiment file: every key, its type, its default, and nothing else.

What a component computes from is its own model (``TrainingOptions``, ``CorpusOptions``, …) with its
own defaults; the classes here compose those and name what belongs together.
"""

from revocab.corpora.source import Source
from revocab.experiment.schema.experiment import Experiment
from revocab.experiment.schema.runs import RunGroup, RunMethod
from revocab.training.recipe import Recipe

__all__ = ["Experiment", "Recipe", "RunGroup", "RunMethod", "Source"]
