"""The command ``revocab``: verbs by hand, and the steps that are rules of the workflow."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from revocab.errors import UsageError

if TYPE_CHECKING:
    from revocab.verb import Verb

#: What people call steps by hand. Every other step goes by its own name (:mod:`revocab.verbs`).
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
    "adapt": ("product.adapt.adapt", "adapt a model to a text, in one command"),
    "advise": (
        "product.advice.advise.advise",
        "say whether a new vocabulary is worth it, and which",
    ),
    "trim": ("product.trim.trim", "drop tokens that some languages do not need"),
    "compare": ("product.compare.compare", "tell which of two models is better on a text"),
    "check": ("product.check.check.check", "say what is wrong with a model, and mend a copy"),
    "verify": (
        "product.verify.verify.verify",
        "tell whether a model gives the same tokens, text and logits in every runtime",
    ),
    "export": ("product.export.export.export", "write a model for llama.cpp, Ollama and others"),
    "new": ("workflow.new.new", "write a small experiment file, or a task's prompt"),
}
#: What says something of an experiment: a function of the words, and the line of the help.
PLANNED = {
    "run": ("workflow.run.run", "run an experiment: FILE.yaml [--cores N]"),
    "plan": ("workflow.plan.plan", "print what an experiment costs before it runs: FILE.yaml"),
}
#: What the first page shows; the rest is behind ``revocab help steps``.
GROUPS = {
    "start": ("adapt", "advise", "trim", "compare", "new"),
    "ship": ("check", "export", "verify"),
    "step by step": ("prepare", "tokenizer", "init", "pack", "train", "score", "generate"),
    "experiment": ("run", "plan"),
}


def main(words: Sequence[str] | None = None) -> None:
    from revocab.cli import legible

    words = sys.argv[1:] if words is None else list(words)
    if find_spec("torch") is None:  # transformers advises to install it; tokenizers need none
        os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    if words[:1] == ["help"] and words[1:]:
        words = words if words[1:] == ["steps"] else [*words[1:], "--help"]
    with legible(" ".join(["revocab", *words[:1]])):
        if not words or words[0] in ("-h", "--help", "help"):
            print_page(steps=words[1:] == ["steps"])
        elif words[0] in ("-V", "--version"):
            from revocab import __version__

            print(f"revocab {__version__}")
        else:
            dispatch(words[0], words[1:])
        sys.stdout.flush()


def print_page(*, steps: bool) -> None:
    """Print the verbs by group; or the steps, one for each rule of the workflow."""
    from revocab.verbs import places

    names = {name: verb for verb, name in VERBS.items()}
    about = {names.get(name, name): place.summary for name, place in places().items()}
    groups = {"steps, one for each rule of the workflow": about}
    if not steps:
        about = about | {verb: line for verb, (_, line) in (BEGUN | PLANNED).items()}
        groups = {group: {verb: about[verb] for verb in verbs} for group, verbs in GROUPS.items()}
    print("usage: revocab VERB [flags]\n       revocab help VERB")
    for group, lines in groups.items():
        print(f"\n{group}:")
        for verb, line in lines.items():
            brief = re.split(r"[:;(]", line)[0].strip().rstrip(".")
            print(f"  {verb:<20}{brief[0].lower()}{brief[1:]}")
    if not steps:
        print("\nrevocab help steps lists every step of an experiment")


def with_experiment(words: Sequence[str]) -> list[str]:
    """Return the words of ``run`` and ``plan`` with the files that come first as their flag."""
    files = list(takewhile(lambda word: word.endswith((".yaml", ".yml")), words))
    rest = list(words[len(files) :])
    end = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:end], "--configfile", *files, *rest[end:]] if files else rest


def dispatch(verb: str, words: Sequence[str]) -> None:
    """Run one verb with its flags; raise :class:`UsageError` for a verb that there is not."""
    from revocab.cli import call
    from revocab.closed import near
    from revocab.extensions import use_that_of
    from revocab.verbs import places

    if verb in BEGUN:
        print(verb_of(verb)(words))
    elif verb in PLANNED:
        words = with_experiment(words)
        use_that_of(words)
        print(function_of(PLANNED[verb][0])(words))
    elif VERBS.get(verb, verb) in places():
        call(verb_of(verb), words, f"revocab {verb}")
    else:
        known = [*BEGUN, *VERBS, *PLANNED, *places()]
        raise UsageError(f"{verb!r}: no such verb; see revocab --help{near(verb, known)}")


def verb_of(name: str) -> Verb:
    """Return a verb by the name that people call it by, or that of its rule."""
    from revocab.verbs import find

    return function_of(BEGUN[name][0]) if name in BEGUN else find(VERBS.get(name, name))


def function_of(place: str) -> Any:
    module, _, function = place.rpartition(".")
    return getattr(import_module(f"revocab.{module}"), function)


if __name__ == "__main__":
    from revocab.workflow import warm

    warm.run(main)
