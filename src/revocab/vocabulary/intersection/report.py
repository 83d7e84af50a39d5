"""What an intersection found: a report to compute with, and a page to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from revocab.vocabulary.intersection.match import Identity, marker_keys, match
from revocab.vocabulary.tokenizers.canonical import CanonicalToken, TokenKind

KINDS: tuple[TokenKind, ...] = ("word_start", "continuation", "byte", "special")
#: Examples kept of each sort in ``report.json``; the page shows the first :data:`SHOWN`.
EXAMPLES = 50
SHOWN = 25
REASONS = {
    "utf8": "bytes that no valid UTF-8 text contains",
    "segmentation": "merges or scores split the token's own text into other tokens",
    "text": "no text tried produces it: another token stands for its text, or words are split"
    " elsewhere",
}


def _describe(token: CanonicalToken) -> str:
    return token.data.decode(errors="backslashreplace")


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
    found_by_bytes: list[dict[str, Any]] = [
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
    by_marker = set(marker_keys(source))
    missed_by_marker = {
        number for number, key in enumerate(marker_keys(target)) if key not in by_marker
    }
    found = {r: matches if r == identity else match(source, target, r) for r in get_args(Identity)}
    shared_by = {rule: sum(map(bool, own)) for rule, own in found.items()}
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
        "shared_by": shared_by,
        "kinds": {kind: overlap_kinds[kind] for kind in KINDS},
        "missing_kinds": {kind: missing_kinds[kind] for kind in KINDS},
        "raw_overlap": sum(token.string in source_strings for token in target),
        "ambiguous": sum(len(candidates) > 1 for candidates in matches),
        "missed_by_strings": len(found_by_bytes),
        "missed_by_marker": len(missed_by_marker & chosen.keys()),
        "shared_source_rows": sum(count > 1 for count in Counter(chosen.values()).values()),
        "special_without_counterpart": {
            "source": _special_others(source, chosen.values()),
            "target": _special_others(target, chosen),
        },
        "examples": found_by_bytes[:EXAMPLES],
        "many_to_one": [
            {
                "target_id": number,
                "target": target[number].string,
                "text": _describe(target[number]),
                "source_id": chosen[number],
                "source": source[chosen[number]].string,
                "others": {
                    str(other): source[other].string
                    for other in matches[number]
                    if other != chosen[number]
                },
            }
            for number in chosen
            if len(matches[number]) > 1
        ][:EXAMPLES],
    }


def _special_others(tokens: list[CanonicalToken], shared: Iterable[int]) -> dict[str, str]:
    """Return the special tokens that are not shared, by id (text: keys of JSON)."""
    others = set(range(len(tokens))).difference(shared)
    return {str(n): tokens[n].string for n in sorted(others) if tokens[n].kind == "special"}


def code(text: str) -> str:
    """Return text as Markdown code that survives a table: no pipe, back-tick or control mark."""
    shown = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "&#124;")):
        shown = shown.replace(character, entity)
    return f"<code>{shown.replace(' ', '&nbsp;')}</code>"


def _rows(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    names = list(header)
    yield "| " + " | ".join(names) + " |"
    yield "|" + " --- |" * len(names)
    for row in rows:
        cells = [f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row]
        yield "| " + " | ".join(cells) + " |"
    yield ""


def report_page(report: dict[str, Any], source: str, target: str) -> str:
    lines = [
        f"# Tokens of {target} that {source} holds",
        "",
        f"Identity: {report['identity']}. Overlap {report['overlap']:,} of"
        f" {report['target_size']:,} target tokens"
        f" ({report['overlap'] / report['target_size']:.1%}); {report['missing']:,} are missing"
        f" from the source's {report['source_size']:,}. Shared by bytes:"
        f" {report['shared_by']['bytes']:,}; by marker, as the SAVA release compares:"
        f" {report['shared_by']['marker']:,}; equal strings alone: {report['raw_overlap']:,}.",
        "",
        *_rows(
            ["kind", "overlap", "missing"],
            [(kind, report["kinds"][kind], report["missing_kinds"][kind]) for kind in KINDS],
        ),
        "## What equal strings miss",
        "",
        f"{report['missed_by_strings']:,} shared tokens are spelt differently;"
        f" {report['missed_by_marker']:,} of them also differ after `Ġ` → `▁` and matching bos"
        " and eos.",
        "",
        *_rows(
            ["text", "target", "source"],
            [
                (code(row["text"]), code(row["target"]), code(row["source"]))
                for row in report["examples"][:SHOWN]
            ],
        ),
        "## Several source tokens for one target token",
        "",
        f"{report['ambiguous']:,} target tokens match several source tokens. The one chosen is"
        " of the target token's kind if possible, then a plain piece before a byte token, then"
        " the lowest id."
        f" {report['shared_source_rows']:,} source tokens serve several target tokens.",
        "",
        *_rows(
            ["text", "target", "taken", "others"],
            [
                (
                    code(row["text"]),
                    code(row["target"]),
                    f"{code(row['source'])} ({row['source_id']})",
                    ", ".join(f"{code(s)} ({number})" for number, s in row["others"].items()),
                )
                for row in report["many_to_one"][:SHOWN]
            ],
        ),
        *_specials(report),
        *_unreachable(report, {"source": source, "target": target}),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _specials(report: dict[str, Any]) -> Iterator[str]:
    """Yield declared roles, and the special tokens that are on one side alone."""
    declared = report.get("roles", {"source": {}, "target": {}})
    yield from ("## Special tokens", "")
    for side in ("source", "target"):
        roles = ", ".join(f"{code(s)} is {role}" for s, role in declared[side].items())
        without = report["special_without_counterpart"][side]
        shown = [f"{number} {code(string)}" for number, string in [*without.items()][:SHOWN]]
        listed = ", ".join(shown) + (" …" if len(without) > SHOWN else "")
        yield f"- {side}: declared: {roles or 'none'}; without a counterpart: {listed or 'none'}"
    yield ""


def _unreachable(report: dict[str, Any], names: dict[str, str]) -> Iterator[str]:
    if "unreachable" not in report:
        return
    yield from ("## Tokens that no text is encoded to", "")
    for side, reach in report["unreachable"].items():
        yield f"{names[side]} ({side}): {reach['count']:,}"
        yield ""
        yield from (
            f"- {reach['reasons'][reason]:,}: {meaning}"
            for reason, meaning in REASONS.items()
            if reach["reasons"][reason]
        )
        examples = reach["examples"][:SHOWN]
        if examples:
            listed = ", ".join(
                f"{code(example['token'])} ({example['reason']})" for example in examples
            )
            yield f"- such as {listed}"
        yield ""
