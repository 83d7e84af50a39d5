"""Files of weights: that they are there, belong together, and fit the architecture."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from revocab.errors import RevocabError
from revocab.models.findings import Finding, finite_findings, scan, some
from revocab.models.folder import ModelFolder
from revocab.models.load import ADAPTER, STRUCTURE, quiet
from revocab.models.origin import PROVENANCE
from revocab.models.weights import INDEX, stored_parts
from revocab.product.check.kind import Kind, Subject, fault, unreadable

#: Files of weights beside a model that are another copy of it, which its makers put there.
_OTHER_LAYOUTS = ("consolidated", "adapter_model")
#: Weights of trained models are below a few thousand.
_HUGE = 1e6


def adapter(subject: Subject) -> Iterator[Finding]:
    if subject.has(ADAPTER) and not subject.has("config.json"):
        base = subject.settings(ADAPTER).get("base_model_name_or_path")
        yield fault("adapter", base=base)


def index(subject: Subject) -> Iterator[Finding]:
    try:
        _ = subject.model.tensors
    except RevocabError as error:
        fix = rebuilt_index(subject)
        for problem in error.problems:
            yield unreadable(subject.path, problem, fix)


def rebuilt_index(subject: Subject) -> Callable[[Any], object] | None:
    """Return what writes the index anew, if the files hold each of its tensors exactly once."""
    try:
        named = subject.settings(INDEX).get("weight_map")
        if not isinstance(named, dict):
            return None
        placed: dict[str, str] = {}
        for file in sorted(subject.path.glob("model-*.safetensors")):
            tensors = stored_parts(file)[0].keys()
            if placed.keys() & tensors:
                return None
            placed |= dict.fromkeys(tensors, file.name)
    except RevocabError:
        return None
    if placed.keys() != named.keys():
        return None
    return lambda mended: mended.edit(INDEX).update(weight_map=placed)


def stray(subject: Subject) -> Iterator[Finding]:
    _ = subject.model.tensors  # raises where files are missing: others may be those
    own = {*subject.model.files}
    if subject.model.index is not None:  # said by its own finding
        own.add("model.safetensors")
    files = sorted(file.name for file in subject.path.glob("*.safetensors"))
    strays = [name for name in files if name not in own and not name.startswith(_OTHER_LAYOUTS)]
    if strays:
        yield fault("stray-weights", lambda mended: mended.remove(*strays), listed=some(strays))


def structure(
    check: Callable[[ModelFolder], Iterator[Finding]], subject: Subject
) -> Iterator[Finding]:
    with quiet():
        for finding in check(subject.model):
            if finding.code != "shapes":
                yield finding
                continue
            # Embedding and head say how many rows there are, if they agree and tokens fit.
            stored = {subject.model.tensors[name][1][0] for name in subject.matrices.values()}
            fits = len(stored) <= 1 and subject.rows >= len(subject.tokens)
            if fits and subject.text_config.get("vocab_size") != subject.rows:
                yield replace(
                    finding, fix=lambda it: it.edit_text_config().update(vocab_size=subject.rows)
                )
            else:
                yield replace(finding, fix=None)


def finite(subject: Subject) -> Iterator[Finding]:
    _ = subject.model.tensors  # raises where a file is missing
    tensors = [*scan(subject.path, subject.model.files, magnitudes=True)]
    yield from finite_findings(tensors, subject.row_label)
    large = [f"{v.name} ({v.largest:.2g})" for v in tensors if (v.largest or 0) > _HUGE]
    if large:
        yield fault("huge-values", huge=_HUGE, listed=some(large))
    own = {*subject.matrices.values()}  # said by rows
    zero = [v.name for v in tensors if v.largest == 0 and len(v.shape) > 1 and v.name not in own]
    # Blocks that were put in begin with two such matrices (block expansion).
    begins = subject.settings("manifest.json").get("change") == "blocks" or subject.has(PROVENANCE)
    if zero:
        yield fault("zero-weights", severity="note" if begins else "warning", listed=some(zero))


KIND = Kind(
    "weights", (adapter, index, stray, *(partial(structure, check) for check in STRUCTURE), finite)
)
