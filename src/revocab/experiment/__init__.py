"""An experiment: its file as one typed model, its runs, its problems, its jobs and their files."""

from revocab.experiment.expand import Run, as_json, expand
from revocab.experiment.load import read, validate
from revocab.experiment.schema import Experiment

__all__ = ["Experiment", "Run", "as_json", "expand", "read", "validate"]
