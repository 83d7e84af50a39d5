"""Cut held-out text into windows of tokens, document by document."""

from revocab.cli import run
from revocab.commands.pack_heldout import COMMAND

if __name__ == "__main__":
    run(COMMAND)
