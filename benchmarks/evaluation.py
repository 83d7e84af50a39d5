"""What scoring many checkpoints costs beside the scoring itself, and beside the command line.

    OMP_NUM_THREADS=1 python benchmarks/evaluation.py --command-line 10 --out /tmp/evaluation.json

Random models of the demo's size score twelve tasks of made-up rows. ``overhead`` is all that it
takes over the time in the harness's model (tokenising, forward passes); ``overhead_with_start`` is
the same for the rule's whole script, Python's start and imports included. Both must stay below 1.3.
With ``--command-line N`` the first N checkpoints are scored by ``lm_eval`` runs, one each. Times
are processor seconds, which a busy machine changes less than the clock's.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TEXT = """il la fornaio pane gatto città mercato vende compra vive lavora porta pietra acqua
the baker bread cat town market sells buys lives works carries tool stone water fresh old"""
FAMILIES = {"hellaswag": 4, "mmlu": 4, "arc_easy": 4, "piqa": 2, "sciq": 4, "boolq": 2}


def sentence(draw: random.Random, words: int) -> str:
    return " ".join(draw.choices(TEXT.split(), k=words))


def write_rows(path: Path, choices: int, items: int, seed: int) -> None:
    from revocab.io import write_jsonl

    draw = random.Random(seed)
    write_jsonl(
        path,
        [
            {
                "id": str(i),
                "context": sentence(draw, 25),
                "question": sentence(draw, 10) + "?",
                "choices": [sentence(draw, draw.randint(1, 8)) for _ in range(choices)],
                "answer": draw.randrange(choices),
            }
            for i in range(items)
        ],
    )


def write_tasks(folder: Path, items: int) -> list[Path]:
    from revocab.evaluation.multiple_choice.tasks import TEMPLATES, build_task, write_task

    paths = []
    for number, (family, choices) in enumerate(FAMILIES.items()):
        for language in ("it", "en"):
            name = f"{family}_{language}"
            write_rows(folder / f"{name}.jsonl", choices, items, number)
            paths.append(folder / f"{name}.yaml")
            data = folder / f"{name}.jsonl"
            write_task(paths[-1], build_task(name, TEMPLATES / f"{name}.yaml", data=data))
    return paths


def write_models(folder: Path, count: int) -> dict[int, Path]:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import MistralConfig, MistralForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = ["<pad>", "<s>", "</s>"]
    trainer = trainers.BpeTrainer(
        vocab_size=1152, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([TEXT], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )
    config = MistralConfig(
        vocab_size=1152,
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
    )
    written = {step: folder / f"step-{step:06d}" for step in range(count)}
    for step, place in written.items():
        torch.manual_seed(step)
        MistralForCausalLM(config).save_pretrained(place)
        fast.save_pretrained(place)
    return written


def measure_ours(models, tasks, out: Path, share_contexts: bool) -> dict[str, float]:
    """Return seconds: in all, in the model, and what lies beside it per checkpoint."""
    from revocab.evaluation.inference.decoding import Refusing
    from revocab.evaluation.multiple_choice.scoring import score_checkpoints
    from revocab.evaluation.options import Scoring
    from revocab.models.load import quiet_loading

    quiet_loading()
    inside = 0.0
    original = Refusing.loglikelihood

    def timed(self, *arguments, **options):
        nonlocal inside
        self.shares_contexts &= share_contexts
        start = time.process_time()
        try:
            return original(self, *arguments, **options)
        finally:
            inside += time.process_time() - start

    Refusing.loglikelihood = timed
    start = time.process_time()
    score_checkpoints("benchmark", models, tasks, out, Scoring())
    total = time.process_time() - start
    Refusing.loglikelihood = original
    return {
        "seconds": round(total, 2),
        "seconds_per_checkpoint": round(total / len(models), 2),
        "seconds_in_model": round(inside, 2),
        "overhead": round(total / inside, 3),
    }


def child_seconds(command: list[object]) -> float:
    """Return the processor seconds of a child process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *map(str, command)], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_script(models: dict[int, Path], tasks: list[Path], out: Path) -> float:
    """Return the processor seconds of the rule's script over all checkpoints."""
    named = ["--models", *(f"{step}={folder}" for step, folder in models.items())]
    named += ["--tasks", *tasks]
    return child_seconds(
        ["-m", "revocab", "score", "--run", "benchmark", "--device", "cpu", "--out", out, *named]
    )


def measure_command_line(model: Path, tasks: list[Path]) -> float:
    """Return the processor seconds of one ``lm_eval`` run over all tasks."""
    options = ["--model", "hf", "--model_args", f"pretrained={model},dtype=float32"]
    options += ["--device", "cpu", "--batch_size", "64", "--tasks", ",".join(map(str, tasks))]
    return child_seconds(["-m", "lm_eval", *options])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoints", type=int, default=10)
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--command-line", type=int, default=0, metavar="N", help="lm_eval runs")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    import torch

    from revocab.io import write_json

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = write_models(folder, options.checkpoints)
        tasks = write_tasks(folder, options.items)
        found = {
            "checkpoints": options.checkpoints,
            "items": options.items,
            "tasks": len(tasks),
            "threads": torch.get_num_threads(),
            "ours": measure_ours(models, tasks, folder / "a.csv", True),
            "ours_without_shared_contexts": measure_ours(models, tasks, folder / "b.csv", False),
        }
        whole = measure_script(models, tasks, folder / "c.csv")
        contents = {(folder / f"{name}.csv").read_bytes() for name in "abc"}
        found["equal_scores"] = len(contents) == 1
        found["script_seconds"] = round(whole, 2)
        found["overhead_with_start"] = round(whole / found["ours"]["seconds_in_model"], 3)
        if options.command_line:
            chosen = [*models.values()][: options.command_line]
            runs = [measure_command_line(model, tasks) for model in chosen]
            found["command_line_runs"] = len(runs)
            found["command_line_seconds"] = round(sum(runs), 2)
            each = sum(runs) / len(runs)
            found["command_line_over_ours"] = round(each * len(models) / whole, 2)
    write_json(options.out, found)


if __name__ == "__main__":
    main()
