"""Experiments of papers, run from a filled cache with an overlay that changes budgets only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hub_cache
import training_pico
import yaml
from run_snakemake import succeed

from revocab.workflow import gpus

#: What such an overlay may change: budgets, sizes of vocabularies, the name of the results, and
#: which runs there are (removed, or values of a sweep), with their rows and the statements on them.
BUDGETS = re.compile(
    r"experiment|heldout_bytes|limit|limit_bytes|limit_documents|sequence_length|batch_size|steps"
    r"|vocabulary_size|keep|count|step|warmup_steps|tokens|checkpoint_every|precision|repeat_corpora|max_new_tokens"
    r"|engine|prompts|prompt_characters|new_tokens|repeats"
    r"|removed|values|runs|claims"
    r"|[0-9]+"  # a step of the paper's
)


#: Papers run under these, on two GPUs that are pretended.
PROFILES = ("default", "one-node")


def under(profile: str) -> list[str]:
    """Return Snakemake's flags for a profile; the default one needs none."""
    return [] if profile == "default" else ["--profile", f"profiles/{profile}"]


def files_of(experiment: str) -> list[str]:
    return [f"config/{experiment}.yaml", f"config/overlays/pico-{experiment}.yaml"]


def changes(before: Any, after: Any, name: str) -> Iterator[str]:
    if isinstance(after, dict):
        known = before if isinstance(before, dict) else {}
        for key, value in after.items():
            # What a sweep holds is named by its corpus, and a table's steps by their runs.
            part = {"hold": "tokens", "steps": "step"}.get(name, str(key))
            if value is None and key in known:
                part = "removed"
            yield from changes(known.get(key), value, part)
    elif isinstance(after, list) and isinstance(before, list) and len(before) == len(after):
        for one, other in zip(before, after, strict=True):
            yield from changes(one, other, name)
    elif after != before:
        yield name


def other_than_budgets(repository: Path, experiment: str) -> set[str]:
    """Return the names of values that the overlay changes and should not."""
    before, after = (
        yaml.safe_load((repository / file).read_text(encoding="utf-8"))
        for file in files_of(experiment)
    )
    return {name for name in changes(before, after, "") if not BUDGETS.fullmatch(name)}


def offline_snakemake(root: Path, home: Path) -> Callable[..., str]:
    """Return what runs Snakemake on a checkout without network, its cache filled from ``root``.

    ``home``: where the client libraries keep what they fetched.
    """
    hub_cache.fill_cache(root, home)
    environment = {
        "HF_HOME": str(home),
        "HF_HUB_OFFLINE": "1",
        gpus.PRETENDED: "2",
        # Locks on pretended GPUs lie there, which other runs on this machine pretend as well.
        "TMPDIR": str(home),
    }

    def run(repository: Path, *arguments: object, anew: bool = True) -> str:
        call = ("--cores", "2", *(["--forceall"] if anew else []), *arguments)
        return succeed(repository, *call, **environment)

    return run


def rows_of(results: Path, table: str) -> list[dict[str, str]]:
    return training_pico.table(results / f"tables/{table}.csv")


def beside_published(rows: list[dict[str, str]]) -> list[tuple[str, str]]:
    """Return every value of ours that stands beside a published one, as both are written."""
    names = [name for name in rows[0] if name.endswith(" published")]
    found = [(row[name.removesuffix(" published")], row[name]) for row in rows for name in names]
    return [(ours, theirs) for ours, theirs in found if ours and theirs]
