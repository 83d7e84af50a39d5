"""Score checkpoints of one run on multiple-choice tasks with lm-evaluation-harness."""

from revocab.cli import run
from revocab.commands.score_multiple_choice import COMMAND

if __name__ == "__main__":
    run(COMMAND)
