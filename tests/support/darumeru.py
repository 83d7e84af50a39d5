"""Small stand-ins of Darumeru's data sets, laid out as released, and answerers that know or guess.

Rows are as docs/papers.md (section 3) describes them; the texts are made up.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import hub_content
import yaml
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM

from revocab.evaluation.multiple_choice import tasks
from revocab.evaluation.multiple_choice.scoring import Scorer
from revocab.evaluation.options import Scoring

Row = dict[str, Any]
SHOTS = 5
#: Options of each configuration with prompts of its own, and the fields that fill its prompt.
OPTIONS = {
    "rummlu": ("ABCD", ("text", "option_a", "option_b", "option_c", "option_d")),
    "parus": ("12", ("premise", "choice1", "choice2")),
    "rcb": ("123", ("premise", "hypothesis")),
    "ruopenbookqa": ("ABCD", ("text", "option_a", "option_b", "option_c", "option_d")),
    "ruworldtree": ("ABCD", ("question", "option_a", "option_b", "option_c", "option_d")),
    "rwsd": (("Да", "Нет"), ("text", "span1_text", "span2_text")),
}
#: Template and language of each task; all but RuCoLA are in one data set.
TASKS = {f"darumeru_{name}": ("ru", f"darumeru_{name}") for name in OPTIONS}
TASKS |= {f"darumeru_mmlu_{side}": (side, "darumeru_mmlu") for side in ("ru", "en")}
TASKS |= {"darumeru_rucola": ("ru", "darumeru_rucola")}


def row(name: str, split: str, number: int, answered: bool) -> Row:
    """Return a row whose prompt is filled from its inputs; ``answered`` ends with the answer."""
    options, fields = OPTIONS[name]
    answer = options[(number * 7) % len(options)]
    prompt = "Задание.\n" + "\n".join(f"{{{field}}}" for field in fields)
    return {
        "messages": [
            {"role": "user", "content": prompt},
            {"role": "bot", "content": f"Ответ: {answer}" if answered else "Ответ:"},
        ],
        "inputs": {field: f"{split} {number} {field}" for field in fields},
        "outputs": answer,
        "meta": {"id": number, "domain": "abc"[number % 3]},
    }


def subjects() -> list[str]:
    template = yaml.safe_load((tasks.TEMPLATES / "darumeru_mmlu.yaml").read_text(encoding="utf-8"))
    categories = template["metadata"]["measure"]["categories"]
    return [subject for members in categories.values() for subject in members]


def mmlu_rows(split: str, each: int) -> list[Row]:
    return [
        {
            "subject": subject,
            **{f"question_{side}": f"{split} {subject} {i} {side}?" for side in ("ru", "en")},
            **{f"choices_{side}": [f"{side}{n}" for n in range(4)] for side in ("ru", "en")},
            "answer": i % 4,
        }
        for subject in subjects()
        for i in range(each + (split == "test" and subject == "virology"))
    ]


def write_rucola(folder: Path) -> None:
    (folder / "data").mkdir(parents=True)
    for name, count in (("in_domain_train", 40), ("in_domain_dev", 60), ("out_of_domain_dev", 60)):
        with (folder / f"data/{name}.csv").open("w", encoding="utf-8", newline="") as handle:
            out = csv.writer(handle)
            out.writerow(["id", "sentence", "acceptable", "error_type", "detailed_source"])
            out.writerows([i, f"{name}, {i}.", i % 2, "0", "x"] for i in range(count))


def write_data(root: Path, items: int) -> Path:
    configs = {
        name: {
            "test": [row(name, "test", i, False) for i in range(items)],
            "prompt": [row(name, "prompt", i, True) for i in range(SHOTS + 1)],
        }
        for name in OPTIONS
    }
    configs["mmlu_nlpcoreteam"] = {"test": mmlu_rows("test", 4), "dev": mmlu_rows("dev", SHOTS)}
    hub_content.data_set(root / "darumeru", configs)
    write_rucola(root / "rucola")
    return root


def write_tasks(root: Path, folder: Path) -> list[Path]:
    paths = []
    for name, (language, template) in TASKS.items():
        file = tasks.TEMPLATES / f"{template}.yaml"
        config = tasks.build_task(name, file, language=language)
        place = root / config["dataset_path"].split("/")[1]
        path = folder / f"{name}.yaml"
        tasks.write_task(path, {**config, "dataset_path": str(place)})
        paths.append(path)
    return paths


class Answerer(LM):
    """Says of each item which choice it takes, by the instances of its choices."""

    truncated = 0

    def __init__(self, choose: Callable[[list[Instance]], int]):
        super().__init__()
        self.choose = choose
        self.asked: list[list[Instance]] = []

    def loglikelihood(self, requests: list[Instance], **_: Any) -> list[tuple[float, bool]]:
        items: dict[tuple[str, int], list[Instance]] = {}
        for one in requests:
            items.setdefault((one.task_name, one.doc_id), []).append(one)
        chosen = {key: self.choose(choices) for key, choices in items.items()}
        self.asked += items.values()
        return [
            (0.0 if one.idx == chosen[one.task_name, one.doc_id] else -1.0, True)
            for one in requests
        ]

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        raise AssertionError("choice tasks ask for the likelihood of continuations alone")

    def generate_until(self, requests: list[Instance]) -> list[str]:
        raise AssertionError("choice tasks ask for the likelihood of continuations alone")


def gold(choices: list[Instance]) -> int:
    """Return the right choice of an item, read from its row and not through the template."""
    doc = choices[0].doc
    if "acceptable" in doc:
        return int(doc["acceptable"])
    if "answer" in doc:
        return int(doc["answer"])
    options = [one.args[1].strip() for one in choices]
    right = options.index(doc["outputs"])
    return 1 - right if doc.get("swapped") else right


def right(choices: list[Instance]) -> int:
    return gold(choices)


def wrong(choices: list[Instance]) -> int:
    return (gold(choices) + 1) % len(choices)


def guesses(seed: int) -> Callable[[list[Instance]], int]:
    drawn = random.Random(seed)
    return lambda choices: drawn.randrange(len(choices))


@cache
def loaded(paths: tuple[Path, ...], **options: Any) -> Scorer:
    """Return the tasks, loaded once for all answerers that are asked in the same way."""
    return Scorer(paths, Scoring(**options))


def score(paths: Sequence[Path], answerer: Answerer, **options: Any) -> dict[str, dict[str, Row]]:
    scorer = loaded(tuple(paths), **options)
    return {
        name: {one["metric"]: one for one in scorer.score(answerer, name)} for name in scorer.paths
    }
