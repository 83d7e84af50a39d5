"""`revocab compare`: two models on the same text, with a verdict and how sure it is.

Losses are per byte, since the models may have different tokens: each reads the same text cut into
windows of as many of its own tokens, as held-out loss is measured in training. The difference is
resampled over parts of the text, consecutive documents of a few kilobytes, of which both models
have read the same bytes.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.closed import Closed, OneLine
from revocab.errors import RevocabError, all_of
from revocab.evaluation.adoption import adoption
from revocab.evaluation.options import AdoptionOptions, EfficiencyJob, Hardware
from revocab.evaluation.over_seeds import SIGNIFICANT, level_of, most_exchanges
from revocab.io import write_json, write_jsonl, write_text
from revocab.limits import Bytes
from revocab.models.folder import check_model_folder
from revocab.models.hub_or_folder import local, model_field
from revocab.output import OutputFolder
from revocab.product.inputs import Text, look_at, measure_texts
from revocab.progress import Say, spoken
from revocab.verb import verb
from revocab.vocabulary.tokenizers.encoding import Unseen

FOLDER = Path(__file__).parent
#: Documents are grouped into parts of at least this many bytes: enough for a batch, and enough
#: parts to resample.
PART_BYTES = 4096
FEWEST_PARTS = 8
#: Prompts of the speed test, characters of each, and tokens written after it. Some prompts have
#: more tokens than the text has at its mean: prompts leave so much room.
PROMPTS, FEWEST_CHARACTERS, MOST_CHARACTERS, NEW_TOKENS, MARGIN = 4, 20, 500, 16, 1.5
#: On a CPU a model of 135M parameters reads 100 to 300 tokens a second: this many take it a quarter
#: of a minute.
REPEATS = 2
#: A text is at least this many times as long as its prompts.
TEXT_FOR_PROMPTS = 2


class CompareOptions(Closed):
    """The flags of `revocab compare`."""

    text: dict[str, Path] = Field(
        default_factory=dict,
        description="text that neither model was trained on, by its language's code: a file (.txt,"
        " .jsonl, .parquet, also .gz) or a folder of such files",
    )
    limit_bytes: Bytes = Field(
        default=200_000, description="read about this much of each text, from its beginning"
    )
    out: Path | None = Field(
        default=None, description="folder for comparison.md and comparison.json; default: none"
    )
    device: OneLine = Field(default="auto", description="auto, cpu, cuda, cuda:1, ...")


@dataclass(frozen=True)
class Loss:
    """One model's loss on the parts of a text: nats and tokens of each, as their bytes."""

    nats: list[float]
    tokens: list[int]
    bytes: list[int]

    @property
    def bits_per_byte(self) -> float:
        return sum(self.nats) / (sum(self.bytes) * math.log(2))


@verb()
def compare(
    old: str = model_field("the model before"),
    new: str = model_field("the model after"),
    *,
    options: CompareOptions,
) -> str:
    """Compare two models on a text.

    Loss in bits per byte, with a 95 % interval of the difference over parts of the text;
    tokens, characters per token, speed, size; whether NEW writes the tokens that OLD lacks. OLD and
    NEW are folders or Hub ids.
    """
    say = spoken()
    if not options.text:
        raise RevocabError("--text: no text; give it by its language, such as --text it=new.txt")
    models = (partial(local_model, name) for name in (old, new))
    texts, *folders = all_of([partial(measure_texts, options.text, "--text"), *models])
    # Checked before the work: nothing that somebody else wrote is replaced.
    inputs = [*folders, *options.text.values()]
    out = None if options.out is None else OutputFolder(options.out, "comparison", inputs)
    read = [documents_of(text, options.limit_bytes) for text in texts]
    compared = []
    for text, documents in zip(texts, read, strict=True):
        losses = loss_difference(folders, documents, options.device, len(texts), say=say)
        measured = with_speeds(losses, folders, text, documents, options.device, say=say)
        before, after = folders
        machine = Hardware(device=options.device)
        written = adoption(before, after, documents, machine, AdoptionOptions(), say=say)
        compared.append({**measured, "adoption": written})
    comparison = {"models": [old, new], "texts": compared}
    from revocab.report.template import environment

    template = environment(FOLDER).get_template("comparison.md.j2")
    page = template.render(comparison, answer=answer)
    if out is not None:
        with out.replaced() as folder:
            write_text(folder / "comparison.md", page)
            write_json(folder / "comparison.json", comparison)
    return page


