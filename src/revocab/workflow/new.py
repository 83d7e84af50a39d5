"""``revocab new``: a small experiment file, or a task's prompt, to begin with and to change."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.flags import Parser
from revocab.io import write_text

TEMPLATES = Path(__file__).parent / "templates"
#: What is asked for on a terminal where no flag says it.
QUESTIONS = {
    "model": "base model, a folder or a Hub id such as HuggingFaceTB/SmolLM2-135M",
    "text": "texts by language, such as it=italian.txt en=english.jsonl",
    "vocabulary": "tokens of the new vocabulary, more than the model has",
}


def new(words: Sequence[str]) -> str:
    """Write the file that the words ask for, and return what it plans and the command that runs it.

    Raises :class:`RevocabError`, and writes nothing, where an answer is missing or the experiment
    would not be valid.
    """
    options = parser().parse_args(words)
    file = options.file or Path("prompt.yaml" if options.task else "experiment.yaml")
    if file.exists():
        raise RevocabError(f"{file}: already exists; give another name, or remove it")
    if options.task:
        write_text(file, rendered("task", name=file.stem, folder=str(file.parent)))
        return f"{file}: a prompt; how it is used stands in it"
    answers = {key: getattr(options, key) or asked(key, about) for key, about in QUESTIONS.items()}
    if missing := [key for key, value in answers.items() if not value]:
        raise RevocabError(f"--{key}: required ({QUESTIONS[key]})" for key in missing)
    write_text(file, rendered("experiment", **filled(file, options.method, **answers)))
    try:
        jobs = planned_jobs(file)
    except RevocabError:
        file.unlink()
        raise
    return f"{file}: {jobs} jobs; look at it, then: revocab run {file}"


def parser() -> Parser:
    made = Parser(prog="revocab new", description=__doc__)
    made.add_argument("file", nargs="?", type=Path, help="file to write (default: experiment.yaml)")
    made.add_argument("--model", metavar="MODEL", help=QUESTIONS["model"])
    made.add_argument("--text", nargs="+", metavar="LANGUAGE=PATH", help=QUESTIONS["text"])
    made.add_argument("--vocabulary", metavar="N", help=QUESTIONS["vocabulary"])
    made.add_argument("--method", default="fvt", metavar="NAME", help="initialisation of new rows")
    made.add_argument(
        "--task", action=argparse.BooleanOptionalAction, help="write a multiple-choice prompt"
    )
    return made


def asked(key: str, about: str) -> Any:
    """Return the answer of whoever sits at the terminal, None where nobody does."""
    if not sys.stdin.isatty():
        return None
    answer = input(f"{about}: ").strip()
    return answer.split() if key == "text" else answer


def filled(
    file: Path, method: str, model: str, text: Sequence[str], vocabulary: str
) -> dict[str, Any]:
    """Return what the template of an experiment names.

    Raises :class:`RevocabError` for a file or text that is none.
    """
    from revocab.adapting import choices
    from revocab.adapting.experiment_file import flow
    from revocab.adapting.source import LONGEST_ROW
    from revocab.languages import language_label
    from revocab.plan.show import pairs

    paths = {language: Path(path) for language, path in pairs(text).items()}
    missing = [path for path in paths.values() if not path.exists()]
    problems = [f"--text {path}: no such file or folder" for path in missing]
    if not vocabulary.isdecimal():
        problems.append(f"--vocabulary {vocabulary}: expected a number of tokens")
    if problems:
        raise RevocabError(problems)
    sizes = {language: bytes_of(path) for language, path in paths.items()}
    name = re.sub(r"[^a-z0-9]+", "-", file.stem.lower()).strip("-") or "mine"
    label = Path(model).name.partition("@")[0]
    tokens = sum(sizes.values()) // choices.BYTES_PER_TOKEN
    steps = max(choices.FEWEST_STEPS, tokens // (LONGEST_ROW * choices.ROWS))
    place = place_of(model)
    return {
        "file": str(file),
        "name": name,
        "title": f"{label} adapted to {', '.join(map(language_label, paths))}",
        "label": label,
        "method": method,
        "vocabulary": vocabulary,
        "texts": [
            {
                "language": language,
                "path": str(path),
                "heldout": choices.heldout_bytes(sizes[language]),
            }
            for language, path in paths.items()
        ],
        "ids": f"[{', '.join(paths)}]",
        "shares": flow(choices.shares(sizes)),
        "place": flow(place),
        "model": flow({"tokenizer": "source", **place}),
        "row": LONGEST_ROW,
        "rows": choices.ROWS,
        # about one pass over the text; of large ones a part
        "steps": min(choices.MANY_STEPS, steps) // 2 * 2,
    }


def place_of(model: str) -> dict[str, str]:
    if Path(model).exists():
        return {"path": model}
    hub, _, revision = model.partition("@")
    return {"hub": hub, **({"revision": revision} if revision else {})}


def bytes_of(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def rendered(template: str, **values: Any) -> str:
    from jinja2 import Environment, StrictUndefined

    text = (TEMPLATES / f"{template}.yaml.j2").read_text(encoding="utf-8")
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    return environment.from_string(text).render(values)


def planned_jobs(file: Path) -> int:
    """Return how many jobs an experiment plans; raise :class:`RevocabError` if it is not valid."""
    from revocab.config import read
    from revocab.plan import Plan

    return len(Plan(read(file)).needed_jobs())
