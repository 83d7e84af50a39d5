"""Write one multiple-choice task as a file that lm-evaluation-harness reads."""

from revocab.cli import run
from revocab.commands.build_task import COMMAND

if __name__ == "__main__":
    run(COMMAND)
