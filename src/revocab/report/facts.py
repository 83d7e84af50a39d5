"""What an experiment shows, computed from its files: each claim with its numbers, true or not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revocab.config.expand import Run
from revocab.errors import RevocabError
from revocab.io import read_jsonl
from revocab.report.names import CHANCE_OF_FAMILY, language_label, method_label
from revocab.report.results import Results, Row, number
from revocab.report.scores import AVERAGE, average_task

#: A family counts as above chance if it exceeds blind guessing by more than this many errors.
STANDARD_ERRORS = 2


@dataclass(frozen=True)
class Fact:
    """A claim about the results, the numbers behind it, and whether it holds (None: no data)."""

    claim: str
    numbers: str
    holds: bool | None


def adapted_language(results: Results, group: str) -> str:
    """Return the language with the largest share of a group's data, all stages taken together."""
    experiment = results.experiment
    settings = experiment["runs"][group]
    stages = experiment["recipes"][settings["recipe"]].get("stages") or [{"steps": 1}]
    shares: dict[str, float] = {}
    for stage in stages:
        mixture = experiment["mixtures"][stage.get("mixture") or settings["mixture"]]
        by_size = [corpus for corpus, share in mixture.items() if share == "size"]
        rest = 1 - sum(share for share in mixture.values() if share != "size")
        for corpus, share in mixture.items():
            language = experiment["corpora"][corpus]["language"]
            # Sizes are unknown here: what the fixed shares leave is taken as split evenly.
            known = rest / len(by_size) if share == "size" else share
            shares[language] = shares.get(language, 0) + known * stage["steps"]
    return max(sorted(shares), key=shares.__getitem__)


def tokenizer_pairs(results: Results) -> list[tuple[str, str]]:
    """Return every pair of tokenizers that runs or ``intersections`` name, each once."""
    pairs = [(r.source_tokenizer, r.target) for r in results.runs if r.source_tokenizer != r.target]
    pairs += [tuple(pair) for pair in results.experiment["intersections"]]
    return list(dict.fromkeys(pairs))


def fertility_reductions(results: Results) -> list[Row]:
    """Return, for every pair of tokenizers that runs or ``intersections`` name, how much fertility
    falls on each corpus from the first tokenizer to the second.
    """
    measured = {
        (row["tokenizer"], row["corpus"]): (number(row["fertility"]), row["language"])
        for row in results.csv("fertility", "fertility.csv")
    }
    rows = []
    for source, target in tokenizer_pairs(results):
        for corpus in results.experiment["fertility"]["corpora"]:
            if (source, corpus) in measured and (target, corpus) in measured:
                before, language = measured[source, corpus]
                after = measured[target, corpus][0]
                row = {"source": source, "target": target, "corpus": corpus, "language": language}
                rows.append({**row, "before": before, "after": after, "fall": 1 - after / before})
    return rows


def fertility_facts(results: Results, wanted: float = 0.2) -> Iterator[Fact]:
    """Yield whether fertility in the adapted language falls by at least ``wanted``."""
    languages = {adapted_language(results, group) for group in results.experiment["runs"]}
    for row in fertility_reductions(results):
        if row["language"] in languages:
            seen = (results.experiment["tokenizers"][row["target"]]["train"] or {}).get(
                "corpora", {}
            )
            known = f"; {row['target']} was trained on {row['corpus']}, so this flatters it"
            yield Fact(
                f"{language_label(row['language'])} fertility on {row['corpus']} falls by at least "
                f"{wanted:.0%} from {row['source']} to {row['target']}",
                f"{row['before']:.3f} → {row['after']:.3f}: falls by {row['fall']:.1%}"
                + (known if row["corpus"] in seen else ""),
                row["fall"] >= wanted,
            )


