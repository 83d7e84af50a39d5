"""Fetch a model: a snapshot of a Hub repository, or a copy of a local folder."""

from revocab.cli import run
from revocab.commands.fetch_model import COMMAND

if __name__ == "__main__":
    run(COMMAND)
