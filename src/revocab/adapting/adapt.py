"""`revocab adapt`: from a model and a text to an adapted model and a verdict, in one command."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from revocab.adapting.choices import TOGETHER, Choices, Way
from revocab.adapting.experiment_file import TABLE, Asked, experiment_text
from revocab.adapting.from_texts import (
    Inputs,
    TextOptions,
    check_method,
    choose_for,
    look_at_inputs,
    needs_helper,
    read_words,
    run,
    write_once,
)
from revocab.adapting.source import find
from revocab.closed import Id
from revocab.errors import RevocabError
from revocab.io import read_json
from revocab.languages import language_label
from revocab.limits import Positive
from revocab.progress import Say, silent, spoken
from revocab.workflow.supervise import stoppable

if TYPE_CHECKING:
    from revocab.advice.findings import Findings
    from revocab.plan.plan import Plan

FILE = "adapt.yaml"
ABOUT = """Adapt a model to the language of a text: revocab adapt MODEL --text it=FILE

Makes a tokenizer with the text's words and rows for its new tokens, trains, and says whether the
model is better or worse than before. MODEL is a folder or a Hub id; with --demo instead, a small
stand-in is trained first, on the text of --keep or else on generated text. The experiment file that
it writes says what was chosen, and why. After an interruption, run the same command again to
continue."""


class AdaptOptions(TextOptions):
    """The flags of `revocab adapt`."""

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
        if needs_helper(self.method) and self.helper is None:
            raise ValueError(
                f"method {self.method!r} needs a helper, a model that knows the new language: give"
                " --helper MODEL"
            )
        if self.helper is not None and not needs_helper(self.method):
            raise ValueError(f"method {self.method!r} reads no helper; leave out --helper")
        return self


def adapt(words: Sequence[str]) -> str:
    """Return what was made, after making it; or raise :class:`RevocabError`."""
    model, options, command = read_words(words, AdaptOptions, "revocab adapt", ABOUT)
    file = options.out / FILE
    say = spoken() if sys.stderr.isatty() else silent

    def content() -> str:
        say("looking at model and texts")
        helper = None if options.helper is None else find(options.helper)[0]
        inputs = look_at_inputs(model, options, options.out)
        asked = asked_of(command, inputs, options, helper, say)
        return experiment_text(asked)

    with stoppable(command):
        write_once(file, command, content)
        from revocab.config.load import read
        from revocab.plan.plan import Plan

        plan = Plan(read(file))
        run(file, options.cores, command, alone=True)
        tell_warnings(plan, options.out)
        return told(plan, options)


def asked_of(
    command: str,
    inputs: Inputs,
    options: AdaptOptions,
    helper: dict[str, str] | None,
    say: Say,
) -> Asked:
    """Choose what is not stated, as `revocab advise` recommends it, and say so.

    Raises :class:`RevocabError` where it advises against, unless ``anyway``.
    """
    say("timing a step of training")
    choices = choose_for(inputs, options, options.minutes, limited=not options.anyway)
    construction, settings, reasons = "extend", {}, []
    against: list[str] = []
    say("asking what revocab advise recommends for this budget")
    findings = advice_of(inputs, choices.trained_tokens)
    if findings is not None:
        from revocab.advice.advise import settings_of

        against, best = findings.advice.against, findings.facts.best
        if against and not options.anyway:
            raise RevocabError(
                f"not adapted, since revocab advise says: don't ({reason}); to do it all the same,"
                " add --anyway"
                for reason in against
            )
        if options.vocabulary is None:
            construction, settings = best.construction, settings_of(best)
            reasons = findings.advice.reasons
            choices = replace(choices, vocabulary=best.vocabulary)
    asked = Asked(
        command, inputs.source.name, inputs.place, options.method, choices, way=options.way,
        construction=construction, options=settings, reasons=reasons, helper=helper,
        before=inputs.source.tokens,
    )  # fmt: skip
    for line in announced(asked, inputs, against, stated=options.vocabulary is not None):
        print(line, file=sys.stderr)
    return asked


def advice_of(inputs: Inputs, tokens: int) -> Findings | None:
    """Return what `revocab advise` finds with this budget; None of a stand-in, and, after a line
    that says why, of what it cannot advise on.
    """
    if inputs.folder is None:
        return None
    from revocab.advice.advise import recommended

    try:
        return recommended(inputs, tokens, silent)
    except RevocabError as error:
        print(f"no advice: {'; '.join(error.problems)}", file=sys.stderr)
        return None


def announced(
    asked: Asked, inputs: Inputs, against: Sequence[str], *, stated: bool
) -> Iterator[str]:
    """Yield what will be done, and why; the size of the vocabulary has a reason unless ``stated``
    by the user.
    """
    choices: Choices = asked.choices
    new = choices.vocabulary - inputs.source.tokens
    languages = ", ".join(language_label(text.language) for text in inputs.texts)
    size = sum(text.bytes for text in inputs.texts)
    yield f"{asked.name} for {languages}, {size / 1e6:.1f} MB of text"
    added = f"{new:+,} of {inputs.source.tokens:,}"
    yield f"  vocabulary  {choices.vocabulary:,} tokens ({added}; {asked.construction})"
    if not stated:
        yield "              as many as text and training can teach"
    trained = f"{choices.trained_tokens:,} tokens in {choices.steps} steps, {choices.precision}"
    yield f"  training    {trained}, new rows by {asked.method}"
    yield f"  held out    at most {choices.heldout / 1000:.0f} kB of each text"
    minutes = max(1, round(choices.minutes))
    yield f"  time        about {minutes} minute{'s' * (minutes > 1)} in all"
    for reason in against:
        yield f"  warning     advised against: {reason}"
    if not inputs.keep:
        yield "  warning     no --keep: nothing measures or trains what it is to remember"


def tell_warnings(plan: Plan, out: Path) -> None:
    """Say on stderr what the jobs' logs alone say of new rows, such as of special tokens."""
    for run_id in plan.runs:
        report = out / plan.paths.run(run_id) / "init/diagnostics.json"
        for warning in read_json(report)["warnings"] if report.is_file() else ():
            print(f"warning: {run_id}: {warning}", file=sys.stderr)


