"""`revocab adapt`: from a model and a text to an adapted model, in one command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from revocab.adapting.choices import TOGETHER, Way
from revocab.adapting.experiment_file import TABLE, Asked, experiment_text
from revocab.adapting.from_texts import (
    Start,
    TextOptions,
    choose_for,
    look_at_inputs,
    read_words,
    run,
    write_once,
)
from revocab.config.load import read
from revocab.io import read_json
from revocab.limits import Positive
from revocab.plan.plan import Plan

FILE = "adapt.yaml"
ABOUT = """Adapt a model to the language of a text: revocab adapt MODEL --text it=FILE

Makes a tokenizer with the text's words and rows for its new tokens, trains, and writes a page with
what changed. MODEL is a folder or a Hub id; with --demo instead, a small stand-in is trained first,
on the text of --keep or else on generated text. The experiment file that it writes says what was
chosen, and why. After an interruption, run the same command again to continue."""


class AdaptOptions(TextOptions):
    """The flags of `revocab adapt`."""

    out: Path = Field(default=Path("adapted"), description="folder to write")
    method: Start = Field(default="fvt", description="how new rows are made")
    way: Way = Field(
        default=TOGETHER,
        description="what is trained: everything together, or first new rows or embeddings alone",
    )
    minutes: Positive = Field(default=5, description="about so many minutes of training")


def adapt(words: Sequence[str]) -> str:
    """Return what was made, after making it; or raise :class:`RevocabError`."""
    model, options, command = read_words(words, AdaptOptions, "revocab adapt", ABOUT)
    file = options.out / FILE

    def content() -> str:
        inputs = look_at_inputs(model, options, options.out)
        choices = choose_for(inputs, options, options.minutes)
        name, place = inputs.source.name, inputs.place
        return experiment_text(
            Asked(command, name, place, options.method, choices, way=options.way)
        )

    write_once(file, command, content)
    plan = Plan(read(file))
    run(file, options.cores)
    tell_warnings(plan, options.out)
    return told(plan, options.out)


def tell_warnings(plan: Plan, out: Path) -> None:
    """Say on stderr what the jobs' logs alone say of new rows, such as of special tokens."""
    for run_id in plan.runs:
        report = out / plan.paths.run(run_id) / "init/diagnostics.json"
        for warning in read_json(report)["warnings"] if report.is_file() else ():
            print(f"warning: {run_id}: {warning}", file=sys.stderr)


def told(plan: Plan, out: Path) -> str:
    """Return what the terminal shows at the end: the table, and what to do next."""
    results = out / plan.paths.results
    adapted = next(run for run in plan.runs.values() if run.trains)
    model = out / plan.checkpoint(adapted, adapted.steps[-1]).path
    source = Path(plan.root(adapted.id).path)
    source = source if source.is_absolute() else out / source
    new = next(iter(plan.experiment.tokenizers["target"].extend.corpora))
    table = (results / "tables" / f"{TABLE}.md").read_text(encoding="utf-8").strip()
    heldout = out / plan.heldout_text(new).path
    return "\n".join(
        [
            "",
            table,
            "",
            f"page     {results / 'report.html'}",
            f"model    {model}",
            f"compare  revocab compare {source} {model} --text {new}={heldout}",
            f"ship     revocab export {model} --to gguf {out / 'gguf'}, for llama.cpp and Ollama",
            f"go on    edit {out / FILE}: remove the # before 'more:' to train longer; then",
            f"         cd {out} && revocab run {FILE}",
        ]
    )
