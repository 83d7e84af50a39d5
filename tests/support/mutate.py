"""Plant faults in formulas, one at a time, and list those that no test finds.

    python tests/support/mutate.py [--count 200] [--seed 0] [--only ROOM …] [--results FILE]

A fault is a small change of arithmetic (:mod:`formulas`): a sign, + for -, * for /, a term left
out, one more in a constant, a range or a bound, < for <=, another axis or norm, a sum for a mean.
The tests that import the changed module run in a copy of the checkout, the nearest first, the quick
before the slow; the first that fails, and passes without the fault, has found it.

Results are JSON lines. The same call goes on where it was stopped, and tries again what lies in a
file that has changed since. Exit status: 0 at least 95 % found, 1 fewer.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from xml.etree import ElementTree
from zlib import crc32

from formulas import Change, changes, types

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = ("vocabulary", "initialise", "training", "evaluation")
#: Whole experiments show that files fit together; they take too long to look for one sign.
MARKERS = "not long and not hub and not dag and not shared_data"
#: Seconds for one test, and for the tests of one fault that lie equally near.
TEST_SECONDS, SECONDS = 120, 900
#: How far a test may be from a module: 1, it imports it; 2, it imports what imports it.
FARTHEST = 3
CRASH = "Python died"
SOURCES = ("src", "tests/support", "scripts")


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

    def find(self, tests: list[list[str]], seconds: dict[str, float]) -> str:
        """Return the first test that fails, and passes without the fault; empty: none."""
        for near in tests:
            near.sort(key=lambda name: seconds.get(name, 3.0))
            blamed = ["--deselect=" + test for test, passes in self.passing.items() if not passes]
            if failed := self.failed([*blamed, *near], seconds):
                return failed
        return ""

    def failed(self, words: list[str], seconds: dict[str, float]) -> str:
        """Run tests to the first that fails, and return its name; note how long files took."""
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
        took: dict[str, float] = {}
        broken = ""
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            # A file that cannot be imported has no class name, and its own in its place.
            file = (case.get("classname") or case.get("name", "")).replace(".", "/") + ".py"
            took[file] = took.get(file, 0) + float(case.get("time", 0))
            if case.find("failure") is not None or case.find("error") is not None:
                broken = f"{file}::{case.get('name')}" if case.get("classname") else file
        seconds |= {name: each for name, each in took.items() if each > seconds.get(name, 0)}
        return broken

    def passes(self, test: str) -> bool:
        """Return whether a test passes as the files stand."""
        if test not in self.passing:
            self.passing[test] = not self.failed([test], {})
        return self.passing[test]


@cache
def imported(name: str) -> frozenset[str]:
    """Return the files of the checkout that one imports, wherever in it, and not for types only."""
    files: set[str] = set()
    for node in ast.walk(ast.parse((REPOSITORY / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body.clear()
        elif isinstance(node, ast.Import):
            files |= {file for alias in node.names for file in file_of(alias.name)}
        elif isinstance(node, ast.ImportFrom) and node.module:
            files |= {*file_of(node.module)}
            for file in (f for alias in node.names for f in file_of(f"{node.module}.{alias.name}")):
                folder = (REPOSITORY / file).parent
                # A package that is imported by itself is one whose modules are found at run time.
                modules = folder.glob("*.py") if file.endswith("__init__.py") else []
                files |= {file, *(str(path.relative_to(REPOSITORY)) for path in modules)}
    return frozenset(files - {name})


@cache
def file_of(module: str) -> list[str]:
    """Return the file of a module of ours; none for an attribute or another's module."""
    path = module.replace(".", "/")
    places = [f"{top}/{path}{end}" for top in SOURCES for end in (".py", "/__init__.py")]
    return [place for place in places if (REPOSITORY / place).is_file()][:1]


def tests_of(module: str) -> list[list[str]]:
    """Return the tests from which a module can be reached by imports, the nearest first."""
    distances: dict[str, int] = {}
    for path in REPOSITORY.glob("tests/*/test_*.py"):
        name = str(path.relative_to(REPOSITORY))
        seen, border = {name}, {name}
        for distance in range(1, FARTHEST + 1):
            # What the tests' own helpers import is as near as if the test did.
            border = {each for file in border for each in imported(file)} - seen
            helpers = {each for each in border if each.startswith("tests/")}
            border |= {each for file in helpers for each in imported(file)} - seen
            seen |= border
            if module in border:
                distances.setdefault(name, distance)
        if any("run_snakemake" in each for each in seen):
            distances.pop(name, None)
    rings = [[n for n, near in distances.items() if near == d] for d in range(1, FARTHEST + 1)]
    return [sorted(ring) for ring in rings if ring]


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
    seconds = {name: each for result in known for name, each in result["seconds"].items()}
    options.results.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="revocab-mutate-") as folder:
        checkout = Checkout(Path(folder))
        results = []
        for number, (name, change) in enumerate(planned, 1):
            text = (REPOSITORY / name).read_text(encoding="utf-8")
            fault = f"{spoken(name, change)}  [{crc32(text.encode()):08x}]"
            if fault not in done:
                before = seconds.copy()
                test = search(checkout, name, text, change, seconds)
                slower = {test: took for test, took in seconds.items() if took != before.get(test)}
                done[fault] = {"fault": fault, "found": test, "seconds": slower}
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


def search(
    checkout: Checkout, name: str, text: str, change: Change, seconds: dict[str, float]
) -> str:
    """Return the test that finds a fault; empty: none does."""
    while True:
        checkout.write(name, change.planted(text))
        test = checkout.find(tests_of(name), seconds)
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
