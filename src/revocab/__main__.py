"""The command ``revocab``: verbs by hand, and the commands of the workflow's rules."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import takewhile
from pathlib import Path

from revocab.errors import UsageError

#: What people run by hand, and the command behind it. Every other command goes by its own name.
VERBS = {
    "fetch": "fetch_model",
    "init": "init_embeddings",
    "change": "change_model",
    "tokenizer": "build_tokenizer",
    "intersect": "intersect_vocabularies",
    "fertility": "measure_fertility",
    "prepare": "prepare_corpus",
    "pack": "pack_tokens",
    "train": "train_model",
    "task": "build_task",
    "score": "score_multiple_choice",
    "generate": "generate_text",
    "answer": "answer_prompts",
    "judge": "judge_answers",
    "report": "build_report",
}
#: What a user begins with: a function of the words, and the line of the help.
BEGUN = {
    "adapt": ("revocab.adapting.adapt.adapt", "adapt a model to a text, in one command"),
    "advise": (
        "revocab.advice.advise.advise",
        "say whether a new vocabulary is worth it, and which",
    ),
    "trim": ("revocab.adapting.trim.trim", "drop tokens that some languages do not need"),
    "compare": ("revocab.adapting.compare.compare", "tell which of two models is better on a text"),
    "check": ("revocab.model_check.check.check", "say what is wrong with a model, and mend a copy"),
    "verify": (
        "revocab.verify.verify.verify",
        "tell whether a model gives the same tokens, text and logits in every runtime",
    ),
    "export": ("revocab.export.export.export", "write a model for llama.cpp, Ollama and others"),
    "new": ("revocab.workflow.new.new", "write a small experiment file, or a task's prompt"),
}
#: What says something of an experiment: a function of the words, and the line of the help.
PLANNED = {
    "run": ("revocab.workflow.run.run", "run an experiment: FILE.yaml [--cores N]"),
    "plan": (
        "revocab.workflow.plan.plan",
        "print what an experiment costs before it runs: FILE.yaml",
    ),
}
#: What the first page shows; the rest is behind ``revocab help steps``.
GROUPS = {
    "start": ("adapt", "advise", "trim", "compare", "new"),
    "ship": ("check", "export", "verify"),
    "step by step": ("prepare", "tokenizer", "init", "pack", "train", "score", "generate"),
    "experiment": ("run", "plan"),
}
COMMANDS = Path(__file__).parent / "commands"


def command_files() -> dict[str, Path]:
    """Return the file of each command, by its name; some files have a rule for another's."""
    files = sorted(COMMANDS.glob("*.py"))
    return {path.stem: path for path in files if "\nCOMMAND = " in path.read_text("utf-8")}


def summary(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n", maxsplit=1)[0]


def brief(path: Path) -> str:
    """Return a command's summary as far as its first break, as a line among others."""
    text = re.split(r"[:;(]", summary(path))[0].strip().rstrip(".")
    return text[0].lower() + text[1:]


def first_page() -> str:
    files, verbs = command_files(), BEGUN | PLANNED
    lines = ["usage: revocab VERB [flags]", "       revocab help VERB", ""]
    for group, names in GROUPS.items():
        lines.append(f"{group}:")
        for name in names:
            about = verbs[name][1] if name in verbs else brief(files[VERBS[name]])
            lines.append(f"  {name:<12}{about}")
        lines.append("")
    return "\n".join([*lines, "revocab help steps lists every step of an experiment"])


def steps_page() -> str:
    """Return what the workflow's rules run, each a verb by hand."""
    files = command_files()
    rest = [name for name in files if name not in VERBS.values()]
    lines = ["usage: revocab STEP [flags]", "", "steps, one for each rule of the workflow:"]
    lines += [f"  {verb:<22}{brief(files[name])}" for verb, name in VERBS.items()]
    return "\n".join([*lines, *(f"  {name:<22}{brief(files[name])}" for name in rest)])


def main(words: Sequence[str] | None = None) -> None:
    from revocab.cli import legible

    words = sys.argv[1:] if words is None else list(words)
    if words[:1] == ["help"] and words[1:]:
        words = ["help", "steps"] if words[1] == "steps" else [words[1], "--help"]
    if words == ["help", "steps"]:
        print(steps_page())
        return
    if not words or words[0] in ("-h", "--help", "help"):
        print(first_page())
        return
    if words[0] in ("-V", "--version"):
        from revocab import __version__

        print(f"revocab {__version__}")
        return
    with legible():
        dispatch(words[0], words[1:])


def with_experiment(words: Sequence[str]) -> list[str]:
    files = list(takewhile(lambda word: word.endswith((".yaml", ".yml")), words))
    rest = list(words[len(files) :])
    end = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:end], "--configfile", *files, *rest[end:]] if files else rest


def dispatch(verb: str, words: Sequence[str]) -> None:
    """Run one verb with its flags; raise :class:`UsageError` for a verb that there is not."""
    from revocab.cli import call
    from revocab.closed import near
    from revocab.extensions import use_that_of

    if verb in BEGUN or verb in PLANNED:
        module, _, function = (BEGUN | PLANNED)[verb][0].rpartition(".")
        if verb in PLANNED:
            words = with_experiment(words)
            use_that_of(words)
        print(getattr(import_module(module), function)(words))
        return
    name = VERBS.get(verb, verb)
    if name not in command_files():
        known = [*BEGUN, *VERBS, *PLANNED, *command_files()]
        raise UsageError(f"{verb!r}: no such verb; see revocab --help{near(verb, known)}")
    call(import_module(f"revocab.commands.{name}").COMMAND, words, f"revocab {verb}")


if __name__ == "__main__":
    from revocab.workflow import warm

    warm.run(main)
