"""Run the small experiment at two states of the code on this machine, and compare what they write.

    python tests/support/same_bytes.py BASE [--moved OLD=NEW] [--config FILE …]

BASE is a commit; the other state is the working tree as it stands, with files that are not
committed yet. Tables, scores, figures, weights, packed data and tokenizers are compared by SHA-256;
logs and measured times are not. Exit status: 0 all the same, 1 something differs, 2 a run failed.

Checkouts and results stay in a cache, by content of the code, configuration and library versions:
the next comparison with the same BASE runs one demo only, and one that was killed goes on.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import compared_results

CACHE = "REVOCAB_SAME_BYTES"
SMALL = "tests/experiments/small.yaml"
THREADS = 1


class CannotCompare(Exception):
    """A state that cannot be had, or a demo that failed."""


@dataclass(frozen=True)
class Runner:
    repository: Path
    cache: Path
    cores: int
    config: Sequence[str]

    def git(self, *arguments: str, **options) -> bytes:
        command = ["git", "-C", str(self.repository), *arguments]
        done = subprocess.run(command, capture_output=True, check=False, **options)
        if done.returncode:
            raise CannotCompare(f"git {arguments[0]}: {done.stderr.decode().strip()}")
        return done.stdout

    def tree_of(self, commit: str) -> str:
        return self.git("rev-parse", "--verify", f"{commit}^{{tree}}").decode().strip()

    def tree_as_it_stands(self) -> str:
        """Return the content of the working tree, without what git ignores; the index stays."""
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "GIT_INDEX_FILE": str(Path(folder, "index"))}
            self.git("read-tree", "HEAD", env=environment)
            self.git("add", "--all", env=environment)
            return self.git("write-tree", env=environment).decode().strip()

    def folder_of(self, tree: str) -> Path:
        fixed = {
            name: hashlib.sha256(Path(name).read_bytes()).hexdigest()
            for name in self.config
            if Path(name).is_absolute()
        }
        versions = sorted({f"{one.name} {one.version}" for one in metadata.distributions()})
        parts = [tree, list(self.config), fixed, platform.python_version(), versions]
        return self.cache / hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def results(self, label: str, tree: str) -> Path:
        """Return the checkout in which a state has run the experiment, running what is missing."""
        folder = self.folder_of(tree)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # of two comparisons one waits for the other's run
            checkout, done = folder / "checkout", folder / "done.json"
            if done.is_file():
                say(f"{label}: kept in {folder}")
                return checkout
            self.check_out(tree, checkout)
            say(f"{label}: running in {folder}")
            start = time.monotonic()
            self.run(checkout, folder / "snakemake.log")
            seconds = round(time.monotonic() - start)
            done.write_text(json.dumps({"tree": tree, "seconds": seconds}), "utf-8")
            say(f"{label}: took {seconds} s")
        return checkout

    def check_out(self, tree: str, checkout: Path) -> None:
        if checkout.is_dir():
            return
        partial = checkout.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        with tarfile.open(fileobj=io.BytesIO(self.git("archive", tree))) as archive:
            archive.extractall(partial, filter="data")
        partial.rename(checkout)

    def run(self, checkout: Path, log: Path) -> None:
        command = [sys.executable, "-m", "snakemake", "--configfile", *self.config]
        environment = {
            **os.environ,
            "PYTHONPATH": str(checkout / "src"),
            "OMP_NUM_THREADS": str(THREADS),
            "HF_HUB_OFFLINE": "1",
        }
        steps = [["--cores", str(self.cores), "--rerun-incomplete"]]
        if any((checkout / ".snakemake/locks").glob("*")):  # of a killed run; we hold our own lock
            steps.insert(0, ["--unlock"])
        for options in steps:
            with log.open("w") as handle:
                done = subprocess.run(
                    [*command, *options], cwd=checkout, env=environment, check=False,
                    stdout=handle, stderr=subprocess.STDOUT,
                )  # fmt: skip
            if done.returncode:
                end = "\n".join(log.read_text("utf-8").splitlines()[-30:])
                raise CannotCompare(f"the demo failed; the end of {log}:\n{end}")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", metavar="BASE", help="the commit to compare with")
    parser.add_argument(
        "--moved", action="append", default=[], type=moved_path, metavar="OLD=NEW",
        help="a file or folder of the results that had another path at BASE",
    )  # fmt: skip
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="PATTERN", help="files not to compare"
    )
    parser.add_argument(
        "--config", nargs="+", metavar="FILE",
        help="configuration of both (default: tests/experiments/small.yaml as it stands); relative "
        "paths are each state's own files",
    )  # fmt: skip
    parser.add_argument("--repository", type=Path, default=Path.cwd())
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--most", type=int, default=5, help="files to show of each kind")
    parser.add_argument(
        "--cache", type=Path,
        default=os.environ.get(CACHE, Path.home() / ".cache" / "revocab-same-bytes"),
        help=f"where runs are kept; it may be deleted (default: {CACHE}, else ~/.cache)",
    )  # fmt: skip
    return parser.parse_args(arguments)


def moved_path(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise argparse.ArgumentTypeError(f"received {text!r}, expected OLD=NEW")
    return old, new


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    config = options.config or [str(options.repository.resolve() / SMALL)]
    runner = Runner(options.repository, options.cache.resolve(), options.cores, config)
    try:
        trees = {options.base: runner.tree_of(options.base)}
        trees["the working tree"] = runner.tree_as_it_stands()
        old, new = (runner.results(label, tree) for label, tree in trees.items())
    except CannotCompare as error:
        say(str(error))
        return 2
    pairs = compared_results.pair_up(old, new, dict(options.moved), options.ignore)
    states = {pair.name: pair.state() for pair in pairs}
    print(f"old: {options.base} in {old}\nnew: the working tree in {new}\n")
    print(compared_results.summary(pairs, states))
    for text in compared_results.differences(pairs, states, options.most):
        print(f"\n{text}")
    if not pairs:
        say("the demo wrote nothing that can be compared")
        return 2
    return 0 if set(states.values()) == {"same"} else 1


if __name__ == "__main__":
    sys.exit(main())
