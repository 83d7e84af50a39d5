"""What of an experiment each part of the report reads: only a change there runs it again.

The files made of it hold nothing else: a key missing here is an error and not an old number.
"""

from __future__ import annotations

from typing import Any

from revocab.config.expand import as_json
from revocab.config.schema import Experiment

_SCORES = (
    "experiment",
    "paper_values",
    "runs",
    "evaluation.multiple_choice",
    "evaluation.generation",
)
_SHOWN = (*_SCORES, "world", "corpora", "evaluation.heldout", "fertility")
_TABLES = (*_SHOWN, "tokenizers", "parameters", "similarity", "tables")
#: Keys of an experiment, dotted, that the parts of the report read; all of them read its runs.
READ = {
    "scores": _SCORES,
    "figures": (*_SHOWN, "figures"),
    "tables": _TABLES,
    "checks": (*_TABLES, "figures"),
}


def read_by(part: str, experiment: Experiment) -> dict[str, Any]:
    """Return what ``part`` reads of the experiment and its runs, shaped as :func:`as_json`."""
    content = as_json(experiment)
    whole, found = content["experiment"], {}
    for key in READ[part]:
        section, _, rest = key.partition(".")
        if rest:
            found.setdefault(section, {})[rest] = whole[section][rest]
        else:
            found[section] = whole[section]
    return {**content, "experiment": found}
