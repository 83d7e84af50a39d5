"""Write an adapted model folder: two tensors changed, everything else copied or linked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from revocab.io import write_json
from revocab.models.folder import (
    TOKENIZER_FILES,
    ModelFolder,
    Which,
    copy_documents,
    copy_tokenizer,
    read_settings,
)
from revocab.models.links import link_or_copy
from revocab.models.vocabulary.special_ids import new_config, new_generation_config, special_ids
from revocab.models.weights.index import INDEX
from revocab.models.write import with_tensors, write_weights

if TYPE_CHECKING:
    import torch

    from revocab.models.vocabulary.counterparts import Counterparts


def copy_unchanged(source: ModelFolder, tokenizer: Path, out: Path) -> None:
    """Give ``out`` the source's weights (linked where possible), configuration and tokenizer."""
    copy_documents(source, out, TOKENIZER_FILES)
    copy_tokenizer(tokenizer, out)
    for file in source.files:
        link_or_copy(source.path / file, out / file)
    if source.index is not None:
        link_or_copy(source.path / INDEX, out / INDEX)


def write_adapted(
    source: ModelFolder,
    matrices: dict[Which, torch.Tensor],
    tokenizer: Path,
    counterparts: Counterparts,
    out: Path,
    *,
    progress: bool = False,
) -> list[str]:
    """Write the adapted model into the folder ``out``; return the settings that were dropped.

    They are named on stderr, too: what a model does without them may surprise.

    ``matrices`` holds the new ``input`` matrix and, for an untied model, the ``output`` matrix;
    rows after those of the tokens are padding;
    ``counterparts`` finds special tokens again in the tokenizer of the folder ``tokenizer``.
    """
    names = source.vocabulary_tensors
    replace: dict[str, torch.Tensor | None] = {names[which]: matrices[which] for which in names}
    replace |= dict.fromkeys(source.tied_copies)  # dropped: a copy of the old matrix would be stale
    copy_documents(source, out, (*TOKENIZER_FILES, "config.json", "generation_config.json"))
    copy_tokenizer(tokenizer, out)
    write_weights(source, with_tensors(source, replace), out, progress=progress)
    ids = special_ids(counterparts.target)
    tokens, rows = len(counterparts.target), len(matrices["input"])
    config, dropped = new_config(source.config, tokens, rows, ids, counterparts)
    write_json(out / "config.json", config)
    old = source.path / "generation_config.json"
    generation, more = new_generation_config(
        read_settings(old) if old.is_file() else None,
        {**source.config, **source.text_config},
        list(range(tokens, rows)),
        ids,
        counterparts,
    )
    write_json(out / "generation_config.json", generation)
    dropped = sorted({*dropped, *more})
    if dropped:
        print(
            f"warning: settings for tokens of the old vocabulary were dropped: "
            f"{', '.join(dropped)}; set what matters in the new generation_config.json",
            file=sys.stderr,
        )
    return dropped
