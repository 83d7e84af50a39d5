"""Build a random model of a given shape for a tokenizer, for a demo to pretrain."""

from revocab.cli import run
from revocab.commands.build_stand_in import COMMAND

if __name__ == "__main__":
    run(COMMAND)
