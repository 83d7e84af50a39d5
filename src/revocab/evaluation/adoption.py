"""Adoption: does a model write its new tokens, or their text in pieces of the old vocabulary?

A token is new if no old one has the same bytes. Prompts are windows of a text as the new tokenizer
cuts it, and the tokens that follow are the reference: a model that goes on as the text does has its
share of new tokens. Words of more tokens than the tokenizer gives them are counted, too, as no
text has them so. So are places where a row of the head that is (nearly) zero has the largest logit,
since all others are negative: new rows that nothing filled, or padding. V rows, L places.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import Any

from revocab.corpora.read import texts
from revocab.device import checkpoint_on
from revocab.errors import RevocabError
from revocab.evaluation.options import AdoptionJob, AdoptionOptions, Hardware
from revocab.heavy_types import PreTrainedModel
from revocab.io import write_json
from revocab.output import check_files
from revocab.progress import Say, silent
from revocab.vocabulary.intersection import match
from revocab.vocabulary.tokenizers.canonical import CanonicalToken, canonical_vocabulary
from revocab.vocabulary.tokenizers.encoding import text_encoder
from revocab.vocabulary.tokenizers.load import load_tokenizer

TEMPERATURE = 1.0
#: Of a corpus so much is read, in 0.3 s by Mistral's tokenizer (10 MB: 26 s and a gigabyte).
READ_BYTES = 200_000
#: A row is empty if the median row is so many times as long (as for ``revocab check``).
FAR = 20
#: A word with the spaces before it: one that goes on from the prompt has none.
WORD = re.compile(rb"\s+\S+")


def measure_adoption(
    old: Path,
    models: Mapping[int, Path],
    corpus: Path,
    job: AdoptionJob,
    machine: Hardware,
    out: Path,
) -> None:
    """Write what a run's checkpoints write after prompts of a corpus's held-out text, by step;
    ``old`` is the tokenizer of the model that the run began from. Raises :class:`RevocabError` as
    :func:`adoption` does, and for too little text.
    """
    check_files(out, inputs=[old, corpus, *models.values()])
    documents = list(texts(corpus, "heldout", limit_bytes=READ_BYTES))
    steps = {}
    for step, folder in models.items():
        measured = steps[step] = adoption(old, folder, documents, machine, job)
        if measured["new_tokens"] and not measured["prompts"]:
            raise RevocabError(
                f"{corpus}: its held-out text, or the context of {folder}, has no room for a prompt"
                f" and {job.written_tokens} tokens; hold out more text, or lower"
                " evaluation.adoption.written_tokens"
            )
        print(f"{job.run}, step {step}: {measured['prompts']} prompts", file=sys.stderr)
    write_json(out, {**job.model_dump(), "steps": steps})


def adoption(
    old: Path,
    folder: Path,
    documents: Sequence[str],
    machine: Hardware,
    options: AdoptionOptions,
    *,
    say: Say = silent,
) -> dict[str, Any]:
    """Return what a model writes after prompts of a text, in shares of it; ``old`` is the folder of
    the tokenizer that it had before.
    Without new tokens nothing is written, and only empty rows are looked for. Raises
    :class:`RevocabError` where the model cannot be loaded or its logits are not finite.
    """
    from revocab.evaluation.inference.decoding import Decoding
    from revocab.evaluation.inference.engines.transformers import TransformersGenerator

    written = options.written_tokens
    checkpoint = checkpoint_on(folder, machine.device, machine.dtype, options.prompts, machine.gpus)
    generator = TransformersGenerator(checkpoint, options.prompt_tokens + written)
    tokens = canonical_vocabulary(generator.tokenizer)
    matches = match(canonical_vocabulary(load_tokenizer(old)), tokens, "bytes")
    new = {n for n, same in enumerate(matches) if not same and tokens[n].kind != "special"}
    encoder = text_encoder(generator.tokenizer.backend_tokenizer)

    def cut(text: str) -> list[int]:
        return list(encoder.encode(text, add_special_tokens=False).ids)

    begin = generator.encode("a")  # what the tokenizer puts before a text
    begin = begin[: len(begin) - len(cut("a"))]
    room = generator.context_length - len(begin) - written
    pairs = [*windows(cut("\n".join(documents)), tokens, room, options)]
    prompts = [[*begin, *prompt] for prompt, _ in pairs]
    whole = [[*prompt, *rest] for prompt, (_, rest) in zip(prompts, pairs, strict=True)]
    result: dict[str, Any] = {
        "new_tokens": len(new), "prompts": len(pairs), "written_tokens": written,
        "empty_rows": empty_rows(generator.model, whole),
    }  # fmt: skip
    if not new or not pairs:
        return result
    result["reference"] = shares(counts(rest, tokens, new) for _, rest in pairs)
    sampled = Decoding(temperature=TEMPERATURE)
    for name, decoding in (("greedy", Decoding()), ("sampled", sampled)):
        say(f"new tokens of {folder}, {name}")
        generator.decoding = decoding
        outputs = generator.generate(prompts, written, None)
        result[name] = shares(
            counts(output.ids, tokens, new)
            | {"words_in_pieces": words_in_pieces(prompt, output.ids, tokens, cut)}
            for (prompt, _), output in zip(pairs, outputs, strict=True)
        )
    return result


def windows(
    ids: Sequence[int], tokens: Sequence[CanonicalToken], room: int, options: AdoptionOptions
) -> Iterator[tuple[list[int], list[int]]]:
    """Yield prompts and what follows each, evenly spread over a text; none of a short one.

    A prompt ends where a word does, unless none begins in its second half.
    """
    written = options.written_tokens
    number = min(options.prompts, len(ids) // (2 * written)) if room > 0 else 0
    length = min(options.prompt_tokens, room, len(ids) // max(1, number) - written)
    for first in (len(ids) * window // number for window in range(number)):
        end = first + length
        back = range(end, end - length // 2, -1)
        end = next((at for at in back if tokens[ids[at]].kind == "word_start"), end)
        yield [*ids[first:end]], [*ids[end : end + written]]


def counts(
    ids: Sequence[int], tokens: Sequence[CanonicalToken], new: set[int]
) -> dict[str, tuple[int, int]]:
    """Return how many tokens and characters are new, and how many there are."""
    # A row without a token writes nothing.
    text = [n for n in ids if n < len(tokens) and tokens[n].kind != "special"]
    # Of the bytes of a character in UTF-8 the first alone does not begin with the bits 10.
    sizes = [sum(byte & 0xC0 != 0x80 for byte in tokens[n].data) for n in text]
    is_new = [n in new for n in text]
    written = sum(size for size, own in zip(sizes, is_new, strict=True) if own)
    return {"tokens": (sum(is_new), len(text)), "characters": (written, sum(sizes))}


def words_in_pieces(
    prompt: Sequence[int],
    ids: Sequence[int],
    tokens: Sequence[CanonicalToken],
    cut: Callable[[str], list[int]],
) -> tuple[int, int]:
    """Return how many words are written in more tokens than ``cut`` gives them, and all words:
    without the last, which may be half of one, and none of a text that the tokenizer rewrites,
    where pieces cannot be told apart by their bytes.
    """
    written = [tokens[n].data for n in ids if n < len(tokens) and tokens[n].kind != "special"]
    text = b"".join(written)
    words = [word.span() for word in WORD.finditer(text)][:-1]
    if not words:
        return 0, 0
    text = text[: words[-1][1]]
    before = b"".join(tokens[n].data for n in prompt)
    anew = [tokens[n].data for n in cut((before + text).decode(errors="replace"))]
    if not b"".join(anew).endswith(text):
        return 0, 0
    places = Counter(accumulate(map(len, written), initial=0))
    own = Counter(accumulate(map(len, anew), initial=len(text) - sum(map(len, anew))))
    in_pieces = sum(
        sum(places[at] for at in range(*word)) > sum(own[at] for at in range(*word))
        for word in words
    )
    return in_pieces, len(words)


def shares(counted: Iterator[dict[str, tuple[int, int]]]) -> dict[str, Any]:
    """Return each share of all prompts together, and its 95 % interval over prompts; None where
    there is nothing to have a share of.
    """
    import numpy as np

    from revocab.evaluation.resampling import Items, bootstrap

    def ratio(sums_RK: np.ndarray) -> np.ndarray:
        part_R, whole_R = sums_RK.T
        return np.divide(part_R, whole_R, out=np.zeros(len(sums_RK)), where=whole_R > 0)

    prompts = list(counted)
    result: dict[str, Any] = {}
    for name in prompts[0]:
        items = Items.of([prompt[name] for prompt in prompts], ratio)
        whole, interval = int(items.counts_NK[:, 1].sum()), bootstrap(items)
        bounds = asdict(interval) if interval else {}
        result[name] = {"share": items.value(), "of": whole, **bounds} if whole else None
    return result


def empty_rows(model: PreTrainedModel, texts: Sequence[list[int]]) -> dict[str, Any]:
    """Return how many rows of the head are (nearly) zeros, and at which share of a text's places
    one of them has the largest logit.
    """
    import torch

    norms_V = model.get_output_embeddings().weight.detach().float().norm(dim=1)
    filled_V = norms_V > norms_V[norms_V > 0].median() / FAR
    rows = int((~filled_V).sum())
    if not rows or not texts or not filled_V.any():
        return {"rows": rows, "largest": 0.0}
    won = places = 0
    with torch.no_grad():
        for ids in texts:
            logits_LV = model(torch.tensor([ids], device=model.device)).logits[0]
            filled_V = filled_V.to(logits_LV.device)
            empty_L = logits_LV[:, ~filled_V].amax(dim=1)
            won += int((empty_L > logits_LV[:, filled_V].amax(dim=1)).sum())
            places += len(ids)
    return {"rows": rows, "largest": won / places}
