"""`revocab adapt`: from a model and a text to an adapted model and a verdict, in one command.

It writes an experiment file and runs it as `revocab run` does; the same command goes on with that
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
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import yaml
from pydantic import AfterValidator, Field, model_validator

from revocab.closed import Closed, Id, near
from revocab.errors import RevocabError, UsageError, all_of, of_usage
from revocab.extensions import workflow_folder
from revocab.initialise.method import methods
from revocab.io import read_json, write_text
from revocab.limits import Count, Positive, Size, Tokens
from revocab.models.hub_or_folder import model_field
from revocab.product.choices import (
    FOLDER,
    STAND_IN_BYTES_PER_TOKEN,
    TABLE,
    TOGETHER,
    ExperimentFile,
    Way,
    choose,
    vocabulary_size,
)
from revocab.product.inputs import (
    STAND_IN_TOKENS,
    Source,
    Text,
    find,
    look_at,
    look_at_stand_in,
    measure_texts,
    overlaps,
    precision_for,
    training_speed,
)
from revocab.progress import silent, spoken
from revocab.verb import verb
from revocab.workflow.supervise import stoppable

if TYPE_CHECKING:
    from revocab.experiment.layout import Layout
    from revocab.product.advice.findings import Findings

FILE = "adapt.yaml"
#: Where in the output folder the generated text of a stand-in is.
WORLD = "demo-text"


def check_method(name: str) -> str:
    """Return a method's name; raise ``ValueError`` for one that reads more than model, texts and
    helper.
    """
    known = methods()
    plain = [
        method.name
        for method in known.values()
        if method.needs_helper or not (method.keeps_vocabulary or method.needs_donor)
    ]
    if name not in plain:
        what = "reads more than a model and texts" if name in known else "does not exist"
        hint = near(name, plain) or ";"
        raise ValueError(f"method {name!r} {what}{hint} allowed: {', '.join(sorted(plain))}")
    return name


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
    vocabulary: Size | None = Field(
        default=None, description="tokens of the new vocabulary; default: by the text's size"
    )
    tokens: Tokens | None = Field(default=None, description="training tokens, in place of time")
    cores: Count | None = Field(default=None, description="default: all")
    demo: bool = Field(default=False, description="train a small stand-in in place of MODEL")
    out: Path = Field(default=Path("adapted"), description="folder to write")
    method: Annotated[Id, AfterValidator(check_method)] = Field(
        default="fvt", description="how new rows are made"
    )
    helper: str | None = Field(
        default=None,
        description="model that knows the new language, for methods that read one: a folder or a"
        " Hub id",
    )
    way: Way = Field(
        default=TOGETHER,
        description="what is trained: everything together, or first new rows or embeddings alone",
    )
    minutes: Positive = Field(
        default=5, description="about so many minutes in all, training, measuring and the rest"
    )
    anyway: bool = Field(default=False, description="go on where `revocab advise` says: don't")

    @model_validator(mode="after")
    def _helped(self) -> AdaptOptions:
        needs_helper = methods()[self.method].needs_helper
        if needs_helper and self.helper is None:
            raise ValueError(
                f"method {self.method!r} needs a helper, a model that knows the new language: give"
                " --helper MODEL"
            )
        if self.helper is not None and not needs_helper:
            raise ValueError(f"method {self.method!r} reads no helper; leave out --helper")
        return self


@verb()
def adapt(
    model: str | None = model_field("model to adapt", default=None),
    *,
    options: AdaptOptions,
    words: Sequence[str],
) -> str:
    """Adapt a model to the language of a text.

    Makes a tokenizer with the text's words and rows for its new tokens, trains, and says
    whether the model is better or worse than before. With --demo in place of MODEL, a small
    stand-in is trained first, on the text of --keep or else on generated text. The experiment
    file that it writes says what was chosen, and why. After an interruption, run the same
    command again to continue.
    """
    # The number of cores decides no result.
    same = [
        word
        for before, word in zip(["", *words], words, strict=False)
        if before != "--cores" and not word.startswith("--cores")
    ]
    command = f"revocab adapt {shlex.join(same)}"
    file = options.out / FILE
    with stoppable(command):
        write_once(file, command, lambda: content(command, model, options))
        from revocab.experiment.layout import Layout
        from revocab.experiment.load import read

        layout = Layout(read(file))
        run(file, options.cores, command)
        # What the jobs' logs alone say of new rows, such as of special tokens.
        for run_id in layout.runs:
            report = options.out / layout.paths.run(run_id) / "init/diagnostics.json"
            for warning in read_json(report)["warnings"] if report.is_file() else ():
                print(f"warning: {run_id}: {warning}", file=sys.stderr)
        return verdict_of(layout, options.out)


def content(command: str, model: str | None, options: AdaptOptions) -> str:
    """Return the experiment file. What is not stated is chosen as `revocab advise` recommends it.

    Raises :class:`RevocabError` where it advises against, unless ``anyway``.
    """
    from revocab.report.template import environment

    say = spoken() if sys.stderr.isatty() else silent
    say("looking at model and texts")
    helper = None if options.helper is None else find(options.helper)[0]
    source, texts, keep = look_at_inputs(model, options)
    size = sum(text.bytes for text in texts)
    if options.vocabulary is not None:  # before the machine is timed
        tokens = None if options.anyway else options.tokens
        vocabulary_size(options.vocabulary, source.tokens, size, tokens)
    say("timing a step of training")
    precision = precision_for(source)
    choices = choose(
        source, texts, keep, vocabulary=options.vocabulary, tokens=options.tokens,
        minutes=options.minutes, speed=training_speed(source, precision, options.cores),
        precision=precision, limited=not options.anyway,
    )  # fmt: skip
    file = ExperimentFile(
        command, source.name, source.place, source.tokens, options.method, choices,
        way=options.way, helper=helper,
    )  # fmt: skip
    against: list[str] = []
    say("asking what revocab advise recommends for this budget")
    if findings := recommended(source, texts, keep, choices.trained_tokens):
        against, best = findings.against, findings.best
        if against and not options.anyway:
            raise RevocabError(
                f"not adapted, since revocab advise says: don't ({reason}); to do it all the same,"
                " add --anyway"
                for reason in against
            )
        if options.vocabulary is None:
            file = replace(
                file, choices=replace(choices, vocabulary=best.vocabulary),
                construction=best.construction, options=best.settings, reasons=findings.reasons,
            )  # fmt: skip
    values = {"stated": options.vocabulary is not None, "against": against, "bytes": size}
    template = environment(FOLDER).get_template("announced.txt.j2")
    print(template.render({**vars(file), **values}), end="", file=sys.stderr)
    return file.text()


def recommended(
    source: Source, texts: Sequence[Text], keep: Sequence[Text], tokens: int
) -> Findings | None:
    """Return what `revocab advise` finds with this budget; None of a stand-in, and, after a line
    that says why, of what it cannot advise on.
    """
    if source.folder is None:
        return None
    from revocab.product.advice.advise import GPU, AdviseOptions
    from revocab.product.advice.findings import look

    try:
        options = AdviseOptions(gpu=GPU, budget=tokens)
        return look(source, texts, keep, options, silent, brief=True)
    except RevocabError as error:
        print(f"no advice: {'; '.join(error.problems)}", file=sys.stderr)
        return None


def look_at_inputs(
    model: str | None, options: AdaptOptions
) -> tuple[Source, list[Text], list[Text]]:
    """Look at model and texts, new and to keep; those of a demo are made in the output folder.

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
        _, texts, keep = all_of(
            [
                lambda: None if model is None else find(model),
                lambda: texts_of(options.text, "it", "--text", options),
                lambda: texts_of(options.keep, "en", "--keep", options),
            ],
            problems,
        )
    if model is not None:
        return look_at(model), texts, keep
    size, needed = sum(text.bytes for text in keep), STAND_IN_TOKENS * STAND_IN_BYTES_PER_TOKEN
    if size < needed:
        raise RevocabError(
            f"--keep: {size:,} bytes in all, but the {STAND_IN_TOKENS:,} tokens of a stand-in need"
            f" {needed:,}; give more text, or leave out --keep to generate it"
        )
    return look_at_stand_in(), texts, keep


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


