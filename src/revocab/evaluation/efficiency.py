"""What a checkpoint costs: seconds and bytes for the same text, whatever its tokenizer.

The second claim of the SAVA paper (fewer tokens, so less time) is measured here: a text is cut into
equal prompts by characters, and every model reads the same characters. A model's speed does not
depend on which tokens it writes, so generated characters are its tokens per second times its
characters per token of this text: nothing hangs on what the model happens to write.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from revocab.corpora.word_splitters import available_splitter, count_words
from revocab.errors import RevocabError
from revocab.evaluation.checkpoint import (
    choose_device,
    choose_dtype,
)
from revocab.evaluation.engines import choose_engine
from revocab.evaluation.options import Timing
from revocab.evaluation.overflow import FiniteLogits, refuse_outputs
from revocab.io import read_jsonl, write_json
from revocab.models.folder import check_model_folder
from revocab.models.kv_cache import cache_bytes_per_token
from revocab.models.load import load_causal_lm, loading, quiet_loading
from revocab.models.safetensors_files import parameter_bytes
from revocab.output import check_files
from revocab.tokenizers.load import load_tokenizer


class Timed(Protocol):
    """One loaded checkpoint that writes a fixed number of tokens."""

    context_length: int

    def run(self, prompts: Sequence[list[int]], new_tokens: int) -> float:
        """Return the seconds to read the prompts together and write ``new_tokens`` after each."""

    def check(self, prompts: Sequence[list[int]]) -> None:
        """Raise :class:`RevocabError` if the logits after a prompt are not finite."""

    def close(self) -> None:
        """Free the memory."""


class TimedTransformers:
    """``model.generate`` without any stop."""

    def __init__(self, folder: Path, *, device: str, dtype: str):
        self.model = load_causal_lm(folder, dtype=dtype, device=device)
        self.context_length = int(getattr(self.model.config, "max_position_embeddings", 2**31))

    def batch(self, prompts: Sequence[list[int]]) -> dict[str, Any]:
        """Return prompts padded on the left, and their mask, both [B, L]."""
        import torch

        length = max(map(len, prompts))
        tokens = [[0] * (length - len(p)) + p for p in prompts]
        mask = [[0] * (length - len(p)) + [1] * len(p) for p in prompts]
        device = self.model.device
        return {
            "input_ids": torch.tensor(tokens, device=device),
            "attention_mask": torch.tensor(mask, device=device),
        }

    def check(self, prompts: Sequence[list[int]]) -> None:
        """Write one token after each prompt and look at the logits; nothing is timed."""
        import torch
        from transformers import GenerationConfig, LogitsProcessorList

        with torch.no_grad():
            self.model.generate(
                **self.batch(prompts),
                generation_config=GenerationConfig(
                    do_sample=False, max_new_tokens=1, pad_token_id=0
                ),
                logits_processor=LogitsProcessorList([FiniteLogits(numbered, self.model.dtype)]),
            )

    def run(self, prompts: Sequence[list[int]], new_tokens: int) -> float:
        """Return the seconds of one left-padded batch."""
        import torch
        from transformers import GenerationConfig

        batch = self.batch(prompts)
        length, device = batch["input_ids"].shape[1], self.model.device
        settings = GenerationConfig(
            do_sample=False, max_new_tokens=new_tokens, min_new_tokens=new_tokens, pad_token_id=0
        )
        synchronise(device.type)
        start = time.perf_counter()
        with torch.no_grad():
            made = self.model.generate(**batch, generation_config=settings)
        synchronise(device.type)
        seconds = time.perf_counter() - start
        if made.shape[1] != length + new_tokens:
            raise RuntimeError(f"wrote {made.shape[1] - length} tokens, not {new_tokens}")
        return seconds

    def close(self) -> None:
        """Free the memory."""
        self.model = None
        gc.collect()


class TimedVllm:
    """vLLM in this process, with room for the keys and values of one batch, without any stop."""

    def __init__(self, folder: Path, *, device: str, dtype: str, longest: int, batch_size: int):
        from revocab.evaluation.vllm_engine import VllmEngine

        self.engine = VllmEngine(
            folder, device=device, dtype=dtype, longest=longest, sequences=batch_size
        )
        self.context_length = self.engine.context_length
        self.dtype = dtype

    def check(self, prompts: Sequence[list[int]]) -> None:
        """Write one token after each prompt and look at its probability; nothing is timed."""
        from vllm import SamplingParams

        settings = SamplingParams(temperature=0.0, max_tokens=1, logprobs=1, detokenize=False)
        requests = [{"prompt_token_ids": prompt} for prompt in prompts]
        results = self.engine.model.generate(requests, settings, use_tqdm=False)
        refuse_outputs(results, numbered, self.dtype)

    def run(self, prompts: Sequence[list[int]], new_tokens: int) -> float:
        """Return the seconds of one request per prompt, batched by vLLM."""
        from vllm import SamplingParams

        settings = SamplingParams(
            temperature=0.0, max_tokens=new_tokens, ignore_eos=True, detokenize=False
        )
        requests = [{"prompt_token_ids": prompt} for prompt in prompts]
        if not self.engine.model.reset_prefix_cache():  # every repeat reads the prompts again
            raise RuntimeError("vLLM kept what it had read; times would be too good")
        start = time.perf_counter()
        results = self.engine.model.generate(requests, settings, use_tqdm=False)
        seconds = time.perf_counter() - start
        written = {len(result.outputs[0].token_ids) for result in results}
        if written != {new_tokens}:
            raise RuntimeError(f"wrote {sorted(written)} tokens, not {new_tokens}")
        return seconds

    def close(self) -> None:
        """Stop the engine."""
        self.engine.close()


def load_timed(
    folder: Path, engine: str, device: str, dtype: str, longest: int, options: Timing
) -> Timed:
    """Load one checkpoint for sequences of up to ``longest`` tokens."""
    with loading(folder):
        if engine == "vllm":
            size = min(options.batch_size, options.prompts)
            return TimedVllm(folder, device=device, dtype=dtype, longest=longest, batch_size=size)
        return TimedTransformers(folder, device=device, dtype=dtype)


def synchronise(device: str) -> None:
    """Wait until a CUDA device has done its work."""
    if device == "cuda":
        import torch

        torch.cuda.synchronize()


def numbered(row: int) -> str:
    """Return how a message names a prompt: by its place in the text."""
    return f"prompt {row + 1} of the text"


def read_text(path: Path, characters: int) -> str:
    """Return the beginning of a corpus file's documents, joined by line feeds.

    Raises :class:`RevocabError` if there is too little text.
    """
    parts, size = [], 0
    for row in read_jsonl(path):
        parts.append(" ".join(str(row["text"]).split()))
        size += len(parts[-1]) + 1
        if size > characters:
            return "\n".join(parts)[:characters]
    raise RevocabError(
        f"{path}: {size} characters, {characters} wanted; lower evaluation.efficiency.prompts or "
        "prompt_characters, or set aside more held-out text"
    )


def peak_memory(device: str) -> int:
    """Return the most memory this process had: of the GPU where it is used, else resident."""
    if device == "cuda":
        import torch

        return int(torch.cuda.max_memory_allocated())
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most * (1 if sys.platform == "darwin" else 1024)


def measure(folder: Path, text_file: Path, corpus: str, language: str, options: Timing) -> dict:
    """Return what one checkpoint costs on a text; see :mod:`revocab.report.tables.efficiency`.

    One process measures one checkpoint, so that its peak memory is its own. Raises
    :class:`RevocabError` for a folder that is no model, weights that are missing or not finite,
    logits that are not, too little text, or too short a context.
    """
    import torch
    from transformers import AutoConfig

    check_model_folder(folder)
    quiet_loading()
    engine = choose_engine(options.engine)
    device = choose_device(options.device)
    dtype = choose_dtype(options.dtype, device)
    size = options.prompt_characters
    text = read_text(text_file, options.prompts * size)
    tokenizer = load_tokenizer(folder)
    texts = [text[i * size : (i + 1) * size] for i in range(options.prompts)]
    prompts = [tokenizer(one)["input_ids"] for one in texts]
    plain = [tokenizer(one, add_special_tokens=False)["input_ids"] for one in texts]
    tokens = sum(map(len, plain))
    longest = max(map(len, prompts)) + options.new_tokens
    timed = load_timed(folder, engine, device, dtype, longest, options)
    try:
        if longest > timed.context_length:
            raise RevocabError(
                f"{folder}: prompts of {size} characters and {options.new_tokens} new tokens need "
                f"{longest} tokens, its context has {timed.context_length}; lower "
                "evaluation.efficiency.prompt_characters"
            )
        timed.check(prompts[: options.batch_size])
        found = timings(timed, prompts, options)
        threads = torch.get_num_threads()  # an engine may choose its own when it starts
    finally:
        timed.close()
    per_token = len(text) / tokens
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    words = sum(count_words([text], language, available_splitter(language)))
    return {
        "corpus": corpus,
        "language": language,
        "characters": len(text),
        "tokens": tokens,
        "tokens_per_word": tokens / words,
        "characters_per_token": per_token,
        "prompt_characters_per_second": len(text) / found["prompt"],
        "prompt_tokens_per_second": tokens / found["prompt"],
        "generated_tokens_per_second": found["rate"],
        "generated_characters_per_second": found["rate"] * per_token,
        "first_token_seconds": found["first"],
        "seconds_per_token": found["step"],
        "seconds_per_100_characters": found["step"] * 100 / per_token,
        "cache_bytes_per_1000_characters": cache_bytes_per_token(config, dtype) * 1000 / per_token,
        "parameter_bytes": parameter_bytes(folder, dtype),
        "peak_memory_bytes": peak_memory(device),
        **{**options.model_dump(), "engine": engine, "device": device, "dtype": dtype},
        "threads": threads,
    }


def timings(timed: Timed, prompts: Sequence[list[int]], options: Timing) -> dict[str, float]:
    """Return median seconds: reading all prompts, the first token and each further one of a single
    prompt; and tokens written per second in batches.
    """
    new, size = options.new_tokens, options.batch_size
    batches = [prompts[i : i + size] for i in range(0, len(prompts), size)]
    timed.run(batches[0], 2)  # warm-up: allocation, compilation
    prompt, rate, first, step = [], [], [], []
    for _ in range(options.repeats):
        read = sum(timed.run(batch, 1) for batch in batches)
        whole = sum(timed.run(batch, new) for batch in batches)
        prompt.append(read)
        rate.append(len(prompts) * (new - 1) / max(whole - read, 1e-9))
        one = timed.run(prompts[:1], 1)
        first.append(one)
        step.append(max(timed.run(prompts[:1], new) - one, 1e-9) / (new - 1))
    names = {"prompt": prompt, "rate": rate, "first": first, "step": step}
    return {name: statistics.median(values) for name, values in names.items()}


def measure_efficiency(
    run: str,
    step: int,
    folder: Path,
    text_file: Path,
    corpus: str,
    language: str,
    out: Path,
    options: Timing,
) -> None:
    """Measure one checkpoint and write the numbers; they are times of this machine."""
    check_files(out, inputs=[folder, text_file])
    found = measure(folder, text_file, corpus, language, options)
    write_json(out, {"run": run, "step": step, **found})
    print(
        f"{run}: {found['prompt_characters_per_second']:.0f} characters read and "
        f"{found['generated_characters_per_second']:.0f} written per second",
        file=sys.stderr,
    )
