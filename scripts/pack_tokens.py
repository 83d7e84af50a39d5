"""Pack training text into shards of token rows, mixed by tokens, in training order."""

from revocab.cli import run
from revocab.commands.pack_tokens import COMMAND

if __name__ == "__main__":
    run(COMMAND)
