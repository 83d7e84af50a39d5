"""How llama.cpp cuts a text into tokens, computed here: what a GGUF says to choose each way.

SentencePiece's way (``llama``) merges whichever neighbours make the token with the best score. It
knows no merges, yet it cuts as a list of merges does if each token's score is minus the rank of
the merge that makes it from its own text. For BPE inside a stretch of text that ends as one token
goes through the same merges as in any other text, so that neighbours which together spell a token
are always those of its last merge. What breaks this is a token that its own text does not give but
as two others, and a splitter that treats the same neighbours otherwise elsewhere.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.io import text_lines
from revocab.product.export.vocabulary import Vocabulary
from revocab.vocabulary.tokenizers.alphabets import (
    LLAMA_CPP_SPLITTERS,
    MARKER,
    NUMBERS,
    Digits,
    Whitespace,
    byte_level_words,
    from_byte_level,
    marked_words,
)
from revocab.vocabulary.tokenizers.encoding import PARSE, text_encoder
from revocab.vocabulary.tokenizers.identity import golden_texts

DIGITS: tuple[Digits, ...] = ("individual", "none")
SPACES: tuple[Whitespace, ...] = ("grouped", "single")
#: Splitters of ``▁`` vocabularies that cut between the same neighbours in any text, so that merges
#: alone keep the words apart (but for a space between spaces and a word: :func:`scores_of`).
WITHOUT_CONTEXT: frozenset[tuple[str, ...]] = frozenset(
    [(), ("<Metaspace>",), ("<Split ' '>",)]
    + [(marked_words(digits, spaces),) for digits in DIGITS for spaces in SPACES]
)
#: Splitters that differ from one of llama.cpp's in runs of white space alone.
SINGLE_SPACES: dict[tuple[str, ...], tuple[str, ...]] = {
    (byte_level_words(digits, "single"),): (byte_level_words(digits),) for digits in NUMBERS
}


@dataclass(frozen=True)
class Cutter:
    """One way: what a GGUF says for it, and what it gives for text without added tokens."""

    name: str
    #: Keys of a GGUF below ``tokenizer.ggml``.
    keys: dict[str, Any]
    cut_pieces: Callable[[list[str]], list[list[int]]] = field(repr=False)
    #: By id; for SentencePiece's way only.
    scores: list[float] | None = None
    merges: bool = False
    #: What it cuts otherwise without any line that shows it.
    notes: tuple[str, ...] = ()

    def cut(self, texts: Sequence[str], added: dict[str, int]) -> list[list[int]]:
        """Return the ids of texts, in which added tokens are recognised, the longest ones first."""
        longest_first = sorted(filter(None, added), key=lambda token: -len(token.encode()))
        by_first: dict[str, list[tuple[int, str]]] = {}  # Gemma adds 6,000, of few first characters
        for place, token in enumerate(longest_first):
            by_first.setdefault(token[0], []).append((place, token))
        parts = [partition(text, added, by_first) for text in texts]
        pieces = [part for text in parts for part in text if isinstance(part, str)]
        ids = iter(self.cut_pieces(pieces))
        return [
            [token for part in text for token in ([part] if isinstance(part, int) else next(ids))]
            for text in parts
        ]


def partition(
    text: str, added: dict[str, int], by_first: dict[str, list[tuple[int, str]]]
) -> list[str | int]:
    parts: list[str | int] = [text] if text else []
    near = chain.from_iterable(by_first[first] for first in {*text} & by_first.keys())
    for _, token in sorted(entry for entry in near if entry[1] in text):
        whole, parts = parts, []
        for part in whole:
            if isinstance(part, int):
                parts.append(part)
                continue
            for place, between in enumerate(part.split(token)):
                if place:
                    parts.append(added[token])
                if between:
                    parts.append(between)
    return parts


def scored_merges(text: str, scores: dict[str, float]) -> Iterator[str]:
    """Yield the tokens of a text that merges by score leave; of equal scores the left one first."""
    pieces: list[str] = list(text)
    before, after = [*range(-1, len(pieces) - 1)], [*range(1, len(pieces)), -1]
    queue: list[tuple[float, int, int, str]] = []

    def look(left: int, right: int) -> None:
        if left >= 0 and right >= 0:
            score = scores.get(pieces[left] + pieces[right])
            if score is not None:
                heapq.heappush(queue, (-score, left, right, pieces[left] + pieces[right]))

    for place in range(len(pieces) - 1):
        look(place, place + 1)
    while queue:
        _, left, right, joined = heapq.heappop(queue)
        if pieces[left] and pieces[right] and pieces[left] + pieces[right] == joined:
            pieces[left], pieces[right] = joined, ""
            after[left] = after[right]
            if after[right] >= 0:
                before[after[right]] = left
            look(before[left], left)
            look(left, after[left])
    yield from filter(None, pieces)


def by_score(vocabulary: Vocabulary) -> Cutter:
    """Return SentencePiece's way, which llama.cpp has had from its beginning."""
    scores = scores_of(vocabulary)
    ids, space = vocabulary.plain.ids, vocabulary.space_before
    by_token = {token: scores[number] for token, number in ids.items()}

    def cut_pieces(texts: list[str]) -> list[list[int]]:
        return [
            [
                number
                for token in scored_merges((" " * space + text).replace(" ", MARKER), by_token)
                for number in spelt(token, ids)
            ]
            for text in texts
        ]

    spaces = any(len(token) > 1 and not token.strip(MARKER) for token in vocabulary.tokens)
    notes = ("several spaces before a character that joins no space",)
    keys = {"model": "llama", "pre": "default", "add_space_prefix": space}
    shows = notes if spaces and vocabulary.splitter else ()
    return Cutter("llama", keys, cut_pieces, scores=scores, notes=shows)


