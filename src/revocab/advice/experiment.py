"""The experiment file of an advice: what is recommended, to be run with a short check first."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from revocab.adapting.choices import TOGETHER, choose
from revocab.adapting.experiment_file import CHECK, Advised, Asked, experiment_text
from revocab.adapting.source import Source
from revocab.adapting.texts import Text
from revocab.advice.recommendation import Advice, Facts
from revocab.config.load import validate
from revocab.plan.plan import Plan

#: The file in the output folder; its stem is the experiment's id.
FILE = "advised.yaml"
#: How new rows are made where no probe says it.
METHOD = "fvt"


def experiment(
    command: str,
    place: Mapping[str, Any],
    source: Source,
    texts: Sequence[Text],
    keep: Sequence[Text],
    facts: Facts,
    advice: Advice,
    hours: float,
    file: Path,
) -> str:
    """Return a valid experiment file; raise :class:`RevocabError` where none can be made."""
    best = facts.best
    size, tokens = source.tokens + best.added, int(facts.planned)
    choices = choose(source, texts, keep, vocabulary=size, tokens=tokens)
    kept = best.vocabulary - best.added
    settings = {} if best.construction == "extend" else {"keep": kept}
    chosen = facts.probe.chosen if facts.probe else None
    method, way = (chosen.method, chosen.way) if chosen else (METHOD, TOGETHER)
    path = f"results/{file.stem}/runs/{CHECK}-{method}/manifest.json"
    against = [f"Advised against: {reason}" for reason in advice.against]
    advised = Advised(
        best.construction, settings, [*against, *advice.reasons], f"{hours:,.3g} device hours",
        shlex.join(["revocab", "run", str(file), "--", path]),
    )  # fmt: skip
    content = experiment_text(
        Asked(
            command, source.name, place, method,
            replace(choices, vocabulary=best.vocabulary),
            file=str(file), experiment=file.stem, advised=advised, way=way,
        )
    )  # fmt: skip
    plan = Plan(validate(yaml.safe_load(content)))
    assert plan.paths.run(f"{CHECK}-{method}") == str(Path(path).parent)
    return content
