"""Train a model folder on packed rows by a recipe; resumable; exports and evaluates checkpoints."""

from revocab.cli import run
from revocab.commands.train_model import COMMAND

if __name__ == "__main__":
    run(COMMAND)