def scores_of(vocabulary: Vocabulary) -> list[float]:
    """Return a score for each token: minus the rank of the merge that makes it.

    Tokens of spaces alone come after all others if a splitter keeps the last space for the word
    that follows; tokens that no merge makes come last.
    """
    plain = vocabulary.plain
    worst = 2 * len(plain.merges) + 1
    scores = []
    for number, token in enumerate(vocabulary.tokens):
        parents = plain.parents(token)
        if len(token) < 2 or number in vocabulary.added or vocabulary.kinds[number] == "byte":
            scores.append(0.0)
        elif parents is None:
            scores.append(float(-worst))
        else:
            late = bool(vocabulary.splitter) and not token.strip(MARKER)
            scores.append(float(-plain.ranks[parents] - len(plain.merges) * late))
    return scores


def spelt(token: str, ids: dict[str, int]) -> list[int]:
    return [ids[token]] if token in ids else [ids[f"<0x{byte:02X}>"] for byte in token.encode()]


def by_merges(vocabulary: Vocabulary) -> Cutter:
    """Return the way of Gemma 4 and Sarvam, of the newest versions: merges over whole lines."""
    from tokenizers import Regex, normalizers, pre_tokenizers

    model = bare_bpe(vocabulary, byte_fallback=True)
    model.normalizer = normalizers.Replace(" ", MARKER)
    model.pre_tokenizer = pre_tokenizers.Split(Regex(r"\n+"), "isolated")
    first, _ = vocabulary.frame()  # Gemma 4's always puts one there
    keys = {"model": "gemma4"} if first else {"model": "gpt2", "pre": "sarvam-moe"}
    name = "gemma4" if first else "sarvam-moe"
    return Cutter(name, keys, partial(all_ids, model), merges=True)


def bare_bpe(vocabulary: Vocabulary, **options: bool) -> Any:
    from tokenizers import Tokenizer, models

    return Tokenizer(models.BPE(vocabulary.plain.ids, [*vocabulary.plain.merges], **options))


def all_ids(model: Any, texts: list[str]) -> list[list[int]]:
    return [encoding.ids for encoding in model.encode_batch_fast(texts)]


