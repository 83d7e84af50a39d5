"""What a runtime is, something that loads a folder or GGUF and makes tokens, text and logits; and
those that there are: ``tokenizers``, transformers of two versions, llama.cpp (a GGUF in the library
of the npm package node-llama-cpp, ``make llama``), and vLLM.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError, ended
from revocab.evaluation.inference.engine import Environment
from revocab.heavy_types import Tokenizer
from revocab.product.verify import transformers_tokens
from revocab.vocabulary.tokenizers.load import check_tokenizer_file


class Missing(RevocabError):
    """A runtime that is not on this machine, or has nothing to load; says how to get it."""


@dataclass(frozen=True)
class Expected:
    """A text with its ids, and the text that they decode to without special tokens."""

    text: str
    ids: list[int]
    decoded: str
    #: Whether the tokenizer adds its own tokens (bos); chat templates write these themselves.
    special: bool = True


@dataclass(frozen=True)
class Request:
    """What every runtime computes: the ids of texts, and the texts and logits of ids."""

    folder: Path
    texts: Sequence[Expected]
    gguf: Path | None = None
    #: Ids, and the positions whose logits are asked for.
    logits: Sequence[tuple[list[int], list[int]]] = ()

    @property
    def data(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder.absolute()),
            "texts": [[entry.text, entry.special] for entry in self.texts],
            "decode": [entry.ids for entry in self.texts],
            "logits": list(self.logits),
        }


@dataclass(frozen=True)
class Answer:
    """What one way to load it says, or why it does not load."""

    #: The version of the library and, where it has several ways, which.
    name: str
    ids: Sequence[Sequence[int]] = ()
    decoded: Sequence[str] = ()
    #: A row of the vocabulary for each position asked for; none: it computes no logits.
    logits: Sequence[Sequence[float]] = ()
    #: Whether rows are log-probabilities.
    normalised: bool = False
    #: The largest difference of logits that rounding explains, as a part of the largest logit.
    rounding: float = 1e-4
    error: str | None = None


def ask_there(
    environment: Environment, words: Sequence[str], request: Mapping[str, Any]
) -> list[Answer]:
    """Run Python of an environment of its own with the paths of a request and of its answers.

    Raises :class:`Missing` where there is no such environment, :class:`RevocabError` if it fails.
    """
    python = environment.installed()
    if python is None:
        raise Missing(
            f"run '{environment.install}', or name an interpreter in {environment.variable}"
            f" ({environment.docs})"
        )
    with tempfile.TemporaryDirectory() as folder:
        request_file, answer_file = Path(folder, "request.json"), Path(folder, "answers.json")
        request_file.write_text(json.dumps(request), encoding="utf-8")
        done = subprocess.run(
            [python, *words, request_file, answer_file], capture_output=True, text=True, check=False
        )
        if not answer_file.is_file():
            raise RevocabError(f"{python}: {ended(done.returncode, done.stderr)}")
        return [Answer(**answer) for answer in json.loads(answer_file.read_text(encoding="utf-8"))]


def ask_tokenizers(request: Request) -> list[Answer]:
    import tokenizers

    if not (request.folder / "tokenizer.json").is_file():
        raise Missing(f"{request.folder} has no tokenizer.json")
    tokenizer = load(request.folder)
    texts = request.texts
    ids = [tokenizer.encode(entry.text, add_special_tokens=entry.special).ids for entry in texts]
    decoded = [tokenizer.decode(entry.ids, skip_special_tokens=True) for entry in texts]
    return [Answer(tokenizers.__version__, ids, decoded)]


def load(folder: Path) -> Tokenizer:
    """Return a folder's tokenizer without truncation and padding.

    Raises :class:`RevocabError` for a file that the library does not read.
    """
    from tokenizers import Tokenizer

    check_tokenizer_file(folder)
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the library raises this very class
        raise RevocabError(f"{folder / 'tokenizer.json'}: {error}; fetch it again") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


ENVIRONMENT = Environment(
    "transformers4", "transformers", install="make transformers4", docs="docs/ship.md"
)


def ask_version_4(request: Request) -> list[Answer]:
    # -P: the modules beside the script are not to be imported.
    return ask_there(ENVIRONMENT, ["-P", transformers_tokens.__file__], request.data)


SCRIPT = Path(__file__).with_name("llama.mjs")
VARIABLE = "REVOCAB_LLAMA"
INSTALL = f"run 'make llama', or name its folder in {VARIABLE} (docs/ship.md)"
LLAMA_CPP = "llama.cpp"
#: As parts of the largest logit, by the type of most weights (``general.file_type``).
ROUNDING = {0: 1e-4, 1: 5e-3, 32: 3e-2}
#: Of quantised weights.
QUANTISED = 0.2


@dataclass(frozen=True)
class LlamaAnswer:
    """What llama.cpp says of a GGUF, a list for each list of a request."""

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
    decode: Sequence[list[int]] = (),
    logits: Sequence[tuple[list[int], list[int]]] = (),
    greedy: Sequence[tuple[list[int], int]] = (),
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
        "texts": texts,
        "decode": decode,
        "logits": [{"ids": ids, "positions": at} for ids, at in logits],
        "greedy": [{"ids": ids, "count": count} for ids, count in greedy],
    }
    done = subprocess.run(
        ["node", SCRIPT, folder.absolute()],
        input=json.dumps(request), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RevocabError(f"{gguf}: llama.cpp failed: {ended(done.returncode, done.stderr)}")
    return LlamaAnswer(**json.loads(done.stdout))


def ask_llama_cpp(request: Request) -> list[Answer]:
    if request.gguf is None:
        raise Missing("give --gguf FILE")
    output = ask_llama(
        request.gguf,
        texts=[entry.text for entry in request.texts],
        decode=[entry.ids for entry in request.texts],
        logits=request.logits,
    )
    ids = [
        output.framed(ids) if entry.special else ids
        for entry, ids in zip(request.texts, output.texts, strict=True)
    ]
    rows = [row for rows in output.logits for row in rows]
    rounding = ROUNDING.get(output.file_type, QUANTISED)
    return [Answer(request.gguf.name, ids, output.decoded, rows, rounding=rounding)]


def runtimes() -> dict[str, Callable[[Request], list[Answer]]]:
    """Return what asks each runtime; it raises :class:`Missing` where that is not there."""
    from revocab.product.verify import vllm

    def ask_installed(request: Request) -> list[Answer]:
        return [Answer(**answer) for answer in transformers_tokens.answers(request.data)]

    return {
        LLAMA_CPP: ask_llama_cpp,
        "tokenizers": ask_tokenizers,
        "transformers": ask_installed,
        "transformers4": ask_version_4,
        "vllm": vllm.ask,
    }
