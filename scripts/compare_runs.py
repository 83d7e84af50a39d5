"""Compare the runs of a group item by item: differences, intervals, p-values."""

from revocab.cli import run
from revocab.commands.compare_runs import COMMAND

if __name__ == "__main__":
    run(COMMAND)
