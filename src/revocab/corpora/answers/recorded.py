"""What a model gives for prompts, recorded piece by piece: a killed job goes on from there."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from revocab.device import deciding
from revocab.evaluation.generation.generate import load_generator
from revocab.evaluation.inference.chat_prompts import ChatFormat, ChatOptions, template_text
from revocab.evaluation.inference.decoding import Output
from revocab.evaluation.inference.engine import choose_engine
from revocab.evaluation.options import AnswerHardware, Generating, GenerationOptions
from revocab.evaluation.records import (
    Parts,
    Records,
    code_hash,
    digest,
    model_hash,
    module_hash,
    versions,
)
from revocab.output import OutputFolder

#: Batches of a piece: what a killed job loses at most.
BATCHES = 8

Prompts = Sequence[list[int]]


@contextmanager
def recording(output: OutputFolder) -> Iterator[tuple[Path, Records]]:
    """Yield the folder that takes the output's place at the end, and records that last until then.

    What a failed or killed call has recorded is there again for the next one; a call that fails
    before anything is recorded leaves nothing.
    """
    with output.replaced(resume=True) as folder:
        records = Records(folder / "records")
        try:
            yield folder, records
        except BaseException:
            if not records.folder.is_dir():
                shutil.rmtree(folder)
            raise
        shutil.rmtree(records.folder, ignore_errors=True)


def recorded(
    records: Records,
    made_from: Parts,
    batch_size: int,
    prompts: Prompts,
    make: Callable[[Prompts], list[Any]],
) -> list[Any]:
    """Return what ``make`` gives for each prompt (JSON values), in order, stored piece by piece.

    Longest prompts first, in whole batches: transformers then makes the batches that it makes of
    all prompts at once, with the same results, to the bit. ``made_from`` is what else they depend
    on.
    """
    order = sorted(range(len(prompts)), key=lambda at: -len(prompts[at]))
    size = BATCHES * batch_size
    results: dict[int, Any] = {}
    read = 0
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        piece = [prompts[at] for at in chosen]
        parts = {**made_from, "prompts": digest(piece)}
        made = records.read(parts)
        if made is None:
            made = make(piece)
            records.write(parts, made)
        else:
            read += len(piece)
        results.update(zip(chosen, made, strict=True))
    if read:
        print(f"{read} of {len(prompts)} prompts were answered before", file=sys.stderr)
    return [results[at] for at in range(len(prompts))]


class RecordedGenerator:
    """A chat model that answers, and records what it says."""

    def __init__(
        self,
        model: Path,
        options: GenerationOptions,
        machine: AnswerHardware,
        records: Records,
        chat_template: Path | None = None,
    ):
        """Load the model."""
        chat = ChatOptions()
        self.options = options
        self.batch_size = machine.batch_size
        self.records = records
        self.engine = choose_engine(options.engine, "generation")
        generating = Generating(
            **options.model_dump(include=set(GenerationOptions.model_fields)),
            **machine.model_dump(),
            chat=chat,
            chat_template=template_text(chat_template, chat),
        )
        self.generator = load_generator(model, self.engine, generating)
        self.made_from = {
            "model": model_hash(model),
            "ends": list(self.generator.eos),
            "numbers": deciding(machine.device, machine.dtype, machine.batch_size),
            "max_new_tokens": options.max_new_tokens,
            **options.model_dump(include={"decoding"}),
            "engine": self.engine.name,
            "code": [code_hash(), module_hash(self.engine.module)],
            "libraries": versions(*self.engine.libraries),
        }

    @property
    def chat(self) -> ChatFormat:
        assert self.generator.chat is not None  # loaded for chat
        return self.generator.chat

    @property
    def room(self) -> int:
        length = min(self.options.context_length, self.generator.context_length)
        return length - self.options.max_new_tokens

    def generate(self, prompts: Prompts) -> list[Output]:
        def make(piece: Prompts) -> list[Any]:
            outputs = self.generator.generate(piece, self.options.max_new_tokens, None)
            return [asdict(output) for output in outputs]

        values = recorded(self.records, self.made_from, self.batch_size, prompts, make)
        return [Output(**value) for value in values]
