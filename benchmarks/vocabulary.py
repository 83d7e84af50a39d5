"""Speed of the vocabulary core against what it stands on. Prints ratios; exits 1 below a target.

    python benchmarks/vocabulary.py [--megabytes 100] [--documents 50000] [--corpus FOLDER]

Without ``--corpus`` the text is made here: words of a Zipf-like distribution over a random lexicon.
Ours and the reference run in turn, ``--repeats`` times, and the best time of each counts: what else
the machine does (its load is printed) falls on both.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
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


def processor_seconds() -> float:
    """Return the processor time used so far, with threads and finished child processes."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def in_turn(
    ours: Callable[[], Any], reference: Callable[[], Any], repeats: int
) -> tuple[float, Any, float, Any]:
    """Return best time and last result of ours and of the reference, run one after the other."""
    times: tuple[list[float], list[float]] = ([], [])
    used = [0.0, 0.0]
    results: list[Any] = [None, None]
    for number in range(repeats):
        # The one that runs second finds a warmer machine: each is first as often as the other.
        for side in ((0, 1), (1, 0))[number % 2]:
            before = processor_seconds()
            elapsed, results[side] = seconds((ours, reference)[side])
            times[side].append(elapsed)
            used[side] += (processor_seconds() - before) / repeats
    print(f"  processor time: ours {used[0]:.1f} s, reference {used[1]:.1f} s; ", end="")
    return min(times[0]), results[0], min(times[1]), results[1]


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

    from revocab.vocabulary.tokenizers.alphabets import to_byte_level

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
    """Time the intersection of a 32k with a 128k vocabulary, and the search for unreachable ones.

    The vocabularies have tokens and no merges: reach looks at every one of them twice.
    """
    from revocab.vocabulary import intersection as intersect
    from revocab.vocabulary.tokenizers.canonical import canonical_vocabulary, unreachable

    source = synthetic_vocabulary(128_000, "byte_level", 1)
    target = synthetic_vocabulary(32_000, "byte_fallback", 2)
    elapsed, result = seconds(lambda: intersect(source, target), repeats=3)
    print(f"intersection 32k x 128k: {elapsed:.2f} s, overlap {result.report['overlap']} (<= 2 s)")
    sides = [(one, canonical_vocabulary(one)) for one in (source, target)]
    reach, _ = seconds(lambda: [unreachable(*side) for side in sides], repeats=2)
    print(f"unreachable tokens of both: {reach:.2f} s more (no target)")
    return 2 / elapsed


