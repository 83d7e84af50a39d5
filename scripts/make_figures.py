"""Draw every figure of an experiment, as SVG and PNG."""

from revocab.cli import run
from revocab.commands.make_figures import COMMAND

if __name__ == "__main__":
    run(COMMAND)
