"""Which tokens of a target vocabulary a source vocabulary holds too.

``identity: bytes`` compares what tokens stand for (:mod:`revocab.vocabulary.tokenizers.canonical`).
``identity: marker`` compares spellings after ``Ġ`` → ``▁`` and the two pairs of bos and eos, as the
released SAVA code does, so that the paper's overlaps can be reproduced.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field

from revocab.closed import Job
from revocab.errors import RevocabError
from revocab.heavy_types import PreTrainedTokenizerFast, ndarray
from revocab.io import read_json, read_parquet, sha256, write_json, write_text
from revocab.marker import read_manifest
from revocab.output import OutputFolder
from revocab.vocabulary.tokenizers.canonical import (
    CanonicalToken,
    Reason,
    TokenKind,
    canonical_vocabulary,
    unreachable,
)
from revocab.vocabulary.tokenizers.load import load_tokenizers, tokenizer_file

#: What the folder claims to be.
KIND = "intersection"
Identity = Literal["bytes", "marker"]
TOKEN_KINDS: tuple[TokenKind, ...] = ("word_start", "continuation", "byte", "special")
#: Examples of each sort in ``report.json``; the page has the first :data:`SHOWN`.
EXAMPLES, SHOWN = 50, 25
ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", " ": "&nbsp;"})


def marker_keys(tokens: list[CanonicalToken]) -> list[Hashable]:
    """Return each token's spelling as the released code compares it; bos and eos by role."""
    return [
        ("role", token.role)
        if token.role in ("bos", "eos")
        else ("string", token.string.replace("Ġ", "▁"))
        for token in tokens
    ]


def _keys(tokens: list[CanonicalToken], identity: Identity) -> Iterator[tuple[Hashable, ...]]:
    """Yield what each token may be matched by, best first.

    A special token is the one of the same spelling, whatever its role (pad here, eos there); where
    there is none, or the user has declared its role, the one of its role.
    """
    if identity == "marker":
        yield from ((key,) for key in marker_keys(tokens))
        return
    for token in tokens:
        keys = () if token.identity is None else (token.identity,)
        if token.kind == "special":
            spelling = ("special", token.string)
            yield (*keys, spelling) if token.declared else (spelling, *keys)
        else:
            yield keys


def choose(
    target: CanonicalToken, candidates: list[int], source: list[CanonicalToken], byte: bool
) -> int:
    """Return one of several source ids: of the wanted sort (``byte`` or plain), else the lowest.

    A byte token is wanted where the target has a plain token of the same text, too, which makes a
    vocabulary's intersection with itself the identity. Else the plain one, as the source writes it.
    """
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
    if identity not in ("bytes", "marker"):  # as a Python program may ask for
        raise RevocabError(f"identity {identity!r}: allowed are bytes and marker")
    by_key: dict[Hashable, list[int]] = defaultdict(list)
    for number, keys in enumerate(_keys(source, identity)):
        for key in keys:
            by_key[key].append(number)
    nothing: list[int] = []
    return [
        next((by_key[key] for key in keys if key in by_key), nothing)
        for keys in _keys(target, identity)
    ]


def unequal_pairs(
    source: list[CanonicalToken],
    target: list[CanonicalToken],
    identity: Identity,
    source_ids: Mapping[int, int],
) -> list[str]:
    """Return how pairs (source id by target id) differ from what :func:`match` finds, in words."""
    matches = match(source, target, identity)
    unequal = [
        f"{source[own].string!r} and {target[number].string!r} are paired"
        for number, own in source_ids.items()
        if own not in matches[number]
    ]
    return unequal + [
        f"{target[number].string!r} is in both and not paired"
        for number, own in enumerate(matches)
        if own and number not in source_ids
    ]


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


