"""``revocab run``: Snakemake, after a run that was killed as after any other."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from revocab.errors import RevocabError
from revocab.workflow.lock import LOCKS, hold_folder, remove_dead_locks

#: With these Snakemake takes no lock, or is asked about its own.
DRY_RUN = frozenset({"-n", "--dry-run", "--dryrun"})
NO_LOCK = DRY_RUN | {"--nolock", "--unlock"}
NO_REASONS = "--quiet=reason"
USAGE = """usage: revocab run [--configfile FILE …] [--profile FOLDER] [--cores N] [FLAG …]

Run Snakemake in this checkout; all arguments are passed on to it. If an earlier run was killed, its
lock is removed first, but only if the process that held it ran on this host and has ended, along
with its jobs."""


def run(words: Sequence[str]) -> str:
    """Become Snakemake with these words, in this process; return the help if that is asked for.

    Raises :class:`RevocabError` where there is no workflow, and if the lock is held, or may be.
    """
    if {"-h", "--help"} & {*words}:
        return USAGE
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-d", "--directory", type=Path, default=Path())
    parser.add_argument("-s", "--snakefile", type=Path, default=Path("Snakefile"))
    given, _ = parser.parse_known_args(words)
    if not given.snakefile.is_file():
        raise RevocabError(
            f"{given.snakefile}: no such file; revocab run works in a checkout of revocab, whose"
            " Snakefile is the workflow"
        )
    if not NO_LOCK & {*words}:
        hold_folder(given.directory / LOCKS)
        for line in remove_dead_locks(given.directory / LOCKS):
            print(line, file=sys.stderr)
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "snakemake", *quiet(words), *words])


def quiet(words: Sequence[str]) -> list[str]:
    """Return the flag that leaves out why each job runs, which names all its files; none for a dry
    run, and none if the words say how much is printed.
    """
    loud = DRY_RUN | {"-q", "--verbose", "-p", "--printshellcmds"}
    return [] if any(one in loud or one.startswith("--quiet") for one in words) else [NO_REASONS]
