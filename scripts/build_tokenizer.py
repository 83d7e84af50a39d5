"""Build a tokenizer folder: train a new one, or change or combine others (docs/tokenizers.md)."""

from revocab.cli import run
from revocab.commands.build_tokenizer import COMMAND

if __name__ == "__main__":
    run(COMMAND)
