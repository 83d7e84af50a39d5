"""``revocab run``: Snakemake, after a run that was killed as after any other.

On this machine it is a child of ours (:mod:`revocab.workflow.supervise`); for a cluster, and where
it is only to print something, this process becomes Snakemake.

Snakemake locks a working folder by files in ``.snakemake/locks`` that list inputs and outputs and
nothing of the process. If it is killed they stay, and nobody can tell them from those of a run that
goes on. So each run of this workflow writes, once it has the lock, a record of its host, its
process and its lock files into the same folder, which Snakemake removes with the lock.
"""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

from revocab.errors import RevocabError
from revocab.flags import Parser
from revocab.io import read_json, write_json
from revocab.plan.show import planned
from revocab.rule import near
from revocab.workflow.files import own_or_shipped, workflow_folder

LOCKS = Path(".snakemake/locks")
#: Set for the jobs of a run, which outlive it if it is killed.
RUN = "REVOCAB_SNAKEMAKE"
#: Seconds by which two readings of a process' start may differ when the clock is set.
TOLERANCE = 5.0
UNLOCK = "snakemake --unlock"
#: With these Snakemake takes no lock, or is asked about its own.
DRY_RUN = frozenset({"-n", "--dry-run", "--dryrun"})
NO_LOCK = DRY_RUN | {"--nolock", "--unlock"}
NO_REASONS = "--quiet=reason"
#: Each says how many jobs Snakemake may run, or where; without any, all cores of this machine do.
CORES = ("-c", "-j", "-e", "--cores", "--jobs", "--executor", "--profile")
#: With these Snakemake prints something, or changes its own notes, and runs nothing.
PRINTS = (
    *sorted(NO_LOCK), "--dag", "--rulegraph", "--filegraph", "--d3dag", "-D", "--detailed-summary",
    "-S", "--summary", "--lint", "-l", "--list", "--list-rules", "--list-target-rules", "--report",
    "--archive", "--cleanup-metadata", "--touch", "-t", "--delete-all-output", "--version", "-v",
    "--list-changes", "--list-input-changes", "--list-params-changes", "--print-compilation",
    "--conda-create-envs-only", "--containerize", "--gui", "--delete-temp-output",
)  # fmt: skip
#: What Snakemake runs where no experiment is named.
DEMO = Path("config/demo.yaml")
USAGE = """usage: revocab run FILE.yaml … [--check] [--cores N] [--profile FOLDER] [FLAG …]

Run an experiment in this folder: its file, and overlays. Snakemake runs the workflow that comes
with revocab, and gets all other arguments (snakemake --help); default: --cores all. A profile is a
folder here, or one that comes with revocab, such as profiles/slurm. If an earlier run was killed,
its lock is removed first, but only if the process that held it ran on this host and has ended,
along with its jobs. With --check nothing runs: the Hub is asked for each model and data set of the
experiment, down to its fields, and the disk for room."""


@dataclass(frozen=True)
class Holder:
    """A run of Snakemake and the files by which it holds the lock."""

    host: str
    process: int
    #: Seconds since the epoch when the process started: numbers of processes come again.
    started: float
    #: Names of the lock files, with their times in nanoseconds.
    locks: dict[str, int]

    @property
    def run(self) -> str:
        return f"{self.host} {self.process} {self.started:.0f}"

    @property
    def is_alive(self) -> bool:
        """Return whether it runs on this host; a process that only waits to be reaped does not."""
        try:
            process = psutil.Process(self.process)
            ended = process.status() == psutil.STATUS_ZOMBIE
            started = process.create_time()
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True
        return not ended and abs(started - self.started) < TOLERANCE

    def jobs(self) -> list[int]:
        """Return the processes of this host that it has started, with theirs, and that run."""
        processes = psutil.process_iter(["pid", "environ", "status"])
        return sorted(
            process.info["pid"]
            for process in processes
            if (process.info["environ"] or {}).get(RUN) == self.run
            and process.info["pid"] not in (self.process, os.getpid())
            and process.info["status"] != psutil.STATUS_ZOMBIE
        )


def lock_files(locks: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mtime_ns for file in sorted(locks.glob("*.lock"))}


def records(locks: Path) -> dict[Path, Holder]:
    return {file: Holder(**read_json(file)) for file in sorted(locks.glob("holder-*.json"))}


def record_holder(locks: Path = LOCKS) -> None:
    """Record this process, which has just taken the lock; its jobs will know that they are its own.

    Called once by the workflow when a run starts.
    """
    known = {
        (name, time) for record in records(locks).values() for name, time in record.locks.items()
    }
    mine = dict(lock_files(locks).items() - known)
    started = psutil.Process().create_time()
    holder = Holder(socket.gethostname(), os.getpid(), started, mine)
    os.environ[RUN] = holder.run
    if mine:  # none with --nolock
        write_json(locks / f"holder-{holder.host}-{holder.process}.json", asdict(holder))


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


