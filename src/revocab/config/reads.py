"""What of an experiment each part of the report reads: only a change there runs it again.

Keys are left out here, not listed: a new key reruns everything until somebody says who does not
read it. The files that are written hold no more than is read, so that a wrong line here is a
missing key and not an old number.
"""

from __future__ import annotations

from typing import Any

from revocab.config.expand import as_json
from revocab.config.schema import Experiment

#: ``data_root`` stands in the paths already; costs and comparisons have rules of their own.
_NO_SCORE = (
    "data_root",
    "title",
    "evaluation.efficiency",
    "evaluation.significance",
    "fertility",
    "figures",
    "intersections",
    "parameters",
    "scale",
    "tables",
)
#: Keys, dotted, that a part of the report does not read.
UNREAD = {
    "scores": _NO_SCORE,
    "tables": ("data_root", "title", "figures", "intersections", "scale"),
    "figures": tuple(key for key in _NO_SCORE if key not in ("fertility", "figures")),
    "checks": ("data_root", "title", "intersections", "scale"),
}


def without(values: dict[str, Any], key: str) -> dict[str, Any]:
    """Return ``values`` without the dotted ``key``; what it does not hold is no error."""
    first, _, rest = key.partition(".")
    if rest and isinstance(values.get(first), dict):
        return {**values, first: without(values[first], rest)}
    return {name: value for name, value in values.items() if name != first}


def read_by(part: str, experiment: Experiment) -> dict[str, Any]:
    """Return the experiment and its runs, as :func:`as_json`, without what ``part`` leaves unread."""
    content = as_json(experiment)
    for key in UNREAD[part]:
        content["experiment"] = without(content["experiment"], key)
    return content