def chance(results: Results, task: str) -> float | None:
    """Return the accuracy of blind guessing: the mean of 1 / choices over the scored items.

    Falls back on the family's usual number of choices where the items are not on this machine.
    """
    setting = results.experiment["evaluation"]["multiple_choice"]
    data = setting["tasks"][task]["data"] or {}
    path = Path(data["path"]) if data.get("path") else None
    if data.get("world"):
        path = results.resources / "world" / f"{data['world']}.jsonl.gz"
    if path is not None:
        try:
            choices = [len(row["choices"]) for row in read_jsonl(path)][: setting["limit"]]
            return math.fsum(1 / count for count in choices) / len(choices)
        except (RevocabError, KeyError, ZeroDivisionError):
            pass  # not here, or of another shape: the usual number of choices is known
    return CHANCE_OF_FAMILY.get(results.family(task))


def above_chance(results: Results, group: str, language: str) -> list[Row]:
    """Return, for each task of a language, the base model's score against chance."""
    base = results.base(group)
    rows = []
    for task in results.choice_tasks(language):
        score = results.scores.choice(base.id, 0, task, results.family(task))
        guess = chance(results, task)
        if score is None or guess is None:
            continue
        stderr = score["stderr"] or 0.0
        row = {"task": task, "value": score["value"], "stderr": stderr, "chance": guess}
        above = score["value"] > guess + STANDARD_ERRORS * stderr
        rows.append({**row, "metric": score["metric"], "above": above})
    return rows


def chance_facts(results: Results, wanted: int = 4) -> Iterator[Fact]:
    """Yield whether each base model is above chance on at least ``wanted`` English families."""
    for group in results.experiment["runs"]:
        rows = above_chance(results, group, "en")
        if not rows:
            continue
        found = [row for row in rows if row["above"]]
        listed = "; ".join(
            f"{row['task']} {100 * row['value']:.1f}±{100 * row['stderr']:.1f} "
            f"(chance {100 * row['chance']:.1f})"
            for row in rows
        )
        yield Fact(
            f"{results.base(group).label}: above chance by more than {STANDARD_ERRORS} standard "
            f"errors on at least {wanted} English families",
            f"{len(found)} of {len(rows)}: {listed}",
            len(found) >= wanted,
        )


def first_checkpoint_facts(results: Results) -> Iterator[Fact]:
    """Yield whether sava and fvt start better than random: held-out bits per byte, adapted
    language, first checkpoint."""
    for group in results.experiment["runs"]:
        runs = {run.name: run for run in results.group(group, evaluated=False) if run.trains}
        if "random" not in runs:
            continue
        language = adapted_language(results, group)
        random = at_checkpoint(results, runs["random"], language, first=True)
        where = f"held-out {language_label(language)} bits per byte at the first checkpoint"
        for name in ("sava", "fvt"):
            if name not in runs:
                continue
            value = at_checkpoint(results, runs[name], language, first=True)
            if value is not None and random is not None:
                yield Fact(
                    f"{results.base(group).label}: {where}, {name} < random",
                    f"{value:.4f} against {random:.4f}",
                    value < random,
                )


def at_checkpoint(results: Results, run: Run, language: str, first: bool) -> float | None:
    """Return held-out bits per byte of a run at its first or last checkpoint."""
    step = run.scored_steps()[0 if first else -1]
    return results.heldout_by_language(run, language).get(step)


def last_checkpoint_facts(results: Results) -> Iterator[Fact]:
    """Yield whether the adapted models beat the base model's average in the adapted language."""
    for group in results.experiment["runs"]:
        language = adapted_language(results, group)
        task = average_task(language)
        base = results.base(group)
        level = results.scores.get(base.id, 0, task, AVERAGE)
        found = []
        for run in results.group(group):
            score = results.scores.get(run.id, run.steps[-1], task, AVERAGE)
            if run.trains and score:
                found.append((method_label(run), score["value"]))
        if level and found:
            listed = ", ".join(f"{name} {100 * value:.2f}" for name, value in found)
            yield Fact(
                f"{base.label}: at the last checkpoint every adapted model beats the base model's "
                f"{language_label(language)} average",
                f"base {100 * level['value']:.2f}; {listed}",
                all(value > level["value"] for _, value in found),
            )


