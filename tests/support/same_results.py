"""Compare the numbers of this working tree with another commit's: make same-results BASE=COMMIT.

Both run the small experiment, or that of ``--config``, and plan every shipped file (:mod:`freeze`).
Prints, by kind, how many numbers are the same, differ, or are in one of the two alone, and the
first that differ. Exit status 0: what both have is equal; 1: something differs; 2: a run failed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from same_bytes import CACHE, SMALL, CannotCompare, Runner, say

REPOSITORY = Path(__file__).resolve().parents[2]
KEPT = Path.home() / ".cache/revocab-same-bytes"
#: The folders that an experiment file reads beside the repository.
DATA = re.compile(r"\{data_root\}/([\w-]+)")


def frozen(runner: Runner, label: str, tree: str) -> dict[str, Any]:
    checkout = runner.results(label, tree)
    out = checkout.parent / "frozen.json.gz"
    if not out.is_file():
        shared = REPOSITORY.parent / "shared"
        if shared.is_dir() and not (checkout.parent / "shared").exists():
            (checkout.parent / "shared").symlink_to(shared)
        own = checkout / "tests/support/freeze.py"
        script = own if own.is_file() else Path(__file__).with_name("freeze.py")
        results = [path.parent for path in sorted(checkout.glob("results/*/report.html"))]
        partial = out.with_suffix(".partial")
        command = [
            sys.executable,
            script,
            partial,
            "--results",
            *results,
            "--plan",
            *shipped(checkout),
        ]
        folders = [checkout / name for name in ("src", "tests/support", "tests/workflow")]
        path = os.pathsep.join(map(str, folders))
        environment = {**os.environ, "PYTHONPATH": path, "HF_HUB_OFFLINE": "1"}
        say(f"{label}: reading numbers")
        words = [
            str(word.relative_to(checkout)) if word in results else str(word) for word in command
        ]
        if subprocess.run(words, cwd=checkout, env=environment, check=False).returncode:
            raise CannotCompare(f"{script} failed in {checkout}")
        partial.rename(out)
    with gzip.open(out, "rt", encoding="utf-8") as opened:
        return json.load(opened)


def shipped(checkout: Path) -> list[str]:
    shared = checkout.parent / "shared"
    files = [
        path for folder in ("config", "config/demos") for path in checkout.glob(f"{folder}/*.yaml")
    ]
    needs = {path: set(DATA.findall(path.read_text("utf-8"))) for path in files}
    return sorted(
        str(path.relative_to(checkout))
        for path in files
        if all((shared / name).is_dir() for name in needs[path])
    )


def compared(
    old: dict[str, Any], new: dict[str, Any]
) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Return how many numbers of each kind are in which state, and a line for each that differs."""
    states: Counter[tuple[str, str]] = Counter()
    lines = []
    for source in sorted(old.keys() | new.keys()):
        if source not in old or source not in new:
            states["experiments", "only old" if source in old else "only new"] += 1
            lines.append(f"{source}: only in the {'old' if source in old else 'new'} state")
            continue
        for kind in sorted(old[source].keys() | new[source].keys()):
            one, two = old[source].get(kind, {}), new[source].get(kind, {})
            for name in sorted(one.keys() | two.keys()):
                state = "same" if one.get(name) == two.get(name) else "different"
                if (name in one) != (name in two):
                    state = "only old" if name in one else "only new"
                states[kind, state] += 1
                if state != "same":
                    values = f": {one.get(name)!r:.70} -> {two.get(name)!r:.70}"
                    lines.append(f"{source} {kind} {name} {state}{values}")
    return states, lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("--config", default=SMALL, help="the experiment to run")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--most", type=int, default=20, help="lines on what differs")
    parser.add_argument("--cache", type=Path, default=os.environ.get(CACHE, KEPT))
    arguments = parser.parse_args()
    runner = Runner(REPOSITORY, arguments.cache.resolve(), arguments.cores, [arguments.config])
    try:
        old = frozen(runner, arguments.base, runner.tree_of(arguments.base))
        new = frozen(runner, "the working tree", runner.tree_as_it_stands())
    except CannotCompare as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    states, lines = compared(old, new)
    for (kind, state), number in sorted(states.items()):
        print(f"{kind:<14}{state:<12}{number:>9,}")
    print(*lines[: arguments.most], sep="\n")
    return int(any(state == "different" for _, state in states))


if __name__ == "__main__":
    sys.exit(main())
