"""Plant faults in formulas, one at a time, and list those that no test finds.

    python tests/support/mutate.py [--count 200] [--seed 0] [--only ROOM …] [--results FILE]

A fault is a small change of arithmetic (:mod:`formulas`): a sign, + for -, * for /, a term left
out, one more in a constant, a range or a bound, < for <=, another axis or norm, a sum for a mean.
The test files that run the changed line do so in a copy of the checkout, those that run little else
first; the first test that fails, and passes without the fault, has found it. Which files run a line
is measured once, in a run of the suite (``--lines FILE``).

Results are JSON lines. The same call goes on where it was stopped, and tries again what lies in a
file that has changed since. Exit status: 0 at least 95 % found, 1 fewer.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zlib import crc32

from coverage import CoverageData
from formulas import Change, changes, types

from revocab.io import read_json, write_json

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = ("vocabulary", "initialise", "training", "evaluation")
#: Whole experiments show that files fit together; they take too long to look for one sign.
MARKERS = "not long and not hub and not dag and not shared_data"
#: Seconds for one test, and for the tests of one fault.
TEST_SECONDS, SECONDS = 120, 900
CRASH = "Python died"


class Checkout:
    """A copy of the files that git knows, in which faults are planted and tests run."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.passing: dict[str, bool] = {}
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, cwd=REPOSITORY, capture_output=True, text=True, check=True)
        for name in filter(None, names.stdout.split("\0")):
            if (REPOSITORY / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(REPOSITORY / name, folder / name)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")
        for stale in (self.folder / name).parent.glob(f"__pycache__/{Path(name).stem}.*.pyc"):
            stale.unlink()  # it may be as old and as long

    def find(self, tests: list[str]) -> str:
        """Return the first test that fails; empty: none, or none runs."""
        blamed = ["--deselect=" + test for test, passes in self.passing.items() if not passes]
        return self.failed([*blamed, *tests]) if tests else ""

    def failed(self, words: list[str]) -> str:
        """Run tests to the first that fails, and return its name."""
        report = self.folder / "mutate.xml"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "0"]
        command += [f"--timeout={TEST_SECONDS}", "-m", MARKERS, f"--junitxml={report}", *words]
        paths = {"PYTHONPATH": str(self.folder / "src"), "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            command, cwd=self.folder, env={**os.environ, **paths}, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process.returncode in (3, 4):
            raise SystemExit(f"pytest ended with {process.returncode}: {' '.join(command)}")
        if not report.exists():  # it ran too long, or Python itself died
            return "" if process.returncode == -signal.SIGKILL else CRASH
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                # A file that cannot be imported has no class name, and its own in its place.
                file = (case.get("classname") or case.get("name", "")).replace(".", "/") + ".py"
                return f"{file}::{case.get('name')}" if case.get("classname") else file
        return ""

    def passes(self, test: str) -> bool:
        """Return whether a test passes as the files stand."""
        if test not in self.passing:
            self.passing[test] = not self.failed([test])
        return self.passing[test]


def measure(checkout: Checkout, file: Path, cores: int) -> None:
    """Run the suite once, and write which test files run each line, with hashes of all files."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(cores)]
    command += ["--dist", "loadfile", "--no-loadscope-reorder", "-m", MARKERS, "--cov-report="]
    command += ["--cov-context=test", *(f"--cov=src/revocab/{room}" for room in ROOMS)]
    data = checkout.folder / "mutate.coverage"
    paths = {"PYTHONPATH": str(checkout.folder / "src"), "COVERAGE_FILE": str(data)}
    subprocess.run(command, cwd=checkout.folder, env=os.environ | paths, check=False)
    coverage = CoverageData(str(data))
    coverage.read()
    lines: dict[str, dict[int, list[str]]] = {}
    for source in sorted(coverage.measured_files()):
        by_line = coverage.contexts_by_lineno(source)
        lines[str(Path(source).relative_to(checkout.folder))] = {
            line: sorted({context.split("::")[0] for context in contexts} - {""})
            for line, contexts in sorted(by_line.items())
        }
    tests = [str(path.relative_to(REPOSITORY)) for path in REPOSITORY.glob("tests/*/test_*.py")]
    hashes = {name: hash_of(name) for name in sorted([*lines, *tests])}
    write_json(file, {"hashes": hashes, "lines": lines})


def hash_of(name: str) -> str:
    return f"{crc32((REPOSITORY / name).read_bytes()):08x}"


def tests_of(name: str, line: int, measured: dict[str, Any]) -> list[str]:
    """Return the test files that run a line, and those that have changed since; first those that
    run the fewest lines in all.

    Where no test runs it, or the module has changed and its lines have moved: all that run any
    line of it.
    """
    hashes, lines = measured["hashes"], measured["lines"].get(name, {})
    same = hashes.get(name) == hash_of(name)
    # What runs while a module is imported, runs in no test by name.
    tests = set(lines.get(str(line), ()) if same else ())
    tests = tests or set(chain.from_iterable(lines.values()))
    paths = (str(path.relative_to(REPOSITORY)) for path in REPOSITORY.glob("tests/*/test_*.py"))
    tests |= {test for test in paths if hashes.get(test) != hash_of(test)}
    lines_run = Counter(chain.from_iterable(chain(*map(dict.values, measured["lines"].values()))))
    there = (test for test in tests if (REPOSITORY / test).is_file())
    return sorted(there, key=lambda test: (lines_run[test], test))


def faults(room: str, seed: int, count: int) -> Iterator[tuple[str, Change]]:
    """Yield faults of a room as the seed says; more of them begin with the same."""
    package = REPOSITORY / "src/revocab"
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))}
    known = types(texts.values())
    places = [
        (str(path.relative_to(REPOSITORY)), place)
        for path, text in texts.items()
        if path.is_relative_to(package / room)
        for place in changes(text, known)
    ]
    chance = random.Random(f"{seed} {room}")
    chance.shuffle(places)
    print(f"{room}: {len(places)} places", flush=True)
    for name, place in places[:count]:
        yield name, chance.choice(place)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="faults, in equal parts of rooms")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=ROOMS, nargs="+", default=ROOMS, metavar="ROOM")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "results/mutate.jsonl")
    help_of_lines = "which test files run each line; measured if it is not there"
    place = REPOSITORY / "results/mutate-lines.json"
    parser.add_argument("--lines", type=Path, default=place, help=help_of_lines)
    parser.add_argument("--cores", type=int, default=2, help="of the run that measures lines")
    parser.add_argument("--list", action="store_true", help="print the faults, and plant none")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # and nothing is left behind
    share = -(-options.count // len(options.only))
    planned = [fault for room in options.only for fault in faults(room, options.seed, share)]
    if options.list:
        print("\n".join(spoken(name, change) for name, change in planned))
        return 0
    lines = options.results.read_text("utf-8").splitlines() if options.results.exists() else []
    known = [json.loads(line) for line in lines]
    done = {result["fault"]: result for result in known}
    options.results.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="revocab-mutate-") as folder:
        checkout = Checkout(Path(folder))
        if not options.lines.exists():
            measure(checkout, options.lines, options.cores)
        measured = read_json(options.lines)
        results = []
        for number, (name, change) in enumerate(planned, 1):
            fault = f"{spoken(name, change)}  [{hash_of(name)}]"
            if fault not in done:
                tests = tests_of(name, change.line, measured)
                done[fault] = {"fault": fault, "found": search(checkout, name, change, tests)}
                with options.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(done[fault]) + "\n")
            results.append(done[fault])
            print(
                f"{number}/{len(planned)} {fault}: {done[fault]['found'] or 'SURVIVES'}", flush=True
            )
    survivors = [result["fault"] for result in results if not result["found"]]
    print("\nnot found:", *survivors, sep="\n")
    for room in options.only:
        own = [result for result in results if result["fault"].startswith(f"src/revocab/{room}/")]
        print(f"{room}: {sum(bool(result['found']) for result in own)} of {len(own)} found")
    print(f"{len(results) - len(survivors)} of {len(results)} found")
    return 1 if len(survivors) > 0.05 * len(results) else 0


def search(checkout: Checkout, name: str, change: Change, tests: list[str]) -> str:
    """Return the test that finds a fault; empty: none does."""
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    while True:
        checkout.write(name, change.planted(text))
        test = checkout.find(tests)
        checkout.write(name, text)
        if test in ("", CRASH) or checkout.passes(test):
            return test


def spoken(name: str, change: Change) -> str:
    place = f"{name}:{change.line}:{change.column}"
    line = (REPOSITORY / name).read_text(encoding="utf-8").splitlines()[change.line - 1].strip()
    within = "" if change.before in line and len(change.before) > 3 else f" in `{line}`"
    return f"{place}: {change.before}  →  {change.after}{within}"


if __name__ == "__main__":
    sys.exit(main())
