"""What commands that make and run an experiment from a model and texts share.

They write an experiment file and run it as `revocab run` does; the same command goes on with that
file, whatever stopped the first one.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

import yaml
from pydantic import AfterValidator, Field

from revocab.adapting.choices import Choices, check_stand_in_text, choose, vocabulary_size
from revocab.adapting.source import Source, find, look_at, look_at_stand_in
from revocab.adapting.texts import Text, measure_texts, overlaps
from revocab.closed import Closed, Id, near
from revocab.command import options_of
from revocab.errors import RevocabError, UsageError, all_of, of_usage
from revocab.flags import leading
from revocab.initialise.method import methods
from revocab.io import write_text
from revocab.limits import Count, Size, Tokens
from revocab.progress import silent
from revocab.workflow.files import workflow_folder

AnyOptions = TypeVar("AnyOptions", bound="TextOptions")


def check_start(name: str) -> str:
    """Return a method's name; raise ``ValueError`` for one that reads more than model and texts."""
    known = methods()
    starts = [
        method.name
        for method in known.values()
        if not (method.keeps_vocabulary or method.needs_helper or method.needs_donor)
    ]
    if name not in starts:
        what = "reads more than a model and texts" if name in known else "does not exist"
        hint = near(name, starts) or ";"
        raise ValueError(f"method {name!r} {what}{hint} allowed: {', '.join(sorted(starts))}")
    return name


def needs_helper(name: str) -> bool:
    return methods()[name].needs_helper


def check_method(name: str) -> str:
    """Return a method's name as :func:`check_start` does, or that of one that reads a helper."""
    return name if name in methods() and needs_helper(name) else check_start(name)


#: A method that needs nothing but the model and the texts.
Start = Annotated[Id, AfterValidator(check_start)]
#: The optimizer's share of a training step's time.
OPTIMIZER_SHARE = 0.2
#: Where in the output folder the generated text of a stand-in is.
WORLD = "demo-text"


class TextOptions(Closed):
    """Flags of a command that makes an experiment; each has its own ``out`` and ``minutes``."""

    text: dict[str, Path] = Field(
        default_factory=dict,
        description="text of the new language, by its code: a file (.txt, .jsonl, .parquet, also"
        " .gz) or a folder of such files",
    )
    keep: dict[str, Path] = Field(
        default_factory=dict, description="text of a language that the model should not forget"
    )
    vocabulary: Size | None = Field(
        default=None, description="tokens of the new vocabulary; default: by the text's size"
    )
    tokens: Tokens | None = Field(default=None, description="training tokens, in place of time")
    cores: Count | None = Field(default=None, description="default: all")
    demo: bool = Field(default=False, description="train a small stand-in in place of MODEL")


@dataclass(frozen=True)
class Inputs:
    """The model and the texts that a command names, looked at."""

    #: The model's folder or Hub id, as the keys ``path`` or ``hub``; None for a stand-in.
    place: dict[str, str] | None
    source: Source
    texts: list[Text]
    keep: list[Text]
    #: With the model's configuration and tokenizer; None for a stand-in.
    folder: Path | None = None


def read_words(
    words: Sequence[str], options: type[AnyOptions], verb: str, about: str
) -> tuple[str | None, AnyOptions, str]:
    """Return the model if one is named, the options, and the command that gives the same again."""
    named, flags = leading(words, 1)
    try:
        stated = options_of(options, f"{verb} MODEL", about, flags)
    except RevocabError as error:
        if named or "--demo" in flags:
            raise
        missing = f"MODEL comes first: {verb} MODEL --text it=FILE; or give --demo"
        raise UsageError([missing, *error.problems]) from None
    command = f"{verb} {shlex.join(without_cores(words))}"
    return next(iter(named), None), stated, command


def without_cores(words: Sequence[str]) -> list[str]:
    """Return the words that decide a result: the number of cores does not."""
    before = ["", *words]
    return [
        word
        for flag, word in zip(before, words, strict=False)
        if flag != "--cores" and not word.startswith("--cores")
    ]


def write_once(file: Path, command: str, content: Callable[[], str]) -> None:
    """Write an experiment file, whose first line is the command; or go on with that one.

    Raises :class:`RevocabError` where another command wrote it or something else is in its folder,
    and for what ``content`` and :func:`validate` refuse, after which a new folder is gone again.
    """
    if not file.is_file():
        check_free(file.parent)
        new = not file.parent.exists()
        try:
            text = content()
            from revocab.config.load import validate  # slow, and not needed for a wrong name

            validate(yaml.safe_load(text))
        except RevocabError:
            if new:  # the text of a demo may be there
                shutil.rmtree(file.parent, ignore_errors=True)
            raise
        write_text(file, text)
    elif file.read_text(encoding="utf-8").partition("\n")[0] != f"# {command}":
        raise RevocabError(
            f"{file}: was written by another command; to run it: cd {file.parent} && revocab run"
            f" {file.name}; for this command, give another --out"
        )
    print(f"{file} says what will be done, and why", file=sys.stderr)


