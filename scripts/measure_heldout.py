"""Measure the held-out loss of models that are not trained here."""

from revocab.cli import run
from revocab.commands.measure_heldout import COMMAND

if __name__ == "__main__":
    run(COMMAND)