def all_facts(results: Results) -> list[Fact]:
    """Return every claim that this experiment has the data for."""
    return [
        *fertility_facts(results),
        *chance_facts(results),
        *first_checkpoint_facts(results),
        *last_checkpoint_facts(results),
    ]


def heldout_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of held-out bits per byte: at initialisation, first and last."""
    languages = results.heldout_languages()
    header = ["Group", "Run"]
    for language in languages:
        name = language_label(language)
        header += [f"{name}, step 0", f"{name}, first checkpoint", f"{name}, last checkpoint"]
    rows = []
    for run in results.runs:
        cells: list[str] = []
        for language in languages:
            values = results.heldout_by_language(run, language)
            steps = [0, run.steps[1], run.steps[-1]] if run.trains else [0]
            shown = [f"{values[step]:.4f}" if step in values else "–" for step in steps]
            cells += shown + ["–"] * (3 - len(shown))
        label = results.experiment["runs"][run.group]["label"]
        rows.append([label, "base model" if not run.trains else method_label(run), *cells])
    return header, rows


def training_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of tokens seen and the cost of each training (``timing.json``)."""
    header = ["Training", "Steps", "Tokens", "Seconds", "Tokens per second", "Peak memory (GB)"]
    header.append("Start-up (s)")
    folders = [("models", one) for one in sorted(results.experiment["models"])]
    folders += [("runs", run.id) for run in results.runs if run.trains]
    rows = []
    for parts in folders:
        timing = results.json(*parts, "timing.json")
        manifest = results.json(*parts, "manifest.json") or {}
        if not timing:
            continue
        rows.append(
            [
                parts[1],
                shown_number(manifest.get("steps"), 0),
                shown_number(manifest.get("tokens"), 0),
                shown_number(timing.get("seconds"), 1),
                shown_number(timing.get("tokens_per_second"), 0),
                shown_number(timing.get("peak_memory_bytes"), 2, 1e-9),
                shown_number(timing.get("startup_seconds"), 1),
            ]
        )
    return header, rows


def shown_number(value: Any, digits: int, scale: float = 1) -> str:
    """Return a number with thousands separators, or a dash."""
    if not isinstance(value, int | float):
        return "–"
    return f"{value * scale:,.{digits}f}"


def intersection_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the vocabulary intersections."""
    header = ["Source", "Target", "Source size", "Target size", "Overlap", "Missing"]
    header += ["Equal strings", "Identity"]
    keys = ("source_size", "target_size", "overlap", "missing", "raw_overlap")
    scale = results.experiment["scale"]
    at_scale = [(scale["source_tokenizer"], scale["target_tokenizer"])] if scale else []
    wanted = {*tokenizer_pairs(results), *at_scale}
    rows = []
    for path in sorted(results.root.glob("intersections/*/report.json")):
        source, _, target = path.parent.name.partition("--")
        if (source, target) not in wanted:
            continue  # of a pair that the experiment no longer names
        report = results.json(*path.relative_to(results.root).parts)
        shown = [shown_number(report.get(key), 0) for key in keys]
        rows.append([source, target, *shown, str(report.get("identity", "–"))])
    return header, rows


def scale_table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of initialisation at a real model's size (``scale/scale.csv``)."""
    rows = results.csv("scale", "scale.csv") if results.experiment["scale"] else []
    if not rows:
        return [], []
    return list(rows[0]), [[compact(value) for value in row.values()] for row in rows]


def compact(value: str) -> str:
    """Return a CSV cell shortened for reading: four significant digits, big counts separated."""
    try:
        real = float(value)
    except ValueError:
        return value
    if real.is_integer():
        return f"{int(real):,}"
    return f"{real:.4g}"
