"""Count the parameters of models from their configurations alone."""

from revocab.cli import run
from revocab.commands.count_parameters import COMMAND

if __name__ == "__main__":
    run(COMMAND)
