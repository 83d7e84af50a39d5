"""``revocab run``: Snakemake with the workflow that comes with revocab.

On this machine it is a child of ours (:mod:`revocab.workflow.supervise`); for a cluster, and where
it is only to print something, this process becomes Snakemake.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from argparse import ArgumentError, ArgumentParser
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import psutil

from revocab.errors import UsageError, refuse, refused
from revocab.extensions import from_here, own_or_shipped, workflow_folder
from revocab.io import write_json

DRY_RUN = frozenset({"-n", "--dry-run", "--dryrun"})
NO_REASONS = "--quiet=reason"
#: Each says how many jobs Snakemake may run, or where; without any, all cores of this machine do.
CORES = ("-c", "-j", "-e", "--cores", "--jobs", "--executor", "--profile")
#: With these Snakemake prints something, or changes its own notes, and runs nothing.
PRINTS = (
    *sorted(DRY_RUN), "--unlock", "--dag", "--rulegraph", "--filegraph", "--d3dag", "-D",
    "--detailed-summary", "-S", "--summary", "--lint", "-l", "--list", "--list-rules",
    "--list-target-rules", "--report",
    "--archive", "--cleanup-metadata", "--touch", "-t", "--delete-all-output", "--version", "-v",
    "--list-changes", "--list-input-changes", "--list-params-changes", "--print-compilation",
    "--conda-create-envs-only", "--containerize", "--gui", "--delete-temp-output",
)  # fmt: skip
#: What Snakemake runs where no experiment is named.
DEMO = Path("config/demos/demo.yaml")
USAGE = """usage: revocab run FILE.yaml … [--check] [--cores N] [--profile FOLDER] [FLAG …]

