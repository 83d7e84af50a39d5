"""Make a model from other models: folders in, folder out, tensor by tensor."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from revocab.closed import checked
from revocab.errors import RevocabError, refuse
from revocab.io import write_json, write_text
from revocab.models import origin
from revocab.models.change import (
    Change,
    Changed,
    ChangeInputs,
    ChangeJob,
    ChangeOptions,
    find_change,
    reference_name,
)
from revocab.models.folder import ModelFolder, check_tokenizer_folder, copy_documents
from revocab.models.load import check_model
from revocab.models.write import write_weights
from revocab.output import OutputFolder
from revocab.progress import Say, silent
from revocab.tokenizers.golden_ids import keep_golden_ids

#: Files of the body that are written anew.
_OWN = ("config.json", "README.md")


def change_model(
    job: ChangeJob, model: Path, others: Mapping[str, Path], out: Path, say: Say = silent
) -> None:
    """Write ``out``: the folder ``model``, its body, changed as ``job`` says.

    ``others`` are the models that the options name. Shards, dtypes and tying are the body's, and so
    are its tokenizer and all documents but the model card; ``config.json`` has what the change
    sets. ``manifest.json``, written last, says what it was made of. Raises :class:`RevocabError`,
    before anything is written, for options that are wrong, models that are not named or not given,
    and all that :func:`revocab.models.load.check_model` refuses.
    """
    output = OutputFolder(out, "changed model", [model, *others.values()])
    change = find_change(job.change)
    options = checked(change.options, job.option, "option")
    check_given(change, options, others)
    inputs = read_models(model, others, say)
    say(f"{change.name}: {change.summary}")
    changed = change.apply(inputs, options)
    for note in changed.notes:
        say(note)
    made_of = {
        "change": change.name,
        "options": options.given(),
        **changed.facts,
        "body": _described(inputs.body),
        "others": {name: _described(model) for name, model in inputs.others.items()},
        "libraries": origin.library_versions(),
    }
    with output.replaced() as folder:
        copy_documents(inputs.body, folder, _OWN)
        keep_golden_ids(folder)
        write_json(folder / "config.json", changed.config)
        write_weights(inputs.body, changed.files, folder, progress=say is not silent)
        write_text(folder / "README.md", _card(inputs, change, options, changed))
        _ = ModelFolder(folder).tensors  # raises unless files and index hold what they say
        write_json(folder / "manifest.json", made_of)
    say("done")


def check_given(change: Change, options: ChangeOptions, others: Mapping[str, Path]) -> None:
    """Raise :class:`RevocabError` unless ``others`` are the models that sound options name."""
    named = {reference_name(reference): key for key, reference in options.given_models()}
    problems = [f"option.{problem}" for problem in options.problems(None)]
    problems += [
        f"option.{key}: {name!r} is not given; add --others {name}=FOLDER"
        for name, key in named.items()
        if name not in others
    ]
    problems += [
        f"--others {name}: no option of change {change.name!r} names it; remove it"
        for name in others
        if name not in named
    ]
    refuse(problems)


def read_models(model: Path, others: Mapping[str, Path], say: Say) -> ChangeInputs:
    """Raise :class:`RevocabError` for all that is wrong with any of the models."""
    problems: list[str] = []
    for folder in (model, *others.values()):
        say(f"reading {folder}")
        try:
            check_model(folder)
        except RevocabError as error:
            problems += error.problems
    refuse(dict.fromkeys(problems))
    check_tokenizer_folder(model)
    opened = {name: ModelFolder(folder) for name, folder in others.items()}
    return ChangeInputs(ModelFolder(model), opened)


def _described(model: ModelFolder) -> dict[str, Any]:
    return {"name": origin.name_of(model.path), **origin.fingerprint(model, model.path)}


def _card(inputs: ChangeInputs, change: Change, options: ChangeOptions, changed: Changed) -> str:
    folders = [model.path for model in (inputs.body, *inputs.others.values())]
    bases = [name for name in dict.fromkeys(map(origin.base_id, folders)) if name]
    licences = {folder: origin.licence_of(folder) for folder in folders}
    own = licences[inputs.body.path]
    shared = own if all(licence == own for licence in licences.values()) else {}
    if shared:
        licence = f"The licence is that of its models: {shared['license']}."
    else:
        named = {
            f"{origin.name_of(f)}: {terms['license']}" for f, terms in licences.items() if terms
        }
        listed = f" ({', '.join(sorted(named))})" if named else ""
        licence = (
            f"The licences of all models behind it apply{listed}; check them before you"
            " redistribute this one."
        )
    others = {name: origin.name_of(model.path) for name, model in inputs.others.items()}
    lines = [
        *origin.front_matter(
            {
                "base_model": bases,
                "base_model_relation": "merge" if inputs.others else "finetune",
                "language": origin.card_metadata(inputs.body.path).get("language"),
                **shared,
                "tags": ["revocab"],
            }
        ),
        f"# {origin.name_of(inputs.body.path)}, changed by `{change.name}`",
        "",
        f"`{change.name}` is {change.summary}.",
        "",
        f"- Options: `{json.dumps(options.given(), ensure_ascii=False)}`",
        *(f"- `{name}`: {known}" for name, known in others.items()),
        *(f"- {note}" for note in changed.notes),
        f"- Described in: {change.citation}",
        "",
        "All other weights, the dtype and the tokenizer are those of the model that was changed."
        f" `manifest.json` records the hashes of its inputs. {licence}",
    ]
    return "\n".join(lines) + "\n"
