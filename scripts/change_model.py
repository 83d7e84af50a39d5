"""Make a model from other models: expand blocks, add model differences (docs/models.md)."""

from revocab.cli import run
from revocab.commands.change_model import COMMAND

if __name__ == "__main__":
    run(COMMAND)
