"""New tokens from another tokenizer, its most frequent ones first, made reachable in the base.

Cui et al. 2023 merge a second vocabulary into Llama's; LEP's Extended and Optimized and Gosal et
al.'s extend and replace do so too. Concatenating merge lists leaves tokens that nothing produces:
here each token is built from what the base makes of its text, by merges after all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache

from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.vocabulary.building.editable import EditableVocabulary, Merge, merge_pieces
from revocab.vocabulary.building.pretokens import count_pretokens, cut_pretokens
from revocab.vocabulary.tokenizers.alphabets import to_byte_level
from revocab.vocabulary.tokenizers.canonical import canonical_vocabulary


def spelling_in(base: EditableVocabulary, data: bytes) -> str | None:
    """Return how ``base`` would spell a token for ``data``; None if it cannot have one: its text
    must stay in one piece of the base's word splitter.
    """
    splitter = base.base.backend_tokenizer.pre_tokenizer
    try:
        text = data.decode()
    except UnicodeDecodeError:  # part of a character: splitters work on whole ones
        return to_byte_level(data) if base.style == "byte_level" else None
    if base.style == "byte_level":
        spelling, shown = to_byte_level(data), text
    else:
        spelling = shown = text.replace(" ", "▁")
    if splitter is None:
        return spelling
    words = [word for word, _ in splitter.pre_tokenize_str(shown)]
    return spelling if words in ([spelling], ["▁" + spelling]) else None


def donor_candidates(
    base: EditableVocabulary,
    donor: PreTrainedTokenizerFast,
    texts: Iterable[str],
    allowed: Callable[[str], bool],
    top: int | None = None,
) -> Counter[str]:
    """Return the donor's usable tokens in the base's spelling, with counts, most frequent first.

    Frequency is that in ``texts`` as the donor encodes them. ``top`` looks at the donor's most
    frequent tokens only, before those that the base has are taken out. Equal counts: donor's order.
    """
    view = EditableVocabulary.read(donor, "donor")
    used = cut_pretokens(donor.backend_tokenizer, count_pretokens(view, texts)).token_counts()
    tokens = [token for token in canonical_vocabulary(donor) if token.kind != "special"]
    tokens = [
        token for token in tokens if token.string not in view.protected or len(token.data) > 1
    ]
    order = sorted(tokens, key=lambda token: (-used[token.string], view.ids[token.string]))
    taken: dict[str, int] = {}
    for token in order[:top]:
        spelling = spelling_in(base, token.data)
        if not spelling or spelling in taken:
            continue
        if allowed(spelling):
            taken[spelling] = used[token.string]
    return Counter(taken)


def joining_tree(
    pieces: list[str], wanted: Callable[[str], bool], forbidden: Callable[[str], bool]
) -> list[Merge] | None:
    """Return merges, inner before outer, that make one token of ``pieces``; None if none may."""

    @cache
    def best(start: int, end: int) -> tuple[int, tuple[Merge, ...]] | None:
        if end - start == 1:
            return 0, ()
        cheapest = None
        for middle in range(start + 1, end):
            left, right = best(start, middle), best(middle, end)
            if left is None or right is None:
                continue
            cost = left[0] + right[0]
            if cheapest is None or cost < cheapest[0]:
                pair = ("".join(pieces[start:middle]), "".join(pieces[middle:end]))
                cheapest = cost, (*left[1], *right[1], pair)
        if cheapest is None:
            return None
        joined = "".join(pieces[start:end])
        if end - start < len(pieces) and forbidden(joined):
            return None
        return cheapest[0] + (not wanted(joined)), cheapest[1]

    tree = best(0, len(pieces))
    return None if tree is None else list(tree[1])


def take_bpe(
    base: EditableVocabulary,
    candidates: Iterable[str],
    wanted: int | None,
    allowed: Callable[[str], bool],
) -> tuple[list[str], list[Merge], list[str]]:
    """Return new tokens in order, their merges, and those of them that no candidate is.

    Candidates are taken in order; the tokens that one is made of are taken with it and count, and a
    candidate that no longer fits is passed over. ``wanted`` None takes all.
    """
    ordered = list(candidates)
    is_candidate = set(ordered).__contains__
    ranks = dict(base.ranks)
    tokens: dict[str, None] = {}
    merges: list[Merge] = []

    def forbidden(token: str) -> bool:
        return token not in tokens and not allowed(token)

    for candidate in ordered:
        if candidate in tokens:
            continue
        pieces, _ = merge_pieces(candidate, ranks)
        tree = joining_tree(pieces, is_candidate, forbidden)
        if tree is None:
            continue
        new = [pair for pair in tree if pair not in ranks]
        made = dict.fromkeys(joined for pair in new if (joined := "".join(pair)) not in tokens)
        if wanted is not None and len(tokens) + len(made) > wanted:
            continue
        for pair in dict.fromkeys(new):
            ranks[pair] = len(ranks)
        # Repeated pieces may be joined elsewhere than the tree says; then the token stays out.
        if any(merge_pieces(token, ranks)[0] != [token] for token in made):
            for pair in dict.fromkeys(new):
                del ranks[pair]
            continue
        merges += dict.fromkeys(new)
        tokens.update(made)
        if wanted is not None and len(tokens) == wanted:
            break
    return list(tokens), merges, [token for token in tokens if not is_candidate(token)]
