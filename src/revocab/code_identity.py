"""What the commands compute from as they stand: the files behind each, and their hashes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from revocab.imports import Modules, digest

#: The command of a rule that has another name.
COMMANDS = {
    "adapt_model": "train_model",
    "pack_heldout_answers": "pack_heldout",
    "pretrain_stand_in": "train_model",
    "write_settings": "write_experiment",
}
METHODS, TABLES = "initialise/methods", "report/tables"
PROBE_KINDS = "evaluation/probes/kinds"
ENGINES, GENERATION_KINDS = "evaluation/inference/engines", "evaluation/generation/kinds"
JUDGES = "answering/judges"
#: Folders whose modules a command finds at run time.
FOUND = {
    "build_tokenizer": ("tokenizer_building/constructions",),
    "change_model": ("models/changes",),
    "init_embeddings": (METHODS,),
    "measure_scale": (METHODS,),
    "build_probe": (PROBE_KINDS,),
    "score_multiple_choice": (ENGINES,),
    "measure_efficiency": (ENGINES,),
    "build_prompts": (GENERATION_KINDS,),
    "generate_text": (GENERATION_KINDS, ENGINES),
    "score_comet": (GENERATION_KINDS,),
    "answer_prompts": (ENGINES,),
    "judge_answers": (JUDGES, ENGINES),
    "compare_runs": (GENERATION_KINDS,),
    "write_experiment": (METHODS,),
    "make_tables": (TABLES, METHODS, GENERATION_KINDS),
    "make_figures": ("report/figures", METHODS),
    "check_artefacts": (TABLES, GENERATION_KINDS),
    "build_report": (TABLES, "report/figures", "report/claims", METHODS, GENERATION_KINDS),
}
#: Commands that draw, or show how methods are called.
SHOWS = frozenset({"make_tables", "make_figures", "build_report"})


@cache
def modules() -> Modules:
    """Return the modules of the package that runs."""
    return Modules(Path(__file__).parent)


@cache
def code_of(command: str) -> dict[str, str]:
    """Return the hash of every file that a command computes from, by its name in the package."""
    found = [name for folder in FOUND.get(command, ()) for name in modules().below(folder)]
    return modules().code([f"commands/{command}.py", *found], shows=command in SHOWS)


def identity(code: Mapping[str, str]) -> str:
    """Return one hash of what :func:`code_of` returns."""
    return digest("\n".join(f"{name} {code[name]}" for name in sorted(code)))


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the files that differ, or that only one of two codes has."""
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
