"""Whether a text gives the same tokens in llama.cpp as here: measured line by line, or refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.export.cutters import Cutter, cutters_for
from revocab.export.vocabulary import Vocabulary
from revocab.io import text_lines
from revocab.tokenizers.alphabets import MARKER, from_byte_level
from revocab.tokenizers.encoding import PARSE, text_encoder
from revocab.tokenizers.golden_ids import golden_texts

#: Numbers, which splitters cut in many ways; golden texts have few.
NUMBERS = tuple(
    " ".join(str(number) for number in range(start, start + 130 * step, step))
    for start, step in ((1900, 1), (0, 7), (1000, 997), (100000, 86413), (9**9, 9**8))
)


@dataclass(frozen=True)
class Measured:
    """One of llama.cpp's ways, and on how many texts it gives other tokens than the tokenizer."""

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


def told(measured: Measured) -> Iterator[str]:
    equal = "the same" if measured.exact else "NOT the same"
    yield f"tokens {equal} in llama.cpp's {measured.cutter.name!r}: {measured.told()}"
    for note in measured.notes:
        yield f"cut differently there: {note}"


def share(count: int, total: int) -> str:
    return f"{count:,} of {total:,} ({count / max(total, 1):.2%})"


def choose(vocabulary: Vocabulary, folder: Path, lines: Path | None, approximate: bool) -> Measured:
    """Return the best known way that gives the same tokens on every line.

    With ``approximate`` the one with the fewest others. Raises :class:`RevocabError`, which names
    what llama.cpp lacks and the share, where every way gives others.
    """
    texts, own = [*lines_of(vocabulary, lines)], own_texts(vocabulary)
    notes = []
    for what, is_changed in vocabulary.normalised.items():
        kept = [text for text in texts if not is_changed(text)]
        notes.append(f"text {what}, as {len(texts) - len(kept):,} of the lines")
        texts = kept
    wanted, wanted_own = (ids_here(vocabulary, some) for some in (texts, own))
    added = {vocabulary.tokens[number]: number for number in vocabulary.added}
    ways, known = cutters_for(vocabulary)
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
        if measured.exact and known:
            return measured
        tried.append(measured)
    best = min(tried, key=lambda trial: (trial.differing, trial.own_differing))
    if approximate:
        return best
    reasons = [
        *vocabulary.spacing_notes(),
        *(f"it cuts apart {trial}" for trial in best.cutter.notes),
    ]
    what = ", ".join(reasons) or "a token's own text gives two others"
    if not known:
        what = f"llama.cpp does not have its splitter: {' then '.join(vocabulary.splitter)}"
    if best.example is not None:
        what += f"; so with {best.example[:60]!r}"
    raise RevocabError(
        f"{folder}: llama.cpp cannot cut text as this tokenizer does: {what}. The nearest,"
        f" {best.cutter.name!r}, gives {best.told()}; to write it anyway, give --approximate"
    )


def differing(
    texts: Sequence[str], these: Sequence[list[int]], those: Sequence[list[int]]
) -> list[str]:
    return [text for text, a, b in zip(texts, these, those, strict=True) if a != b]


def ids_here(vocabulary: Vocabulary, texts: Sequence[str]) -> list[list[int]]:
    encoder: Any = text_encoder(vocabulary.tokenizer.backend_tokenizer, PARSE)
    encoded = encoder.encode_batch_fast([*texts], add_special_tokens=False)
    return [encoding.ids for encoding in encoded]


def lines_of(vocabulary: Vocabulary, lines: Path | None) -> Iterator[str]:
    """Yield the texts on which tokens must be equal: the golden ones, numbers, a user's."""
    for text, _ in golden_texts(vocabulary.tokenizer):
        yield text
    yield from NUMBERS
    if lines is not None:
        yield from text_lines(lines)


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
