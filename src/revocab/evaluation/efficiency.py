"""What a checkpoint costs: seconds and bytes for the same text, whatever its tokenizer.

The second claim of the SAVA paper (fewer tokens, so less time) is measured here: a text is cut into
equal prompts by characters, and every model reads the same characters. A model's speed does not
depend on which tokens it writes, so generated characters are its tokens per second times its
characters per token of this text: nothing hangs on what the model happens to write.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from revocab.corpora.word_splitters import available_splitter, start_splitting
from revocab.device import checkpoint_on
from revocab.errors import RevocabError
from revocab.evaluation.inference.decoding import TextGenerator
from revocab.evaluation.inference.engine import choose_engine
from revocab.evaluation.options import EfficiencyJob, EfficiencyOptions, Hardware
from revocab.io import read_jsonl, write_json
from revocab.models.folder import check_model_folder
from revocab.models.load import loading, quiet_loading
from revocab.models.parameters import cache_bytes_per_token
from revocab.models.weights import parameter_bytes
from revocab.output import check_files
from revocab.vocabulary.tokenizers.encoding import load_prompt_tokenizer


def read_text(path: Path, characters: int) -> str:
    """Return the beginning of a corpus file's documents, joined by line feeds. Raises
    :class:`RevocabError` if there is too little text.
    """
    parts: list[str] = []
    size = -1  # no line feed stands before the first
    for row in read_jsonl(path):
        parts.append(" ".join(str(row["text"]).split()))
        size += 1 + len(parts[-1])
        if size >= characters:
            return "\n".join(parts)[:characters]
    raise RevocabError(
        f"{path}: {max(size, 0)} characters, {characters} wanted; lower"
        " evaluation.efficiency.prompts or prompt_characters, or hold out more text"
    )


def peak_memory(device: str) -> int:
    """Return the most memory this process had: of the GPU where it is used, else resident."""
    if device == "cuda":
        import torch

        return int(torch.cuda.max_memory_allocated())
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most * (1 if sys.platform == "darwin" else 1024)


def measure(folder: Path, text_file: Path, job: EfficiencyJob, machine: Hardware) -> dict[str, Any]:
    """Return what one checkpoint costs on a text; see :mod:`revocab.report.tables.tokenizers`.

    One process measures one checkpoint, so that its peak memory is its own. Raises
    :class:`RevocabError` for a folder that is no model, weights that are missing or not finite,
    logits that are not, too little text, or too short a context.
    """
    import torch
    from transformers import AutoConfig

    check_model_folder(folder)
    quiet_loading()
    engine = choose_engine(job.engine, "efficiency")
    assert engine.efficiency is not None  # or it would not have been chosen
    batch = min(job.batch_size, job.prompts)
    checkpoint = checkpoint_on(folder, machine.device, machine.dtype, batch, machine.gpus)
    device, dtype = checkpoint.device, checkpoint.dtype
    size = job.prompt_characters
    text = read_text(text_file, job.prompts * size)
    tokenizer = load_prompt_tokenizer(folder)
    texts = [text[i * size : (i + 1) * size] for i in range(job.prompts)]
    prompts = [tokenizer(part)["input_ids"] for part in texts]
    plain = [tokenizer(part, add_special_tokens=False)["input_ids"] for part in texts]
    tokens = sum(map(len, plain))
    longest = max(map(len, prompts)) + job.new_tokens
    with loading(folder):
        timed = engine.efficiency(checkpoint, longest)
    try:
        if longest > timed.context_length:
            raise RevocabError(
                f"{folder}: prompts of {size} characters and {job.new_tokens} new tokens need "
                f"{longest} tokens, its context has {timed.context_length}; lower "
                "evaluation.efficiency.prompt_characters"
            )
        timed.generate(prompts[: job.batch_size], 1, None)  # are its logits finite?
        seconds = timings(timed, prompts, job)
        threads = torch.get_num_threads()  # an engine may choose its own when it starts
    finally:
        timed.close()
    per_token = len(text) / tokens
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    splitter = available_splitter(job.language)
    words = sum(start_splitting([text], job.language, splitter)().counts)
    options = job.model_dump(include=set(EfficiencyOptions.model_fields))
    return {
        "corpus": job.corpus,
        "language": job.language,
        "characters": len(text),
        "tokens": tokens,
        "tokens_per_word": tokens / words,
        "characters_per_token": per_token,
        "prompt_characters_per_second": len(text) / seconds["prompt"],
        "prompt_tokens_per_second": tokens / seconds["prompt"],
        "generated_tokens_per_second": seconds["rate"],
        "generated_characters_per_second": seconds["rate"] * per_token,
        "first_token_seconds": seconds["first"],
        "seconds_per_token": seconds["step"],
        "seconds_per_100_characters": seconds["step"] * 100 / per_token,
        "cache_bytes_per_1000_characters": cache_bytes_per_token(config, dtype) * 1000 / per_token,
        "parameter_bytes": parameter_bytes(folder, dtype),
        "peak_memory_bytes": peak_memory(device),
        **options,
        "device": device,
        "dtype": dtype,
        "engine": engine.name,
        "threads": threads,
    }


def timings(
    timed: TextGenerator, prompts: Sequence[list[int]], options: EfficiencyOptions
) -> dict[str, float]:
    """Return median seconds of reading all prompts and of the first token of a single one; seconds
    of each further token, and tokens written per second in batches, by the fastest repeats.
    """
    new, size = options.new_tokens, options.batch_size
    batches = [prompts[i : i + size] for i in range(0, len(prompts), size)]
    timed.run(batches[0], 2)  # warm-up: allocation, compilation
    read, whole, first, single = [], [], [], []
    for _ in range(options.repeats):
        read.append(sum(timed.run(batch, 1) for batch in batches))
        whole.append(sum(timed.run(batch, new) for batch in batches))
        first.append(timed.run(prompts[:1], 1))
        single.append(timed.run(prompts[:1], new))
    return {
        "prompt": statistics.median(read),
        "rate": len(prompts) * (new - 1) / writing_seconds(whole, read),
        "first": statistics.median(first),
        "step": writing_seconds(single, first) / (new - 1),
    }


def writing_seconds(whole: Sequence[float], reading: Sequence[float]) -> float:
    """Return the seconds of the fastest repeat without those of reading; all, where on a busy
    machine reading alone took longer than reading and writing.
    """
    writing = min(whole) - min(reading)
    return writing if writing > 0 else min(whole)


def measure_efficiency(
    folder: Path, text_file: Path, job: EfficiencyJob, machine: Hardware, out: Path
) -> None:
    check_files(out, inputs=[folder, text_file])
    costs = measure(folder, text_file, job, machine)
    write_json(out, {"run": job.run, "step": job.step, **costs})
    print(
        f"{job.run}: {costs['prompt_characters_per_second']:.0f} characters read and "
        f"{costs['generated_characters_per_second']:.0f} written per second",
        file=sys.stderr,
    )
