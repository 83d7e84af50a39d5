"""SentencePiece's ``tokenizer.model``, which other programs' converters ask for."""

from __future__ import annotations

from pathlib import Path

from revocab.errors import RevocabError
from revocab.export.export import ExportOptions, Format
from revocab.export.fidelity import choose, told
from revocab.export.vocabulary import Kind, Vocabulary
from revocab.models.folder import ModelFolder
from revocab.progress import Say
from revocab.tokenizers.piece_model import new_piece_model

FILE = "tokenizer.model"
KINDS: dict[Kind, int] = {"normal": 1, "unknown": 2, "control": 3, "user_defined": 4, "byte": 6}
BPE = 2
ROLES = ("unk", "bos", "eos", "pad")


def write(model: ModelFolder, options: ExportOptions, out: Path, say: Say) -> list[str]:
    """Write ``tokenizer.model``; return what to tell of it.

    Raises :class:`RevocabError` where scores cannot say how the tokenizer cuts.
    """
    vocabulary = Vocabulary.read(model.path)
    unknown = vocabulary.kinds.count("unknown")
    if vocabulary.byte_level or unknown != 1:
        what = "a byte-level vocabulary" if vocabulary.byte_level else f"{unknown} unknown tokens"
        raise RevocabError(
            f"{model.path}: {what}; a tokenizer.model holds ▁ tokens, one of them unknown; export"
            " --to gguf"
        )
    say(f"comparing tokens of {len(vocabulary.tokens):,}")
    measured = choose(vocabulary, model.path, options.lines, options.approximate)
    if measured.cutter.scores is None:
        raise RevocabError(
            f"{model.path}: no scores cut text as its merges do; export --to gguf, which has merges"
        )
    (out / FILE).write_bytes(packed(vocabulary, measured.cutter.scores))
    return [*told(measured), "use   copy it beside the model's tokenizer.json"]


def packed(vocabulary: Vocabulary, scores: list[float]) -> bytes:
    model = new_piece_model()
    for token, score, kind in zip(vocabulary.tokens, scores, vocabulary.kinds, strict=True):
        model.pieces.add(piece=token, score=score, type=KINDS[kind])
    trainer, normaliser = model.trainer_spec, model.normalizer_spec
    trainer.model_type, trainer.byte_fallback = BPE, True
    trainer.vocab_size = len(model.pieces)
    ids = {role: getattr(vocabulary.tokenizer, f"{role}_token_id") for role in ROLES}
    ids["unk"] = vocabulary.kinds.index("unknown")
    if ids["pad"] == ids["unk"]:
        ids["pad"] = None
    for role, number in ids.items():
        setattr(trainer, f"{role}_id", -1 if number is None else number)
        if number is not None:
            setattr(trainer, f"{role}_piece", vocabulary.tokens[number])
    normaliser.name = "identity"
    normaliser.add_dummy_prefix = vocabulary.space_before
    normaliser.remove_extra_whitespaces = False
    normaliser.escape_whitespaces = True
    return bytes(model.SerializeToString(deterministic=True))


FORMAT = Format("sentencepiece", "tokenizer.model, which other programs' converters read", write)
