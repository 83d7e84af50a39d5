"""Measure how similar the embeddings of a group's runs are to the helper's and to each other."""

from revocab.cli import run
from revocab.commands.measure_similarity import COMMAND

if __name__ == "__main__":
    run(COMMAND)