def bare_training(file: Path, size: int) -> Any:
    """Train as a user of the library would: the same file and pattern, one call."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    from revocab.vocabulary.tokenizers.alphabets import LLAMA3_WORDS

    def rows() -> Iterator[str]:
        with gzip.open(file, "rt", encoding="utf-8") as handle:
            for line in handle:
                yield json.loads(line)["text"]

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
    tokenizer.train_from_iterator(rows(), trainer)
    return tokenizer


def training(documents: list[str], size: int, repeats: int) -> float:
    """Compare training with the bare library: both read the text from the same prepared corpus."""
    from revocab.corpora.prepare import CorpusJob, prepare_corpus
    from revocab.vocabulary.building.constructions.train import train_tokenizer
    from revocab.vocabulary.building.training_text import (
        TrainingText,
        batched,
        training_budgets,
        training_texts,
    )

    with tempfile.TemporaryDirectory() as folder:
        rows = ({"text": text} for text in documents)
        prepare_corpus(rows, {"label": "benchmark"}, CorpusJob(corpus="it", language="it"), folder)
        mixture = [TrainingText("it", 1.0, Path(folder))]

        def ours() -> Any:
            texts = training_texts(mixture, training_budgets(mixture))
            return train_tokenizer(batched(texts), "byte_level", size)

        fast, trained, plain, bare = in_turn(
            ours, lambda: bare_training(Path(folder, "train.jsonl.gz"), size), repeats
        )
    same = trained.get_vocab() == bare.get_vocab()
    print(
        f"training {size}: {fast:.1f} s, bare {plain:.1f} s, ratio {plain / fast:.3f} (>= 0.95),"
        f" the same vocabulary: {same}"
    )
    return plain / fast / 0.95


def trained_tokenizers(documents: list[str]) -> dict[str, Any]:
    """Return three tokenizers trained on a small part of the text."""
    from revocab.vocabulary.building.constructions.train import train_tokenizer
    from revocab.vocabulary.building.training_text import batched

    few = documents[: max(100, len(documents) // 50)]
    return {str(n): train_tokenizer(batched(few), "byte_level", n) for n in (1000, 4000, 8000)}


def fertility(documents: list[str], tokenizers: dict[str, Any], repeats: int) -> float:
    """Compare the whole report on three tokenizers with a loop per tokenizer for fertility only."""
    from nltk.tokenize import NLTKWordTokenizer

    from revocab.corpora.word_splitters import RULES
    from revocab.vocabulary.fertility import Text, measure_fertility

    def ours() -> list[float]:
        rows, _ = measure_fertility(tokenizers, [Text("it", "it", documents, RULES)])
        return [row["fertility"] for row in rows]

    def loop() -> list[float]:
        split = NLTKWordTokenizer().tokenize
        means = []
        for tokenizer in tokenizers.values():
            backend = tokenizer.backend_tokenizer
            ratios = [
                len(backend.encode(text, add_special_tokens=False)) / len(split(text))
                for text in documents
            ]
            means.append(sum(ratios) / len(ratios))
        return means

    fast, measured, slow, expected = in_turn(ours, loop, repeats)
    difference = max(abs(a - b) for a, b in zip(measured, expected, strict=True))
    print(
        f"report on 3 tokenizers, {len(documents)} documents: {fast:.1f} s, loop {slow:.1f} s,"
        f" {slow / fast:.2f} times faster (>= 3), largest difference {difference:.1e} (<= 1e-9)"
    )
    return min(slow / fast / 3, 1e-9 / max(difference, 1e-12))


def counting(documents: list[str], tokenizer: Any, repeats: int) -> float:
    """Compare the report's counting (tokens, unknown, bytes) with a bare ``encode_batch``."""
    from revocab.vocabulary.token_counts import count_token_classes

    bare = tokenizer.backend_tokenizer.encode_batch
    fast, counts, plain, encodings = in_turn(
        lambda: count_token_classes(tokenizer, documents),
        lambda: sum(map(len, bare(documents, add_special_tokens=False))),
        repeats,
    )
    tokens = int(counts.tokens.sum())
    if tokens != encodings:
        raise SystemExit(f"{tokens} tokens counted, {encodings} encoded")
    print(
        f"counting {tokens} tokens: {tokens / fast / 1e6:.2f} M tokens/s, bare encode_batch"
        f" {tokens / plain / 1e6:.2f} M, ratio {plain / fast:.2f} (>= 0.9)"
    )
    return plain / fast / 0.9


def main() -> None:
    """Run the benchmarks and say whether each meets its target."""
    names = ("intersection", "training", "fertility", "counting")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--vocabulary-size", type=int, default=32_768)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument(
        "--corpus", type=Path, help="prepared corpus to use instead of generated text"
    )
    parser.add_argument("--only", nargs="+", choices=names, default=list(names))
    arguments = parser.parse_args()
    if arguments.corpus:
        documents = corpus_texts(arguments.corpus, arguments.megabytes)[: arguments.documents]
    else:
        documents = made_texts(arguments.megabytes, arguments.documents)
    size = sum(len(text.encode()) for text in documents) / 1e6
    load = os.getloadavg()[0]
    print(f"{len(documents)} documents, {size:.1f} MB; load {load:.1f} on {os.cpu_count()} cores")
    only, repeats = arguments.only, arguments.repeats
    margins = {}
    if "intersection" in only:
        margins["intersection"] = intersection()
    if "training" in only:
        margins["training"] = training(documents, arguments.vocabulary_size, repeats)
    if {"fertility", "counting"} & set(only):
        tokenizers = trained_tokenizers(documents)
        if "counting" in only:
            margins["counting"] = counting(documents, tokenizers["8000"], repeats)
        if "fertility" in only:
            margins["fertility"] = fertility(documents, tokenizers, repeats)
    missed = sorted(name for name, margin in margins.items() if margin < 1)
    print("targets missed: " + (", ".join(missed) or "none"))
    raise SystemExit(bool(missed))


if __name__ == "__main__":
    main()