def check_free(out: Path) -> None:
    above = next((place for place in out.parents if place.exists()), None)
    if above is not None and not above.is_dir():
        raise RevocabError(f"{out}: {above} is a file, and no folder; give another --out")
    if out.exists() and not (out.is_dir() and {entry.name for entry in out.iterdir()} <= {WORLD}):
        raise RevocabError(
            f"{out}: already exists and was not created by this command; give another --out"
        )


def look_at_inputs(model: str | None, options: TextOptions, out: Path) -> Inputs:
    """Look at model and texts; those of a demo are made in ``out``.

    Raises :class:`RevocabError` with all problems.
    """
    problems = []
    if options.demo == (model is not None):
        problems.append("give either MODEL, a folder or Hub id, or --demo")
    if not options.text and not options.demo:
        problems.append("--text: no text; give it by its language, such as --text it=italian.txt")
    problems += overlaps(options.text, options.keep, "--text")
    if problems and options.demo:  # whose text would have to be made
        raise UsageError(problems)
    # What needs no library comes first: a wrong name is told at once.
    with of_usage() if problems else nullcontext():
        found, texts, keep = all_of(
            [
                lambda: None if model is None else find(model),
                lambda: texts_of(options.text, "it", "--text", options, out),
                lambda: texts_of(options.keep, "en", "--keep", options, out),
            ],
            problems,
        )
    if model is None:
        check_stand_in_text(keep)
        return Inputs(*look_at_stand_in(), texts, keep)
    place, source = look_at(model)
    return Inputs(place, source, texts, keep, found[1])


def texts_of(
    files: dict[str, Path], usual: str, flag: str, options: TextOptions, out: Path
) -> list[Text]:
    """Return what the texts hold; of a demo without any the generated text of its world."""
    if files or not options.demo:
        return measure_texts(files, flag)
    from revocab.demoworld.build import WorldOptions, write_world

    world = out / WORLD
    if not (world / "manifest.json").is_file():
        sizes = {"documents": 2000, "parallel": 20, "questions": 20, "items": 4}
        write_world(world, WorldOptions(**sizes))
    return measure_texts({usual: world / f"documents.{usual}.jsonl.gz"}, flag)


def precision_for(source: Source) -> str:
    """Return bfloat16 where the model is stored in it and the device has products of it.

    On a CPU these are AMX's: without them bfloat16 is slower than float32.
    """
    import torch

    if source.stored != "bfloat16":
        return "float32"
    if torch.cuda.is_available():
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    return "bfloat16" if has_amx() else "float32"


def has_amx(file: Path = Path("/proc/cpuinfo")) -> bool:
    return (
        file.is_file() and "amx_bf16" in file.read_text(encoding="utf-8", errors="replace").split()
    )


def training_speed(source: Source, precision: str, cores: int | None) -> float:
    """Return the training tokens per second of this machine, from a step of two layers timed here;
    the optimizer takes about a fifth of the time.
    """
    import torch

    from revocab.advice.measured import measure_speed

    threads = torch.get_num_threads()
    torch.set_num_threads(cores or os.cpu_count() or 1)
    try:
        flops, _ = measure_speed(source.config, source.row, silent, precision)
    finally:
        torch.set_num_threads(threads)
    return (1 - OPTIMIZER_SHARE) * flops / (6 * source.parameters)


def choose_for(
    inputs: Inputs, options: TextOptions, minutes: float, *, limited: bool = True
) -> Choices:
    source = inputs.source
    if options.vocabulary is not None:  # before the machine is timed
        size = sum(text.bytes for text in inputs.texts)
        vocabulary_size(
            options.vocabulary, source.tokens, size, options.tokens if limited else None
        )
    precision = precision_for(source)
    return choose(
        source,
        inputs.texts,
        inputs.keep,
        vocabulary=options.vocabulary,
        tokens=options.tokens,
        minutes=minutes,
        speed=training_speed(source, precision, options.cores),
        precision=precision,
        limited=limited,
    )


def run(file: Path, cores: int | None, command: str, *, alone: bool = False) -> None:
    """Run the experiment as `revocab run` does; ``command`` is what goes on after a stop.

    ``alone``: it has one training, which gets all cores. Raises :class:`RevocabError` if another
    run goes on in the folder: instead of Snakemake's lock, which outlives a run that is killed, a
    lock of the operating system, which ends with the last process that holds it.
    """
    from revocab.workflow.run import quiet
    from revocab.workflow.supervise import supervise

    used = str(cores or os.cpu_count() or 1)
    words = ["--configfile", file.name, "--cores", used, "--nolock"]
    words += ["--set-threads", f"adapt_model={used}"] if alone else []
    given = [*quiet(words), "--snakefile", str(workflow_folder().absolute() / "Snakefile"), *words]
    with (file.parent / ".running").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RevocabError(f"{file.parent}: another run goes on here; wait for it") from None
        supervise(given, file.parent, command, inherited=[lock.fileno()])
