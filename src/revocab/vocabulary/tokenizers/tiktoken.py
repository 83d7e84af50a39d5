"""Read a tiktoken-style vocabulary: a ``.tiktoken`` file of base64 tokens and their ranks.

The file says neither how text is cut into words nor which special tokens there are. Both may stand
beside it in ``tiktoken.json``: ``pattern`` (a name of :data:`PATTERNS`, or a regular expression),
``special_tokens`` (text to id) and ``bos_token``, ``eos_token``, ``pad_token``, ``unk_token``.
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from revocab.closed import Closed, checked
from revocab.errors import RevocabError, refuse
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.io import read_json
from revocab.limits import LARGEST_VOCABULARY
from revocab.links import check_file
from revocab.vocabulary.tokenizers.alphabets import LLAMA3_WORDS

SIDECAR = "tiktoken.json"
NAMED = ("bos_token", "eos_token", "pad_token", "unk_token")
#: Published word patterns. A file whose name starts with a key (``cl100k_base.tiktoken``) has it.
PATTERNS = {
    "r50k": (
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    ),
    "cl100k": LLAMA3_WORDS,
    "o200k": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
}  # fmt: skip
#: ASSUME the commonest pattern where neither the file's name nor the sidecar says another.
DEFAULT_PATTERN = "cl100k"
#: Problems, ranks or ids of one file that a message lists.
SHOWN = 10


class Sidecar(Closed):
    """What ``tiktoken.json`` says of the vocabulary beside it."""

    #: A name of :data:`PATTERNS`, or a regular expression.
    pattern: str | None = None
    special_tokens: dict[str, Annotated[int, Field(ge=0, lt=LARGEST_VOCABULARY)]] = Field({})
    bos_token: str | None = None
    eos_token: str | None = None
    pad_token: str | None = None
    unk_token: str | None = None

    @model_validator(mode="after")
    def _roles_are_special(self) -> Sidecar:
        for key, token in self.roles().items():
            if token not in self.special_tokens:
                raise ValueError(f"{key} {token!r} is not among special_tokens; add it there")
        return self

    def roles(self) -> dict[str, str]:
        return {key: token for key in NAMED if (token := getattr(self, key)) is not None}


def tiktoken_file(path: str | Path) -> Path | None:
    """Return the ``.tiktoken`` file that ``path`` is, or the one in it; None where there is none.

    A folder with a ``tokenizer.json`` is a Hugging Face folder, whatever else lies in it. Raises
    :class:`RevocabError` for a folder with several such files.
    """
    path = Path(path)
    if path.suffix == ".tiktoken" and path.is_file():
        return path
    if not path.is_dir() or (path / "tokenizer.json").is_file():
        return None
    files = sorted(path.glob("*.tiktoken"))
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        raise RevocabError(f"{path}: several vocabularies ({names}); give the path of one of them")
    return files[0] if files else None


def read_ranks(path: Path) -> dict[bytes, int]:
    """Return the tokens of a ``.tiktoken`` file and their ranks, in the order of the ranks.

    Raises :class:`RevocabError` with every problem: lines that are not base64 and a number,
    repeated tokens, repeated ranks, ranks left out, single bytes that are missing.
    """
    ranks: dict[bytes, int] = {}
    tokens: dict[int, bytes] = {}
    problems = []
    check_file(path)
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            text, rank_text = line.split()
            token, rank = base64.b64decode(text, validate=True), int(rank_text)
        except (ValueError, binascii.Error):
            problems.append(f"{path}, line {number}: {line[:40]!r} is not 'BASE64 RANK'")
            continue
        if rank in tokens or token in ranks:
            problems.append(f"{path}, line {number}: rank {rank} or token {token!r} is repeated")
        tokens[rank] = token
        ranks[token] = rank
    if not problems:
        holes = [str(rank) for rank in range(len(tokens)) if rank not in tokens]
        missing = [f"0x{byte:02X}" for byte in range(256) if bytes([byte]) not in ranks]
        for what, absent in (("ranks", holes), ("single bytes", missing)):
            if absent:
                listed = ", ".join(absent[:SHOWN])
                problems.append(f"{path}: {len(absent)} {what} without a token: {listed}")
    if len(problems) > SHOWN:
        problems[SHOWN:] = [f"{path}: and {len(problems) - SHOWN} more problems"]
    refuse(problems)
    return {tokens[rank]: rank for rank in range(len(tokens))}


def load_tiktoken(path: Path) -> PreTrainedTokenizerFast:
    """Return the tokenizer of a ``.tiktoken`` file: byte-level BPE that encodes as tiktoken does.

    A word that is a token is never merged up from its bytes, as in tiktoken. Raises
    :class:`RevocabError` for a broken file or sidecar.
    """
    from transformers import PreTrainedTokenizerFast
    from transformers.convert_slow_tokenizer import TikTokenConverter

    sidecar = path.with_name(SIDECAR)
    settings = Sidecar()
    if sidecar.is_file():
        check_file(sidecar)
        settings = checked(Sidecar, read_json(sidecar), str(sidecar))
    ranks = read_ranks(path)
    specials = sorted(settings.special_tokens, key=settings.special_tokens.__getitem__)
    ids, size = sorted(settings.special_tokens.values()), len(ranks)
    if ids != list(range(size, size + len(ids))):
        listed = ", ".join(map(str, ids[:SHOWN]))
        raise RevocabError(
            f"{sidecar}: ids of special_tokens are {listed}; they must be {size} to"
            f" {size + len(ids) - 1}, once each: fill gaps with reserved tokens"
        )
    by_name = next((name for name in PATTERNS if path.stem.startswith(name)), DEFAULT_PATTERN)
    pattern = settings.pattern or by_name

    class Converter(TikTokenConverter):
        """Its own reader needs tiktoken, which says nothing of gaps and repetitions."""

        @staticmethod
        def load_tiktoken_bpe(tiktoken_url: str) -> dict[bytes, int]:
            return ranks

    pattern = PATTERNS.get(pattern, pattern)
    converter = Converter(str(path), pattern, extra_special_tokens=specials)
    return PreTrainedTokenizerFast(
        tokenizer_object=converter.converted(),
        name_or_path=str(path),
        clean_up_tokenization_spaces=False,
        **settings.roles(),
    )
