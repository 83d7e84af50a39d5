"""The harness's model of one checkpoint, on transformers or on vLLM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from revocab.models.folder import check_model_folder
from revocab.models.load import load_causal_lm, loading
from revocab.tokenizers.load import load_tokenizer


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
    the same tokenizer. vLLM batches, shares contexts and keeps token ids by itself. Raises
    :class:`RevocabError` for what :func:`revocab.models.load.check_model` refuses.
    """
    check_model_folder(folder)
    if engine == "vllm":
        from revocab.evaluation.vllm_choices import load_vllm

        with loading(folder):
            return load_vllm(folder, device=device, dtype=dtype, long_prompts=long_prompts)
    from revocab.evaluation.shared_contexts import SharedContextLM

    with loading(folder):
        return SharedContextLM(
            pretrained=load_causal_lm(folder, dtype=dtype, device=device),
            tokenizer=load_tokenizer(Path(folder)),
            batch_size=batch_size,
            token_cache=token_cache,
            share_contexts=share_contexts,
            long_prompts=long_prompts,
        )
