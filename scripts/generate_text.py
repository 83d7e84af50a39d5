"""Generate greedily with checkpoints of one run on stored prompts, and score what came out."""

from revocab.cli import run
from revocab.commands.generate_text import COMMAND

if __name__ == "__main__":
    run(COMMAND)
