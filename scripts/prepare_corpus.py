"""Prepare a corpus from files or the Hub: deduplicate documents and hold some of them out."""

from revocab.cli import run
from revocab.commands.prepare_corpus import COMMAND

if __name__ == "__main__":
    run(COMMAND)
