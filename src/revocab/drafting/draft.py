"""`revocab draft`: a small model gets a target's vocabulary, so that it can draft for it.

Speculative decoding needs one vocabulary for both models: a target that was adapted leaves its
draft behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.adapting.compare import first_documents
from revocab.adapting.texts import Text, measure_texts
from revocab.closed import Closed, Id, OneLine
from revocab.command import named_and_flags
from revocab.drafting.speculation import Written, write
from revocab.errors import RevocabError
from revocab.evaluation.inference.checkpoint import checkpoint_on
from revocab.heavy_types import PreTrainedModel, PreTrainedTokenizerFast
from revocab.initialise.adapted_model import initialise_model
from revocab.initialise.options import InitInputs, InitJob
from revocab.limits import Count, Seed
from revocab.models.folder import ModelFolder, check_model_folder
from revocab.models.hub_or_folder import local
from revocab.models.load import check_structure, load_causal_lm, quiet
from revocab.progress import spoken
from revocab.tokenizers.load import load_tokenizer

ABOUT = """Make a draft model for a target: revocab draft DRAFT --for TARGET --out FOLDER

The draft gets the target's vocabulary: rows of shared tokens are copied, the others made by a
method. With --text, both write text together, which shows whether it is the target's own text and
how much faster it is. A draft that already has the target's vocabulary is only measured.
Models are folders or Hub ids."""


class DraftOptions(Closed):
    """The flags of `revocab draft`."""

    for_: Path = Field(alias="for", description="the model that it drafts for")
    out: Path | None = Field(default=None, description="folder for the draft's new model")
    method: Id = Field(default="last-piece", description="how new rows are made")
    option: dict[str, Any] = Field(
        default_factory=dict, description="options of the method, NAME=VALUE as in YAML"
    )
    seed: Seed = Field(default=0, description="seed of random draws")
    text: dict[str, Path] = Field(
        default_factory=dict,
        description="text to continue, by its language's code: a file (.txt, .jsonl, .parquet, also"
        " .gz) or a folder of such files",
    )
    prompts: Count = Field(default=16, description="documents of each text to continue")
    prompt_characters: Count = Field(default=200, description="characters of each prompt")
    new_tokens: Count = Field(default=64, description="tokens to write after each prompt")
    block: Count = Field(default=4, description="tokens that the draft proposes in each pass")
    device: OneLine = Field(default="auto", description="auto, cpu, cuda, cuda:1, ...")
    json_: bool = Field(default=False, alias="json", description="print JSON")


Row = dict[str, Any]


def row_of(text: str, draft: str, written: Written, plain: Written) -> Row:
    """Return what a text, written by the target alone or with a draft, took."""
    same = {"equal": written.equal(plain), "prompts": len(written.tokens)}
    keys = ("tokens_per_pass", "accepted", "proposed", "characters_per_second")
    return {"text": text, "draft": draft, **same, **{key: getattr(written, key) for key in keys}}


def draft(words: Sequence[str]) -> str:
    missing = "DRAFT comes first: revocab draft DRAFT --for TARGET --out FOLDER"
    named, options = named_and_flags(DraftOptions, words, "revocab draft DRAFT", ABOUT, missing)
    texts = measure_texts(options.text, "--text")
    folders = [local(path, "model") for path in (Path(named[0]), options.for_)]
    for folder in folders:
        check_model_folder(folder)
    source, target = folders
    tokenizers = [load_tokenizer(folder) for folder in folders]
    old, new = (tokenizer.get_vocab() for tokenizer in tokenizers)
    # Looked at before a draft is written.
    prompts = {text.language: prompts_of(text, tokenizers[1], options) for text in texts}
    writer = loaded(target, options.device) if prompts else None
    if writer is None:
        check_structure(target)
    drafts = {"as it was": source}
    if old == new:
        if options.out is not None:
            raise RevocabError(
                f"--out: {source} already has the vocabulary of {target}; leave out --out, and give"
                " --text to measure it"
            )
        if not texts:
            raise RevocabError(f"{source}: already has the vocabulary of {target}; give --text")
    elif options.out is None:
        raise RevocabError("--out: give a folder for the draft with its new vocabulary")
    else:
        move(source, target, len(new), options)
        drafts["moved"] = options.out
    shared = len(old.keys() & new.keys())
    rows = [*measured(writer, drafts, prompts, options)] if writer else []
    if options.json_:
        made = {"shared_tokens": shared, "tokens": len(new), "rows": rows}
        return json.dumps(made, ensure_ascii=False, indent=2)
    moved = [f"{options.out}: {source.name} with the vocabulary of {target.name}"] * (old != new)
    return "\n".join([*moved, f"{shared:,} of {len(new):,} tokens are shared", *page(rows)])


def move(source: Path, target: Path, tokens: int, options: DraftOptions) -> None:
    """Write the draft with the target's tokenizer, and as many rows as the target has."""
    model = ModelFolder(target)
    rows = model.tensors[model.vocabulary_names["input"]][1][0]
    # Engines compare the sizes of both models' matrices, padding included.
    padding = {"pad_to": rows} if rows > tokens else {}
    job = InitJob(method=options.method, option=options.option | padding, seed=options.seed)
    inputs = InitInputs(source=source, target_tokenizer=target)
    assert options.out is not None  # as draft() has seen to
    initialise_model(inputs, job, options.out, say=spoken())


def measured(
    target: tuple[PreTrainedModel, PreTrainedTokenizerFast],
    drafts: dict[str, Path],
    prompts: dict[str, list[list[int]]],
    options: DraftOptions,
) -> Iterator[Row]:
    """Yield how the prompts of each text are continued by the target alone, and with each draft."""
    model, tokenizer = target
    helpers = {name: loaded(folder, options.device) for name, folder in drafts.items()}
    for text, asked in prompts.items():
        with quiet():
            plain = write(model, tokenizer, asked, options.new_tokens)
        yield row_of(text, "none", plain, plain)
        for name, (helper, own) in helpers.items():
            other = own if own.get_vocab() != tokenizer.get_vocab() else None
            with quiet():
                written = write(
                    model, tokenizer, asked, options.new_tokens, helper, options.block, other
                )
            yield row_of(text, name, written, plain)


def loaded(folder: Path, device: str) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    place = checkpoint_on(folder, device, "auto", 1)
    model = load_causal_lm(folder, dtype=place.dtype, device=place.device).eval()
    return model, load_tokenizer(folder)


def prompts_of(
    text: Text, tokenizer: PreTrainedTokenizerFast, options: DraftOptions
) -> list[list[int]]:
    size = options.prompt_characters
    limit = 100 * size * options.prompts
    long = [document for document in first_documents(text, limit) if len(document) > size]
    if not long:
        raise RevocabError(
            f"{text.path}: no document of more than {size} characters; lower --prompt-characters"
        )
    return [tokenizer(document[:size])["input_ids"] for document in long[: options.prompts]]


def page(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    lines = [
        "",
        "| text | draft | same text | tokens a pass | accepted | characters/s | speed |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        speed = row["characters_per_second"]
        if row["draft"] == "none":
            plain = speed
        share = f"{row['accepted'] / row['proposed']:.0%}" if row["proposed"] else "–"
        lines.append(
            f"| {row['text']} | {row['draft']} | {row['equal']} of {row['prompts']}"
            f" | {row['tokens_per_pass']:.2f} | {share} | {speed:,.0f} | {speed / plain:.2f}× |"
        )
    return lines
