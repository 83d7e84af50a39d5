"""Run Snakemake on a checkout, and read what it plans."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent


#: What Snakemake reads of a checkout.
READ = ("config", "envs", "profiles", "scripts", "src", "workflow")


def copy_checkout(repository: Path, folder: Path) -> None:
    for name in READ:
        shutil.copytree(repository / name, folder / name)
    shutil.copy2(repository / "Snakefile", folder)


def link_checkout(repository: Path, folder: Path) -> Path:
    """Return ``folder`` as a checkout in which nothing has been made, of links."""
    for name in (*READ, "Snakefile", "tests"):
        (folder / name).symlink_to(repository / name)
    return folder


def small_checkout(repository: Path, folder: Path, *parts: str) -> Path:
    """Return a folder that runs the workflow, with results of the small experiment, or parts."""
    folder.mkdir(exist_ok=True)
    link_checkout(repository, folder)
    # With what Snakemake noted of the jobs, so that it runs what is changed and no more.
    copied = [".snakemake/metadata", "resources/small"]
    copied += [f"results/small/{part}" for part in parts] or ["results/small"]
    for name in copied:
        shutil.copytree(repository / name, folder / name, symlinks=True)
    return folder


def snakemake(
    repository: Path, *arguments: object, **environment: str
) -> subprocess.CompletedProcess:
    return subprocess.run(
        [BIN / "snakemake", *map(str, arguments)],
        cwd=repository,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def succeed(repository: Path, *arguments: object, **environment: str) -> str:
    """Run Snakemake and return what it says; the test fails where it fails."""
    done = snakemake(repository, *arguments, **environment)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    return done.stdout + done.stderr


def planned(output: str) -> dict[str, int]:
    """Return the job counts of a dry run by rule: the rows between its header and its total."""
    table = re.search(r"^job +count\n[- ]+\n(.*?)^total ", output, re.M | re.S)
    return {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", table[1], re.M)}


def dry_run(repository: Path, *arguments: object) -> dict[str, int]:
    every = ("--dry-run", "--forceall", "--quiet", "rules")
    return planned(succeed(repository, *every, *arguments))
