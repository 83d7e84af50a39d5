"""Measure time and memory of every method at a real model's embedding shape."""

from revocab.cli import run
from revocab.commands.measure_scale import COMMAND

if __name__ == "__main__":
    run(COMMAND)
