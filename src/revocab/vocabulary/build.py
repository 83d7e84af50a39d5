"""Train a BPE tokenizer, or copy one in, as a Hugging Face folder.

Two alphabets. ``byte_fallback`` is the style of Llama-2, Mistral and Minerva: a word start is
``▁``, a rare character is spelt in ``<0xNN>`` bytes. ``byte_level`` is the style of GPT-2 and
Llama-3: text is bytes, a word start is ``Ġ``. Both give back any UTF-8 text exactly.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from revocab.corpora.read import corpus_manifest, texts
from revocab.errors import RevocabError
from revocab.io import atomic_folder, sha256, write_json
from revocab.vocabulary.load import load_tokenizer, tokenizer_style, write_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

Alphabet = Literal["byte_fallback", "byte_level"]

MARKER = "▁"
#: Escapes a literal ``▁``, which SentencePiece itself gives back as a space: data link escape.
ESCAPE = "\x10"
#: Word pieces in marker form: letters, one digit, punctuation; spaces before a word stay together.
MARKED_WORDS = (
    r"▁?[\p{L}\p{M}]+"
    r"|\p{N}"
    r"|▁?[^▁\s\p{L}\p{M}\p{N}]+"
    r"|▁+(?=▁[^▁\s\p{N}])"
    r"|▁+"
    r"|\s"
)
#: Llama-3's published pattern.
LLAMA3_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
#: Share of all characters that get their own token (Llama trained so); the rest is spelt in bytes.
CHARACTER_COVERAGE = 0.99995
#: Characters counted to choose the alphabet: enough to see one in a million.
COUNTED_CHARACTERS = 8_000_000
#: At most this share of the vocabulary is single characters.
ALPHABET_SHARE = 1 / 8
#: No limit of the tokenizer itself: a model's context length lies in the model's configuration.
MODEL_MAX_LENGTH = 131_072
BATCH_DOCUMENTS = 256

SPECIALS: dict[str, dict[str, str]] = {
    # Byte fallback leaves no unknown token in text, so <unk> is free to pad with (as in Llama-2).
    "byte_fallback": {
        "unk_token": "<unk>",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<unk>",
    },
    "byte_level": {
        "bos_token": "<|begin_of_text|>",
        "eos_token": "<|end_of_text|>",
        "pad_token": "<|end_of_text|>",
    },
}


@dataclass(frozen=True)
class TrainingText:
    """One corpus of a training mixture: its folder and its share of the training bytes."""

    corpus: str
    share: float
    folder: Path


def training_budgets(mixture: list[TrainingText], limit_bytes: int | None = None) -> dict[str, int]:
    """Return bytes to take of each corpus: as much as the shares and the scarcest corpus allow.

    Raises :class:`RevocabError` for shares that do not sum to 1 and for corpora without text.
    """
    problems = [
        f"share {part.share} of corpus {part.corpus}: allowed is above 0 and at most 1"
        for part in mixture
        if not 0 < part.share <= 1
    ]
    total = sum(part.share for part in mixture)
    if abs(total - 1) > 1e-6:
        problems.append(f"shares of the training corpora sum to {total:g}; they must sum to 1")
    if len({part.corpus for part in mixture}) < len(mixture):
        problems.append("a corpus is named twice; name each once, with its whole share")
    available = {part.corpus: corpus_manifest(part.folder)["train"]["bytes"] for part in mixture}
    problems += [
        f"corpus {name}: no text to train on" for name, size in available.items() if not size
    ]
    if problems:
        raise RevocabError(problems)
    budget = min(available[part.corpus] / part.share for part in mixture)
    if limit_bytes is not None:
        budget = min(budget, limit_bytes)
    return {part.corpus: int(budget * part.share) for part in mixture}


def training_texts(mixture: list[TrainingText], budgets: dict[str, int]) -> Iterator[str]:
    """Yield each corpus's documents in order up to its budget; the last one is cut to fit."""
    for part in mixture:
        left = budgets[part.corpus]
        for text in texts(part.folder):
            size = len(text.encode())
            if size > left:
                yield text.encode()[:left].decode(errors="ignore")
                break
            left -= size
            yield text


