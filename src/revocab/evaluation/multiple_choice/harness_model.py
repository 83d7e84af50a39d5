"""The harness's model of one checkpoint, on any engine."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from revocab.evaluation.inference.chat_prompts import set_template
from revocab.evaluation.inference.checkpoint import Checkpoint
from revocab.evaluation.inference.engine import ChoiceModel, choose_engine
from revocab.models.folder import check_model_folder
from revocab.models.load import loading


def load_model(
    folder: str | Path,
    *,
    batch_size: int,
    device: str,
    dtype: str,
    token_cache: dict[tuple[str, bool | None], list[int]],
    long_prompts: Literal["error", "cut"] = "cut",
    engine: str = "hf",
    chat: bool = False,
    chat_template: str | None = None,
) -> ChoiceModel:
    """Return the harness's model for one checkpoint.

    ``token_cache`` holds the token ids of texts and may be passed on to further checkpoints with
    the same tokenizer. An engine may batch and keep token ids by itself. With
    ``chat`` texts are those of a chat template (``chat_template``: its text; none: the tokenizer's
    own), and get no further special tokens. Raises
    :class:`RevocabError` for a tokenizer without such a template, for an engine that there is not
    or that does not import here, and for what :func:`revocab.models.load.check_model` refuses.
    """
    check_model_folder(folder)
    chosen = choose_engine(engine, "multiple_choice")
    assert chosen.multiple_choice is not None  # else it is not chosen
    with loading(folder):
        model = chosen.multiple_choice(
            Checkpoint(Path(folder), device, dtype, batch_size),
            token_cache=token_cache,
            long_prompts=long_prompts,
        )
    if chat:
        set_template(model.tokenizer, Path(folder), chat_template)
        model.add_bos_token = False
    return model
