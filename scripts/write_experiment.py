"""Write an experiment and its runs as one file, which the report reads."""

from revocab.cli import run
from revocab.commands.write_experiment import COMMAND

if __name__ == "__main__":
    run(COMMAND)
