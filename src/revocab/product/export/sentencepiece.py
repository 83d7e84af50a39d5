"""SentencePiece's ``tokenizer.model``, which other programs' converters ask for.

Of Unigram it is the own format: pieces with their log-probabilities. Of BPE it has scores in place
of merges (:func:`revocab.product.export.cutters.scores_of`).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.models.folder import ModelFolder
from revocab.product.export.cutters import WITHOUT_CONTEXT, Cutter, by_score, choose
from revocab.product.export.export import ExportOptions
from revocab.product.export.vocabulary import Kind, Vocabulary
from revocab.progress import Say
from revocab.vocabulary.tokenizers.alphabets import MARKER
from revocab.vocabulary.tokenizers.file_ids import new_piece_model

FILE = "tokenizer.model"
PROGRAM = "SentencePiece"
KINDS: dict[Kind, int] = {"normal": 1, "unknown": 2, "control": 3, "user_defined": 4, "byte": 6}
UNIGRAM, BPE = 1, 2
ROLES = ("unk", "bos", "eos", "pad")
#: Splitters of Unigram that no text tells from none: words are joined by no piece.
WORDS = {"WhitespaceSplit", "Metaspace"}


def write(model: ModelFolder, options: ExportOptions, out: Path, say: Say) -> list[str]:
    """Write ``tokenizer.model``; return what to tell of it.

    Its ids are compared with those of the ``sentencepiece`` library where that is installed, else
    with its way as computed here. Raises :class:`RevocabError` where they differ.
    """
    vocabulary = Vocabulary.read(model.path, ("BPE", "Unigram"))
    unknown = vocabulary.kinds.count("unknown")
    if vocabulary.byte_level or unknown != 1:
        what = "a byte-level vocabulary" if vocabulary.byte_level else f"{unknown} unknown tokens"
        raise RevocabError(
            f"{model.path}: {what}; a tokenizer.model holds ▁ tokens, one of them unknown"
            + "; export --to gguf" * (vocabulary.plain.model == "BPE")
        )
    say(f"comparing tokens of {len(vocabulary.tokens):,}")
    is_bpe = vocabulary.plain.model == "BPE"
    cutter = by_score(vocabulary) if is_bpe else by_path(vocabulary)
    assert cutter.scores is not None  # both have them
    data = packed(vocabulary, cutter.scores)
    try:
        import sentencepiece
    except ImportError:
        cutter = replace(cutter, name=f"{cutter.name}, computed without its library")
    else:
        cut: Any = sentencepiece.SentencePieceProcessor(model_proto=data).encode
        cutter = replace(cutter, name=f"library {sentencepiece.__version__}", cut_pieces=cut)
    words = [step["type"] for step in vocabulary.steps("pre_tokenizer")]
    known = vocabulary.splitter in WITHOUT_CONTEXT if is_bpe else {*words} <= WORDS
    # Steps of the normaliser that a tokenizer.model has: its table, and what collapses spaces.
    expressed = [step for step in vocabulary.other_steps if step["type"] == "Precompiled"]
    if collapses(vocabulary):
        expressed += [
            step
            for step in vocabulary.other_steps
            if step["type"] == "Strip" or step.get("pattern") == {"Regex": " {2,}"}
        ]
    measured = choose(
        vocabulary, model.path, options.lines, options.approximate,
        program=PROGRAM,
        cutters=lambda _: ([cutter], known),
        lacks=[step for step in vocabulary.other_steps if step not in expressed],
        rare=dict(left_to_callers(vocabulary)),
    )  # fmt: skip
    (out / FILE).write_bytes(data)
    return [*measured.report(PROGRAM), "use   copy it beside the model's tokenizer.json"]


def by_path(vocabulary: Vocabulary) -> Cutter:
    """Return Unigram's way: of all pieces that spell a text the likeliest ones."""
    from tokenizers import Tokenizer, models, normalizers

    scores = [vocabulary.plain.scores[token] for token in vocabulary.tokens]
    pieces = [*zip(vocabulary.tokens, scores, strict=True)]
    unknown, fallback = vocabulary.kinds.index("unknown"), vocabulary.spells_bytes
    model: Any = Tokenizer(models.Unigram(pieces, unknown, fallback))
    charsmap = rewriting(vocabulary)
    rewrite = normalizers.Precompiled(charsmap).normalize_str if charsmap else str

    def cut_pieces(texts: list[str]) -> list[list[int]]:
        return [model.encode(spaced(text)).ids for text in map(rewrite, texts)]

    def spaced(text: str) -> str:
        if collapses(vocabulary):
            text = " ".join(filter(None, text.split(" ")))
        return (" " * (bool(text) and vocabulary.space_before) + text).replace(" ", MARKER)

    return Cutter("unigram", {}, cut_pieces, scores=scores)


def rewriting(vocabulary: Vocabulary) -> bytes:
    """Return the compiled table by which text is rewritten first; empty: there is none."""
    steps = vocabulary.steps("normalizer")
    tables = [step["precompiled_charsmap"] for step in steps if step["type"] == "Precompiled"]
    return base64.b64decode(tables[0]) if tables else b""


def collapses(vocabulary: Vocabulary) -> bool:
    """Return whether of several spaces one stays, and none at the ends of a text."""
    patterns = [step.get("pattern", {}) for step in vocabulary.steps("normalizer")]
    words = [step["type"] for step in vocabulary.steps("pre_tokenizer")]
    return {"Regex": " {2,}"} in patterns or "WhitespaceSplit" in words


def left_to_callers(vocabulary: Vocabulary) -> Iterator[tuple[str, Callable[[str], object]]]:
    """Yield which texts get another space before them, in words and as a test."""
    schemes = {step.get("prepend_scheme") for step in vocabulary.steps("pre_tokenizer")}
    if not schemes & {"first", "always"}:
        return
    if not collapses(vocabulary):
        yield "that begins with a space", lambda text: text.startswith((" ", MARKER))
    if vocabulary.added:
        added = [vocabulary.tokens[number] for number in vocabulary.added]
        yield "with a special token in it", lambda text: any(token in text for token in added)


def packed(vocabulary: Vocabulary, scores: list[float]) -> bytes:
    model = new_piece_model()
    for token, score, kind in zip(vocabulary.tokens, scores, vocabulary.kinds, strict=True):
        model.pieces.add(piece=token, score=score, type=KINDS[kind])
    trainer, normaliser = model.trainer_spec, model.normalizer_spec
    trainer.model_type = BPE if vocabulary.plain.model == "BPE" else UNIGRAM
    trainer.byte_fallback = vocabulary.spells_bytes
    trainer.vocab_size = len(model.pieces)
    ids = {role: getattr(vocabulary.tokenizer, f"{role}_token_id") for role in ROLES}
    ids["unk"] = vocabulary.kinds.index("unknown")
    if ids["pad"] == ids["unk"]:
        ids["pad"] = None
    for role, number in ids.items():
        setattr(trainer, f"{role}_id", -1 if number is None else number)
        if number is not None:
            setattr(trainer, f"{role}_piece", vocabulary.tokens[number])
    normaliser.precompiled_charsmap = rewriting(vocabulary)
    normaliser.name = "precompiled" if normaliser.precompiled_charsmap else "identity"
    normaliser.add_dummy_prefix = vocabulary.space_before
    normaliser.remove_extra_whitespaces = collapses(vocabulary)
    normaliser.escape_whitespaces = True
    return bytes(model.SerializeToString(deterministic=True))
