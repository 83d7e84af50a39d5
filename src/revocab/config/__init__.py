"""The experiment file: its closed schema, its checks, and its expansion into runs."""

from revocab.config.expand import Run, as_json, expand
from revocab.config.load import read, validate
from revocab.config.schema import Experiment

__all__ = ["Experiment", "Run", "as_json", "expand", "read", "validate"]
