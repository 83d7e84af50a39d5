"""A change makes a model of another one, its body: folder in, folder out, tensor by tensor.

Those in ``changes/`` are found. Config validation imports this, so nothing here or at the top of a
change's file imports torch.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Discriminator, Tag

from revocab.closed import Closed, Id, Job, ModelId, OfKinds, RunStep
from revocab.extensions import found_in
from revocab.io import write_json, write_text
from revocab.models import origin
from revocab.models.folder import (
    ModelFolder,
    check_tokenizer_folder,
    copy_documents,
    write_weights,
)
from revocab.models.load import check_model
from revocab.models.weights import Part
from revocab.output import OutputFolder
from revocab.progress import Say, silent

#: How an experiment names what a model is made of: a model, or a checkpoint of a run.
#: ``Plan.referred`` says where it lies.
ModelReference = Annotated[
    Annotated[ModelId, Tag("model")] | Annotated[RunStep, Tag("checkpoint")],
    Discriminator(lambda value: "model" if isinstance(value, str) else "checkpoint"),
]


class ChangeOptions(Closed):
    """Base of a change's options: closed, so a misspelt option is an error."""

    def blocks_after(self, blocks: int) -> int:
        """Return how many blocks a body of so many blocks has after the change.

        Raises :class:`RevocabError` where such a body cannot be changed so.
        """
        return blocks


class ChangeJob(ChangeOptions, OfKinds, Job):
    """A change with its options."""

    named_by: ClassVar[str] = "change"
    change: Id

    @classmethod
    def kinds(cls) -> dict[str, Change]:
        return changes()


@dataclass(frozen=True)
class Changed:
    """What becomes of the body. Documents and tokenizer stay its own, and so do other files."""

    #: Tensors of the weight files that are written anew, by file.
    files: dict[str, list[Part]]
    config: dict[str, Any]
    #: What the manifest says of the change.
    facts: dict[str, Any] = field(default_factory=dict)
    #: What its user should know, a sentence each: printed at once, and in the model card.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """One way to make a model of another; ``apply(body, options)`` reads headers only.

    The body is whole and finite.
    """

    name: str
    summary: str
    citation: str
    options: type[ChangeOptions]
    apply: Callable[[ModelFolder, Any], Changed]


@cache
def changes() -> dict[str, Change]:
    from revocab.models import changes as package

    return found_in(package, "CHANGE")


def change_model(job: ChangeJob, model: Path, out: Path, say: Say = silent) -> None:
    """Write ``out``: the folder ``model``, its body, changed as ``job`` says.

    Shards, dtypes, tying, tokenizer and documents but the card are the body's; ``config.json`` has
    what the change sets. ``manifest.json``, written last, says what it was made of. Raises
    :class:`RevocabError`, before anything is written, for all that
    :func:`revocab.models.load.check_model` refuses.
    """
    output = OutputFolder(out, "changed model", [model])
    change = changes()[job.change]
    say(f"reading {model}")
    check_model(model)
    check_tokenizer_folder(model)
    body = ModelFolder(model)
    say(f"{change.name}: {change.summary}")
    changed = change.apply(body, job)
    options = job.model_dump(mode="json", exclude={"change"}, exclude_none=True)
    for note in changed.notes:
        say(note)
    facts = {
        "change": change.name,
        "options": options,
        **changed.facts,
        "body": {"name": origin.name_of(body.path), **origin.fingerprint(body, body.path)},
        "libraries": origin.library_versions(),
    }
    base = origin.base_id(model)
    spelled = json.dumps(options, ensure_ascii=False)
    described = {"change": change, "options": spelled, "notes": changed.notes}
    head = {"base_model": [base] if base else [], "tags": ["revocab"]}
    card = origin.card("changed", model, described, head)
    with output.replaced() as folder:
        copy_documents(body, folder, ("config.json", "README.md"))
        write_json(folder / "config.json", changed.config)
        write_weights(body, changed.files, folder, progress=say is not silent)
        write_text(folder / "README.md", card)
        _ = ModelFolder(folder).tensors  # raises unless files and index hold what they say
        write_json(folder / "manifest.json", facts)
    say("done")
