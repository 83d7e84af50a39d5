"""What a model gives for prompts, recorded piece by piece: a killed job goes on from there."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from revocab.evaluation.inference.decoding import Output, TextGenerator
from revocab.evaluation.inference.engine import Engine
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

#: The folder of records in an output that is not finished.
RECORDS = "records"
#: Batches of a piece: what a killed job loses at most.
BATCHES = 8

Prompts = Sequence[list[int]]
#: Gives one output per prompt, in order.
Generate = Callable[[Prompts], list[Output]]


@contextmanager
def recording(output: OutputFolder) -> Iterator[tuple[Path, Records]]:
    """Yield the folder that takes the output's place at the end, and records that last until then.

    What a failed or killed call has recorded is there again for the next one; a call that fails
    before anything is recorded leaves nothing.
    """
    with output.replaced(resume=True) as folder:
        records = Records(folder / RECORDS)
        try:
            yield folder, records
        except BaseException:
            if not records.folder.is_dir():
                shutil.rmtree(folder)
            raise
        shutil.rmtree(records.folder, ignore_errors=True)


@dataclass(frozen=True)
class Recorded:
    """Results of prompts (token ids) in JSON values, each piece of them stored once it is there."""

    records: Records
    #: What results depend on beside the prompts.
    made_from: Parts
    batch_size: int

    def results(self, prompts: Prompts, make: Callable[[Prompts], list[Any]]) -> list[Any]:
        """Return what ``make`` gives for each prompt, in order.

        Longest prompts first, in whole batches: transformers then makes the batches that it makes
        of all prompts at once, and results are the same, to the bit.
        """
        order = sorted(range(len(prompts)), key=lambda at: -len(prompts[at]))
        size = BATCHES * self.batch_size
        found: dict[int, Any] = {}
        read = 0
        for start in range(0, len(order), size):
            chosen = order[start : start + size]
            piece = [prompts[at] for at in chosen]
            parts = {**self.made_from, "prompts": digest(piece)}
            made = self.records.read(parts)
            if made is None:
                made = make(piece)
                self.records.write(parts, made)
            else:
                read += len(piece)
            found.update(zip(chosen, made, strict=True))
        if read:
            print(f"{read} of {len(prompts)} prompts were answered before", file=sys.stderr)
        return [found[at] for at in range(len(prompts))]


def recorded_generation(
    generator: TextGenerator,
    engine: Engine,
    model: Path,
    max_new_tokens: int,
    batch_size: int,
    records: Records,
) -> Generate:
    """Return what generates until end tokens with the loaded ``model``, and records it.

    Devices and dtypes are no part of a record: they move a result by rounding only.
    """
    made_from = {
        "model": model_hash(model),
        "ends": list(generator.eos),
        "max_new_tokens": max_new_tokens,
        "engine": engine.name,
        "code": [code_hash(), module_hash(engine.module)],
        "libraries": versions(*engine.libraries),
    }
    recorded = Recorded(records, made_from, batch_size)

    def make(prompts: Prompts) -> list[Any]:
        return [asdict(one) for one in generator.generate(prompts, max_new_tokens, None)]

    def generate(prompts: Prompts) -> list[Output]:
        return [Output(**one) for one in recorded.results(prompts, make)]

    return generate
