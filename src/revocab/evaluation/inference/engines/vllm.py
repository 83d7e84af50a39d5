"""vLLM, in an environment of its own (``make vllm``, docs/evaluation.md): it pins its dependencies.

Prompts, the stop and the greedy choice are those of the other engines. Nothing of vLLM is imported
unless it is asked for.
"""

from __future__ import annotations

import gc
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from revocab.device import Checkpoint
from revocab.errors import RevocabError
from revocab.evaluation.inference.decoding import (
    Output,
    Refusing,
    TextGenerator,
    beginning,
    cause,
    end_tokens,
    finished,
    refuse_sums,
)
from revocab.evaluation.inference.engine import ChoiceModel, Engine, Environment
from revocab.models.load import check_model, loading
from revocab.models.parameters import cache_bytes_per_token, head_width
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
#: In this variable a user may say how many GiB of keys and values vLLM holds on a CPU.
CACHE_SPACE = "VLLM_CPU_KVCACHE_SPACE"
#: What vLLM says where memory is too small; its flags are not those of this program.
MEMORY = re.compile(r"out of memory|memory .*(GiB|cache)|KV cache|gpu_memory_utilization", re.I)


# Starting and ending ----------------------------------------------------------------------------


def cache_tokens(
    context_length: int, sequences: int | None = None, requests: int | None = None
) -> int:
    """Return for how many tokens there is room: ``sequences`` full contexts, in whole blocks; by
    default :data:`CPU_SEQUENCES`, or ``requests`` where these are fewer.
    """
    full = -(-context_length // BLOCK) * BLOCK
    if sequences is not None:
        return full * sequences + BLOCK  # one that vLLM keeps for itself
    held = CPU_SEQUENCES if requests is None else min(CPU_SEQUENCES, requests)
    return max(full, held * min(full, CPU_LENGTH)) + BLOCK


def start_settings(
    config: Any,
    device: str,
    dtype: str,
    context_length: int,
    sequences: int | None = None,
    requests: int | None = None,
    gpus: int = 1,
) -> dict[str, Any]:
    """Return the keyword arguments of ``vllm.LLM`` beside the model.

    With ``sequences`` it runs in this process and holds that many full contexts, so that memory
    can be measured; else only a CPU is told how much to hold, for as many ``requests`` as there
    are. Raises ``ValueError`` for a shape that vLLM cannot run there, or not on that many GPUs.
    """
    settings: dict[str, Any] = {"dtype": dtype, "max_model_len": context_length}
    settings |= {"seed": 0, "disable_log_stats": True}
    if gpus > 1:
        heads = config.get_text_config().num_attention_heads
        if device == "cpu" or heads % gpus:
            reason = "on a CPU there is one device" if device == "cpu" else f"{heads} heads"
            raise ValueError(f"--gpus {gpus}: {reason}; give a number that divides the heads, or 1")
        settings["tensor_parallel_size"] = gpus
        settings["distributed_executor_backend"] = "mp"
    if device == "cpu":
        if head_width(config) not in CPU_HEADS:
            allowed = ", ".join(map(str, CPU_HEADS))
            raise ValueError(
                f"attention heads {head_width(config)} wide; on a CPU vLLM has {allowed}; use the "
                "engine transformers (for multiple choice: hf)"
            )
        settings["enforce_eager"] = True  # compiling takes longer than generating
    if device == "cpu" or sequences:
        if gpus == 1:
            # In this process: two more that import everything again cost a minute a model.
            os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
            settings["distributed_executor_backend"] = "uni"
        if device != "cpu" or not os.environ.get(CACHE_SPACE):
            token = cache_bytes_per_token(config, dtype) // gpus
            held = token * cache_tokens(context_length, sequences, requests)
            settings["kv_cache_memory_bytes"] = held
    return settings


@contextmanager
def enough_memory(folder: Path) -> Iterator[None]:
    """Say where memory is too small for vLLM, in flags that there are here."""
    try:
        yield
    except (RuntimeError, ValueError) as error:
        message = " ".join(str(error).split())
        if not MEMORY.search(message):
            raise
        sizes = re.split(r"\. |; ", message)[0].rstrip(".")
        space = f" raise or unset {CACHE_SPACE}," if os.environ.get(CACHE_SPACE) else ""
        raise RevocabError(
            f"{folder}: too little memory for vLLM ({sizes}); free some,{space} shorten prompts"
            " (--context-length, where text is generated), take --dtype bfloat16, --gpus with more"
            " devices, or --engine transformers (for multiple choice: hf)"
        ) from error


class WaitingModel:
    """``vllm.LLM`` of a folder, which starts with its first prompts, as long as they need: prompts
    that do not fit and finished work cost no start. On a CPU keys and values are held for the
    prompts at hand, and longer ones start it again.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        config: Any,
        longest: int,
        sequences: int | None = None,
        **more: Any,
    ):
        """``sequences``: as of :func:`start_settings`, whose errors it raises."""
        self.checkpoint, self.config, self.longest = checkpoint, config, longest
        self.sequences, self.more = sequences, more
        self.expected: tuple[int, int] | None = None  # as TextGenerator.expected
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
        first = sampling_params[0] if isinstance(sampling_params, list) else sampling_params
        needed = max(len(prompt["prompt_token_ids"]) for prompt in prompts) + first.max_tokens
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
        with loading(folder), without_padding(folder) as read, enough_memory(folder):
            settings = {**self.settings(length, requests), **self.more}
            # Not the checkpoint's own settings, which may sample.
            self.started = LLM(model=str(read), generation_config="vllm", **settings)
        self.length = length

    def reset_prefix_cache(self) -> bool:
        return self.started is None or self.started.reset_prefix_cache()

    def close(self) -> None:
        if self.started is None:
            return
        import torch

        core: Any = getattr(self.started.llm_engine, "engine_core", None)
        if hasattr(core, "shutdown"):
            core.shutdown()
        self.started = core = None
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


# Text -------------------------------------------------------------------------------------------


class VllmGenerator(TextGenerator):
    """vLLM with temperature 0 and the same stop."""

    def __init__(self, checkpoint: Checkpoint, longest: int, sequences: int | None = None):
        """Check a checkpoint; prompt and answer have at most ``longest`` tokens. ``sequences``: as
        of :func:`start_settings`.
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
            settings = GenerationConfig.from_pretrained(folder)
        else:
            settings = GenerationConfig.from_model_config(config)
        self.eos = end_tokens(settings, self.tokenizer)

    def results(self, prompts: Sequence[list[int]], **settings: Any) -> Any:
        """Return what vLLM makes of prompts, which it batches by itself."""
        from vllm import SamplingParams

        self.model.expected = self.expected
        requests = [{"prompt_token_ids": prompt} for prompt in prompts]
        greedy = SamplingParams(temperature=0.0, **settings)
        return self.model.generate(requests, greedy, use_tqdm=False)

    def generate(
        self, prompts: Sequence[list[int]], max_new_tokens: int, stop: str | None
    ) -> list[Output]:
        stops = {"stop": None if stop is None else [stop], "stop_token_ids": self.eos}
        results = self.results(prompts, max_tokens=max_new_tokens, logprobs=1, **stops)
        refuse_outputs(results, lambda i: beginning(self.tokenizer, prompts[i]), self.dtype)
        written = [list(result.outputs[0].token_ids) for result in results]
        return [finished(ids, self.tokenizer, self.eos, stop) for ids in written]

    def log_probabilities(
        self, context: list[int], continuations: Sequence[list[int]]
    ) -> list[float]:
        texts = [[*context, *tokens] for tokens in continuations]
        results, sums = self.results(texts, max_tokens=1, prompt_logprobs=0), []
        for ids, result in zip(texts, results, strict=True):
            places = range(len(context), len(ids))
            sums.append(math.fsum(result.prompt_logprobs[at][ids[at]].logprob for at in places))
        refuse_sums(sums, lambda i: beginning(self.tokenizer, texts[i]), self.dtype)
        return sums

    def run(self, prompts: Sequence[list[int]], new_tokens: int) -> float:
        if not self.model.reset_prefix_cache():  # every repeat reads the prompts again
            raise RuntimeError("vLLM reused cached prompts, so that the times would be too short")
        fixed = {"max_tokens": new_tokens, "ignore_eos": True, "detokenize": False}
        start = time.perf_counter()
        results = self.results(prompts, **fixed)
        seconds = time.perf_counter() - start
        written = {len(result.outputs[0].token_ids) for result in results}
        if written != {new_tokens}:
            raise RuntimeError(f"wrote {sorted(written)} tokens, not {new_tokens}")
        return seconds

    def close(self) -> None:
        self.model.close()


def refuse_outputs(results: Sequence[Any], describe: Callable[[int], str], dtype: Any) -> None:
    """Raise :class:`RevocabError` if an output's log-probability is not finite (``logprobs=1``)."""
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
    rounding. Raises ``ValueError`` for a shape that it cannot run.
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


ENGINE = Engine(
    name="vllm",
    libraries=("vllm", "torch"),
    generation=VllmGenerator,
    multiple_choice=load_choices,
    # With room for the keys and values of one batch.
    efficiency=lambda checkpoint, longest: VllmGenerator(
        checkpoint, longest, sequences=checkpoint.batch_size
    ),
    environment=Environment(
        name="vllm",
        module="vllm",
        install="make vllm",
        docs="docs/evaluation.md",
        variables={"VLLM_LOGGING_LEVEL": "WARNING", "VLLM_NO_USAGE_STATS": "1"},
    ),
)
