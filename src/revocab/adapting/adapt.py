"""`revocab adapt`: from a model and a text to an adapted model, in one command.

It writes an experiment file and runs it as `revocab run` does; the same command goes on with that
file, whatever stopped the first one.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field

from revocab.adapting.choices import check_stand_in_text, choose
from revocab.adapting.experiment_file import (
    SAMPLES,
    TABLE,
    Asked,
    experiment_text,
)
from revocab.adapting.source import look_at, look_at_stand_in
from revocab.adapting.texts import Text, measure_texts, shared_text
from revocab.closed import Closed, Id
from revocab.command import of_flags
from revocab.config.load import read, validate
from revocab.errors import RevocabError, ending
from revocab.flags import leading, values_of
from revocab.io import read_json, write_text
from revocab.limits import Count, Positive, Size, Tokens
from revocab.plan.plan import Plan
from revocab.report.table_parts.table import Table

FILE = "adapt.yaml"
#: Where in the output folder the generated text of a stand-in is.
WORLD = "demo-text"
ABOUT = """Adapt a model to the language of a text: revocab adapt MODEL --text it=FILE

Makes a tokenizer with the text's words and rows for its new tokens, trains, and writes a page with
what changed. MODEL is a folder or a Hub id; with --demo instead, a small stand-in is trained first,
on the text of --keep or else on generated text. The experiment file that it writes says what was
chosen, and why. After an interruption, run the same command again to continue."""


class AdaptOptions(Closed):
    """The flags of `revocab adapt`."""

    text: dict[str, Path] = Field(
        default_factory=dict,
        description="text of the new language, by its code: a file (.txt, .jsonl, .parquet, also"
        " .gz) or a folder of such files",
    )
    keep: dict[str, Path] = Field(
        default_factory=dict, description="text of a language that the model should not forget"
    )
    out: Path = Field(default=Path("adapted"), description="folder to write")
    method: Id = Field(default="fvt", description="how new rows are made")
    vocabulary: Size | None = Field(
        default=None, description="tokens of the new vocabulary; default: by the text's size"
    )
    minutes: Positive = Field(default=5, description="about so many minutes of training")
    tokens: Tokens | None = Field(default=None, description="training tokens, in place of time")
    cores: Count | None = Field(default=None, description="default: all")
    demo: bool = Field(default=False, description="train a small stand-in in place of MODEL")


def adapt(words: Sequence[str]) -> str:
    """Return what was made, after making it; or raise :class:`RevocabError`."""
    named, flags = leading(words, 1)
    try:
        values = values_of([AdaptOptions], "revocab adapt MODEL", ABOUT, flags)
        options = of_flags(AdaptOptions, values)
    except RevocabError as error:
        if named or "--demo" in flags:
            raise
        missing = "MODEL comes first: revocab adapt MODEL --text it=FILE; or give --demo"
        raise RevocabError([missing, *error.problems]) from None
    file = options.out / FILE
    command = shlex.join(["revocab", "adapt", *without_cores(words)])
    if not file.is_file():
        check_free(options.out)
        with nothing_left(options.out):
            asked = ask(named[0] if named else None, options, command)
            content = experiment_text(asked)
            validate(yaml.safe_load(content))
        write_text(file, content)
    elif file.read_text(encoding="utf-8").partition("\n")[0] != f"# {command}":
        raise RevocabError(
            f"{file}: was written by another command; to run it: cd {options.out} && revocab run"
            f" {FILE}; for this command, give another --out"
        )
    plan = Plan(read(file))
    print(f"{file} says what will be done, and why", file=sys.stderr)
    run(options)
    return told(plan, options.out)


def without_cores(words: Sequence[str]) -> list[str]:
    """Return the words that decide a result: the number of cores does not."""
    before = ["", *words]
    return [
        word
        for flag, word in zip(before, words, strict=False)
        if flag != "--cores" and not word.startswith("--cores")
    ]


def check_free(out: Path) -> None:
    if out.exists() and not (out.is_dir() and {entry.name for entry in out.iterdir()} <= {WORLD}):
        raise RevocabError(
            f"{out}: already exists and was not created by this command; give another --out"
        )


@contextmanager
def nothing_left(out: Path) -> Iterator[None]:
    """Remove what was made in a new folder if the command is refused: the text of a demo."""
    new = not out.exists()
    try:
        yield
    except RevocabError:
        if new and out.exists():
            shutil.rmtree(out)
        raise


def ask(model: str | None, options: AdaptOptions, command: str) -> Asked:
    """Look at model and text, and choose the rest.

    Raises :class:`RevocabError` with all problems.
    """
    problems = []
    if options.demo == (model is not None):
        problems.append("give either MODEL, a folder or Hub id, or --demo")
    if not options.text and not options.demo:
        problems.append("--text: no text; give it by its language, such as --text it=italian.txt")
    twice = sorted(options.keep.keys() & options.text.keys())
    problems += [f"--keep {name}=…: is also a language of --text; give each once" for name in twice]
    if not twice:
        problems += shared_text([*options.text.items(), *options.keep.items()])
    if problems:
        raise RevocabError(problems)
    looked_at: list[Any] = []
    for look in (
        lambda: look_at_stand_in() if model is None else look_at(model),
        lambda: texts_of(options.text, "it", "--text", options),
        lambda: texts_of(options.keep, "en", "--keep", options),
    ):
        try:
            looked_at.append(look())
        except RevocabError as error:
            problems += error.problems
    if problems:
        raise RevocabError(problems)
    (place, source), texts, keep = looked_at
    if model is None:
        check_stand_in_text(keep)
    choices = choose(source, texts, keep, options, flops())
    return Asked(command, source.name, place, options.method, choices)


def texts_of(files: dict[str, Path], usual: str, flag: str, options: AdaptOptions) -> list[Text]:
    """Return what the texts hold; of a demo without any the generated text of its world."""
    if files or not options.demo:
        return measure_texts(files, flag)
    from revocab.demoworld.build import WorldOptions, write_world

    world = options.out / WORLD
    if not (world / "manifest.json").is_file():
        sizes = {"documents": 2000, "parallel": 20, "questions": 20, "items": 4}
        write_world(world, WorldOptions(**sizes))
    return measure_texts({usual: world / f"documents.{usual}.jsonl.gz"}, flag)


def flops() -> float:
    """Return the operations per second of this device, in the precision of training."""
    import torch

    from revocab.training.machine.costs import measured_peak

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return measured_peak(device, torch.float32)[0]


def run(options: AdaptOptions) -> None:
    """Run the experiment as `revocab run` does; raise :class:`RevocabError` if it stops early."""
    cores = str(options.cores or os.cpu_count() or 1)
    words = ["-m", "revocab", "run", "--configfile", FILE, "--cores", cores]
    done = subprocess.run([sys.executable, *words], cwd=options.out, check=False)
    if done.returncode:
        raise RevocabError(
            f"{options.out}: the run stopped ({ending(done.returncode)}); the messages above name"
            f" the failed job's log (under {options.out}); run the same command again to continue"
        )


def told(plan: Plan, out: Path) -> str:
    """Return what the terminal shows at the end: the table, samples, and what to do next."""
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
            *samples(results),
            "",
            f"page     {results / 'report.html'}",
            f"model    {model}",
            f"compare  revocab compare {source} {model} --text {new}={heldout}",
            f"ship     revocab export {model} --to gguf {out / 'gguf'}, for llama.cpp and Ollama",
            f"go on    edit {out / FILE}: remove the # before 'more:' to train longer; then",
            f"         cd {out} && revocab run {FILE}",
        ]
    )


def samples(results: Path) -> Iterator[str]:
    """Yield the beginning of each text, in old and in new tokens, a line each."""
    table = Table.from_data(read_json(results / "tables" / f"{SAMPLES}.json"))
    for corpus, row in table.rows_in_blocks():
        tokenizer, tokens, cut = row.cells
        yield f"{corpus}, {tokenizer.text}, {tokens.number()} tokens  {cut.text}"
