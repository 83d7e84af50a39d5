"""Measure speed and memory of one checkpoint on text of a language."""

from revocab.cli import run
from revocab.commands.measure_efficiency import COMMAND

if __name__ == "__main__":
    run(COMMAND)
