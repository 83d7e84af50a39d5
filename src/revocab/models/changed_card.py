"""The README of a model that was made of others."""

from __future__ import annotations

import json
from pathlib import Path

from revocab.models.change import Change, Changed, ChangeInputs, ChangeOptions
from revocab.models.origin import hub_id, licence_of, name_of


def changed_card(
    inputs: ChangeInputs, change: Change, options: ChangeOptions, changed: Changed
) -> str:
    """Return the card as Markdown, with what the Hub reads of one at its head."""
    import yaml

    folders = [inputs.body.path, *(one.path for one in inputs.others.values())]
    bases = [name for name in dict.fromkeys(map(hub_id, folders)) if name]
    licences = [licence_of(folder) for folder in folders]
    shared = licences[0] if all(one == licences[0] for one in licences) else {}
    head = {
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        **({"base_model": bases} if bases else {}),
        **shared,
        "tags": ["revocab"],
    }
    others = {name: name_of(one.path) for name, one in inputs.others.items()}
    lines = [
        "---",
        yaml.safe_dump(head, sort_keys=False, allow_unicode=True).rstrip(),
        "---",
        "",
        f"# {name_of(inputs.body.path)}, changed by `{change.name}`",
        "",
        f"`{change.name}` is {change.summary}.",
        "",
        f"- Options: `{json.dumps(options.given(), ensure_ascii=False)}`",
        *(f"- `{name}`: {known}" for name, known in others.items()),
        *(f"- {note}" for note in changed.notes),
        f"- Described in: {change.citation}",
        "",
        "All other weights, the dtype and the tokenizer are those of the model that was changed."
        f" `manifest.json` records the hashes of its inputs. {_licence(folders, shared)}",
    ]
    return "\n".join(lines) + "\n"


def _licence(folders: list[Path], shared: dict[str, str]) -> str:
    if shared:
        return f"The licence is that of its models: {shared['license']}."
    named = {
        f"{name_of(folder)}: {found['license']}"
        for folder, found in zip(folders, map(licence_of, folders), strict=True)
        if found
    }
    return (
        "The licences of all models behind it apply"
        + (f" ({', '.join(sorted(named))})" if named else "")
        + "; check them before you redistribute this one."
    )
