"""Write the few-shot prompts of one generation task, and a manifest of their sources."""

from revocab.cli import run
from revocab.commands.build_prompts import COMMAND

if __name__ == "__main__":
    run(COMMAND)
