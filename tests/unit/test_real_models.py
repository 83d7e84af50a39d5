"""Real pretrained models, made by scripts/real_models.py: scores, a trim, the way to llama.cpp."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from revocab.evaluation.multiple_choice.scoring import Scorer
from revocab.evaluation.multiple_choice.tasks import TEMPLATES, build_task, write_task
from revocab.evaluation.options import Scoring
from revocab.io import read_jsonl
from revocab.vocabulary.tokenizers.load import load_tokenizer

pytestmark = [pytest.mark.real, pytest.mark.long]


@pytest.fixture(scope="module")
def real_models(repository) -> Path:
    """Where real models are: REVOCAB_REAL_MODELS, else resources/inputs/models."""
    folder = Path(os.environ.get("REVOCAB_REAL_MODELS", repository / "resources/inputs/models"))
    for name in ("smollm2-135m", "gemma3-270m"):
        if not (folder / name / "model/model.safetensors").is_file():
            pytest.skip(f"no {name} in {folder}: python scripts/real_models.py {folder}")
    return folder


@pytest.fixture(scope="module")
def smollm2(real_models) -> Path:
    return real_models / "smollm2-135m/model"


@pytest.fixture(scope="module")
def gemma(real_models) -> Path:
    return real_models / "gemma3-270m/model"


def lines_of(file: Path, count: int, skip: int = 0) -> list[str]:
    """Return non-empty lines of the documents of a file, after the first ``skip``."""
    lines = (line for row in read_jsonl(file) for line in row["text"].splitlines() if line.strip())
    return [line for _, line in zip(range(skip + count), lines, strict=False)][skip:]


def revocab(*words: str | Path) -> None:
    command = [sys.executable, "-m", "revocab", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def logits_of(model: Path, ids: list[int]) -> torch.Tensor:
    loaded = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
    with torch.inference_mode():
        return loaded(torch.tensor([ids])).logits[0]


def test_a_model_made_of_a_gguf_says_what_a_model_says(smollm2):
    """Weights in 4 bits, its tokenizer from the same file, tied rows as before."""
    tokenizer = load_tokenizer(smollm2)
    logits_TV = logits_of(smollm2, tokenizer.encode("The capital of France is"))
    assert tokenizer.decode(logits_TV[-1].argmax()) == " Paris"


@pytest.mark.shared_data
def test_scores_equal_those_of_the_harness(smollm2, shared_folder, tmp_path):
    """Each item of 25 against lm-eval with its own class of model, Italian and English."""
    from lm_eval.evaluator import simple_evaluate

    tasks = []
    for family, language in (("xcopa", "it"), ("arc_easy", "en")):
        task = tmp_path / f"{family}_{language}.yaml"
        data = shared_folder / "data/mc" / family / f"{language}.jsonl.gz"
        write_task(task, build_task(task.stem, TEMPLATES / task.name, data=data))
        tasks.append(task)
    theirs = simple_evaluate(
        model="hf", model_args={"pretrained": str(smollm2), "dtype": "float32"},
        tasks=[str(task) for task in tasks], device="cpu", batch_size=8, limit=25,
    )  # fmt: skip
    scorer = Scorer(tasks, Scoring(batch_size=8, device="cpu", limit=25))
    loaded = scorer.load(smollm2)
    for task in tasks:
        for row in scorer.score(loaded, task.stem):
            items = [item[row["metric"]] for item in theirs["samples"][task.stem]]
            assert len(items) == 25 and row["values"] == items
            assert row["value"] == theirs["results"][task.stem][f"{row['metric']},none"]


@pytest.mark.shared_data
def test_a_trim_keeps_ids_and_logits(gemma, shared_folder, tmp_path):
    """Gemma 3 270M for Italian: the same tokens and, for them, the same logits."""
    corpus = shared_folder / "data/corpora/it/wikineural.jsonl.gz"
    seen = lines_of(corpus, 2000)
    text = tmp_path / "it.txt"
    text.write_text("\n".join(seen), encoding="utf-8")
    revocab("trim", gemma, f"it={text}", "--coverage", "1.0", "--out", tmp_path / "trimmed")
    before, after = load_tokenizer(gemma), load_tokenizer(tmp_path / "trimmed")
    assert len(before) == 262_144 and 10_000 < len(after) < 40_000
    for line in seen[:200]:
        ids, new_ids = before.encode(line), after.encode(line)
        assert before.convert_ids_to_tokens(ids) == after.convert_ids_to_tokens(new_ids), line
    ids, new_ids = before.encode(seen[0]), after.encode(seen[0])
    kept = before.convert_tokens_to_ids(after.convert_ids_to_tokens(range(len(after))))
    logits_TV = logits_of(gemma, ids)[:, kept]
    trimmed_TV = logits_of(tmp_path / "trimmed", new_ids)[:, : len(after)]
    # Bit for bit in most runs; a product of matrices may be divided otherwise.
    torch.testing.assert_close(trimmed_TV, logits_TV, atol=2e-3, rtol=0)


@pytest.mark.shared_data
def test_a_new_vocabulary_arrives_in_llama_cpp(real_llama, smollm2, shared_folder, tmp_path):
    """Extended by Italian tokens, exported: tokens, text and logits as in transformers."""
    corpus = shared_folder / "data/corpora/it/wikineural.jsonl.gz"
    text, unseen = tmp_path / "it.txt", tmp_path / "unseen.txt"
    text.write_text("\n\n".join(lines_of(corpus, 3000)), encoding="utf-8")
    unseen.write_text("\n".join(lines_of(corpus, 200, skip=3000)), encoding="utf-8")
    prepared, target, made = tmp_path / "it", tmp_path / "target", tmp_path / "made"
    revocab("prepare", "--files", text, "--language", "it", "--corpus", "it", "--out", prepared)
    revocab(
        "tokenizer", "extend", "--base", smollm2, "--corpora", f"it={prepared}", "--add", "2048",
        "--out", target,
    )  # fmt: skip
    revocab("init", "fvt", "--source", smollm2, "--target-tokenizer", target, "--out", made)
    revocab("export", made, "--to", "gguf", tmp_path / "gguf", "--lines", unseen)
    gguf = tmp_path / "gguf/model.gguf"
    revocab("verify", made, "--gguf", gguf, "--runtime", "llama.cpp", "--text", unseen)