def batched(values: Iterable[str], size: int = BATCH_DOCUMENTS) -> Iterator[list[str]]:
    """Yield lists of ``size`` texts; the library's threads work on a list at a time."""
    batch: list[str] = []
    for value in values:
        batch.append(value)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def frequent_characters(samples: Iterable[str], limit: int) -> list[str]:
    """Return the characters that cover nearly all text, at most ``limit``, in code point order.

    Whitespace other than the space, and the characters the marker form uses itself, are left to
    their bytes. Ties are broken by code point, so that the result does not depend on the machine.
    """
    counts: Counter[str] = Counter()
    for text in samples:
        counts.update(text)
        if counts.total() >= COUNTED_CHARACTERS:
            break
    for character in list(counts):
        if character.isspace() or character in (MARKER, ESCAPE):
            del counts[character]
    uncovered = counts.total() * (1 - CHARACTER_COVERAGE)
    ordered = sorted(counts, key=lambda character: (counts[character], -ord(character)))
    while ordered and counts[ordered[0]] <= uncovered:
        uncovered -= counts[ordered.pop(0)]
    return sorted([MARKER, *ordered[-(limit - 1) :]])


def _train(
    tokenizer: Tokenizer, batches: Iterable[list[str]], size: int, alphabet: list[str]
) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Train BPE; return the vocabulary (no specials) and the merges, in the trainer's order."""
    from tokenizers import trainers

    trainer = trainers.BpeTrainer(
        vocab_size=size,
        show_progress=False,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        special_tokens=[],
    )
    tokenizer.train_from_iterator(batches, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(merge) for merge in model["merges"]]


def marker_normalizer() -> Any:
    """Return the normaliser of the marker form: escape, prepend a marker, mark every space."""
    from tokenizers import normalizers

    return normalizers.Sequence(
        [
            normalizers.Replace(ESCAPE, ESCAPE + "0"),
            normalizers.Replace(MARKER, ESCAPE + "1"),
            normalizers.Prepend(MARKER),
            normalizers.Replace(" ", MARKER),
        ]
    )


def marker_decoder() -> Any:
    """Return the inverse of :func:`marker_normalizer` over pieces and byte tokens."""
    from tokenizers import decoders

    return decoders.Sequence(
        [
            decoders.Replace(MARKER, " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
            decoders.Replace(ESCAPE + "1", MARKER),
            decoders.Replace(ESCAPE + "0", ESCAPE),
        ]
    )


def _byte_fallback(batches: Iterable[list[str]], size: int, alphabet: list[str]) -> Tokenizer:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    words = pre_tokenizers.Split(Regex(MARKED_WORDS), "isolated")
    trained = Tokenizer(models.BPE())
    trained.normalizer = marker_normalizer()
    # Line ends and tabs are left out of training, so that they stay byte tokens, as in Mistral.
    trained.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(r"\s"), "removed"), words]
    )
    first = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    vocabulary, merges = _train(trained, batches, size - len(first), alphabet)
    ordered = first + sorted(vocabulary, key=vocabulary.__getitem__)
    model = models.BPE(
        {token: number for number, token in enumerate(ordered)},
        merges,
        unk_token="<unk>",
        fuse_unk=True,
        byte_fallback=True,
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = marker_normalizer()
    tokenizer.pre_tokenizer = words
    tokenizer.decoder = marker_decoder()
    return tokenizer


def _byte_level(batches: Iterable[list[str]], size: int) -> Tokenizer:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    words = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA3_WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = words
    first = ["<|begin_of_text|>", "<|end_of_text|>"]
    bytes_ = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary, merges = _train(trained, batches, size - len(first), bytes_)
    ordered = first + sorted(vocabulary, key=vocabulary.__getitem__)
    tokenizer = Tokenizer(
        models.BPE({token: number for number, token in enumerate(ordered)}, merges)
    )
    tokenizer.pre_tokenizer = words
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _add_specials(tokenizer: Tokenizer, alphabet: Alphabet) -> PreTrainedTokenizerFast:
    """Declare the special tokens (already in the vocabulary) and put bos before every text."""
    from tokenizers import AddedToken, processors
    from transformers import PreTrainedTokenizerFast

    names = SPECIALS[alphabet]
    unique = sorted(set(names.values()), key=tokenizer.token_to_id)
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True, normalized=False) for token in unique]
    )
    start = names["bos_token"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A",
        pair=f"{start} $A {start}:1 $B:1",
        special_tokens=[(start, tokenizer.token_to_id(start))],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=MODEL_MAX_LENGTH,
        clean_up_tokenization_spaces=False,
        **names,
    )


