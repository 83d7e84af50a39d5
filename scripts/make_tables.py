"""Make every table of an experiment, as CSV, Markdown and LaTeX."""

from revocab.cli import run
from revocab.commands.make_tables import COMMAND

if __name__ == "__main__":
    run(COMMAND)
