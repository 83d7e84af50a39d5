"""The README of an adapted model folder: what it was made of, how it looks, what it is not yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from revocab.initialise.diagnostics import NAME, TITLES
from revocab.initialise.reading.helper import FILLED_WITH
from revocab.languages import language_label
from revocab.models.folder import ModelFolder
from revocab.models.origin import base_id, front_matter, licence_of


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def _rows_table(matrices: dict[str, Any]) -> list[str]:
    lines = [
        "| matrix | rows | count | mean norm | cosine to their mean |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for which, statistics in matrices.items():
        name = TITLES[which] if len(matrices) > 1 else "embedding and LM head"
        source = statistics["source"]
        lines.append(f"| {name} | source | {source['rows']:,} | {_number(source['mean'])} | |")
        for kind in ("copied", "new"):
            norms, cosine = statistics[f"norm_{kind}"], statistics[f"cosine_to_mean_{kind}"]
            lines.append(
                f"| {name} | {kind} | {norms['rows']:,} | {_number(norms['mean'])} | "
                f"{_number(cosine)} |"
            )
    return lines


def model_card(
    source: ModelFolder,
    made_of: dict[str, Any],
    described: dict[str, Any],
    citation: str,
    languages: Sequence[str] = (),
) -> str:
    licence, counts, names = licence_of(source.path), made_of["counts"], made_of["names"]
    options = made_of["options"].items()
    listed = ", ".join(f"{key}={value}" for key, value in sorted(options)) or "no options"
    origins = {
        "Source model": names["source"],
        "Target tokenizer": names["target_tokenizer"],
        "Helper model": names.get("helper"),
        "Adapted model": names.get("adapted"),
        "Base of the adapted model": names.get("base"),
        "Language": ", ".join(map(language_label, languages)),
    }
    served = []
    if helper := made_of.get("helper_vocabulary"):
        served = [
            f"- The helper has another tokenizer, with {helper['shared']:,} of the tokens: "
            f"{helper['anchors']:,} of the shared and {helper['new']:,} of the new ones; the other "
            f"{helper['new_without_row']:,} new ones got {FILLED_WITH[helper['filled_with']]}"
        ]
    terms = (
        "The source's card names no licence in its metadata, so none is given here; check the"
        " source model's licence before you redistribute this one."
    )
    if licence:
        name = licence.get("license_name", licence["license"])
        terms = f"The licence is that of the source model: {name}."
    dropped = ", ".join(f"`{name}`" for name in made_of["dropped_settings"])
    lines = [
        *front_matter(
            {
                "base_model": base_id(source.path),
                "base_model_relation": "finetune",
                "language": list(languages),
                **licence,
                "tags": ["vocabulary-adaptation", "revocab"],
            }
        ),
        f"# {names['source']}, adapted to another vocabulary",
        "",
        f"Embedding and LM head were initialised for the tokenizer in this folder with "
        f"`{made_of['method']}` ({listed}; seed {made_of['seed']}). Every other weight"
        f"{', but for the tables below,' * bool(made_of.get('tables'))} is the "
        f"source model's, and so is the dtype, {made_of['dtype']}.",
        "",
        "**This is a starting point for continued training: the new rows have not been trained.**",
        "",
        *(f"- {what}: {name}" for what, name in origins.items() if name),
        f"- {counts['overlap']:,} of the {counts['target_tokens']:,} tokens are among the"
        f" {counts['source_tokens']:,} of the source, too; {counts['missing']:,} are new",
        *served,
        f"- Embedding and head are {'one matrix' if made_of['tied'] else 'two matrices'}",
        *(
            f"- `{name}`, which has a row per token too, was filled with `{table['method']}`"
            for name, table in made_of.get("tables", {}).items()
        ),
        f"- Method: {citation}",
        *([f"- Settings without a counterpart, dropped: {dropped}"] if dropped else []),
        "",
        *_rows_table(described["matrices"]),
        "",
        f"![Norms and directions of copied and new rows]({NAME}.png)",
        "",
        *(f"> Warning: {warning}." for warning in described["warnings"]),
        *([""] if described["warnings"] else []),
        "```python",
        "from transformers import AutoModelForCausalLM, AutoTokenizer",
        "",
        'model = AutoModelForCausalLM.from_pretrained("this/folder")',
        'tokenizer = AutoTokenizer.from_pretrained("this/folder")',
        "```",
        "",
        "`provenance.json` records the hashes of its inputs and the options; "
        f"`diagnostics.json` the statistics of its rows. {terms}",
    ]
    return "\n".join(lines) + "\n"