def train_tokenizer(
    batches: Iterable[list[str]],
    alphabet: Alphabet,
    vocabulary_size: int,
    characters: list[str] | None = None,
) -> PreTrainedTokenizerFast:
    """Train a BPE tokenizer of exactly ``vocabulary_size`` tokens on ``batches`` of texts.

    ``characters`` (``byte_fallback`` only) get a token each; see :func:`frequent_characters`. Every
    text gets bos in front. Raises :class:`RevocabError` when the size cannot be met exactly.
    """
    smallest = {"byte_fallback": 259 + len(characters or [MARKER]), "byte_level": 258}
    if alphabet not in smallest:
        raise RevocabError(f"alphabet {alphabet!r}: allowed are {' and '.join(smallest)}")
    if vocabulary_size < smallest[alphabet]:
        raise RevocabError(
            f"vocabulary_size {vocabulary_size}: {alphabet} needs at least {smallest[alphabet]}"
            " (special tokens, bytes and single characters)"
        )
    if alphabet == "byte_fallback":
        tokenizer = _byte_fallback(batches, vocabulary_size, characters or [MARKER])
    else:
        tokenizer = _byte_level(batches, vocabulary_size)
    reached = tokenizer.get_vocab_size()
    if reached != vocabulary_size:
        raise RevocabError(
            f"vocabulary_size {vocabulary_size}: the training text gives {reached} tokens only"
            " (no pair of pieces is left to merge); lower it or give more text"
        )
    return _add_specials(tokenizer, alphabet)


def save_tokenizer(
    tokenizer: PreTrainedTokenizerFast, manifest: dict[str, Any], out: str | Path
) -> dict[str, Any]:
    """Write a tokenizer folder and its manifest; check that it loads to the same tokenizer."""
    import tokenizers
    import transformers

    with atomic_folder(out) as folder:
        write_tokenizer(tokenizer, folder)
        again = load_tokenizer(folder)
        probe = "Perché l'é così? naïve\n\t  12 — ▁ 日本 🙂 <0x0A> fine."
        if again.get_vocab() != tokenizer.get_vocab() or again(probe) != tokenizer(probe):
            raise RevocabError(
                f"{out}: the saved tokenizer differs from the one given (transformers"
                f" {transformers.__version__}); it cannot be used as it is"
            )
        manifest = {
            "vocabulary_size": len(again),
            **manifest,
            "special_ids": {
                name: getattr(again, f"{name}_token_id") for name in ("bos", "eos", "unk", "pad")
            },
            "sha256": sha256(folder / "tokenizer.json"),
            "versions": {
                "tokenizers": tokenizers.__version__,
                "transformers": transformers.__version__,
            },
        }
        write_json(folder / "manifest.json", manifest)
    return manifest


def build_trained(
    mixture: list[TrainingText],
    alphabet: Alphabet,
    vocabulary_size: int,
    out: str | Path,
    limit_bytes: int | None = None,
) -> dict[str, Any]:
    """Train a tokenizer on a mixture of prepared corpora, write its folder, return its manifest."""
    budgets = training_budgets(mixture, limit_bytes)
    characters = None
    if alphabet == "byte_fallback":
        limit = max(64, int(vocabulary_size * ALPHABET_SHARE))
        characters = frequent_characters(_sample(mixture, budgets), limit)
    batches = batched(training_texts(mixture, budgets))
    tokenizer = train_tokenizer(batches, alphabet, vocabulary_size, characters)
    manifest = {
        "alphabet": alphabet,
        "train": {
            part.corpus: {
                "share": part.share,
                "bytes": budgets[part.corpus],
                "sha256": corpus_manifest(part.folder)["sha256"]["train"],
            }
            for part in mixture
        },
        "limit_bytes": limit_bytes,
        "characters": None if characters is None else len(characters),
    }
    return save_tokenizer(tokenizer, manifest, out)


def _sample(mixture: list[TrainingText], budgets: dict[str, int]) -> Iterator[str]:
    """Yield training text for counting characters, every corpus by its share."""
    total = sum(budgets.values())
    shrink = min(1.0, COUNTED_CHARACTERS / max(total, 1))
    yield from training_texts(mixture, {name: int(size * shrink) for name, size in budgets.items()})


def build_copied(name: str, out: str | Path, revision: str | None = None) -> dict[str, Any]:
    """Copy a tokenizer from a folder or the Hub, write its folder, return its manifest."""
    tokenizer = load_tokenizer(name, revision=revision)
    local = Path(name).is_dir()
    origin = {"path": Path(name).name} if local else {"hub": name, "revision": revision}
    return save_tokenizer(tokenizer, {"alphabet": tokenizer_style(tokenizer), **origin}, out)
