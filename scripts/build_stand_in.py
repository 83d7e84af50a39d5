"""Build a random model of a given shape for a tokenizer: what a demo pretrains."""

from revocab.cli import run
from revocab.commands.build_stand_in import COMMAND

if __name__ == "__main__":
    run(COMMAND)
