"""What two runs of one experiment wrote, file by file: the same bytes or not, and where not."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from revocab.report.runs import anchor

#: Folders of a checkout that rules write.
WRITTEN = ("results", "resources")
#: Measured times and what tells of a machine or a job; hidden files are Snakemake's and claims.
IGNORED = (
    "*/logs/*", "*/timing.json", "*/efficiency/*", "*/machine.json",
    "results/README.md", "*/.*",
)  # fmt: skip
#: First match counts; the rest are notes.
KINDS = {
    "tables": ["*/tables/*"],
    "figures": ["*.svg", "*.png", "*.pdf"],
    "report": ["*.html"],
    "packed data": ["*/packed/*", "*/heldout/*"],
    "tokenizers": ["*/tokenizers/*", "*/tokenizer*.json", "*/special_tokens_map.json"],
    "weights": ["*.safetensors", "*.bin", "*.npy"],
    "scores": ["*.csv", "*.parquet", "*/multiple_choice*"],
    "text and tasks": ["*.jsonl", "*.jsonl.gz", "*/tasks/*"],
}
NOTES = "manifests and notes"
LONGEST = 160


@dataclass(frozen=True)
class Pair:
    """A file by its name in the newer run, and where it is in each (None: not there)."""

    name: str
    old: Path | None
    new: Path | None

    @property
    def kind(self) -> str:
        for kind, patterns in KINDS.items():
            if any(fnmatch(self.name, pattern) for pattern in patterns):
                return kind
        return NOTES

    def state(self) -> str:
        if self.old is None or self.new is None:
            return "only new" if self.old is None else "only old"
        return "same" if digest(self.old) == digest(self.new) else "different"


def pair_up(
    old: Path, new: Path, moved: Mapping[str, str], ignored: Iterable[str] = ()
) -> list[Pair]:
    """Return the files of two checkouts' results, sorted by name.

    ``moved`` gives the new path of files or folders that had another one in ``old``.
    """
    before = {renamed(name, moved): path for name, path in written(old, ignored)}
    after = dict(written(new, ignored))
    return [Pair(name, before.get(name), after.get(name)) for name in sorted({*before, *after})]


def written(checkout: Path, ignored: Iterable[str] = ()) -> Iterator[tuple[str, Path]]:
    """Yield name and path of every result file of a checkout that can be compared."""
    patterns = (*IGNORED, *ignored, *(f"*/tables/{name}.*" for name in timed_tables(checkout)))
    for folder in WRITTEN:
        for path in (checkout / folder).rglob("*"):
            name = path.relative_to(checkout).as_posix()
            if path.is_file() and not any(fnmatch(name, pattern) for pattern in patterns):
                yield name, path


def timed_tables(checkout: Path) -> list[str]:
    """Return the tables of speed and memory, which no second run repeats."""
    found = []
    for path in (checkout / "results").glob("*/experiment.json"):
        tables = json.loads(path.read_text("utf-8"))["experiment"]["tables"]
        found += [name for name, table in tables.items() if table["kind"] == "efficiency"]
    return found


def renamed(name: str, moved: Mapping[str, str]) -> str:
    for old, new in moved.items():
        if name == old or name.startswith(f"{old.rstrip('/')}/"):
            return new.rstrip("/") + name[len(old.rstrip("/")) :]
    return name


def digest(path: Path) -> str:
    return hashlib.sha256(content(path)).hexdigest()


def content(path: Path) -> bytes:
    """Return a file's bytes; a report's without its costs and its tables of speed."""
    data = path.read_bytes()
    if path.suffix != ".html":
        return data
    checkout = next(one.parent for one in path.parents if one.name in WRITTEN)
    data = re.sub(rb'<section id="timings">.*?</section>', b"", data, flags=re.DOTALL)
    data = re.sub(rb"<dd data-measured>.*?</dd>", b"", data, flags=re.DOTALL)
    for name in timed_tables(checkout):
        at = anchor(name, "table").encode()
        block = rb'<details class="block" id="%s">.*?(?=<details class="block"|</section>)' % at
        data = re.sub(block, b"", data, flags=re.DOTALL)
    return data


def first_difference(old: Path, new: Path) -> str:
    """Return where two files begin to differ: a line of each, a tensor, or a byte."""
    before, after = lines(old), lines(new)
    if before is None or after is None:
        one, other = content(old), content(new)
        place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
        shared = min(len(one), len(other)) if place is None else place
        return f"byte {shared + 1} of {len(one)} and {len(other)}"
    for number in range(max(len(before), len(after))):
        here = [side[number] if number < len(side) else "(end)" for side in (before, after)]
        if here[0] != here[1]:
            return "\n".join([f"line {number + 1}", *excerpts(*here)])
    return "the same text, stored otherwise"


def excerpts(old: str, new: str) -> list[str]:
    """Return two differing lines, cut to what surrounds their first difference."""
    place = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0)
    start = max(0, place - LONGEST // 2)
    return [f"  {sign} {one[start : start + LONGEST]}" for sign, one in (("-", old), ("+", new))]


def lines(path: Path) -> list[str] | None:
    data = content(path)
    if path.suffix == ".safetensors":
        return tensors(data)
    if path.suffix == ".parquet":
        import pandas as pd

        return pd.read_parquet(io.BytesIO(data)).to_csv().splitlines()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    try:
        return None if b"\0" in data else data.decode("utf-8").splitlines()
    except UnicodeDecodeError:
        return None


def tensors(data: bytes) -> list[str]:
    """Return a line for each tensor of a safetensors file: name, type, shape, hash."""
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    found = [f"metadata {header.pop('__metadata__', None)}"]
    for name, one in sorted(header.items()):
        begin, end = one["data_offsets"]
        values = hashlib.sha256(data[start + begin : start + end]).hexdigest()
        found.append(f"{name} {one['dtype']} {one['shape']} {values}")
    return found


def summary(pairs: Sequence[Pair], states: Mapping[str, str]) -> str:
    columns = ["same", "different", "only old", "only new"]
    rows = [["", *columns]]
    for kind in (*KINDS, NOTES):
        found = [states[pair.name] for pair in pairs if pair.kind == kind]
        if found:
            rows.append([kind, *(str(found.count(column)) for column in columns)])
    return "\n".join(row[0].ljust(20) + "".join(cell.rjust(11) for cell in row[1:]) for row in rows)


def differences(pairs: Sequence[Pair], states: Mapping[str, str], most: int) -> Iterator[str]:
    """Yield a paragraph for each file that is not the same, at most ``most`` of each kind."""
    for kind in (*KINDS, NOTES):
        found = [one for one in pairs if one.kind == kind and states[one.name] != "same"]
        for pair in found[:most]:
            text = f"{pair.name}: {states[pair.name]}"
            if pair.old and pair.new:
                text += f", {first_difference(pair.old, pair.new)}"
            yield text
        if len(found) > most:
            yield f"… and {len(found) - most} more of {kind}"
