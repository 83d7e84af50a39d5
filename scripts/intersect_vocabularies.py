"""Find the tokens that two vocabularies share, by what they stand for."""

from revocab.cli import run
from revocab.commands.intersect_vocabularies import COMMAND

if __name__ == "__main__":
    run(COMMAND)
