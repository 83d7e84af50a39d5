"""A GGUF in a real llama.cpp: the library of the npm package node-llama-cpp (``make llama``)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from revocab.errors import RevocabError, ended
from revocab.product.verify.runtime import Answer, Asked, Missing, Runtime

SCRIPT = Path(__file__).parents[1] / "llama.mjs"
VARIABLE = "REVOCAB_LLAMA"
INSTALL = f"run 'make llama', or name its folder in {VARIABLE} (docs/ship.md)"
#: As parts of the largest logit, by the type of most weights (``general.file_type``).
ROUNDING = {0: 1e-4, 1: 5e-3, 32: 3e-2}
#: Of quantised weights.
QUANTISED = 0.2


@dataclass(frozen=True)
class LlamaAnswer:
    """What llama.cpp says of a GGUF, a list for each list that it was asked."""

    #: The tokens that it adds before and after a text, if any.
    bos: int | None
    eos: int | None
    #: ``general.file_type``: the type of most weights.
    file_type: int
    #: Ids of texts, without these two.
    texts: list[list[int]]
    decoded: list[str]
    #: For each request a row of the whole vocabulary at each position, in float32.
    logits: list[list[list[float]]]
    #: Tokens of greedy continuations, the end token included.
    greedy: list[list[int]]

    def framed(self, ids: list[int]) -> list[int]:
        """Return a text's ids with the tokens that llama.cpp adds."""
        bos, eos = ([] if token is None else [token] for token in (self.bos, self.eos))
        return [*bos, *ids, *eos]


def llama_folder() -> Path:
    """Return the folder of ``make llama``; raise :class:`Missing` where it or Node is not there."""
    folder = Path(os.environ.get(VARIABLE) or ".llama")
    if not (folder / "node_modules/node-llama-cpp").is_dir():
        raise Missing(f"{folder}: no node-llama-cpp there; {INSTALL}")
    if shutil.which("node") is None:
        raise Missing("no 'node' on the PATH, which runs llama.cpp here; install Node.js 20")
    return folder


def ask_llama(
    gguf: str | Path,
    *,
    texts: Sequence[str] = (),
    special: bool = True,
    decode: Sequence[Sequence[int]] = (),
    logits: Sequence[tuple[Sequence[int], Sequence[int]]] = (),
    greedy: Sequence[tuple[Sequence[int], int]] = (),
) -> LlamaAnswer:
    """Ask llama.cpp, on one thread of the CPU with keys and values in float32.

    ``texts`` are encoded, with special tokens in them recognised if ``special``. ``decode`` are
    ids, whose texts are told without control tokens; ``logits`` ids and the positions whose logits
    are asked for; ``greedy`` ids and how many tokens to write after them, fewer where the end
    comes. Weights are read only for the last two.
    Raises :class:`RevocabError` where llama.cpp is missing, or does not read the file.
    """
    folder = llama_folder()
    request = {
        "gguf": str(Path(gguf).absolute()),
        "special": special,
        "texts": list(texts),
        "decode": [list(ids) for ids in decode],
        "logits": [{"ids": list(ids), "positions": list(at)} for ids, at in logits],
        "greedy": [{"ids": list(ids), "count": count} for ids, count in greedy],
    }
    done = subprocess.run(
        ["node", SCRIPT, folder.absolute()],
        input=json.dumps(request), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        said = ended(done.returncode, done.stderr)
        raise RevocabError(f"{gguf}: llama.cpp failed: {said}")
    return LlamaAnswer(**json.loads(done.stdout))


def ask(asked: Asked) -> list[Answer]:
    if asked.gguf is None:
        raise Missing("give --gguf FILE")
    output = ask_llama(
        asked.gguf,
        texts=[entry.text for entry in asked.texts],
        decode=[entry.ids for entry in asked.texts],
        logits=asked.logits,
    )
    ids = [
        output.framed(ids) if entry.special else ids
        for entry, ids in zip(asked.texts, output.texts, strict=True)
    ]
    rows = [row for rows in output.logits for row in rows]
    rounding = ROUNDING.get(output.file_type, QUANTISED)
    return [Answer(asked.gguf.name, ids, output.decoded, rows, rounding=rounding)]


RUNTIME = Runtime("llama.cpp", ask)
