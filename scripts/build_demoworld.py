"""Generate the demo's invented bilingual world: documents, parallel text, questions, benchmarks."""

from revocab.cli import run
from revocab.commands.build_demoworld import COMMAND

if __name__ == "__main__":
    run(COMMAND)