def write_once(file: Path, command: str, content: Callable[[], str]) -> None:
    """Write an experiment file, whose first line is the command; or go on with that one.

    Raises :class:`RevocabError` where another command wrote it or something else is in its folder,
    and for what ``content`` and :func:`validate` refuse, after which a new folder is gone again.
    """
    if not file.is_file():
        out, new = file.parent, not file.parent.exists()
        above = next((place for place in out.parents if place.exists()), None)
        if above is not None and not above.is_dir():
            raise RevocabError(f"{out}: {above} is a file, and no folder; give another --out")
        if not new and not (out.is_dir() and {entry.name for entry in out.iterdir()} <= {WORLD}):
            raise RevocabError(
                f"{out}: already exists and was not created by this command; give another --out"
            )
        try:
            text = content()
            from revocab.experiment.load import validate  # slow, and not needed for a wrong name

            validate(yaml.safe_load(text))
        except RevocabError:
            if new:  # the text of a demo may be there
                shutil.rmtree(out, ignore_errors=True)
            raise
        write_text(file, text)
    elif file.read_text(encoding="utf-8").partition("\n")[0] != f"# {command}":
        raise RevocabError(
            f"{file}: was written by another command; to run it: cd {file.parent} && revocab run"
            f" {file.name}; for this command, give another --out"
        )
    print(f"{file} says what will be done, and why", file=sys.stderr)


