"""Names that readers see: of metrics and runs, and of tables and figures by their number."""

from __future__ import annotations

import re
from collections.abc import Iterable

from revocab.evaluation.generation.kind import metrics
from revocab.evaluation.metrics import UNKNOWN
from revocab.initialise.method import methods
from revocab.report.annotations import Run


def metric_label(metric: str) -> str:
    return metrics().get(metric, UNKNOWN).label or metric


def method_label(run: Run) -> str:
    """Return a run's row label: its own for a model shown as it is, else method and variant.

    A run called ``sava-anchors200`` with method ``sava`` is "SAVA (anchors 200)".
    """
    if not run.made:
        return run.label
    known = methods()
    if run.name in known:
        return known[run.name].label
    if not run.name.startswith(f"{run.method}-"):
        return run.name
    variant = re.sub(r"(?<=[a-z])(?=\d)", " ", run.name[len(run.method) + 1 :])
    # Results may be older than a method's name.
    label = known[run.method].label if run.method in known else run.method
    return f"{label} ({variant.replace('-', ' ')})"


def numbered(identifier: str) -> str:
    """Return ``table03`` as "Table 3", ``figure01`` as "Figure 1"; nothing for an id of words."""
    match = re.fullmatch(r"(table|figure)0*(\d+)", identifier)
    return f"{match[1].capitalize()} {match[2]}" if match else ""


def anchor(identifier: str, what: str) -> str:
    """Return where a table or figure stands on the page: one id may name one of each."""
    return identifier if numbered(identifier) else f"{what}-{identifier}"


def headed(identifier: str, title: str) -> str:
    return ": ".join(filter(None, (numbered(identifier), title)))


def in_order(identifiers: Iterable[str]) -> list[str]:
    """Return ids of tables or figures as a page shows them: numbered ones by number, then the
    others in the order given, which is that of the experiment file.
    """
    return sorted(identifiers, key=lambda name: (not numbered(name), numbered(name) and name))
