"""The data sets of Darumeru for the Hub's cache: a few rows of each task.

Files, fields, roles and splits as docs/papers.md (section 3) has them; the contents say nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import darumeru
import hub_content

from revocab.io import write_jsonl

Row = dict[str, Any]
#: Rows of the two splits; those of the second are answered.
COUNTS = {"test": 4, "prompt": darumeru.SHOTS + 1}
#: Words of a text that is copied.
COPIES = {"cp_sent": 4, "cp_para": 9}


def asked(inputs: dict[str, str], outputs: Any, answer: str, meta: Row) -> Row:
    """Return a row whose question is filled from its inputs, and answered if ``answer`` is said."""
    return {
        "messages": [
            {"role": "user", "content": "\n".join(f"{{{name}}}" for name in inputs) + "\n"},
            {"role": "bot", "content": f"Ответ: {answer}".strip()},
        ],
        "inputs": inputs,
        "outputs": outputs,
        "meta": meta,
    }


def question(text: str, number: int, answered: bool) -> Row:
    """Return a row of MultiQ, whose answers are segments of the text: its first word, and all."""
    right = text.split(maxsplit=1)[0]
    inputs = {"support_text": text, "text": text, "question": "Кто?"}
    outputs = [{"segment": right}, {"segment": text}]
    return asked(inputs, outputs, right if answered else "", {"id": number})


def exam(text: str, number: int, answered: bool) -> Row:
    """Return a row of USE; three types of questions make a variant."""
    kinds = (
        ("matching", "1,2", "1"),
        ("text", text.split(maxsplit=1)[0], "2"),
        ("choice", "1,3", "16"),
    )
    kind, right, place = kinds[number % 3]
    meta = {"id": number, "id_task": place, "type": kind, "variant": number // 3, "score": 1}
    return asked({"text": text}, right, right if answered else "", meta)


def copied(text: str, number: int, answered: bool) -> Row:
    return asked({"text": text}, text, text if answered else "", {"id": number})


def splits(make: Callable[[str, int, bool], Row], texts: list[str]) -> dict[str, list[Row]]:
    return {
        split: [make(text, place, split == "prompt") for place, text in enumerate(texts[:count])]
        for split, count in COUNTS.items()
    }


def cut(texts: list[str], words: int) -> list[str]:
    """Return the beginnings of texts: five examples in bytes have to fit."""
    return [" ".join(text.split()[:words]) for text in texts]


def tasks(texts: dict[str, list[str]]) -> dict[str, dict[str, list[Row]]]:
    made = {
        name: {
            split: [darumeru.row(name, split, place, split == "prompt") for place in range(count)]
            for split, count in COUNTS.items()
        }
        for name in darumeru.OPTIONS
    }
    short = cut(texts["ru"], 4)
    made |= {"multiq": splits(question, short), "use": splits(exam, short)}
    for name, words in COPIES.items():
        for language, whole in texts.items():
            made[f"{name}_{language}"] = splits(copied, cut(whole, words))
    each = {"test": 1, "dev": darumeru.SHOTS}
    made["mmlu_nlpcoreteam"] = {split: darumeru.mmlu_rows(split, n) for split, n in each.items()}
    return made


def summaries(texts: list[str]) -> list[Row]:
    words = [text.split() for text in texts]
    parts = [[" ".join(one[n : n + 3]) + "." for n in (0, 3, 6)] for one in words]
    return [
        {"src_sents": one, "summary_sents": one[:1], "extractive_summary": [0, 2][: number % 2 + 1]}
        for number, one in enumerate(parts)
    ]


def write_data_sets(
    sets: Path, texts: dict[str, list[str]], summarised: int = COUNTS["test"]
) -> None:
    """Write all of them below the folder of a Hub's data sets; so many texts are summarised."""
    main, made = sets / "RefalMachine/darumeru/main", tasks(texts)
    paths = {one: {split: f"data/{one}/{split}.jsonl" for split in made[one]} for one in made}
    hub_content.card(main, paths)
    for task, rows in made.items():
        for split, path in paths[task].items():
            write_jsonl(main / path, rows[split])
    counts = COUNTS | {"test": summarised}
    rows = {split: summaries(texts["ru"][:count]) for split, count in counts.items()}
    hub_content.data_set(sets / "dichspace/daru_treeway_eval/main", {"default": rows})
    script = sets / "RussianNLP/rucola/main/rucola.py"
    darumeru.write_rucola(script.parent)
    script.write_text("raise SystemExit('never run')\n", encoding="utf-8")
