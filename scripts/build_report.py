"""Build the HTML report of an experiment: tables, figures, and what they are based on."""

from revocab.cli import run
from revocab.commands.build_report import COMMAND

if __name__ == "__main__":
    run(COMMAND)
