"""Score the translations of one run with COMET-22 and xCOMET, in their own environment."""

from revocab.cli import run
from revocab.commands.score_comet import COMMAND

if __name__ == "__main__":
    run(COMMAND)
