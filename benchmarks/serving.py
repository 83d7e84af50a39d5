"""What models cost where they are served, before and after a change of their vocabulary.

    python benchmarks/serving.py --models base=FOLDER trimmed=FOLDER --text it=FILE --work FOLDER

Characters a second that one thread reads and writes, of a text that each model cuts in its own
way, in transformers and, where they are installed (``make vllm``, ``make llama``), in vLLM and
llama.cpp, as ratios to the first model, too; and the share of a step that the output matrix takes.
Models take turns, ``--repeats`` times. ``revocab compare`` says what became of the loss. FILE: JSON
lines with ``text``, also .gz.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROMPTS, CHARACTERS, NEW_TOKENS, WARM_UP = 4, 600, 64, 8


READ, WRITTEN = "prompt_characters_per_second", "generated_characters_per_second"


def measured_by_engine(model: Path, text: Path, language: str, engine: str, out: Path) -> Any:
    """Return what the rule of efficiency measures, in a process of its own."""
    python = ROOT / ".venv-vllm/bin/python" if engine == "vllm" else Path(sys.executable)
    command = [
        python, "-m", "revocab", "measure_efficiency", "--model", model, "--text", text,
        "--prompts", PROMPTS, "--prompt-characters", CHARACTERS, "--new-tokens", NEW_TOKENS,
        "--batch-size", 1, "--repeats", 1, "--run", "serving", "--step", 0, "--corpus", "text",
        "--language", language, "--engine", engine, "--out", out,
    ]  # fmt: skip
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return json.loads(out.read_text())


def measured_by_llama(gguf: Path, prompt_ids: list[int], per_token: float) -> dict[str, float]:
    """Return characters written per second, of a longer request and a shorter one."""
    from revocab.product.verify.runtimes import ask_llama

    seconds, written = [], []
    for count in (WARM_UP, WARM_UP + NEW_TOKENS):
        begin = time.perf_counter()
        (ids,) = ask_llama(gguf, greedy=[(prompt_ids, count)]).greedy
        seconds.append(time.perf_counter() - begin)
        written.append(len(ids))
    return {WRITTEN: per_token * (written[1] - written[0]) / (seconds[1] - seconds[0])}


def head_share(model: Path) -> float:
    """Return the share of a step with one token and a filled cache that the output matrix takes."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    loaded = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
    ids = torch.arange(100, 300)[None]
    with torch.inference_mode():
        cache = loaded(ids, use_cache=True).past_key_values
        whole, head = [], []
        for _ in range(12):
            begin = time.perf_counter()
            hidden = loaded.model(ids[:, :1], past_key_values=cache, use_cache=True)
            middle = time.perf_counter()
            loaded.lm_head(hidden.last_hidden_state)
            whole.append(time.perf_counter() - begin)
            head.append(time.perf_counter() - middle)
    return median(head) / median(whole)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--models", nargs="+", required=True, help="NAME=FOLDER")
    parser.add_argument("--text", required=True, help="LANGUAGE=FILE")
    parser.add_argument(
        "--work", type=Path, required=True, help="folder for GGUF files, which stay"
    )
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()

    from revocab.evaluation.efficiency import read_text
    from revocab.product.export.export import export
    from revocab.vocabulary.tokenizers.load import load_tokenizer

    os.environ["OMP_NUM_THREADS"] = "1"
    models = {name: Path(folder) for name, _, folder in (m.partition("=") for m in options.models)}
    language, _, text = options.text.partition("=")
    beginning = read_text(Path(text), CHARACTERS)
    options.work.mkdir(parents=True, exist_ok=True)
    engines = ["transformers", *(["vllm"] if (ROOT / ".venv-vllm").is_dir() else [])]
    llama = (ROOT / ".llama").is_dir()
    times: dict[tuple[str, str], list[Any]] = {}
    for repeat in range(options.repeats):
        for name, model in models.items():
            for engine in engines:
                out = options.work / f"{name}-{engine}.json"
                measured = measured_by_engine(model, Path(text), language, engine, out)
                times.setdefault((name, engine), []).append(measured)
            if llama:
                folder = options.work / f"{name}-gguf"
                if not repeat:
                    export([str(model), "--to", "gguf", str(folder)])
                ids = load_tokenizer(model).encode(beginning)
                per_token = times[name, "transformers"][0]["characters_per_token"]
                measured = measured_by_llama(folder / "model.gguf", ids, per_token)
                times.setdefault((name, "llama.cpp"), []).append(measured)
    for name, model in models.items():
        size = times[name, "transformers"][0]["parameter_bytes"] / 4e6
        print(f"{name}: {len(load_tokenizer(model)):,} tokens, {size:.1f} M parameters, "
              f"output matrix {head_share(model):.0%} of a step")  # fmt: skip
        for engine in [*engines, *(["llama.cpp"] if llama else [])]:
            rows, reference = times[name, engine], times[next(iter(models)), engine]
            for key, what in ((READ, "read"), (WRITTEN, "written")):
                if key in rows[0]:
                    rate, base = (median(row[key] for row in side) for side in (rows, reference))
                    print(
                        f"  {engine}: {rate:,.0f} characters {what} a second, {rate / base:.2f} x"
                    )


if __name__ == "__main__":
    main()
