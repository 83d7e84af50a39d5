"""Write the few-shot prompts of one generative task, and a manifest of where they come from."""

from revocab.cli import run
from revocab.commands.build_prompts import COMMAND

if __name__ == "__main__":
    run(COMMAND)
