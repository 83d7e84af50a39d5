"""Which tokens of a target vocabulary a source vocabulary holds too.

``identity: bytes`` compares what tokens stand for (:mod:`revocab.vocabulary.tokenizers.canonical`).
``identity: marker`` compares spellings after ``Ġ`` → ``▁`` and the two pairs of bos and eos, as the
released SAVA code does, so that the paper's overlaps can be reproduced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.closed import Job
from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedTokenizerFast, ndarray
from revocab.io import read_json, read_parquet, sha256, write_json, write_text
from revocab.marker import read_manifest
from revocab.output import OutputFolder
from revocab.vocabulary.intersection.match import Identity, choose, match
from revocab.vocabulary.intersection.report import EXAMPLES, report_of, report_page
from revocab.vocabulary.tokenizers.canonical import CanonicalToken, canonical_vocabulary
from revocab.vocabulary.tokenizers.load import load_tokenizer, tokenizer_file
from revocab.vocabulary.tokenizers.unreachable import describe_unreachable

#: What the folder claims to be.
KIND = "intersection"


@dataclass(frozen=True)
class Intersection:
    """Shared tokens, sorted by target id.

    ``target_ids``, ``source_ids``, ``candidates`` (how many source tokens matched): int64,
    [overlap]. ``kinds``: the target token's kind, [overlap]. ``missing``: target ids without a
    source row, int64, [missing].
    """

    target_ids: ndarray
    source_ids: ndarray
    kinds: list[str]
    candidates: ndarray
    missing: ndarray
    report: dict[str, Any]


def intersect_canonical(
    source: list[CanonicalToken], target: list[CanonicalToken], identity: Identity = "bytes"
) -> Intersection:
    import numpy as np

    matches = match(source, target, identity)
    plain = {token.data for token in target if token.kind in ("word_start", "continuation")}
    in_bytes = [token.kind == "byte" and token.data in plain for token in target]
    chosen = {
        number: choose(target[number], candidates, source, in_bytes[number])
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
        report=report_of(source, target, matches, chosen, identity),
    )


def intersect(
    source: PreTrainedTokenizerFast,
    target: PreTrainedTokenizerFast,
    identity: Identity = "bytes",
    roles: Mapping[str, str] | None = None,
    source_roles: Mapping[str, str] | None = None,
    target_roles: Mapping[str, str] | None = None,
) -> Intersection:
    """Return the tokens that two tokenizers share, sorted by target id.

    ``roles`` declares roles of special tokens by spelling, for whichever side holds them;
    ``source_roles`` and ``target_roles`` declare them for one side. A target token that matches
    several source tokens gets one of them by a fixed rule; all are counted. Raises
    :class:`RevocabError` for spellings that are not there and for broken vocabularies.
    """
    sides = {"source": source.get_vocab(), "target": target.get_vocab()}
    declared = {
        side: {spelling: role for spelling, role in (roles or {}).items() if spelling in vocabulary}
        for side, vocabulary in sides.items()
    }
    if unknown := set(roles or {}).difference(*declared.values()):
        raise RevocabError(
            f"role {role!r}: neither vocabulary has a token {spelling!r}; give its exact spelling"
            for spelling, role in (roles or {}).items()
            if spelling in unknown
        )
    declared["source"] |= source_roles or {}
    declared["target"] |= target_roles or {}
    shared = intersect_canonical(
        canonical_vocabulary(source, declared["source"]),
        canonical_vocabulary(target, declared["target"]),
        identity,
    )
    return replace(shared, report={**shared.report, "roles": declared})


def write_intersection(
    intersection: Intersection,
    inputs: dict[str, Any],
    out: OutputFolder,
    names: tuple[str, str] = ("source", "target"),
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table(
        {
            "target_id": pa.array(intersection.target_ids, pa.int64()),
            "source_id": pa.array(intersection.source_ids, pa.int64()),
            "kind": pa.array(intersection.kinds, pa.string()),
            "candidates": pa.array(intersection.candidates, pa.int64()),
        }
    )
    counts = ("identity", "source_size", "target_size", "overlap", "missing", "ambiguous")
    manifest = {**inputs, **{name: intersection.report[name] for name in counts}}
    with out.replaced() as folder:
        pq.write_table(table, folder / "pairs.parquet")
        write_json(folder / "report.json", intersection.report)
        write_text(folder / "report.md", report_page(intersection.report, *names))
        write_json(folder / "manifest.json", manifest)


def read_pairs(folder: Path) -> Intersection:
    import numpy as np

    read_manifest(folder, KIND, (), "revocab intersect")
    report = read_json(folder / "report.json")
    columns = ("target_id", "source_id", "kind", "candidates")
    table = read_parquet(folder / "pairs.parquet", columns)
    target_ids = table["target_id"].to_numpy()
    return Intersection(
        target_ids=target_ids,
        source_ids=table["source_id"].to_numpy(),
        kinds=table["kind"].to_pylist(),
        candidates=table["candidates"].to_numpy(),
        missing=np.setdiff1d(np.arange(report["target_size"], dtype=np.int64), target_ids),
        report=report,
    )


class IntersectionJob(Job):
    """What decides which tokens are one."""

    identity: Identity = Field(
        default="bytes",
        description="compare tokens by their bytes, or by spelling as the SAVA release does",
    )
    roles: dict[str, str] = Field(
        default_factory=dict,
        description="SPELLING=ROLE of special tokens in either vocabulary; tokens with equal "
        "roles are shared",
    )
    source_roles: dict[str, str] = Field(
        default_factory=dict, description="SPELLING=ROLE in the source vocabulary only"
    )
    target_roles: dict[str, str] = Field(
        default_factory=dict, description="SPELLING=ROLE in the target vocabulary only"
    )


def intersect_folders(
    source: Path, target: Path, job: IntersectionJob, out: str | Path
) -> Intersection:
    """Intersect two tokenizer folders (or ``.tiktoken`` files) and look for unreachable tokens."""
    output = OutputFolder(Path(out), KIND, [source, target])
    tokenizers = {"source": load_tokenizer(source), "target": load_tokenizer(target)}
    shared = intersect(tokenizers["source"], tokenizers["target"], **dict(job))
    reach = {
        side: describe_unreachable(
            tokenizer, canonical_vocabulary(tokenizer, shared.report["roles"][side]), EXAMPLES
        )
        for side, tokenizer in tokenizers.items()
    }
    shared = replace(shared, report={**shared.report, "unreachable": reach})
    inputs = {
        "source_sha256": sha256(tokenizer_file(source)),
        "target_sha256": sha256(tokenizer_file(target)),
    }
    write_intersection(shared, inputs, output, (Path(source).name, Path(target).name))
    return shared
