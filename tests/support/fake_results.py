"""A results folder with made-up numbers, in the shape that the DAG leaves: nothing was measured.

Run as ``python tests/support/fake_results.py FOLDER`` to look at tables and figures made from it.
"""

from __future__ import annotations

import atexit
import csv
import json
import math
import random
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from revocab.evaluation.generation.kind import PromptOptions, find_kind
from revocab.experiment import as_json, expand
from revocab.experiment.expand import Run
from revocab.experiment.schema import Experiment
from revocab.experiment.schema.evaluation import Fertility
from revocab.io import read_json, write_json, write_jsonl, write_text

REPOSITORY = Path(__file__).resolve().parents[2]
#: Made-up quality of each method: how fast it learns.
SKILL = {"random": 0.5, "clp": 0.55, "fvt": 0.75, "sava": 0.85, "sava-lstsq": 0.9, "lapt": 1.0}


def write_csv(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def fake_results(root: Path, config: str = "demos/demo.yaml", **overrides) -> Path:
    """Fill ``root`` with the results folder of an experiment file; return it."""
    values = yaml.safe_load((REPOSITORY / "config" / config).read_text(encoding="utf-8"))
    # Budgets of its own, so that tests that count steps do not follow the demo's.
    if "adapt" in values["recipes"]:
        values["recipes"]["adapt"] |= {"steps": 100, "warmup_steps": 5, "checkpoint_every": 25}
    values["evaluation"]["multiple_choice"]["limit"] = None
    experiment = Experiment.model_validate({**values, **overrides})
    write_json(root / "experiment.json", as_json(experiment))
    runs = expand(experiment)
    draw = random.Random(7)
    for run in runs:
        if run.trains:
            measured = experiment.recipes[run.recipe].heldout_steps
            fake_training(root / "runs" / run.id, run, measured, draw)
            fake_initialisation(root / "runs" / run.id / "init", run)
        if run.evaluate:
            fake_scores(root / "runs" / run.id, run, experiment, draw)
    for source in sorted({run.source for run in runs}):
        fake_heldout(root / "models" / source, [300], lambda _: 0.0, draw)
    fake_shared(root, experiment, runs, draw)
    return root


@cache
def finished_demo() -> Path:
    """Return the demo's results with scores and tables: one for all tests, not to be written to."""
    from revocab.report.make_tables import make_tables
    from revocab.report.results.scores import collect_scores

    folder = Path(tempfile.mkdtemp(prefix="fake-results-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    root = fake_results(folder / "results" / "demo")
    collect_scores(root, root / "scores.parquet")
    make_tables(root, root / "tables")
    return root


def copy_of_demo(folder: Path) -> Path:
    """Return a copy of :func:`finished_demo`, to be changed."""
    return shutil.copytree(finished_demo(), folder / "results" / "demo")


def experiment_alone(root: Path, folder: Path) -> Path:
    """Return a results folder with nothing but the experiment of another."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(root / "experiment.json", folder / "experiment.json")
    return folder


def change_experiment(root: Path, *keys: str, value: Any) -> None:
    """Set one key of the experiment that a results folder says it is of."""
    content = read_json(root / "experiment.json")
    place = content["experiment"]
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    write_json(root / "experiment.json", content)


def fake_initialisation(folder: Path, run: Run) -> None:
    """Write ``diagnostics.json`` as init_embeddings does: lapt changes no matrix, clp collapses."""
    copied = {"rows": 700, "mean": 1.5}
    found = {
        "norm_copied": copied,
        "norm_new": {"rows": 452, "mean": 0.05 if run.name == "clp" else 1.25},
        "cosine_to_mean_copied": 0.31,
        "cosine_to_mean_new": 0.42,
        "near_duplicates": {"rows": 17},
        "method": {"anchors_cosine": 0.61, "held_out_cosine": 0.52} if "sava" in run.name else {},
    }
    matrices = {} if run.name == "lapt" else {"input": found, "output": found}
    warnings = ["method 'clp', input matrix: collapsed"] if run.name == "clp" else []
    described = {"method": run.method, "matrices": matrices, "warnings": warnings}
    write_json(folder / "diagnostics.json", described)


def fake_training(folder: Path, run: Run, measured: list[int], draw: random.Random) -> None:
    skill = SKILL.get(run.name.partition("-seed")[0], 0.7)
    per_token = 1.6 if run.name == "lapt" else 2.2
    rows = []
    for step in range(1, run.steps[-1] + 1):
        loss = 2.5 + 4 * (1.1 - skill) * math.exp(-step / 20) + draw.gauss(0, 0.08)
        rows.append(
            {
                "step": step,
                "tokens": step * 4096,
                "loss": loss * per_token / 2.2,
                "bits_per_byte": loss / per_token,
                "learning_rate": 1e-3,
                "gradient_norm": 1.0,
            }
        )
    write_csv(folder / "losses.csv", rows)
    fake_heldout(folder, measured, lambda step: (1.2 - skill) * math.exp(-step / 20), draw)
    timing = {"seconds": 61.0, "tokens_per_second": 6700.0, "peak_memory_bytes": 900_000_000}
    write_json(folder / "timing.json", {**timing, "startup_seconds": 3.2})
    write_json(folder / "manifest.json", {"steps": run.steps[-1], "tokens": 409600})


def fake_heldout(folder: Path, steps: list[int], extra, draw: random.Random) -> None:
    rows = [
        {
            "step": step,
            "corpus": f"world-{language}",
            "language": language,
            "loss": 2.0 + extra(step),
            "bits_per_byte": base + extra(step) + draw.gauss(0, 0.005),
            "tokens": 20000,
            "bytes": 60000,
        }
        for step in steps
        for language, base in (("it", 0.8), ("en", 0.9))
    ]
    write_csv(folder / "heldout.csv", rows)


def fake_scores(folder: Path, run: Run, experiment: Experiment, draw: random.Random) -> None:
    rows, generated = [], []
    limit = experiment.evaluation.multiple_choice.limit
    common = {"shots": 0, "task_version": "1.0", "harness_version": "0.4.13", "limit": limit}
    for step in run.select():
        for task in experiment.evaluation.multiple_choice.tasks:
            for metric in ("acc", "acc_norm"):
                value = 0.3 + 0.3 * SKILL.get(run.name, 0.4) * (1 - math.exp(-step / 40))
                value = round(value + draw.gauss(0, 0.03), 4)
                row = {"run": run.id, "step": step, "task": task, "metric": metric}
                row |= {"value": value, "stderr": math.sqrt(value * (1 - value) / 150)}
                rows.append({**row, "items": 150, **common})
    for step in run.select(experiment.evaluation.generation.steps):
        for task, entry in experiment.evaluation.generation.tasks.items():
            answering = entry.kind == "question_answering"
            metrics = (
                ("rougeL", "exact_match", "f1", "rougeL-released")
                if answering
                else ("chrf++", "bleu", "comet22")
            )
            for metric in metrics:
                empty = metric == "comet22"
                row = {"run": run.id, "step": step, "task": task, "metric": metric}
                row |= {"value": "" if empty else draw.uniform(5, 40), "stderr": ""}
                row |= {"items": 40, "shots": entry.shots, "engine": "transformers"}
                reason = "comet not configured" if empty else ""
                generated.append({**row, "limit": 40, "reason": reason})
    write_csv(folder / "multiple_choice.csv", rows)
    write_csv(folder / "generation" / "scores.csv", generated)


def fake_shared(root: Path, experiment: Experiment, runs: list[Run], draw: random.Random) -> None:
    fake_fertility(root, experiment, draw)
    counts = {32000: 7_241_732_096, 32768: 7_248_023_552, 128256: 8_030_261_248}
    write_csv(
        root / "parameters.csv",
        [
            {
                "label": one.label,
                "vocabulary_size": one.vocabulary_size,
                "family": one.architecture.family,
                "parameters": counts.get(one.vocabulary_size, 8_100_000),
            }
            for one in experiment.parameters
        ],
    )
    for group, entry in experiment.runs.items():
        compared = [
            r
            for r in runs
            if r.group == group and r.evaluate and r.trains and r.target == entry.target
        ]
        rows = []
        for run in compared:
            for step in (0, run.steps[-1]):
                row = {"kind": "helper", "group": group, "run": run.id, "other": entry.helper}
                rows.append({**row, "step": step, "similarity": draw.uniform(0.3, 0.5)})
            for other in compared:
                close = 1.0 if other is run else 0.9 - 0.1 * abs(hash_free(run) - hash_free(other))
                row = {"kind": "between", "group": group, "run": run.id, "other": other.id}
                rows.append({**row, "step": run.steps[-1], "similarity": close})
        if rows:
            write_csv(root / "similarity" / group / "similarity.csv", rows)
    for task, entry in experiment.evaluation.generation.tasks.items():
        write_jsonl(root / "prompts" / f"{task}.jsonl", [fake_prompt(task, entry)])
    pairs = sorted({(r.source_tokenizer, r.target) for r in runs if r.source_tokenizer != r.target})
    for source, target in pairs:
        report = {"source_size": 1024, "target_size": 1152, "overlap": 700, "missing": 452}
        write_json(root / "intersections" / f"{source}--{target}" / "report.json", report)


def hash_free(run: Run) -> float:
    """Return a number that differs between runs and repeats between processes."""
    return sum(map(ord, run.id)) % 7 / 7


def fake_fertility(root: Path, experiment: Experiment, draw: random.Random) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table, documents = [], []
    for index, tokenizer in enumerate(experiment.fertility.tokenizers):
        for corpus in experiment.fertility.corpora:
            language = experiment.corpora[corpus].language
            centre = (1.5 if language == "en" else 2.3) - 0.5 * (index == 1)
            values = [max(1.0, draw.gauss(centre, 0.12)) for _ in range(400)]
            documents += [
                {"tokenizer": tokenizer, "corpus": corpus, "fertility": v} for v in values
            ]
            row = {"tokenizer": tokenizer, "corpus": corpus, "language": language}
            row |= {"documents": 400, "skipped_empty": 0, "words": 40000, "tokens": 80000}
            row |= {"bytes": 240000, "characters": 236000, "fertility": sum(values) / 400}
            row |= {"fertility_corpus": centre, "bytes_per_token": 3,
                    "characters_per_token": 2.9 + index}  # fmt: skip
            row |= {"words_split": 0.4, "unknown_rate": 0.0, "byte_rate": 0.001}
            table.append({**row, "splitter": "nltk-word_tokenize"})
    write_csv(root / "fertility" / "fertility.csv", table)
    fake_parallel(root, experiment.fertility)
    pq.write_table(pa.Table.from_pylist(documents), root / "fertility" / "documents.parquet")


def fake_parallel(root: Path, setting: Fertility) -> None:
    rows = [
        {"tokenizer": tokenizer, "language": language, "reference": "en", "sentences": 300,
         "tokens": 6000 + 900 * place + 300 * index, "bytes": 24000, "characters": 23000,
         "tokens_per_sentence": 20.0, "characters_per_token": 3.8, "unknown_rate": 0.0,
         "byte_rate": 0.0, "parity": 1 + 0.15 * place}
        for index, tokenizer in enumerate(setting.tokenizers)
        for place, language in enumerate(setting.parallel.languages if setting.parallel else [])
    ]  # fmt: skip
    if rows:
        write_csv(root / "fertility" / "parallel.csv", rows)


#: A shot and a query, by field.
TEXTS = {
    "it": ("Il gatto beve | il latte.", "Il cane dorme."),
    "en": ("The cat drinks | milk.", "The dog sleeps."),
    "context": ("Ada vive a Roma.", "Ugo vive a Lodi."),
    "question": ("Dove vive Ada?", "Dove vive Ugo?"),
    "answers": (["a Roma"], ["a Lodi"]),
}


def fake_prompt(task: str, entry: PromptOptions) -> dict:
    kind = find_kind(entry.kind)
    shot, query = (
        {"id": str(place + 1), **{f: TEXTS.get(f, "……")[place] for f in kind.needed(entry)}}
        for place in (0, 1)
    )
    row = {"id": "2", "kind": entry.kind, "direction": entry.direction}
    references = kind.right_answers(query, entry.direction)
    return {**row, "shots": [shot], "query": query, "references": references, "prompt": "…"}


if __name__ == "__main__":
    target = Path(sys.argv[1])
    fake_results(target, *sys.argv[2:])
    write_text(target / "FAKE.txt", "made-up numbers: tests/support/fake_results.py\n")
    print(json.dumps(sorted(str(p) for p in target.iterdir())))