def hold_folder(locks: Path = LOCKS) -> None:
    """Let no other ``revocab run`` begin in this folder until this process ends, however it does.

    Snakemake takes its own lock seconds later. Raises :class:`RevocabError` naming the process that
    came first.
    """
    locks.parent.mkdir(parents=True, exist_ok=True)
    # Closed by no one: the operating system ends the hold with the process that Snakemake becomes.
    handle = os.open(locks.parent / "revocab-run", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        first = os.read(handle, 100).decode().strip() or "unknown"
        os.close(handle)
        raise RevocabError(
            f"{locks.parent.absolute().parent}: another revocab run holds this folder (process"
            f" {first}); wait until it ends"
        ) from None
    except OSError:  # a file system without such locks: Snakemake's own is left
        os.close(handle)
        return
    os.truncate(handle, 0)
    os.write(handle, f"{os.getpid()} of host {socket.gethostname()}\n".encode())
    os.set_inheritable(handle, True)


def run_in_progress(locks: Path = LOCKS) -> bool:
    """Return whether a run holds this folder; of one on another host its lock alone is known."""
    holders = records(locks).values()
    if any(holder.is_alive or holder.host != socket.gethostname() for holder in holders):
        return True
    # Before it has Snakemake's lock.
    held = locks.parent / "revocab-run"
    words = held.read_text(encoding="utf-8").split() if held.is_file() else []
    if len(words) < 4 or words[3] != socket.gethostname():
        return False
    try:
        began = psutil.Process(int(words[0])).create_time()
    except (psutil.NoSuchProcess, ValueError):
        return False
    return began <= held.stat().st_mtime + TOLERANCE  # else another process has its number


def remove_dead_locks(locks: Path = LOCKS) -> list[str]:
    """Remove the lock of runs that have ended; return a line for each.

    Raises :class:`RevocabError`, and removes nothing, unless everything that is locked is locked by
    processes of this host that have ended, and so have their jobs.
    """
    held, holders = lock_files(locks), records(locks)
    problems = list(_problems(locks, held, list(holders.values())))
    if problems:
        raise RevocabError(problems)
    messages = []
    for file, holder in holders.items():
        claimed = file.with_suffix(".ended")
        try:
            file.rename(claimed)  # by one call alone, if two come here at a time
        except FileNotFoundError:
            continue
        for name in holder.locks:
            (locks / name).unlink(missing_ok=True)
        claimed.unlink()
        messages.append(f"removed the lock of a run that has ended (process {holder.process})")
    return messages


def _problems(locks: Path, locked: dict[str, int], holders: list[Holder]) -> Iterator[str]:
    known = {(name, time) for holder in holders for name, time in holder.locks.items()}
    if unknown := sorted(name for name, time in locked.items() if (name, time) not in known):
        yield (
            f"{locks}: no record says which process holds {', '.join(unknown)}; make sure that"
            f" no Snakemake runs in this folder on any machine, then: {UNLOCK}"
        )
    for holder in holders:
        if holder.host != socket.gethostname():
            yield (
                f"{locks}: held by process {holder.process} of host {holder.host}, which cannot be"
                f" checked from here; run the same command there, or, once it has ended: {UNLOCK}"
            )
        elif holder.is_alive:
            yield (
                f"{locks}: held by process {holder.process} of this host, which is still running;"
                " wait until it"
                f" ends, or stop it: kill -INT {holder.process}"
            )
        elif jobs := holder.jobs():
            numbers = " ".join(map(str, jobs))
            yield (
                f"{locks}: the run of process {holder.process} has ended, but not all of its jobs"
                f" (processes {numbers}); wait until they end, or stop them: kill {numbers}"
            )


def run(words: Sequence[str]) -> str:
    """Run Snakemake with these words, or become it; return where its result lies.

    Raises :class:`RevocabError` where there is no experiment, and if the lock is held, or may be.
    """
    if {"-h", "--help"} & {*words}:
        return USAGE
    parser = Parser(prog="revocab run", add_help=False, allow_abbrev=False)
    parser.add_argument("-d", "--directory", type=Path, default=Path())
    parser.add_argument("--configfile", "--configfiles", nargs="+", type=Path, default=[])
    parser.add_argument("--config", nargs="+", default=[])
    parser.add_argument("--check", action="store_true")
    arguments, _ = parser.parse_known_args(words)
    if not has(words, "--configfile", "--configfiles", "--profile") and not DEMO.is_file():
        raise RevocabError("no experiment file: revocab run FILE.yaml (revocab new writes one)")
    check_files(arguments.configfile)
    if arguments.check:
        from revocab.workflow.check_hub import check_hub

        return check_hub(planned(arguments))
    given = [*quiet(words), *defaults(words), *shipped_profiles(words)]
    if has(words, *PRINTS) or not is_local(words):
        if not NO_LOCK & {*words}:
            take_folder(arguments.directory)
        sys.stderr.flush()
        os.execv(sys.executable, [sys.executable, "-m", "snakemake", *given])
    take_folder(arguments.directory)
    from revocab.workflow.supervise import supervise

    again, is_quiet = "run the same command again", bool(quiet(words))
    progress = supervise(given, arguments.directory, again, cwd=Path(), quiet=is_quiet)
    if not is_quiet:  # Snakemake has said it all
        return ""
    return "\n".join(result_lines(arguments.directory / progress.results, progress.done))


def take_folder(folder: Path) -> None:
    """Hold a folder, and remove the locks of runs that have ended; raise as these do."""
    hold_folder(folder / LOCKS)
    for line in remove_dead_locks(folder / LOCKS):
        print(line, file=sys.stderr)


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
    """Yield where the result of a run lies, as far as it has one."""
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
    from revocab.config.load import read_values

    problems = []
    for file in files:
        try:
            read_values(file)
        except RevocabError as error:
            target = file.suffix not in (".yaml", ".yml", ".json") and not file.exists()
            advice = "; if it is to be made, put -- before it" if target else ""
            problems += [f"{problem}{advice}" for problem in error.problems]
    if problems:
        raise RevocabError(problems)


def has(words: Sequence[str], *flags: str) -> bool:
    """Return whether one of the flags is given: as a word, ``--flag=VALUE``, or ``-f2``."""
    return any(
        word.partition("=")[0] == flag or (len(flag) == 2 and re.fullmatch(rf"{flag}\d+", word))
        for word in words
        for flag in flags
    )


def defaults(words: Sequence[str]) -> list[str]:
    """Return the flags that say what runs, and on how many cores, as far as the words do not."""
    snakefile = ["--snakefile", near(workflow_folder() / "Snakefile")]
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
