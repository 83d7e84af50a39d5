"""Whether a text gives the same tokens elsewhere as here: measured line by line, or refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.io import text_lines
from revocab.product.export.cutters import Cutter, cutters_for
from revocab.product.export.vocabulary import Vocabulary
from revocab.vocabulary.tokenizers.alphabets import MARKER, from_byte_level
from revocab.vocabulary.tokenizers.encoding import PARSE, text_encoder
from revocab.vocabulary.tokenizers.golden_texts import golden_texts

LLAMA_CPP = "llama.cpp"
#: Numbers, which splitters cut in many ways; golden texts have few.
NUMBERS = tuple(
    " ".join(str(number) for number in range(start, start + 130 * step, step))
    for start, step in ((1900, 1), (0, 7), (1000, 997), (100000, 86413), (9**9, 9**8))
)


@dataclass(frozen=True)
class Measured:
    """One of a program's ways, and on how many texts it gives other tokens than the tokenizer."""

    cutter: Cutter
    lines: int
    differing: int
    #: Texts of single tokens, which show what no line may hold.
    own: int
    own_differing: int
    notes: tuple[str, ...]
    #: One of the texts with other tokens; none: there is none.
    example: str | None

    @cached_property
    def exact(self) -> bool:
        return not (self.differing or self.own_differing)

    def told(self) -> str:
        return (
            f"other tokens on {share(self.differing, self.lines)} lines and on"
            f" {share(self.own_differing, self.own)} tokens' own texts"
        )


def told(measured: Measured, program: str = LLAMA_CPP) -> Iterator[str]:
    equal = "the same" if measured.exact else "NOT the same"
    yield f"tokens {equal} in {program}'s {measured.cutter.name!r}: {measured.told()}"
    for note in measured.notes:
        yield f"cut differently there: {note}"


def share(count: int, total: int) -> str:
    return f"{count:,} of {total:,} ({count / max(total, 1):.2%})"


def choose(
    vocabulary: Vocabulary,
    folder: Path,
    lines: Path | None,
    approximate: bool,
    *,
    program: str = LLAMA_CPP,
    cutters: Callable[[Vocabulary], tuple[list[Cutter], bool]] = cutters_for,
    lacks: Sequence[Mapping[str, Any]] | None = None,
    rare: Mapping[str, Callable[[str], object]] | None = None,
) -> Measured:
    """Return the best known way that gives the same tokens on every line.

    With ``approximate`` the one with the fewest others. Of our own lines those that the tokenizer
    rewrites and hardly anybody writes are left out (:attr:`Vocabulary.rewritten`, or ``rare``); of
    a user's none. ``lacks`` are the steps of the normaliser that the ``program`` does not have;
    default: all others. Raises :class:`RevocabError`, which names what the program lacks and the
    share, where every way gives others, or may.
    """
    lacks = vocabulary.other_steps if lacks is None else lacks
    golden = [text for text, _ in golden_texts(vocabulary.tokenizer)]
    texts, own = [*golden, *NUMBERS, *map(probe, lacks)], own_texts(vocabulary)
    notes = []
    for what, is_changed in {**vocabulary.rewritten, **(rare or {})}.items():
        left = [text for text in texts if not is_changed(text)]
        notes.append(f"text {what}, as {len(texts) - len(left):,} of our own lines")
        texts, own = left, [text for text in own if not is_changed(text)]
    texts += [] if lines is None else text_lines(lines)
    wanted, wanted_own = (ids_here(vocabulary, some) for some in (texts, own))
    added = {vocabulary.tokens[number]: number for number in vocabulary.added}
    ways, has_splitter = cutters(vocabulary)
    tried = []
    for cutter in ways:
        others = differing(texts, cutter.cut(texts, added), wanted)
        others_own = differing(own, cutter.cut(own, added), wanted_own)
        measured = Measured(
            cutter,
            len(texts),
            len(others),
            len(own),
            len(others_own),
            (*notes, *cutter.notes),
            next(iter([*others, *others_own]), None),
        )
        if measured.exact and has_splitter and not lacks:
            return measured
        tried.append(measured)
    best = min(tried, key=lambda trial: (trial.differing, trial.own_differing))
    if approximate:
        return best
    reasons = [
        *vocabulary.spacing_notes(),
        *(f"it cuts apart {trial}" for trial in best.cutter.notes),
    ]
    rewritten = [note.partition(",")[0] for note in notes]
    what = ", ".join(reasons or rewritten) or "a token's own text gives two others"
    if not has_splitter:
        what = f"{program} does not have its splitter: {' then '.join(vocabulary.splitter)}"
    if lacks:
        what = f"{program} does not have its normaliser: {' then '.join(map(named, lacks))}"
    if best.example is not None:
        what += f"; so with {best.example[:60]!r}"
    raise RevocabError(
        f"{folder}: {program} cannot cut text as this tokenizer does: {what}. The nearest,"
        f" {best.cutter.name!r}, gives {best.told()}; to write it anyway, give --approximate"
    )


def named(step: Mapping[str, Any]) -> str:
    """Return a step of a normaliser in words."""
    return " ".join([step["type"], *(repr(value) for value in step.get("pattern", {}).values())])


def probe(step: Mapping[str, Any]) -> str:
    """Return a text that a step of a normaliser changes, if its pattern is a text."""
    pattern = step.get("pattern", {}).get("String", "")
    return f"a{pattern}b {pattern}"


def differing(
    texts: Sequence[str], these: Sequence[list[int]], those: Sequence[list[int]]
) -> list[str]:
    return [text for text, a, b in zip(texts, these, those, strict=True) if a != b]


def ids_here(vocabulary: Vocabulary, texts: Sequence[str]) -> list[list[int]]:
    encoder: Any = text_encoder(vocabulary.tokenizer.backend_tokenizer, PARSE)
    encoded = encoder.encode_batch_fast([*texts], add_special_tokens=False)
    return [encoding.ids for encoding in encoded]


def own_texts(vocabulary: Vocabulary) -> list[str]:
    """Return the text of every plain token, behind a line end that keeps added spaces away."""
    texts = []
    for number, token in enumerate(vocabulary.tokens):
        if vocabulary.kinds[number] != "normal":
            continue
        text: str | None = token.replace(MARKER, " ")
        if vocabulary.byte_level:
            data = from_byte_level(token)
            try:
                text = None if data is None else data.decode()
            except UnicodeDecodeError:
                text = None
        if text is not None:
            texts += [text] if vocabulary.byte_level else [f"\n{text}"]
    return texts
