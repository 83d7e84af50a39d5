"""Make a model of another one by a change: folder in, folder out, tensor by tensor."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from revocab.io import write_json, write_text
from revocab.models import origin
from revocab.models.change import Change, Changed, ChangeJob, changes
from revocab.models.folder import ModelFolder, check_tokenizer_folder, copy_documents
from revocab.models.load import check_model
from revocab.models.write import write_weights
from revocab.output import OutputFolder
from revocab.progress import Say, silent

#: Files of the body that are written anew.
_OWN = ("config.json", "README.md")


def change_model(job: ChangeJob, model: Path, out: Path, say: Say = silent) -> None:
    """Write ``out``: the folder ``model``, its body, changed as ``job`` says.

    Shards, dtypes and tying are the body's, and so are its tokenizer and all documents but the
    model card; ``config.json`` has what the change sets. ``manifest.json``, written last, says what
    it was made of. Raises :class:`RevocabError`, before anything is written, for all that
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
    made_of = {
        "change": change.name,
        "options": options,
        **changed.facts,
        "body": {"name": origin.name_of(body.path), **origin.fingerprint(body, body.path)},
        "libraries": origin.library_versions(),
    }
    with output.replaced() as folder:
        copy_documents(body, folder, _OWN)
        write_json(folder / "config.json", changed.config)
        write_weights(body, changed.files, folder, progress=say is not silent)
        write_text(folder / "README.md", _card(body, change, options, changed))
        _ = ModelFolder(folder).tensors  # raises unless files and index hold what they say
        write_json(folder / "manifest.json", made_of)
    say("done")


def _card(body: ModelFolder, change: Change, options: dict[str, Any], changed: Changed) -> str:
    base, licence = origin.base_id(body.path), origin.licence_of(body.path)
    if licence:
        terms = f"The licence is that of its model: {licence['license']}."
    else:
        terms = "Its model's licence applies; check it before you redistribute this one."
    lines = [
        *origin.front_matter(
            {
                "base_model": [base] if base else [],
                "base_model_relation": "finetune",
                "language": origin.card_metadata(body.path).get("language"),
                **licence,
                "tags": ["revocab"],
            }
        ),
        f"# {origin.name_of(body.path)}, changed by `{change.name}`",
        "",
        f"`{change.name}` is {change.summary}.",
        "",
        f"- Options: `{json.dumps(options, ensure_ascii=False)}`",
        *(f"- {note}" for note in changed.notes),
        f"- Described in: {change.citation}",
        "",
        "All other weights, the dtype and the tokenizer are those of the model that was changed."
        f" `manifest.json` records the hashes of its inputs. {terms}",
    ]
    return "\n".join(lines) + "\n"