def local_model(name: str) -> Path:
    folder = local(Path(name), "model")
    check_model_folder(folder)
    return folder


def with_speeds(
    losses: dict[str, Any],
    folders: Sequence[Path],
    text: Text,
    documents: Sequence[str],
    device: str,
    *,
    say: Say,
) -> dict[str, Any]:
    """Return how two models differ on a text: their losses on it, speeds and sizes."""
    characters = sum(map(len, documents))
    dense = max(losses["tokens"]) / characters
    room = (min(look_at(str(folder)).context for folder in folders) - NEW_TOKENS) / dense / MARGIN
    part = characters // PROMPTS // TEXT_FOR_PROMPTS
    size = int(max(FEWEST_CHARACTERS, min(MOST_CHARACTERS, room, part)))
    say(f"speed of both models on {text.language}")
    speed = speeds(folders, text, documents, size, device)
    measured = zip(losses["bits_per_byte"], losses["tokens"], speed, strict=True)
    return {
        "language": text.language,
        "file": text.path.name,
        "documents": len(documents),
        "bytes": sum(len(document.encode()) for document in documents),
        **losses,
        "models": [{"bits_per_byte": bits, "tokens": n, **rest} for bits, n, rest in measured],
    }


def loss_difference(
    folders: Sequence[Path],
    documents: Sequence[str],
    device: str,
    texts: int,
    fewest: int = FEWEST_PARTS,
    *,
    say: Say,
) -> dict[str, Any]:
    """Return both models' losses on a text, and how they differ, with an interval.

    The interval holds for so many texts at once, over about ``fewest`` parts of the text or more.
    """
    from revocab.evaluation.resampling import RESAMPLES
    from revocab.evaluation.resampling import compare as resampled

    length = min(look_at(str(folder)).row for folder in folders)
    losses, size = [], sum(len(document.encode()) for document in documents)
    for folder in folders:
        say(f"loss of {folder} on {size / 1000:,.0f} kB")
        losses.append(measured_loss(folder, documents, length, device, fewest))
    difference = resampled(
        per_byte(losses[1]), per_byte(losses[0]), most_exchanges(RESAMPLES, texts),
        comparisons=texts, level=level_of(texts),
    )  # fmt: skip
    return {
        "parts": len(losses[0].bytes),
        "window": length,
        "bits_per_byte": [loss.bits_per_byte for loss in losses],
        "tokens": [sum(loss.tokens) for loss in losses],
        "difference": None if difference is None else {**asdict(difference), "texts": texts},
    }


def documents_of(text: Text, limit: int) -> list[str]:
    """Return documents until so many bytes are reached, the last one whole; raise
    :class:`RevocabError` where they are too short.
    """
    documents: list[str] = []
    size = 0
    for document in text.documents_of():
        if document.strip():
            documents.append(document)
            size += len(document.encode())
        if size >= limit:
            break
    characters = sum(map(len, documents))
    if characters < (least := TEXT_FOR_PROMPTS * PROMPTS * FEWEST_CHARACTERS):
        raise RevocabError(
            f"{text.path}: {characters} characters in the first {limit:,} bytes (--limit-bytes);"
            f" a comparison needs at least {least}"
        )
    return documents


