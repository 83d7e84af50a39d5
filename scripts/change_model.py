"""Make a model of models: expand its blocks, add differences of others (docs/models.md)."""

from revocab.cli import run
from revocab.commands.change_model import COMMAND

if __name__ == "__main__":
    run(COMMAND)
