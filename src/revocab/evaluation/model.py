"""The harness's Hugging Face model, with the work that checkpoints and choices share done once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError


def tokenizer_fingerprint(folder: str | Path) -> str:
    """Return a hash of the tokenizer files in a model folder: equal means equal token ids."""
    digest = hashlib.sha256()
    for path in sorted(Path(folder).glob("*token*")) + sorted(Path(folder).glob("*.model")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def check_model_folder(folder: str | Path) -> None:
    """Raise :class:`RevocabError` unless ``folder`` is a Hugging Face model folder."""
    if not (Path(folder) / "config.json").is_file():
        raise RevocabError(f"{folder}: not a model folder (it has no config.json)")


def quiet_loading() -> None:
    """Keep transformers' progress bars off: models here load by the dozen."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def choose_device(device: str) -> str:
    """Return ``device``, or for ``auto`` cuda where there is one, else cpu."""
    import torch

    return ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device


def choose_dtype(dtype: str, device: str) -> str:
    """Return ``dtype``, or for ``auto`` float32 on CPU, where halves are slow, else as stored."""
    return "float32" if dtype == "auto" and device == "cpu" else dtype


def refuse_long(
    requests: Sequence[tuple[Any, list[int], list[int]]],
    long: Sequence[int],
    longest: int,
    long_prompts: str,
) -> int:
    """Return how many requests the harness will cut to ``longest`` tokens.

    ``long`` are their indices. With ``long_prompts`` "error" any raises :class:`RevocabError`.
    """
    if long and long_prompts == "error":
        sizes = {i: len(requests[i][1]) + len(requests[i][2]) for i in long}
        worst = max(long, key=sizes.__getitem__)
        text = " ".join(str((requests[worst][0] or [""])[0]).split())
        raise RevocabError(
            f"{len(long)} of {len(requests)} requests are longer than the {longest} tokens that "
            f"the model takes: up to {sizes[worst]} tokens, beginning {text[:60]!r}. Give fewer "
            "shots, leave the task out, or accept cut beginnings with "
            "evaluation.multiple_choice.long_prompts: cut (--long-prompts cut)"
        )
    return len(long)


def load_model(
    folder: str | Path,
    *,
    batch_size: int,
    device: str,
    dtype: str,
    token_cache: dict[tuple[str, bool | None], list[int]],
    share_contexts: bool,
    long_prompts: str = "cut",
    engine: str = "hf",
) -> Any:
    """Return the harness's model for one checkpoint.

    ``token_cache`` holds the token ids of texts and may be passed on to further checkpoints with
    the same tokenizer.
    """
    check_model_folder(folder)
    if engine == "vllm":
        from revocab.evaluation.vllm_choices import load_vllm

        return load_vllm(folder, dtype=dtype, long_prompts=long_prompts)
    from revocab.evaluation.shared_contexts import SharedContextLM

    try:
        return SharedContextLM(
            pretrained=str(folder),
            batch_size=batch_size,
            device=device,
            dtype=dtype,
            trust_remote_code=False,
            token_cache=token_cache,
            share_contexts=share_contexts,
            long_prompts=long_prompts,
        )
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:300]
        raise RevocabError(f"{folder}: the model could not be loaded ({reason})") from error
