"""Rows of embedding and head: zero, the same, never trained, far larger than others, of no use.

Suffixes: V rows, D width.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from revocab.heavy_types import Tensor
from revocab.models.findings import Finding, Severity, some
from revocab.models.load import token_ids
from revocab.models.origin import PROVENANCE
from revocab.models.weights import BLOCK_BYTES, equal_tensors
from revocab.product.check.kind import Kind, Subject, fault
from revocab.vocabulary.tokenizers.canonical import BYTE_TOKEN

#: Times the median norm, or one by so many: rows beyond are told.
_FAR = 20
#: Rows that are known to be untrained tell others, if they are so many and below this share of it.
_FEWEST_KNOWN, _BELOW = 3, 0.5
#: Of ordinary tokens: more untrained ones are no leftovers.
_MANY = 0.2
#: Of all tokens: more that no text reaches are none, either.
_LOST = 0.25
#: Of all rows: where more are far above the median, it is that which is odd.
_OUTLIERS = 0.1


@dataclass(frozen=True)
class Rows:
    """What is kept of a matrix: each row's norm, and a number that equal rows have in common."""

    norms_V: Tensor
    prints_V: Tensor

    @classmethod
    def read(cls, subject: Subject, name: str) -> Rows | None:
        """Return a matrix's rows, read in blocks; none for one that is quantised."""
        import torch
        from safetensors import safe_open

        file, shape = subject.model.tensors[name]
        norms: list[Tensor] = []
        prints: list[Tensor] = []
        random = torch.Generator().manual_seed(0)
        with safe_open(subject.path / file, "pt") as handle:
            part = handle.get_slice(name)
            if len(shape) != 2 or part.get_dtype() not in ("F64", "F32", "F16", "BF16"):
                return None
            step = max(1, BLOCK_BYTES // (8 * math.prod(shape[1:])))
            for start in range(0, shape[0], step):
                rows_VD = part[start : start + step].contiguous()
                bits_VD = rows_VD.view(torch.int32 if rows_VD.element_size() > 2 else torch.int16)
                if not prints:
                    factors_D = torch.randint(1 << 62, bits_VD.shape[1:], generator=random) | 1
                prints.append((bits_VD.long() * factors_D).sum(1))
                norms.append(rows_VD.double().norm(dim=1))
        return cls(torch.cat(norms), torch.cat(prints))


def check(subject: Subject) -> Iterator[Finding]:
    if not subject.matrices:
        yield fault("rows-not-read")
    for name in dict.fromkeys(subject.matrices.values()):
        if name in subject.model.tensors and (rows := Rows.read(subject, name)) is not None:
            yield from zero(subject, name, rows)
            yield from equal(subject, name, rows)
            yield from norms(subject, name, rows)


def ordinary_rows(subject: Subject, rows: Rows) -> list[int]:
    """Return the rows of tokens that ordinary text is cut into; bytes are for the rest."""
    left_out = subject.special | subject.unreachable.keys()
    tokens = enumerate(subject.tokens[: len(rows.norms_V)])
    words = ((n, token) for n, token in tokens if token and n not in left_out)
    return [n for n, token in words if not BYTE_TOKEN.fullmatch(token)]


def zero(subject: Subject, name: str, rows: Rows) -> Iterator[Finding]:
    if not rows.norms_V.any():
        yield fault("zero-matrix", tensor=name)
        return
    empty = [n for n in (rows.norms_V == 0).nonzero()[:, 0].tolist() if n < len(subject.tokens)]
    words = sorted({*empty} & {*ordinary_rows(subject, rows)})
    # The row of padding is zero by design.
    others = sorted({*empty} - {*words, subject.tokenizer.pad_token_id})
    by_severity: dict[Severity, list[int]] = {"warning": words, "note": others}
    for severity, ids in by_severity.items():
        if ids:
            facts = {"tensor": name, "n": len(ids), "listed": subject.listed(ids)}
            yield fault("zero-rows", severity=severity, **facts)


def equal(subject: Subject, name: str, rows: Rows) -> Iterator[Finding]:
    groups: dict[int, list[int]] = {}
    for number in ordinary_rows(subject, rows):
        if rows.norms_V[number] > 0:
            groups.setdefault(int(rows.prints_V[number]), []).append(number)
    begins = subject.has(PROVENANCE)  # as new rows may; training sets them apart
    same = sorted((ids for ids in groups.values() if len(ids) > 1), key=len, reverse=True)
    if same:
        listed = some([f"{len(ids):,} ({subject.listed(ids)})" for ids in same[:3]])
        facts = {"tensor": name, "tokens": sum(map(len, same)), "rows": len(same), "listed": listed}
        yield fault("equal-rows", severity="note" if begins else "warning", **facts)


def norms(subject: Subject, name: str, rows: Rows) -> Iterator[Finding]:
    words = ordinary_rows(subject, rows)
    values = rows.norms_V[: len(subject.tokens)]
    finite = values[values.isfinite() & (values > 0)]
    if not len(finite):
        return
    median = float(finite.median())
    large = (rows.norms_V > _FAR * median).nonzero()[:, 0].tolist()
    if 0 < len(large) < _OUTLIERS * len(rows.norms_V):
        yield fault("loud-rows", far=_FAR, tensor=name, n=len(large), listed=subject.listed(large))
    never = {n for n, reason in subject.unreachable.items() if reason == "utf8"}
    never |= {*range(len(subject.tokens), len(rows.norms_V))}
    known = rows.norms_V[sorted(n for n in never if n < len(rows.norms_V))]
    bound = median / _FAR
    if len(known) >= _FEWEST_KNOWN and 0 < float(known.max()) < _BELOW * median:
        bound = max(bound, 1.05 * float(known.max()))
    begins = subject.has(PROVENANCE)  # as above
    still = [n for n in words if 0 < rows.norms_V[n] <= bound]
    if still:
        many = len(still) > _MANY * len(words) and not begins
        facts = {"tensor": name, "n": len(still), "bound": bound, "median": median}
        facts["listed"] = subject.listed(still)
        yield fault("untrained-rows", severity="warning" if many else "note", **facts)


def ties(subject: Subject) -> Iterator[Finding]:
    names = subject.matrices
    if "output" not in names or names["output"] not in subject.model.tensors:
        return
    stored = [(subject.path / subject.model.tensors[name][0], name) for name in names.values()]
    if equal_tensors(stored[0], stored[1]):
        yield fault("equal-matrices", output=names["output"], input=names["input"])


def unreachable(subject: Subject) -> Iterator[Finding]:
    tokens, files = subject.tokens, token_ids(subject.path)
    free = files.free if files is not None else ()
    # Bytes are there for texts that have no other token, whether there are such texts or not.
    others = (n for n, reason in subject.unreachable.items() if reason != "utf8" and n not in free)
    lost = [n for n in others if not BYTE_TOKEN.fullmatch(tokens[n])]
    if lost:
        severity: Severity = "warning" if len(lost) > _LOST * len(subject.tokens) else "note"
        listed = subject.listed(lost)
        yield fault("unreachable-tokens", severity=severity, n=len(lost), listed=listed)


KIND = Kind("rows", (check, ties, unreachable))
