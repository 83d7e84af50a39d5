"""Prepare a corpus from files or the Hub: documents without repetitions, some of them held out."""

from revocab.cli import run
from revocab.commands.prepare_corpus import COMMAND

if __name__ == "__main__":
    run(COMMAND)
