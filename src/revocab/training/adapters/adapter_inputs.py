"""What vocabulary adapters read beside the model: the source whose rows they combine."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from revocab import io
from revocab.errors import RevocabError
from revocab.initialise.rows.source_weights import FILE, read_source_weights
from revocab.models.folder import ModelFolder
from revocab.models.weights.files import tensor_bytes
from revocab.training.recipe import VocabularyAdapters


def check_source(adapter: VocabularyAdapters | None, source: Path | None) -> None:
    """Raise :class:`RevocabError` for a source that adapters lack, or that nothing reads."""
    if adapter is not None and source is None:
        raise RevocabError(
            "--source: the first stage trains vocabulary adapters, combinations of source rows, and"
            " received none; give the model that --model was made from"
        )
    if adapter is None and source is not None:
        raise RevocabError(
            f"--source {source}: only vocabulary adapters read it, and no stage trains them; leave"
            " it out, or give the first stage an adapter"
        )


def adapter_checksums(
    adapter: VocabularyAdapters | None, model: Path, source: Path | None
) -> dict[str, Any]:
    """Return SHA-256 of the first adapters and of the rows that they combine, if there are any."""
    if adapter is None:
        return {}
    assert source is not None  # check_source
    weights, read = read_source_weights(model), ModelFolder(source)
    rows = {which: read.matrix(which, one.source_rows) for which, one in weights.items()}
    return {
        "source_weights": io.sha256(model / FILE),
        "source": {which: sha256(tensor_bytes(one)).hexdigest() for which, one in rows.items()},
    }
