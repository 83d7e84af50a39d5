"""From an experiment to its jobs: what each reads, what decides it, and where things lie.

Pure functions of an :class:`~revocab.config.Experiment`; the rules of the workflow use them, and no
part of them needs Snakemake. How a job is planned stands in its file in ``commands/``.
"""

from revocab.plan.plan import Plan
from revocab.rule import Artefact, Step

__all__ = ["Artefact", "Plan", "Step"]
