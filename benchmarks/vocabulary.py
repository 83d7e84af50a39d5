"""Speed of the vocabulary core against what it stands on. Prints ratios; exits 1 below a target.

    python benchmarks/vocabulary.py [--megabytes 20] [--documents 20000] [--corpus FOLDER]

Without ``--corpus`` the text is made here: words of a Zipf-like distribution over a random lexicon.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any


def seconds(call: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Return the best time of ``repeats`` calls, and the last result."""
    best, result = float("inf"), None
    for _ in range(repeats):
        start = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - start)
    return best, result


def made_texts(megabytes: float, documents: int, seed: int = 17) -> list[str]:
    """Return documents of made-up words with Italian-looking letters, seeded."""
    draw = random.Random(seed)
    syllables = [c + v for c in "bcdfglmnprstvz" for v in ["a", "e", "i", "o", "à", "è", "ù"]]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 5))) for _ in range(200_000)]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    per_document = int(megabytes * 1e6 / documents / 8)
    return [
        " ".join(draw.choices(words, cum_weights=weights, k=per_document)) + "."
        for _ in range(documents)
    ]


def corpus_texts(folder: Path, megabytes: float) -> list[str]:
    """Return the first documents of a prepared corpus."""
    from revocab.corpora.read import texts

    return list(texts(folder, limit_bytes=int(megabytes * 1e6)))


def synthetic_vocabulary(size: int, style: str, seed: int) -> Any:
    """Return a tokenizer with ``size`` made-up tokens, half of them word starts."""
    from tokenizers import Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    from revocab.vocabulary.canonical import to_byte_level

    draw = random.Random(seed)
    letters = "abcdefghilmnoprstuvzàèìòù"
    strings: dict[str, int] = {"<s>": 0}
    while len(strings) < size:
        word = "".join(draw.choices(letters, k=draw.randint(2, 5)))
        text = " " * draw.randint(0, 1) + word
        token = to_byte_level(text.encode()) if style == "byte_level" else text.replace(" ", "▁")
        strings.setdefault(token, len(strings))
    backend = Tokenizer(models.BPE(strings, [], byte_fallback=style != "byte_level"))
    backend.decoder = decoders.ByteLevel() if style == "byte_level" else decoders.ByteFallback()
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>")


def intersection() -> float:
    """Time the intersection of a 32k with a 128k vocabulary."""
    from revocab.vocabulary.intersection import intersect

    source = synthetic_vocabulary(128_000, "byte_level", 1)
    target = synthetic_vocabulary(32_000, "byte_fallback", 2)
    elapsed, result = seconds(lambda: intersect(source, target), repeats=3)
    print(f"intersection 32k x 128k: {elapsed:.2f} s, overlap {result.report['overlap']} (<= 2 s)")
    return 2 / elapsed


def bare_training(documents: list[str], size: int) -> Any:
    """Train as a user of the library would: the same pattern, one call."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    from revocab.vocabulary.build import LLAMA3_WORDS

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA3_WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=["<|begin_of_text|>", "<|end_of_text|>"],
    )
    tokenizer.train_from_iterator(documents, trainer)
    return tokenizer


def training(documents: list[str], size: int) -> float:
    """Compare training with the bare library, on the same text and pattern."""
    from revocab.vocabulary.build import batched, train_tokenizer

    bare, _ = seconds(lambda: bare_training(documents, size))
    ours, _ = seconds(lambda: train_tokenizer(batched(documents), "byte_level", size))
    print(f"training {size}: {ours:.1f} s, bare {bare:.1f} s, ratio {bare / ours:.2f} (>= 0.95)")
    return bare / ours / 0.95


def fertility(documents: list[str]) -> tuple[float, float]:
    """Compare measuring three tokenizers with a loop per tokenizer, and with bare encoding."""
    from nltk.tokenize import NLTKWordTokenizer

    from revocab.corpora.words import RULES
    from revocab.vocabulary.build import batched, train_tokenizer
    from revocab.vocabulary.fertility import count_text, count_tokens, measure_fertility

    sizes = (1000, 4000, 8000)
    few = documents[: max(100, len(documents) // 20)]
    trained = {str(n): train_tokenizer(batched(few), "byte_level", n) for n in sizes}

    def ours() -> list[float]:
        rows, _ = measure_fertility(trained, [count_text("it", "it", documents, RULES)])
        return [row["fertility"] for row in rows]

    def loop() -> list[float]:
        split = NLTKWordTokenizer().tokenize
        means = []
        for tokenizer in trained.values():
            backend = tokenizer.backend_tokenizer
            ratios = [
                len(backend.encode(text, add_special_tokens=False)) / len(split(text))
                for text in documents
            ]
            means.append(sum(ratios) / len(ratios))
        return means

    fast, measured = seconds(ours)
    slow, expected = seconds(loop)
    difference = max(abs(a - b) for a, b in zip(measured, expected, strict=True))
    print(
        f"fertility of 3 tokenizers, {len(documents)} documents: {fast:.1f} s, loop {slow:.1f} s,"
        f" {slow / fast:.1f} times faster (>= 3), largest difference {difference:.1e} (<= 1e-9)"
    )
    tokenizer = trained["8000"]
    bare = tokenizer.backend_tokenizer.encode_batch
    plain, _ = seconds(lambda: bare(documents, add_special_tokens=False), repeats=2)
    counted, _ = seconds(lambda: count_tokens(tokenizer, documents), repeats=2)
    print(f"counting tokens: ratio to bare encode_batch {plain / counted:.2f} (>= 0.9)")
    return min(slow / fast / 3, 1e-9 / max(difference, 1e-12)), plain / counted / 0.9


def main() -> None:
    """Run every benchmark and say whether each meets its target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--vocabulary-size", type=int, default=32_768)
    parser.add_argument("--corpus", type=Path, help="prepared corpus to use in place of made text")
    arguments = parser.parse_args()
    if arguments.corpus:
        documents = corpus_texts(arguments.corpus, arguments.megabytes)
    else:
        documents = made_texts(arguments.megabytes, arguments.documents)
    size = sum(len(text.encode()) for text in documents) / 1e6
    print(f"{len(documents)} documents, {size:.1f} MB")
    margins = {
        "intersection": intersection(),
        "training": training(documents, arguments.vocabulary_size),
    }
    margins["fertility"], margins["counting"] = fertility(documents)
    missed = sorted(name for name, margin in margins.items() if margin < 1)
    print("targets missed: " + (", ".join(missed) or "none"))
    raise SystemExit(bool(missed))


if __name__ == "__main__":
    main()
