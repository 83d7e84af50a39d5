"""Read a tiktoken-style vocabulary: a ``.tiktoken`` file of base64 tokens and their ranks.

The file says neither how text is cut into words nor which special tokens there are. Both may stand
beside it in ``tiktoken.json``: ``pattern`` (a name of :data:`PATTERNS`, or a regular expression),
``special_tokens`` (text to id) and ``bos_token``, ``eos_token``, ``pad_token``, ``unk_token``.
"""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError, refuse
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.io import read_json
from revocab.limits import LARGEST_VOCABULARY
from revocab.links import check_file
from revocab.tokenizers.alphabets import LLAMA3_WORDS, to_byte_level

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
#: Problems shown of one file; the rest is counted.
SHOWN = 10


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


def read_ranks(path: Path) -> list[bytes]:
    """Return the tokens of a ``.tiktoken`` file, in the order of their ranks 0, 1, 2 …

    Raises :class:`RevocabError` with every problem: lines that are not base64 and a number,
    repeated tokens, repeated ranks, ranks left out, single bytes that are missing.
    """
    tokens: dict[int, bytes] = {}
    lines_of: dict[bytes, int] = {}
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
        if rank in tokens:
            problems.append(f"{path}, line {number}: rank {rank} has a token already")
        elif token in lines_of:
            problems.append(
                f"{path}, line {number}: token {token!r} is already on line {lines_of[token]}"
            )
        tokens.setdefault(rank, token)
        lines_of.setdefault(token, number)
    if not tokens and not problems:
        problems.append(f"{path}: no token in it; give a file of 'BASE64 RANK' lines")
    holes = sorted(set(range(len(tokens))) - tokens.keys())
    if holes and not problems:
        shown = ", ".join(map(str, holes[:SHOWN]))
        problems.append(f"{path}: ranks without a token: {shown}; ranks run from 0 without gaps")
    missing = [byte for byte in range(256) if bytes([byte]) not in lines_of]
    if missing and not problems:
        shown = ", ".join(f"0x{byte:02X}" for byte in missing[:SHOWN])
        problems.append(f"{path}: no token for {len(missing)} single bytes ({shown} …)")
    if problems:
        more = len(problems) - SHOWN
        raise RevocabError(
            problems[:SHOWN] + ([f"{path}: and {more} more problems"] if more > 0 else [])
        )
    return [tokens[rank] for rank in range(len(tokens))]


def rank_merges(ranks: list[bytes]) -> list[tuple[bytes, bytes]]:
    """Return the merges that a rank vocabulary stands for, best first.

    tiktoken joins any two neighbours that together are a token: all cuts of each, by its rank.
    """
    rank_of = {token: rank for rank, token in enumerate(ranks)}
    merges = []
    for token in ranks:
        cuts = [
            (token[:cut], token[cut:])
            for cut in range(1, len(token))
            if token[:cut] in rank_of and token[cut:] in rank_of
        ]
        merges += sorted(cuts, key=lambda cut: (rank_of[cut[0]], rank_of[cut[1]]))
    return merges


def _settings(path: Path) -> dict[str, Any]:
    sidecar = path.with_name(SIDECAR)
    if not sidecar.is_file():
        return {}
    check_file(sidecar)
    settings = read_json(sidecar)
    allowed = ("pattern", "special_tokens", *NAMED)
    if not isinstance(settings, dict):
        raise RevocabError(f"{sidecar}: expected a mapping with {', '.join(allowed)}")
    problems = [
        f"{sidecar}: unknown key {key!r} (allowed: {', '.join(allowed)})"
        for key in settings
        if key not in allowed
    ]
    specials = settings.get("special_tokens", {})
    if not isinstance(specials, dict) or not all(isinstance(n, int) for n in specials.values()):
        problems.append(f"{sidecar}: special_tokens maps each text to its id, a whole number")
    elif any(not 0 <= number < LARGEST_VOCABULARY for number in specials.values()):
        problems.append(f"{sidecar}: special_tokens: ids are from 0 to {LARGEST_VOCABULARY - 1:,}")
    else:
        problems += [
            f"{sidecar}: {key} {settings[key]!r} is not among special_tokens; add it there"
            for key in NAMED
            if key in settings and settings[key] not in specials
        ]
    refuse(problems)
    return settings


def load_tiktoken(path: Path) -> PreTrainedTokenizerFast:
    """Return the tokenizer of a ``.tiktoken`` file: byte-level BPE that encodes as tiktoken does.

    A word that is a token is never merged up from its bytes, as in tiktoken. Raises
    :class:`RevocabError` for a broken file or sidecar.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    settings = _settings(path)
    ranks = read_ranks(path)
    specials: dict[str, int] = settings.get("special_tokens", {})
    ids, size = sorted(specials.values()), len(ranks)
    if ids != list(range(size, size + len(ids))):
        shown = ", ".join(map(str, ids[:SHOWN]))
        raise RevocabError(
            f"{path.with_name(SIDECAR)}: ids of special_tokens are {shown}; they must be"
            f" {size} to {size + len(ids) - 1}, once each: fill gaps with reserved tokens"
        )
    by_name = next((name for name in PATTERNS if path.stem.startswith(name)), DEFAULT_PATTERN)
    pattern = settings.get("pattern", by_name)
    model = models.BPE(
        {to_byte_level(token): rank for rank, token in enumerate(ranks)},
        [(to_byte_level(left), to_byte_level(right)) for left, right in rank_merges(ranks)],
        ignore_merges=True,
    )
    backend = Tokenizer(model)
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERNS.get(pattern, pattern)), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(
        [
            AddedToken(text, special=True, normalized=False)
            for text in sorted(specials, key=specials.__getitem__)
        ]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        name_or_path=str(path),
        clean_up_tokenization_spaces=False,
        **{key: settings[key] for key in NAMED if key in settings},
    )
