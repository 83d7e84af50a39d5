"""Which tokens of a target vocabulary a source vocabulary holds too.

``identity: bytes`` compares what tokens stand for (:mod:`revocab.vocabulary.canonical`).
``identity: marker`` compares spellings after ``Ġ`` → ``▁`` and the two pairs of bos and eos, as the
released SAVA code does, so that the paper's overlaps can be reproduced.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from revocab.errors import RevocabError
from revocab.io import atomic, read_json, sha256, write_json
from revocab.vocabulary.canonical import CanonicalToken, canonical_vocabulary, load_tokenizer

if TYPE_CHECKING:
    import numpy as np
    from transformers import PreTrainedTokenizerFast

Identity = Literal["bytes", "marker"]
KINDS = ("word_start", "continuation", "byte", "special")
EXAMPLES = 50


@dataclass(frozen=True)
class Intersection:
    """Shared tokens, sorted by target id.

    ``target_ids``, ``source_ids``, ``candidates`` (how many source tokens matched): int64,
    [overlap]. ``kinds``: the target token's kind, [overlap]. ``missing``: target ids without a
    source row, int64, [missing].
    """

    target_ids: np.ndarray
    source_ids: np.ndarray
    kinds: list[str]
    candidates: np.ndarray
    missing: np.ndarray
    report: dict[str, Any]


def _marker_keys(tokens: list[CanonicalToken]) -> list[Hashable]:
    """Return each token's spelling as the released code compares it; bos and eos by role."""
    return [
        ("role", token.role)
        if token.role in ("bos", "eos")
        else ("string", token.string.replace("Ġ", "▁"))
        for token in tokens
    ]


def _keys(tokens: list[CanonicalToken], identity: Identity) -> list[Hashable | None]:
    if identity == "bytes":
        return [token.identity for token in tokens]
    return _marker_keys(tokens)


def _choose(target: CanonicalToken, candidates: list[int], source: list[CanonicalToken]) -> int:
    """Return one of several source ids: of the target's own sort, else plain before byte, lowest.

    Own sort first (byte token for byte token) makes a vocabulary's intersection with itself the
    identity; for every plain target token this is the rule "plain piece before byte token".
    """
    byte = target.kind == "byte"
    return min(
        candidates,
        key=lambda number: (
            (source[number].kind == "byte") != byte,
            source[number].string != target.string,
            number,
        ),
    )


def match(
    source: list[CanonicalToken], target: list[CanonicalToken], identity: Identity
) -> list[list[int]]:
    """Return, for each target id, the source ids that are the same token, ascending."""
    if identity not in ("bytes", "marker"):
        raise RevocabError(f"identity {identity!r}: allowed are bytes and marker")
    by_key: dict[Hashable, list[int]] = defaultdict(list)
    for number, key in enumerate(_keys(source, identity)):
        if key is not None:
            by_key[key].append(number)
    nothing: list[int] = []
    return [by_key.get(key, nothing) for key in _keys(target, identity)]


def _describe(token: CanonicalToken) -> str:
    return token.data.decode(errors="backslashreplace")


def _report(
    source: list[CanonicalToken],
    target: list[CanonicalToken],
    matches: list[list[int]],
    chosen: dict[int, int],
    identity: Identity,
) -> dict[str, Any]:
    source_strings = {token.string for token in source}
    found_by_bytes = [
        {
            "target_id": number,
            "target": target[number].string,
            "source_id": chosen[number],
            "source": source[chosen[number]].string,
            "text": _describe(target[number]),
        }
        for number in chosen
        if target[number].string not in source_strings
    ]
    by_marker = set(_marker_keys(source))
    missed_by_marker = {
        number for number, key in enumerate(_marker_keys(target)) if key not in by_marker
    }
    # What even the marker rule misses first, and words before bytes: that is what a reader checks.
    found_by_bytes.sort(
        key=lambda row: (
            row["target_id"] not in missed_by_marker,
            target[row["target_id"]].kind in ("byte", "special"),
        )
    )
    overlap_kinds = Counter(target[number].kind for number in chosen)
    missing_kinds = Counter(token.kind for token in target) - overlap_kinds
    return {
        "identity": identity,
        "source_size": len(source),
        "target_size": len(target),
        "overlap": len(chosen),
        "missing": len(target) - len(chosen),
        "kinds": {kind: overlap_kinds[kind] for kind in KINDS},
        "missing_kinds": {kind: missing_kinds[kind] for kind in KINDS},
        "raw_overlap": sum(token.string in source_strings for token in target),
        "ambiguous": sum(len(candidates) > 1 for candidates in matches),
        "missed_by_strings": len(found_by_bytes),
        "missed_by_marker": len(missed_by_marker & chosen.keys()),
        "special_without_role": {
            "source": [token.string for token in source if _roleless(token)],
            "target": [token.string for token in target if _roleless(token)],
        },
        "examples": found_by_bytes[:EXAMPLES],
    }


