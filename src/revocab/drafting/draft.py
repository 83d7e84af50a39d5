"""`revocab draft`: a small model gets a target's vocabulary, so that it can draft for it.

Speculative decoding needs one vocabulary for both models: a target that was adapted leaves its
draft behind. With a draft, a pass of the target reads the tokens that the draft proposed, keeps
those that it would have chosen itself, and adds one of its own. So the text stays the same, and the
tokens of a pass say what the draft is worth, on any machine. Leviathan et al. 2023 (arXiv
2211.17192), greedy.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.adapting.compare import first_documents
from revocab.adapting.texts import Text, measure_texts
from revocab.closed import Closed, Id, OneLine
from revocab.command import named_and_flags
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
    method: Id = Field(default="fvt", description="how new rows are made")
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


@dataclass(frozen=True)
class Written:
    """Greedy text of one model: new tokens of each prompt, and what they took."""

    tokens: list[list[int]]
    characters: int
    #: Forward passes of the target, and the tokens that a draft proposed for them.
    passes: int
    proposed: int
    seconds: float

    @property
    def tokens_per_pass(self) -> float:
        return sum(map(len, self.tokens)) / self.passes

    @property
    def accepted(self) -> int:
        """Return how many tokens were the draft's: each pass adds one of the target's own."""
        return sum(map(len, self.tokens)) - self.passes

    @property
    def characters_per_second(self) -> float:
        return self.characters / self.seconds

    def equal(self, other: Written) -> int:
        return sum(own == theirs for own, theirs in zip(self.tokens, other.tokens, strict=True))


@contextmanager
def counted(model: PreTrainedModel, prompt: int) -> Iterator[list[int]]:
    """Yield how many tokens each pass of a model reads, of the ``prompt`` first ones the last."""
    lengths: list[int] = []

    def note(module: Any, args: Any, kwargs: dict[str, Any]) -> None:
        read = kwargs["input_ids"].shape[1]
        lengths.append(read if lengths else read - prompt + 1)

    hook: Any = model.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield lengths
    finally:
        hook.remove()


def write(
    target: PreTrainedModel,
    tokenizer: PreTrainedTokenizerFast,
    prompts: Sequence[list[int]],
    new_tokens: int,
    draft: PreTrainedModel | None = None,
    block: int = 4,
    draft_tokenizer: PreTrainedTokenizerFast | None = None,
) -> Written:
    """Continue each prompt by exactly ``new_tokens``, the end token barred, greedily.

    A draft proposes ``block`` tokens a pass. One of another vocabulary needs its own tokenizer:
    its text is cut again into the target's tokens.
    """
    import torch
    from transformers import GenerationConfig

    settings = GenerationConfig(
        do_sample=False,
        max_new_tokens=new_tokens,
        min_new_tokens=new_tokens,
        eos_token_id=target.config.get_text_config().eos_token_id,
        pad_token_id=0,
    )
    more: dict[str, Any] = {}
    if draft is not None:
        constant = {"num_assistant_tokens": block, "num_assistant_tokens_schedule": "constant"}
        draft.generation_config.update(**constant, assistant_confidence_threshold=0.0)
        more["assistant_model"] = draft
        if draft_tokenizer is not None:
            more |= {"tokenizer": tokenizer, "assistant_tokenizer": draft_tokenizer}
    tokens, passes, proposed, seconds = [], 0, 0, 0.0
    for prompt in prompts:
        ids_1L = torch.tensor([prompt], device=target.device)
        mask_1L = torch.ones_like(ids_1L)
        with torch.no_grad(), counted(target, len(prompt)) as lengths:
            start = time.perf_counter()
            written: Any = target.generate(  # type: ignore[operator]  # typed as a mixin's
                ids_1L, attention_mask=mask_1L, generation_config=settings, **more
            )
            seconds += time.perf_counter() - start
        tokens.append(written[0, len(prompt) :].tolist())
        passes += len(lengths)
        proposed += sum(lengths) - len(lengths)  # each begins with the newest token of the text
    characters = sum(map(len, tokenizer.batch_decode(tokens)))
    return Written(tokens, characters, passes, proposed, seconds)
