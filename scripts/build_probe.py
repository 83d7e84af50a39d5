"""Make a multiple-choice task's items from the held-out documents of corpora, by rule."""

from revocab.cli import run
from revocab.commands.build_probe import COMMAND

if __name__ == "__main__":
    run(COMMAND)
