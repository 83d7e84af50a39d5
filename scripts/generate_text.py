"""Generate greedily with checkpoints of one run on stored prompts, and score the outputs."""

from revocab.cli import run
from revocab.commands.generate_text import COMMAND

if __name__ == "__main__":
    run(COMMAND)
