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
from revocab.command_line import flag_of
from revocab.errors import RevocabError, all_of
from revocab.io import write_text
from revocab.limits import Size
from revocab.verb import read, verb

TEMPLATES = Path(__file__).parent / "templates"
#: The experiments of the papers.
PAPERS = {name: f"config/{name}.yaml" for name in ("sava", "lep", "vocadt", "bilingual")}
#: What `starts` compares besides the method that is asked for.
STARTS = ("fvt", "mean", "random")
#: Most steps of each of its trainings, a multiple of 4.
TRIAL_STEPS = 100


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


@verb()
def new(
    file: Path | None = Field(
        default=None, description="file to write; default: experiment.yaml, or prompt.yaml"
    ),
    *,
    options: NewOptions,
    words: Sequence[str],
) -> str:
    """Write a small experiment file, or a task's prompt.

    --template own adapts a model by one method; starts trains several starts with three seeds
    beside the old vocabulary, and ranks them; papers is laid over the experiment of a paper. On
    a terminal it asks for what no flag says.
    """
    file = file or Path("prompt.yaml" if options.task else "experiment.yaml")
    if file.suffix not in (".yaml", ".yml"):
        raise RevocabError(f"{file}: give a name that ends in .yaml")
    if file.exists():
        raise RevocabError(f"{file}: already exists; give another name, or remove it")
    if options.paper and (options.task or options.template != "papers"):
        raise RevocabError("--paper: is for --template papers; give it, or leave out --paper")
    own = not options.task and options.template != "papers"
    missing = [key for key in ASKED if not getattr(options, key)]
    if not own and len(missing) < len(ASKED):
        what = "a prompt" if options.task else "the template papers"
        ignored = [key for key in ASKED if key not in missing]
        raise RevocabError(f"{flag_of(key)}: not for {what}; leave it out" for key in ignored)
    if own and missing and sys.stdin.isatty():
        answers = {key: input(f"{about(key)}: ").split() for key in missing}
        more = [word for key, said in answers.items() if said for word in (flag_of(key), *said)]
        options = read(new, "revocab new", [*words, *more]).arguments.options
        missing = [key for key in ASKED if not getattr(options, key)]
    if own and missing:
        raise RevocabError(f"{flag_of(key)}: required ({about(key)})" for key in missing)

    name = re.sub(r"[^a-z0-9]+", "-", file.stem.lower()).strip("-") or "mine"
    values = {"file": str(file), "name": name}
    if options.task:
        write_text(file, rendered("task", name=file.stem, folder=str(file.parent)))
        return f"{file}: a prompt; how it is used stands in it"
    from revocab.experiment import validate
    from revocab.experiment.load import overlaid, read_values

    paper = Path(PAPERS[options.paper or "sava"])
    if own:
        base: dict[str, Any] = {}
        template = "starts" if options.template == "starts" else "experiment"
        content = rendered(template, **values, **filled(options))
    elif paper.is_file():
        base = read_values(paper)
        listed = {key: [*base[key]] for key in ("models", "recipes")}
        content = rendered("papers", **values, paper=str(paper), **listed)
    else:
        raise RevocabError(f"--paper: no {paper} in this folder; run it in a clone of Revocab")
    validate(overlaid(base, yaml.safe_load(content)))
    write_text(file, content)
    files = file if own else f"{paper} {file}"
    return f"{file}: look at it, then: revocab run {files}"


def about(key: str) -> str | None:
    return NewOptions.model_fields[key].description


def filled(options: NewOptions) -> dict[str, Any]:
    """Return what the template of an experiment names.

    Raises :class:`RevocabError` for a model, text or vocabulary that no experiment can be made of.
    """
    from revocab.costs.devices import BYTES_PER_TOKEN
    from revocab.languages import language_label
    from revocab.product import choices
    from revocab.product.inputs import LONGEST_ROW, look_at, measure_texts

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
    steps = max(
        choices.FEWEST_STEPS, sum(sizes.values()) // BYTES_PER_TOKEN // (row * choices.ROWS)
    )
    return {
        "options": options,
        "texts": texts,
        "title": f"{label} {does} {', '.join(map(language_label, sizes))}",
        "label": label,
        "starts": [*dict.fromkeys([options.method, *STARTS])],
        "ids": f"[{', '.join(sizes)}]",
        "shares": choices.flow(choices.shares(sizes)),
        "place": choices.flow(place),
        "model": choices.flow({"tokenizer": "source", **place}),
        "row": row,
        "rows": choices.ROWS,
        # about one pass over the text; of large ones a part
        "steps": min(choices.MANY_STEPS, steps) // 2 * 2,
        "trial": min(TRIAL_STEPS, steps) // 4 * 4,
        "language_label": language_label,
        "heldout_bytes": choices.heldout_bytes,
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