def run(file: Path, cores: int | None, command: str) -> None:
    """Run the experiment as `revocab run` does, its one training on all cores; ``command`` is what
    goes on after a stop.

    Raises :class:`RevocabError` if another run goes on in the folder: instead of Snakemake's lock,
    which outlives a run that is killed, a lock of the operating system, which ends with the last
    process that holds it.
    """
    from revocab.workflow.run import quiet
    from revocab.workflow.supervise import supervise

    used = str(cores or os.cpu_count() or 1)
    words = ["--configfile", file.name, "--cores", used, "--nolock"]
    words += ["--set-threads", f"adapt_model={used}"]
    snakefile = str(workflow_folder().absolute() / "Snakefile")
    call = [*quiet(words), "--snakefile", snakefile, *words]
    with (file.parent / ".running").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RevocabError(f"{file.parent}: another run goes on here; wait for it") from None
        supervise(call, file.parent, command, inherited=[lock.fileno()])


def verdict_of(layout: Layout, out: Path) -> str:
    """Return what the terminal shows at the end: the verdict, the table, what to do next.

    The verdict also stands on top of the page and of the card of the model.
    """
    from revocab.product import verdict as verdicts
    from revocab.report.template import environment

    results = out / layout.paths.results
    adapted = next(run for run in layout.runs.values() if run.trains)
    checkpoint = out / layout.checkpoint(adapted, adapted.steps[-1]).folder
    source = Path(layout.root(adapted.id).folder)
    source = source if source.is_absolute() else out / source
    target: Any = layout.experiment.tokenizers["target"].construction()[1]
    new = [*target.corpora]
    old = [name for name in layout.experiment.evaluation.heldout if name not in new]
    held = {
        name: verdicts.held_out(name, out / file)
        for name, file in zip((*new, *old), layout.corpora((*new, *old), "heldout"), strict=True)
    }
    print("comparing the model with what it was", file=sys.stderr)
    learned, others = ([held[name] for name in names] for names in (new, old))
    training = out / layout.paths.run(adapted.id)
    judged = verdicts.judge(source, checkpoint, learned, others, training, out / verdicts.FILE)
    before, after = (
        read_json(out / layout.paths.tokenizer(name) / "manifest.json")["vocabulary_size"]
        for name in ("source", "target")
    )
    lines = verdicts.lines(judged, verdicts.tokens_per_word(results, [*held]), after - before)
    values = {
        "lines": lines, "page": verdicts.write_page(results, lines),
        "model": verdicts.write_model(checkpoint, out, lines), "source": source, "out": out,
        "table": (results / "tables" / f"{TABLE}.md").read_text(encoding="utf-8").strip(),
        "file": FILE, "text": f"{new[0]}={held[new[0]].path}",
    }  # fmt: skip
    return environment(FOLDER).get_template("adapted.txt.j2").render(values)
