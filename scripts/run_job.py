"""Run one command of a rule: ``scripts/run_job.py COMMAND --inputs JSON --job JSON --out PATH``."""

from revocab.__main__ import main

if __name__ == "__main__":
    main()
