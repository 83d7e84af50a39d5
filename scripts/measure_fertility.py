"""Measure tokenizers on corpora: tokens per word, words split, unknown and byte tokens."""

from revocab.cli import run
from revocab.commands.measure_fertility import COMMAND

if __name__ == "__main__":
    run(COMMAND)