Run an experiment in this folder: its file, and overlays. Snakemake runs the workflow that comes
with revocab, and gets all other arguments (snakemake --help); default: --cores all. A profile is a
folder here, or one that comes with revocab, such as profiles/slurm. --summary lists outputs and
what is due; after a run that was killed, --unlock frees the folder. With --check nothing runs: the
Hub is asked for each model and data set of the experiment, down to its fields, the disk for room,
and the GPUs here for memory."""


def record_machine(results: Path) -> None:
    """Write where and how a run began, for its report alone: nothing else reads ``machine.json``,
    and no rule depends on it, so that the same experiment still gives the same bytes.
    """
    checkout = Path(__file__).parents[3]
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty"]
    # An installed package may lie in somebody else's checkout.
    known = (checkout / ".git").exists() and shutil.which("git") is not None
    commit = subprocess.run(command, capture_output=True, text=True, check=False) if known else None
    memory = psutil.virtual_memory().total / 1e9
    write_json(
        results / "machine.json",
        {
            "commit": commit.stdout.strip() if commit and commit.returncode == 0 else None,
            "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
            f"{memory:.0f} GB",
            "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        },
    )


def run(words: Sequence[str]) -> str:
    """Run Snakemake with these words, or become it; return where its result lies.

    Raises :class:`UsageError` where there is no experiment.
    """
    if {"-h", "--help"} & {*words}:
        return USAGE
    parser = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--configfile", "--configfiles", nargs="+", type=Path, default=[])
    parser.add_argument("--config", nargs="+", default=[])
    parser.add_argument("-d", "--directory", type=Path, default=Path())
    parser.add_argument("--check", action="store_true")
    try:
        arguments, _ = parser.parse_known_args(words)
    except ArgumentError as error:
        raise UsageError(f"{error}; see revocab run --help") from None
    if not has(words, "--configfile", "--configfiles", "--profile") and not DEMO.is_file():
        raise UsageError("no experiment file: revocab run FILE.yaml (revocab new writes one)")
    check_files(arguments.configfile)
    if find_spec("snakemake") is None:  # a process of its own runs it, and could only say so there
        raise ModuleNotFoundError("No module named 'snakemake'", name="snakemake")
    if arguments.check:
        from revocab.experiment import read
        from revocab.experiment.layout import Layout
        from revocab.workflow.check_hub import check_hub

        keys = dict(word.partition("=")[::2] for word in arguments.config)
        return check_hub(Layout(read(*(arguments.configfile or [DEMO]), **keys)))
    given = [*quiet(words), *defaults(words), *shipped_profiles(words)]
    if has(words, *PRINTS) or not is_local(words):
        sys.stderr.flush()
        os.execv(sys.executable, [sys.executable, "-m", "snakemake", *given])
    from revocab.workflow.supervise import supervise

    again, is_quiet = "run the same command again", bool(quiet(words))
    progress = supervise(given, arguments.directory, again, cwd=Path(), quiet=is_quiet)
    if not is_quiet:  # Snakemake has said it all
        return ""
    return "\n".join(result_lines(arguments.directory / progress.results, progress.done.total()))


def is_local(words: Sequence[str]) -> bool:
    """Return whether the jobs run on this machine: neither flags nor a profile name an executor."""
    before = ["", *words]
    profiles = [word for flag, word in zip(before, words, strict=False) if flag == "--profile"]
    profiles += [word.partition("=")[2] for word in words if word.startswith("--profile=")]
    profiles += filter(None, [os.environ.get("SNAKEMAKE_PROFILE")])
    named = [
        file for place in profiles for file in own_or_shipped(Path(place)).glob("config*.yaml")
    ]
    texts = [file.read_text(encoding="utf-8") for file in named]
    return not (
        has(words, "-e", "--executor")
        or any(re.search(r"^executor:(?!\s*local\b)", text, re.MULTILINE) for text in texts)
    )


def result_lines(results: Path, done: int) -> Iterator[str]:
    report, checks = results / "report.html", results / "checks.json"
    yield f"done: {done} jobs" if done else "nothing left to do"
    if report.is_file():
        tables = len([*(results / "tables").glob("*.md")])
        yield f"report   {report}"
        yield f"tables   {results / 'tables'}: {tables} as .md, .csv, .tex"
        if checks.is_file():
            yield f"checks   {checks}"


def check_files(files: Sequence[Path]) -> None:
    """Raise :class:`RevocabError` for files that Snakemake could not read, before it tries."""
    from revocab.experiment.load import read_values

    problems = []
    for file in files:
        target = file.suffix not in (".yaml", ".yml", ".json") and not file.exists()
        advice = "; if it is to be made, put -- before it" if target else ""
        problems += [f"{problem}{advice}" for problem in refused(read_values, file)]
    refuse(problems)


def has(words: Sequence[str], *flags: str) -> bool:
    """Return whether one of the flags is given: as a word, ``--flag=VALUE``, or ``-f2``."""
    return any(
        word.partition("=")[0] == flag or (len(flag) == 2 and re.fullmatch(rf"{flag}\d+", word))
        for word in words
        for flag in flags
    )


def defaults(words: Sequence[str]) -> list[str]:
    """Return the flags that say what runs, and on how many cores, as far as the words do not."""
    snakefile = ["--snakefile", from_here(workflow_folder() / "Snakefile")]
    return [
        *([] if has(words, "-s", "--snakefile") else snakefile),
        *([] if has(words, *CORES) else ["--cores", "all"]),
    ]


def shipped_profiles(words: Sequence[str]) -> list[str]:
    before = ["", *words]
    return [
        str(own_or_shipped(Path(word))) if flag in ("--profile", "--workflow-profile") else word
        for flag, word in zip(before, words, strict=False)
    ]


def quiet(words: Sequence[str]) -> list[str]:
    """Return the flag that leaves out why each job runs, which names all its files; none for a dry
    run, and none if the words say how much is printed.
    """
    loud = DRY_RUN | {"-q", "--verbose", "-p", "--printshellcmds"}
    return [] if any(word in loud or word.startswith("--quiet") for word in words) else [NO_REASONS]