def cutters_for(vocabulary: Vocabulary) -> tuple[list[Cutter], bool]:
    """Return the ways to try, best known first, and whether they have the vocabulary's splitter."""
    if not vocabulary.byte_level:
        ways = [by_score(vocabulary)]
        ways += [] if vocabulary.space_before else [by_merges(vocabulary)]
        return ways, vocabulary.splitter in WITHOUT_CONTEXT
    splitter = vocabulary.splitter
    texts = (vocabulary.plain.text(token).decode(errors="replace") for token in vocabulary.tokens)
    joins_spaces = any(character.isspace() for text in texts for character in text[1:])
    if not joins_spaces:
        splitter = SINGLE_SPACES.get(splitter, splitter)
    same = [known for known in LLAMA_CPP_SPLITTERS if known.patterns == splitter]
    cleans = bool(vocabulary.tokenizer.clean_up_tokenization_spaces)
    rows = sorted(same or LLAMA_CPP_SPLITTERS, key=lambda known: known.cleans_spaces != cleans)
    ways = []
    for known in rows:
        model = bare_bpe(vocabulary, ignore_merges=known.takes_words)
        model.pre_tokenizer = known.pre_tokenizer()
        keys = {"model": "gpt2", "pre": known.name}
        ways.append(Cutter(known.name, keys, partial(all_ids, model), merges=True))
    return ways, bool(same)


LLAMA_CPP = "llama.cpp"
#: Numbers, which splitters cut in many ways; golden texts have few.
NUMBER_TEXTS = tuple(
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

    def counts(self) -> str:
        lines, own = (
            f"{count:,} of {total:,} ({count / max(total, 1):.2%})"
            for count, total in ((self.differing, self.lines), (self.own_differing, self.own))
        )
        return f"other tokens on {lines} lines and on {own} tokens' own texts"

    def report(self, program: str = LLAMA_CPP) -> Iterator[str]:
        equal = "the same" if self.exact else "NOT the same"
        yield f"tokens {equal} in {program}'s {self.cutter.name!r}: {self.counts()}"
        yield from (f"cut differently there: {note}" for note in self.notes)


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
    patterns = [step.get("pattern", {}).get("String", "") for step in lacks]
    # Texts that these steps change, where their patterns are texts.
    probes = [f"a{pattern}b {pattern}" for pattern in patterns]
    texts, own = [*golden, *NUMBER_TEXTS, *probes], own_texts(vocabulary)
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
        example = next(iter([*others, *others_own]), None)
        counts = len(texts), len(others), len(own), len(others_own)
        measured = Measured(cutter, *counts, (*notes, *cutter.notes), example)
        if measured.exact and has_splitter and not lacks:
            return measured
        tried.append(measured)
    best = min(tried, key=lambda trial: (trial.differing, trial.own_differing))
    if approximate:
        return best
    reasons = []
    for step in vocabulary.steps("pre_tokenizer"):
        if (scheme := step.get("prepend_scheme", "never")) != "never":
            reasons.append("no space is added before a text that begins with one")
        if scheme == "first":
            reasons.append("nor after a special token")
    reasons += [f"it cuts apart {note}" for note in best.cutter.notes]
    rewritten = [note.partition(",")[0] for note in notes]
    what = ", ".join(reasons or rewritten) or "a token's own text gives two others"
    if not has_splitter:
        what = f"{program} does not have its splitter: {' then '.join(vocabulary.splitter)}"
    if lacks:
        steps = (
            " ".join([step["type"], *map(repr, step.get("pattern", {}).values())]) for step in lacks
        )
        what = f"{program} does not have its normaliser: {' then '.join(steps)}"
    if best.example is not None:
        what += f"; so with {best.example[:60]!r}"
    raise RevocabError(
        f"{folder}: {program} cannot cut text as this tokenizer does: {what}. The nearest,"
        f" {best.cutter.name!r}, gives {best.counts()}; to write it anyway, give --approximate"
    )


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
        if not vocabulary.byte_level:
            texts.append("\n" + token.replace(MARKER, " "))
        elif (data := from_byte_level(token)) is not None:
            with suppress(UnicodeDecodeError):
                texts.append(data.decode())
    return texts
