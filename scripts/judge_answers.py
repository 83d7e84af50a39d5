"""Keep the conversations that a judge finds good: a rule, or a chat model."""

from revocab.cli import run
from revocab.commands.judge_answers import COMMAND

if __name__ == "__main__":
    run(COMMAND)