def told(plan: Plan, options: AdaptOptions) -> str:
    """Return what the terminal shows at the end: the verdict, the table, what to do next.

    The verdict also stands on top of the page and of the card of the model.
    """
    from revocab.adapting import verdict as verdicts

    out = options.out
    results = out / plan.paths.results
    adapted = next(run for run in plan.runs.values() if run.trains)
    checkpoint = out / plan.checkpoint(adapted, adapted.steps[-1]).path
    source = Path(plan.root(adapted.id).path)
    source = source if source.is_absolute() else out / source
    made: Any = plan.experiment.tokenizers["target"].construction()[1]
    new = [*made.corpora]
    old = [name for name in plan.experiment.evaluation.heldout if name not in new]
    held = {
        name: verdicts.held_out(name, out / plan.heldout_text(name).path) for name in (*new, *old)
    }
    print("comparing the model with what it was", file=sys.stderr)
    judged = verdicts.judge(
        source,
        checkpoint,
        [held[name] for name in new],
        [held[name] for name in old],
        out / plan.paths.run(adapted.id),
        out / verdicts.FILE,
    )
    sizes = [
        read_json(out / plan.paths.tokenizer(name) / "manifest.json")["vocabulary_size"]
        for name in ("source", "target")
    ]
    said = [
        *verdicts.lines(judged, verdicts.tokens_per_word(results, [*held]), sizes[1] - sizes[0])
    ]
    page, model = verdicts.write_page(results, said), verdicts.write_model(checkpoint, out, said)
    table = (results / "tables" / f"{TABLE}.md").read_text(encoding="utf-8").strip()
    return "\n".join(
        [
            "",
            *said,
            "",
            table,
            "",
            f"page     {page}",
            f"model    {model}",
            f"compare  revocab compare {source} {model} --text {new[0]}={held[new[0]].path}",
            f"ship     revocab export {model} --to gguf {out / 'gguf'}, for llama.cpp and Ollama",
            f"go on    edit {out / FILE}: remove the # before 'more:' to train longer; then",
            f"         cd {out} && revocab run {FILE}",
        ]
    )
