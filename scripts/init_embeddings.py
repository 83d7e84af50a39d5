"""Initialise a model for a new vocabulary and write a folder that loads everywhere."""

from revocab.cli import run
from revocab.commands.init_embeddings import COMMAND

if __name__ == "__main__":
    run(COMMAND)
