"""From an experiment to its jobs: what each reads, what decides it, and where things lie.

Pure functions of an :class:`~revocab.config.Experiment`; the rules of the workflow use
them, and no part of them needs Snakemake. A rule of the workflow is a function of the same name in
one of the modules here.
"""

from revocab.plan.plan import Plan
from revocab.plan.step import Artefact, Step

__all__ = ["Artefact", "Plan", "Step"]
