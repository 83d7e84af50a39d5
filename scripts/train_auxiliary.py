"""Train fastText vectors for a target vocabulary, and derive those of source vocabularies."""

from revocab.cli import run
from revocab.commands.train_auxiliary import COMMAND

if __name__ == "__main__":
    run(COMMAND)
