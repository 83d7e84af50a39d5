"""What rows take of a document, where a row may begin anywhere, or only at certain places.

Tikhomirov and Chernyshev 2024 (LEP): each sample begins with a document or a paragraph. As in their
release, a row is filled to its end, the rest of the document or paragraph that it cuts is in no
row, and a row that begins within a document has no bos.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from revocab.training.data.document_tokens import Document, TextTokenizer, token_spans
from revocab.training.recipe import ANYWHERE, RowsBeginAt


@dataclass(frozen=True)
class Part:
    """Consecutive tokens of a document, specials included, and the text they stand for."""

    begin: int
    end: int
    text: str


@dataclass(frozen=True)
class RowSpace:
    """The rows of one corpus: ``tokens`` in all, ``length`` of them to a row."""

    length: int
    tokens: int
    begin_at: RowsBeginAt

    def room(self, used: int) -> int:
        """Return how many tokens a document may have that is not cut, after ``used`` tokens."""
        if self.begin_at == ANYWHERE:
            return self.tokens - used
        return self.length - used % self.length

    def ranges(self, count: int, used: int, starts: Sequence[int]) -> list[tuple[int, int]]:
        """Return the ranges of a document's ``count`` tokens that rows take, in order.

        Every one after the first begins a row, at one of ``starts`` (ascending).
        """
        end = min(count, self.room(used))
        ranges = [(0, end)]
        used += end
        while used < self.tokens:
            following = bisect_left(starts, end)
            if end == count or following == len(starts):
                break
            begin = starts[following]
            end = min(count, begin + self.length)
            ranges.append((begin, end))
            used += end - begin
        return ranges

    def parts(
        self, tokenizer: TextTokenizer, document: Document, before: int, after: int, used: int
    ) -> list[Part]:
        """Return what rows take of a document with ``before`` and ``after`` specials around it."""
        count = before + len(document.ids) + after
        if count <= self.room(used):
            return [Part(0, count, document.text)]
        spans = token_spans(tokenizer, document.text)
        starts = paragraph_starts(document.text, spans) if self.begin_at == "paragraph" else []
        # A row that ends with bos is no reason to lose the document.
        ranges = self.ranges(count, used, [before + place for place in (0, *starts)])
        return [
            Part(begin, end, text_of(document.text, spans, begin - before, end - before))
            for begin, end in ranges
        ]


def paragraph_starts(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return the tokens that begin a paragraph, which is what follows a line break; ascending.

    Such a token has the first character behind the break that is not whitespace, and nothing of
    what lies before the break. ``spans`` are the characters of ``text`` that each token covers.
    """
    found, covered = [], 0
    for place, (begin, end) in enumerate(spans):
        covers = text[begin:end]
        first, last = end - len(covers.lstrip()), begin + len(covers.rstrip())
        if first >= last:
            continue
        if "\n" in text[covered:first]:
            found.append(place)
        covered = max(covered, last)
    return found


def text_of(text: str, spans: Sequence[tuple[int, int]], begin: int, end: int) -> str:
    """Return the part of ``text`` that tokens ``begin`` to ``end`` cover.

    Places below 0 and beyond the last token are those of specials. A part from the first token on
    begins with the text.
    """
    covered = spans[max(begin, 0) : max(end, 0)]
    if not covered:
        return ""
    return text[covered[0][0] if begin > 0 else 0 : max(end for _, end in covered)]
