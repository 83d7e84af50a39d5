"""Kill runs of the small experiment at seeded moments, and compare what they end with.

    python tests/support/soak.py [--kills 200] [--seed 0] [--cores 2] [--folder FOLDER]

The experiment runs once undisturbed; then ``revocab run`` is started, killed and started again
until it ends, from an empty folder each time, for as many kills as asked. A kill is SIGKILL to all
processes or to one of them, or SIGTERM or SIGINT to Snakemake, as the seed says. All files that can
be compared (:mod:`compared_results`) must have the same bytes. Exit status: 0 all the same, 1
something differs, 2 a run that nobody killed failed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import compared_results
from psutil import NoSuchProcess, Process
from run_snakemake import link_checkout

REPOSITORY = Path(__file__).resolve().parents[2]
EXPERIMENT = "tests/experiments/small.yaml"
#: Longest time in seconds before a kill: more than any job of the experiment takes.
LONGEST = 25.0
MADE = ("results", "resources", ".snakemake")


class Soak:
    def __init__(self, folder: Path, moments: random.Random, cores: int):
        self.folder, self.moments, self.cores = folder, moments, cores
        folder.mkdir(parents=True)
        link_checkout(REPOSITORY, folder)

    def start(self, log: Path, *flags: str) -> subprocess.Popen:
        run = [sys.executable, "-m", "revocab", "run", EXPERIMENT, "--cores", str(self.cores)]
        paths = {"PYTHONPATH": str(REPOSITORY / "src"), "OMP_NUM_THREADS": "1"}
        with log.open("a") as handle:
            return subprocess.Popen(
                [*run, *flags], cwd=self.folder, env={**os.environ, **paths},
                start_new_session=True, stdout=handle, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def finish(self, log: Path) -> None:
        if self.start(log).wait():
            end = "\n".join(log.read_text("utf-8").splitlines()[-30:])
            print(f"a run that nobody killed failed; the end of {log}:\n{end}", file=sys.stderr)
            raise SystemExit(2)

    def run_killed(self, kills: int, log: Path) -> int:
        """Start and kill until a run ends by itself, or as often as asked; return the kills."""
        for count in range(kills):
            run = self.start(log)
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(self.moments.uniform(0.5, LONGEST))
            if run.poll() == 0:
                return count
            self.disturb(run)
            wait_for_end(run)
            self.start(log, "--unlock").wait()
        self.finish(log)
        return kills

    def disturb(self, run: subprocess.Popen) -> None:
        way = self.moments.choice([kill_all, self.kill_one, self.stop_snakemake])
        with contextlib.suppress(NoSuchProcess):
            root = Process(run.pid)
            way([root, *root.children(recursive=True)])

    def kill_one(self, processes: list[Process]) -> None:
        send(self.moments.choice(processes), signal.SIGKILL)

    def stop_snakemake(self, processes: list[Process]) -> None:
        send(processes[0], self.moments.choice([signal.SIGTERM, signal.SIGINT]))

    def clear(self) -> None:
        for name in MADE:
            shutil.rmtree(self.folder / name, ignore_errors=True)


def send(process: Process, number: signal.Signals) -> None:
    with contextlib.suppress(NoSuchProcess):
        process.send_signal(number)


def kill_all(processes: list[Process]) -> None:
    for process in processes:
        send(process, signal.SIGKILL)


def wait_for_end(run: subprocess.Popen) -> None:
    """Wait until a run and all processes of its session have ended; one that goes on is left to."""
    run.wait()
    while any(session == run.pid for session in sessions()):
        time.sleep(0.05)


def sessions() -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text("utf-8").rpartition(")")[2].split()
            found += [int(fields[3])] if fields[0] != "Z" else []
    return found


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder)")
    return parser.parse_args()


def main() -> int:
    options = read_options()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="revocab-soak-"))
    moments = random.Random(options.seed)
    reference = Soak(folder / "reference", moments, options.cores)
    reference.finish(folder / "reference.log")
    soak = Soak(folder / "killed", moments, options.cores)
    kills, differing = 0, 0
    while kills < options.kills:
        soak.clear()
        kills += soak.run_killed(options.kills - kills, folder / "killed.log")
        pairs = compared_results.pair_up(reference.folder, soak.folder, {})
        states = {pair.name: pair.state() for pair in pairs}
        print(f"{kills} kills\n{compared_results.summary(pairs, states)}", flush=True)
        for text in compared_results.differences(pairs, states, 5):
            print(f"\n{text}")
        differing += set(states.values()) != {"same"}
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
