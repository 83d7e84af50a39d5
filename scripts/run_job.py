"""Run one command of a rule: ``scripts/run_job.py COMMAND --inputs JSON --job JSON --out PATH``."""

from revocab.__main__ import main
from revocab.workflow import warm

if __name__ == "__main__":
    warm.run(main)
