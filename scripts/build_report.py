"""Build the page that shows an experiment's tables and figures with what they rest on."""

from revocab.cli import run
from revocab.commands.build_report import COMMAND

if __name__ == "__main__":
    run(COMMAND)
