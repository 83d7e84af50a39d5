"""Check every table, figure and score of an experiment; list all problems."""

from revocab.cli import run
from revocab.commands.check_artefacts import COMMAND

if __name__ == "__main__":
    run(COMMAND)
