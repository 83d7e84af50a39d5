"""Let a model answer the questions of conversations itself, greedily, through its chat template."""

from revocab.cli import run
from revocab.commands.answer_prompts import COMMAND

if __name__ == "__main__":
    run(COMMAND)
