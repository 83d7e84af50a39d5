"""Train fastText vectors for a target vocabulary, and give source vocabularies theirs."""

from revocab.cli import run
from revocab.commands.train_auxiliary import COMMAND

if __name__ == "__main__":
    run(COMMAND)
