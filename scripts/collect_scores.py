"""Collect every score of an experiment, ours and the published ones, in one table."""

from revocab.cli import run
from revocab.commands.collect_scores import COMMAND

if __name__ == "__main__":
    run(COMMAND)