def report_of(
    source: list[CanonicalToken],
    target: list[CanonicalToken],
    matches: list[list[int]],
    chosen: dict[int, int],
    identity: Identity,
) -> dict[str, Any]:
    """Return what an intersection found, counted and by example, as plain data.

    ``matches``: source ids by target id; ``chosen``: the one source id of each shared target id.
    """
    source_strings = {token.string for token in source}
    rows: dict[int, dict[str, Any]] = {
        number: {
            "target_id": number,
            "target": target[number].string,
            "source_id": own,
            "source": source[own].string,
            "text": target[number].data.decode(errors="backslashreplace"),
        }
        for number, own in chosen.items()
    }
    by_bytes = [number for number in chosen if target[number].string not in source_strings]
    by_marker = set(marker_keys(source))
    missed_by_marker = {
        number for number, key in enumerate(marker_keys(target)) if key not in by_marker
    }
    # What even the marker rule misses first, and words before bytes: that is what a reader checks.
    by_bytes.sort(key=lambda n: (n not in missed_by_marker, target[n].kind in ("byte", "special")))
    overlap_kinds = Counter(target[number].kind for number in chosen)
    missing_kinds = Counter(token.kind for token in target) - overlap_kinds
    return {
        "identity": identity,
        "source_size": len(source),
        "target_size": len(target),
        "overlap": len(chosen),
        "missing": len(target) - len(chosen),
        "shared_by": {
            rule: sum(map(bool, matches if rule == identity else match(source, target, rule)))
            for rule in get_args(Identity)
        },
        "kinds": {kind: overlap_kinds[kind] for kind in TOKEN_KINDS},
        "missing_kinds": {kind: missing_kinds[kind] for kind in TOKEN_KINDS},
        "raw_overlap": sum(token.string in source_strings for token in target),
        "ambiguous": sum(len(candidates) > 1 for candidates in matches),
        "missed_by_strings": len(by_bytes),
        "missed_by_marker": len(missed_by_marker & chosen.keys()),
        "shared_source_rows": sum(count > 1 for count in Counter(chosen.values()).values()),
        "special_without_counterpart": {
            side: {
                str(n): token.string
                for n, token in enumerate(tokens)
                if token.kind == "special" and n not in shared
            }
            for side, tokens, shared in (
                ("source", source, {*chosen.values()}),
                ("target", target, chosen.keys()),
            )
        },
        "examples": [rows[number] for number in by_bytes[:EXAMPLES]],
        "many_to_one": [
            {
                key: rows[number][key]
                for key in ("target_id", "target", "text", "source_id", "source")
            }
            | {"others": {str(n): source[n].string for n in matches[number] if n != own}}
            for number, own in chosen.items()
            if len(matches[number]) > 1
        ][:EXAMPLES],
    }


def report_page(report: dict[str, Any], source: str, target: str) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    def code(text: str) -> str:
        """Return text as Markdown code that survives a table: no pipe or control mark."""
        visible = "".join(
            character if character.isprintable() else character.encode("unicode_escape").decode()
            for character in text
        )
        return f"<code>{visible.translate(ENTITIES)}</code>"

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    page = environment.get_template("intersection.md.j2").render(
        report=report, source=source, target=target, most=SHOWN, code=code, n="{:,}".format
    )
    return page.rstrip() + "\n"


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
    tokenizers = load_tokenizers({"source": source, "target": target})
    shared = intersect(tokenizers["source"], tokenizers["target"], **dict(job))
    reach = {}
    for side, tokenizer in tokenizers.items():
        tokens = canonical_vocabulary(tokenizer, shared.report["roles"][side])
        reasons = unreachable(tokenizer, tokens)
        counts = Counter(reasons.values())
        reach[side] = {
            "count": len(reasons),
            "reasons": {name: counts[name] for name in get_args(Reason)},
            "examples": [
                {"id": number, "token": tokens[number].string, "reason": reason}
                for number, reason in islice(reasons.items(), EXAMPLES)
            ],
        }
    shared = replace(shared, report={**shared.report, "unreachable": reach})
    inputs = {
        "source_sha256": sha256(tokenizer_file(source)),
        "target_sha256": sha256(tokenizer_file(target)),
    }
    write_intersection(shared, inputs, output, (Path(source).name, Path(target).name))
    return shared