def _roleless(token: CanonicalToken) -> bool:
    return token.kind == "special" and token.role is None


def intersect_canonical(
    source: list[CanonicalToken], target: list[CanonicalToken], identity: Identity = "bytes"
) -> Intersection:
    """Intersect two canonical vocabularies; see :func:`intersect`."""
    import numpy as np

    matches = match(source, target, identity)
    chosen = {
        number: candidates[0]
        if len(candidates) == 1
        else _choose(target[number], candidates, source)
        for number, candidates in enumerate(matches)
        if candidates
    }
    missing = [number for number, candidates in enumerate(matches) if not candidates]
    return Intersection(
        target_ids=np.fromiter(chosen.keys(), np.int64, len(chosen)),
        source_ids=np.fromiter(chosen.values(), np.int64, len(chosen)),
        kinds=[target[number].kind for number in chosen],
        candidates=np.array([len(matches[number]) for number in chosen], np.int64),
        missing=np.array(missing, np.int64),
        report=_report(source, target, matches, chosen, identity),
    )


def intersect(
    source: PreTrainedTokenizerFast,
    target: PreTrainedTokenizerFast,
    identity: Identity = "bytes",
    roles: Mapping[str, str] | None = None,
) -> Intersection:
    """Return the tokens that two tokenizers share, sorted by target id.

    ``roles`` declares roles of special tokens by spelling, for whichever side holds them. A target
    token that matches several source tokens gets one of them by a fixed rule; all are counted.
    """
    declared = [
        {string: role for string, role in (roles or {}).items() if string in side.get_vocab()}
        for side in (source, target)
    ]
    return intersect_canonical(
        canonical_vocabulary(source, declared[0]),
        canonical_vocabulary(target, declared[1]),
        identity,
    )


def write_intersection(intersection: Intersection, inputs: dict[str, Any], out: str | Path) -> None:
    """Write ``pairs.parquet``, ``report.json`` and, last, ``manifest.json`` (with ``inputs``)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "manifest.json").unlink(missing_ok=True)
    table = pa.table(
        {
            "target_id": pa.array(intersection.target_ids, pa.int64()),
            "source_id": pa.array(intersection.source_ids, pa.int64()),
            "kind": pa.array(intersection.kinds, pa.string()),
            "candidates": pa.array(intersection.candidates, pa.int64()),
        }
    )
    with atomic(out / "pairs.parquet") as temporary:
        pq.write_table(table, temporary)
    write_json(out / "report.json", intersection.report)
    counts = ("identity", "source_size", "target_size", "overlap", "missing", "ambiguous")
    write_json(
        out / "manifest.json",
        {**inputs, **{name: intersection.report[name] for name in counts}},
    )


def read_pairs(folder: str | Path) -> Intersection:
    """Read an intersection folder back."""
    import numpy as np
    import pyarrow.parquet as pq

    folder = Path(folder)
    if not (folder / "manifest.json").is_file():
        raise RevocabError(
            f"{folder}: no intersection (no manifest.json); run intersect_vocabularies"
        )
    report = read_json(folder / "report.json")
    table = pq.read_table(folder / "pairs.parquet")
    target_ids = table["target_id"].to_numpy()
    return Intersection(
        target_ids=target_ids,
        source_ids=table["source_id"].to_numpy(),
        kinds=table["kind"].to_pylist(),
        candidates=table["candidates"].to_numpy(),
        missing=np.setdiff1d(np.arange(report["target_size"], dtype=np.int64), target_ids),
        report=report,
    )


def intersect_folders(
    source: Path, target: Path, identity: Identity, out: str | Path
) -> Intersection:
    """Intersect two tokenizer folders and write the result to ``out``."""
    intersection = intersect(load_tokenizer(source), load_tokenizer(target), identity)
    inputs = {
        "source_sha256": sha256(source / "tokenizer.json"),
        "target_sha256": sha256(target / "tokenizer.json"),
    }
    write_intersection(intersection, inputs, out)
    return intersection
