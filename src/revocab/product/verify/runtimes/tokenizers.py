"""The raw library: ``tokenizer.json`` and nothing beside it."""

from __future__ import annotations

from pathlib import Path

from revocab.errors import RevocabError
from revocab.heavy_types import Tokenizer
from revocab.product.verify.runtime import Answer, Asked, Missing, Runtime
from revocab.vocabulary.tokenizers.load import check_tokenizer_file


def ask(asked: Asked) -> list[Answer]:
    import tokenizers

    if not (asked.folder / "tokenizer.json").is_file():
        raise Missing(f"{asked.folder} has no tokenizer.json")
    tokenizer = load(asked.folder)
    ids = [
        tokenizer.encode(entry.text, add_special_tokens=entry.special).ids for entry in asked.texts
    ]
    decoded = [tokenizer.decode(entry.ids, skip_special_tokens=True) for entry in asked.texts]
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


RUNTIME = Runtime("tokenizers", ask)
