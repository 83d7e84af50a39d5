"""``revocab new``: a small experiment file, or a task's prompt, to begin with and to change."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field

from revocab.closed import Closed, Id, OneLine
from revocab.command import options_of
from revocab.errors import RevocabError, all_of
from revocab.flags import flag_of
from revocab.io import write_text
from revocab.limits import Size

TEMPLATES = Path(__file__).parent / "templates"
#: The experiments of the papers.
PAPERS = {
    "sava": "config/sava.yaml",
    "lep": "config/lep.yaml",
    "vocadt": "config/vocadt.yaml",
    "bilingual": "config/bilingual.yaml",
}
#: What `starts` compares besides the method that is asked for.
STARTS = ("fvt", "mean", "random")
#: Most steps of each of its trainings, a multiple of 4.
TRIAL_STEPS = 100
ABOUT = """Write a small experiment file, or a task's prompt: revocab new FILE.yaml

--template own adapts a model by one method; starts trains several starts with three seeds beside
the old vocabulary, and ranks them; papers is laid over the experiment of a paper. On a terminal it
asks for what no flag says. Default FILE: experiment.yaml, or prompt.yaml."""


class NewOptions(Closed):
    """The flags of `revocab new`."""

    model: OneLine | None = Field(
        default=None,
        description="base model, a folder or a Hub id such as HuggingFaceTB/SmolLM2-135M",
    )
    text: dict[str, Path] = Field(
        default_factory=dict,
        description="texts by language, such as it=italian.txt en=english.jsonl",
    )
    vocabulary: Size | None = Field(
        default=None, description="tokens of the new vocabulary, more than the model has"
    )
    method: Id = Field(default="fvt", description="how new rows are made")
    template: Literal["own", "starts", "papers"] = Field(
        default="own", description="what the file does"
    )
    paper: Literal["sava", "lep", "vocadt", "bilingual"] | None = Field(
        default=None, description="of the template papers: which one (default: sava)"
    )
    task: bool = Field(default=False, description="write a multiple-choice prompt instead")


#: What is asked for on a terminal where no flag says it.
ASKED = ("model", "text", "vocabulary")


def new(words: Sequence[str]) -> str:
    """Write the file that the words ask for, and return what it plans and the command that runs it.

    Raises :class:`RevocabError`, and writes nothing, where an answer is missing or the experiment
    would not be valid.
    """
    named = [*words[:1]] if words and not words[0].startswith("-") else []
    flags = [*words[len(named) :]]
    options = read(flags)
    file = Path(named[0] if named else "prompt.yaml" if options.task else "experiment.yaml")
    if file.suffix not in (".yaml", ".yml"):
        raise RevocabError(f"{file}: give a name that ends in .yaml")
    if file.exists():
        raise RevocabError(f"{file}: already exists; give another name, or remove it")
    if options.paper and (options.task or options.template != "papers"):
        raise RevocabError("--paper: is for --template papers; give it, or leave out --paper")
    if options.task or options.template == "papers":
        what = "a prompt" if options.task else "the template papers"
        if ignored := [key for key in ASKED if getattr(options, key)]:
            raise RevocabError(f"{flag_of(key)}: not for {what}; leave it out" for key in ignored)
    if options.task:
        write_text(file, rendered("task", name=file.stem, folder=str(file.parent)))
        return f"{file}: a prompt; how it is used stands in it"
    if options.template == "papers":
        return write_overlay(file, Path(PAPERS[options.paper or "sava"]))
    missing = [key for key in ASKED if not getattr(options, key)]
    if sys.stdin.isatty():
        options = read([*flags, *(word for key in missing for word in answer(key))])
        missing = [key for key in ASKED if not getattr(options, key)]
    if missing:
        raise RevocabError(f"{flag_of(key)}: required ({about(key)})" for key in missing)
    from revocab.config import validate

    template = "starts" if options.template == "starts" else "experiment"
    content = rendered(template, **filled(file, options))
    validate(yaml.safe_load(content))
    write_text(file, content)
    return f"{file}: look at it, then: revocab run {file}"


def write_overlay(file: Path, paper: Path) -> str:
    """Write what is laid over a paper's experiment, after planning both.

    Raises :class:`RevocabError` where the paper's file is not here.
    """
    from revocab.config import validate
    from revocab.config.load import overlaid, read_values

    if not paper.is_file():
        raise RevocabError(f"--paper: no {paper} in this folder; run it in a clone of Revocab")
    stated = read_values(paper)
    listed = {key: [*stated[key]] for key in ("models", "recipes")}
    content = rendered("papers", file=str(file), name=name_of(file), paper=str(paper), **listed)
    validate(overlaid(stated, yaml.safe_load(content)))
    write_text(file, content)
    return f"{file}: look at it, then: revocab run {paper} {file}"


def name_of(file: Path) -> str:
    """Return an experiment's id, made of the file's name."""
    return re.sub(r"[^a-z0-9]+", "-", file.stem.lower()).strip("-") or "mine"


def read(flags: Sequence[str]) -> NewOptions:
    return options_of(NewOptions, "revocab new FILE.yaml", ABOUT, flags)


def about(key: str) -> str | None:
    return NewOptions.model_fields[key].description


def answer(key: str) -> list[str]:
    """Return the flag that says what whoever sits at the terminal answers; none for no answer."""
    words = input(f"{about(key)}: ").split()
    return [flag_of(key), *words] if words else []


def filled(file: Path, options: NewOptions) -> dict[str, Any]:
    """Return what the template of an experiment names.

    Raises :class:`RevocabError` for a model, text or vocabulary that no experiment can be made of.
    """
    from revocab.adapting import choices
    from revocab.adapting.experiment_file import flow
    from revocab.adapting.source import LONGEST_ROW, look_at
    from revocab.adapting.texts import measure_texts
    from revocab.costs.devices import BYTES_PER_TOKEN
    from revocab.languages import language_label

    model = str(options.model)
    place, source, texts = all_of(
        [
            lambda: place_of(model),
            lambda: look_at(model) if Path(model).exists() else None,
            lambda: measure_texts(options.text, "--text"),
        ]
    )
    sizes = choices.bytes_by_language(texts)
    row = LONGEST_ROW
    if source is not None:
        choices.vocabulary_size(options.vocabulary, source.tokens, sum(sizes.values()))
        row = source.row
    label = Path(model).name.partition("@")[0]
    does = "with several starts in" if options.template == "starts" else "adapted to"
    tokens = sum(sizes.values()) // BYTES_PER_TOKEN
    steps = max(choices.FEWEST_STEPS, tokens // (row * choices.ROWS))
    return {
        "file": str(file),
        "name": name_of(file),
        "title": f"{label} {does} {', '.join(map(language_label, sizes))}",
        "label": label,
        "method": options.method,
        "starts": [*dict.fromkeys([options.method, *STARTS])],
        "vocabulary": options.vocabulary,
        "texts": [
            {
                "language": text.language,
                "label": language_label(text.language),
                "path": str(options.text[text.language]),
                "heldout": choices.heldout_bytes(text.bytes),
                "by_line": text.by_line,
            }
            for text in texts
        ],
        "ids": f"[{', '.join(sizes)}]",
        "shares": flow(choices.shares(sizes)),
        "place": flow(place),
        "model": flow({"tokenizer": "source", **place}),
        "row": row,
        "rows": choices.ROWS,
        # about one pass over the text; of large ones a part
        "steps": min(choices.MANY_STEPS, steps) // 2 * 2,
        "trial": min(TRIAL_STEPS, steps) // 4 * 4,
    }


def place_of(model: str) -> dict[str, str]:
    """Return where an experiment finds a model and its tokenizer.

    Of the Hub nothing is asked. Raises :class:`RevocabError` for what is neither a folder nor an
    id.
    """
    from revocab.models.hub_or_folder import REPOSITORY

    if Path(model).exists():
        return {"path": model}
    if not REPOSITORY.fullmatch(model):
        raise RevocabError(f"--model {model}: no such folder, and no Hub id (owner/name); give one")
    hub, _, revision = model.partition("@")
    return {"hub": hub, **({"revision": revision} if revision else {})}


def rendered(template: str, **values: Any) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    return environment.get_template(f"{template}.yaml.j2").render(values)
