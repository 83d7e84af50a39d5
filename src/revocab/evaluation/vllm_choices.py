"""Multiple choice on vLLM: the harness's own vLLM model, with our word on long prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.evaluation.model import refuse_long


def load_vllm(folder: str | Path, *, dtype: str, long_prompts: str) -> Any:
    """Return the harness's vLLM model of a checkpoint.

    Log-likelihoods come from vLLM's prompt log-probabilities: equal to those of transformers up to
    rounding. Raises :class:`RevocabError` where vLLM does not import.
    """
    try:
        import vllm  # noqa: F401
    except ImportError as error:
        raise RevocabError(
            f"--engine vllm: it cannot be imported ({error}); install it (envs/), or use "
            "--engine hf"
        ) from None
    from lm_eval.models.vllm_causallms import VLLM

    class VllmChoices(VLLM):
        """The harness's model; counts or refuses requests that it would cut."""

        truncated = 0

        def _loglikelihood_tokens(self, requests, disable_tqdm=False):
            longest = self.max_length - 1  # one token must remain to generate
            sizes = [len(context) + len(choice) for _, context, choice in requests]
            long = [i for i, size in enumerate(sizes) if size > longest]
            self.truncated += refuse_long(requests, long, longest, long_prompts)
            return super()._loglikelihood_tokens(requests, disable_tqdm=True)

        def close(self) -> None:
            """Stop the engine's process and free the memory."""
            from revocab.evaluation.vllm_engine import shut_down

            shut_down(self.model)
            self.model = None

    return VllmChoices(pretrained=str(folder), dtype=dtype, batch_size="auto", seed=0)