def parts_of(
    documents: Sequence[Any], sizes: Sequence[int], fewest: int = FEWEST_PARTS
) -> list[list[Any]]:
    """Return consecutive documents, together by parts of :data:`PART_BYTES` and more.

    Of a short text parts are smaller, so that there are about ``fewest`` if it has as many
    documents.
    """
    least = min(PART_BYTES, sum(sizes) // fewest)
    parts: list[list[Any]] = []
    size = least
    for document, own in zip(documents, sizes, strict=True):
        if size >= least:
            parts.append([])
            size = 0
        parts[-1].append(document)
        size += own
    return parts


def measured_loss(
    folder: Path, documents: Sequence[str], length: int, device: str, fewest: int = FEWEST_PARTS
) -> Loss:
    """Return a model's loss, in float32, on each part of a text."""
    import torch

    from revocab.device import choose_device
    from revocab.models.load import load_causal_lm
    from revocab.training.data.heldout import windows_of
    from revocab.training.data.packing import load_tokenizer, tokenise
    from revocab.training.heldout_loss import HeldoutCorpus, heldout_losses

    tokenizer = load_tokenizer(folder)
    start = tokenizer.start_id if tokenizer.start_id is not None else tokenizer.end_id
    start = tokenizer.require(start, "bos or eos", "each window begins with it")
    rows = [{"id": str(number), "text": text} for number, text in enumerate(documents)]
    sizes = [len(text.encode()) for text in documents]
    parts = parts_of(list(tokenise(tokenizer, rows)), sizes, fewest)
    corpora, unseen = [], Unseen()
    for number, part in enumerate(parts):
        windows = windows_of(part, start, length)
        if not windows.bytes:
            raise RevocabError(
                f"{folder}: its tokenizer has no token for any of {sum(sizes):,} bytes or a part of"
                " them, so that a loss would say nothing; give text that both vocabularies have"
            )
        for document in part:
            unseen.add(document.unseen, document.place)
        order = torch.argsort(torch.from_numpy(windows.lengths), descending=True, stable=True)
        ids = torch.from_numpy(windows.input_ids)[order]
        lengths = torch.from_numpy(windows.lengths)[order]
        corpora.append(HeldoutCorpus(str(number), "", windows.bytes, windows.tokens, ids, lengths))
    if unseen.size:
        print(unseen.sentence(str(folder), sum(sizes)), file=sys.stderr)
    model = load_causal_lm(folder, dtype=torch.float32, device=choose_device(device))
    nats = heldout_losses(model, corpora)
    return Loss(nats, [corpus.tokens for corpus in corpora], [corpus.bytes for corpus in corpora])


def per_byte(loss: Loss) -> Any:
    """Return the parts as items whose score is their bits per byte."""
    import numpy as np

    from revocab.evaluation.resampling import Items

    def score(sums_RK: np.ndarray) -> np.ndarray:
        return sums_RK[:, 0] / (sums_RK[:, 1] * math.log(2))

    counts_NK = np.array([loss.nats, loss.bytes], dtype=np.float64).T
    return Items(counts_NK, np.ones(len(counts_NK)), np.zeros(len(counts_NK), dtype=int), score)


def speeds(
    folders: Sequence[Path], text: Text, documents: Sequence[str], characters: int, device: str
) -> list[dict[str, Any]]:
    """Return how fast each model reads and writes (:mod:`revocab.evaluation.efficiency`)."""
    from revocab.evaluation.efficiency import measure

    job = EfficiencyJob(
        run="compared", step=0, corpus="text", language=text.language,
        prompts=PROMPTS, prompt_characters=characters, new_tokens=NEW_TOKENS, repeats=REPEATS,
    )  # fmt: skip
    keys = (
        "characters_per_token", "tokens_per_word", "prompt_characters_per_second",
        "generated_characters_per_second", "parameter_bytes", "device", "dtype",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "text.jsonl"
        write_jsonl(file, ({"text": document} for document in documents))
        measured = [measure(model, file, job, Hardware(device=device)) for model in folders]
    return [{key: model_speeds[key] for key in keys} for model_speeds in measured]


def answer(text: dict[str, Any]) -> str:
    """Return whether the new model is ``better`` on a text, ``worse``, or ``not different``."""
    difference = text["difference"]
    if difference is None or difference["low"] <= 0 <= difference["high"]:
        return "not different"
    if difference["p_value"] * difference["texts"] >= SIGNIFICANT:
        return "not different"
    return "better" if difference["high"] < 0 else "worse"
