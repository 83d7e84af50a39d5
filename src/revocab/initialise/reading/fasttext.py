"""fastText vectors of target tokens, trained on text cut by the target tokenizer, as in FOCUS.

Dobler & de Melo 2023, with fastText's own defaults where that paper has none; trained by gensim.
Source tokens get vectors by their n-grams, as WECHSEL does with word vectors; a corpus in both
languages puts both vocabularies into one space, without a dictionary.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zlib import crc32

from pydantic import Field

from revocab.closed import Closed, Job
from revocab.corpora.read import corpus_manifest, texts
from revocab.errors import RevocabError, refuse
from revocab.heavy_types import PreTrainedTokenizerFast, ndarray
from revocab.initialise.method import Auxiliary
from revocab.io import read_json, write_json
from revocab.limits import WIDTH, Buckets, Bytes, Count, Seed, Times
from revocab.output import OutputFolder
from revocab.vocabulary.tokenizers.canonical import CanonicalToken, canonical_vocabulary
from revocab.vocabulary.tokenizers.encoding import encode_batches
from revocab.vocabulary.tokenizers.load import load_tokenizer

if TYPE_CHECKING:
    from gensim.models import FastText

#: The file of the vectors in their folder.
VECTORS = "vectors.safetensors"
#: Tokens after which a document is cut, as fastText cuts lines.
SENTENCE_TOKENS = 1024


class FastTextOptions(Closed):
    """How vectors are trained. The defaults are those of FOCUS and fastText."""

    #: Width of the vectors.
    dimension: Annotated[int, Field(ge=2), WIDTH] = 100
    #: Passes over the text.
    epochs: Times = 3
    min_count: Count = Field(
        default=10, description="tokens that occur less often get no vector of their own"
    )
    buckets: Buckets = Field(
        default=2_000_000,
        description="hash buckets of n-grams; they take buckets * dimension floats of memory",
    )
    limit_documents: Count | None = Field(
        default=None, description="use only this much of each corpus"
    )
    limit_bytes: Bytes | None = Field(default=None, description="use only this much of each corpus")


class AuxiliaryJob(FastTextOptions, Job):
    """One training of vectors."""

    seed: Seed = 0


def word(token: CanonicalToken) -> str | None:
    """Return a token's text in characters that all vocabularies share; None for a special token.

    A word start is ``▁`` in front; bytes that are no text by themselves are ``<0xNN>``.
    """
    if token.kind == "special":
        return None
    if token.kind == "byte":
        return "".join(f"<0x{byte:02X}>" for byte in token.data)
    return token.data.decode("utf-8", "backslashreplace").replace(" ", "▁")


class Sentences:
    """Token rows of documents, held as ids (4 bytes a token), yielded as words at each pass."""

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        words: Sequence[str | None],
        documents: Iterable[str],
    ):
        self._words: Sequence[Any] = words  # those of the ids below are there
        self._ids, self._ends = array("i"), array("q", [0])
        for encoded in encode_batches(tokenizer.backend_tokenizer, documents):
            for encoding in encoded:
                spelled = [number for number in encoding.ids if words[number] is not None]
                for start in range(0, len(spelled), SENTENCE_TOKENS):
                    self._ids.extend(spelled[start : start + SENTENCE_TOKENS])
                    self._ends.append(len(self._ids))
        self.tokens = len(self._ids)

    def __iter__(self) -> Iterator[list[str]]:
        for start, end in pairwise(self._ends):
            yield [self._words[number] for number in self._ids[start:end]]


def train(sentences: Sentences, options: AuxiliaryJob) -> FastText:
    """Return a CBOW model; one thread and a fixed hash, so that the same text gives the same bits.

    Raises :class:`RevocabError` when no token is frequent enough.
    """
    from gensim.models import FastText

    model = FastText(
        vector_size=options.dimension,
        sg=0,
        window=5,
        negative=10,
        min_count=options.min_count,
        min_n=3,
        max_n=6,
        bucket=options.buckets,
        alpha=0.05,
        sample=1e-4,
        ns_exponent=0.5,
        seed=options.seed,
        workers=1,
        hashfxn=lambda text: crc32(text.encode()),  # the same in every process, unlike hash()
    )
    model.build_vocab(sentences)
    if not model.wv.key_to_index:
        raise RevocabError(
            f"no token occurs {options.min_count} times in {sentences.tokens} tokens of text; give "
            "more text or a lower min_count"
        )
    model.train(sentences, total_examples=model.corpus_count, epochs=options.epochs)
    return model


def vectors(model: FastText, tokens: list[CanonicalToken]) -> tuple[ndarray, ndarray]:
    """Return float32 vectors by token id, and which of them were trained.

    Frequent tokens have their own; others the mean of their n-grams, but special tokens and bytes,
    whose spelling means nothing, have zeros.
    """
    import numpy as np

    rows_VA = np.zeros((len(tokens), model.vector_size), dtype=np.float32)
    trained_V = np.zeros(len(tokens), dtype=bool)
    for number, token in enumerate(tokens):
        text = word(token)
        trained_V[number] = text is not None and text in model.wv.key_to_index
        if trained_V[number] or (text and token.kind != "byte"):
            rows_VA[number] = model.wv.get_vector(text)
    return rows_VA, trained_V


def vocabulary_hash(tokens: list[CanonicalToken]) -> str:
    return hashlib.sha256(json.dumps([token.string for token in tokens]).encode()).hexdigest()


def train_auxiliary(
    target: Path,
    sources: Sequence[Path],
    corpora: dict[str, Path],
    out: Path,
    options: AuxiliaryJob,
) -> None:
    import numpy as np
    from safetensors.numpy import save_file

    output = OutputFolder(out, "fastText vectors", [target, *sources, *corpora.values()])
    tokenizer = load_tokenizer(target)
    tokens = canonical_vocabulary(tokenizer)
    read = [
        texts(folder, "train", options.limit_documents, options.limit_bytes)
        for folder in corpora.values()
    ]
    # In turn, so that no language comes last.
    documents = (text for row in zip_longest(*read) for text in row if text is not None)
    sentences = Sentences(tokenizer, [word(token) for token in tokens], documents)
    model = train(sentences, options)
    rows_VA, trained_V = vectors(model, tokens)
    stored = {"target": rows_VA, "target_trained": trained_V.astype(np.uint8)}
    described = {"target": vocabulary_hash(tokens)}
    for number, folder in enumerate(sources):
        source_tokens = canonical_vocabulary(load_tokenizer(folder))
        described[f"source{number}"] = vocabulary_hash(source_tokens)
        stored[f"source{number}"] = vectors(model, source_tokens)[0]
    facts = {
        "vocabularies": described,
        "options": options.model_dump(exclude={"limit_documents", "limit_bytes"}),
        "limits": {"documents": options.limit_documents, "bytes": options.limit_bytes},
        "corpora": {name: corpus_manifest(path) for name, path in corpora.items()},
        "tokens_of_text": sentences.tokens,
        "tokens_trained": int(trained_V.sum()),
        "libraries": {"gensim": version("gensim"), "numpy": version("numpy")},
    }
    with output.replaced() as folder:
        save_file(stored, folder / VECTORS)
        write_json(folder / "manifest.json", facts)


def load_auxiliary(folder: Path, source: Any, target: Any, device: str = "cpu") -> Auxiliary:
    """Return the vectors of two tokenizers from a folder of :func:`train_auxiliary`.

    Raises :class:`RevocabError` unless they were made for these very vocabularies.
    """
    from safetensors.torch import load_file

    if not (folder / "manifest.json").is_file():
        raise RevocabError(f"{folder}: no fastText vectors (no manifest.json); run train_auxiliary")
    hashes = read_json(folder / "manifest.json")["vocabularies"]
    own, other = (vocabulary_hash(canonical_vocabulary(each)) for each in (source, target))
    names = [name for name, digest in hashes.items() if name != "target" and digest == own]
    problems = []
    if hashes["target"] != other:
        problems.append(f"{folder}: trained for another target vocabulary; run train_auxiliary")
    if not names:
        problems.append(
            f"{folder}: holds no vectors of this source vocabulary; run train_auxiliary with its "
            "--source-tokenizers"
        )
    refuse(problems)
    stored = load_file(folder / VECTORS, device=device)
    return Auxiliary(stored["target"], stored[names[0]], stored["target_trained"].bool())
