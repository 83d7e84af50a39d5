"""Initialise a model for a new vocabulary: source folder in, folder out that loads everywhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from revocab.device import check_device
from revocab.errors import RevocabError
from revocab.heavy_types import Tensor
from revocab.initialise.diagnostics import TITLES, describe, draw, warn
from revocab.initialise.method import MethodInputs
from revocab.initialise.options import InitInputs, InitJob, find_method
from revocab.initialise.reading.material import Material
from revocab.initialise.reading.token_vectors import vectors_hash
from revocab.initialise.rows.source_weights import (
    SourceWeights,
    weights_with_words,
    with_shared,
    write_new_rows,
    write_source_weights,
)
from revocab.initialise.target_matrix import fill, new_tables, shared_tables
from revocab.io import write_json, write_text
from revocab.languages import language_label
from revocab.models import origin
from revocab.models.folder import (
    ModelFolder,
    Which,
    copy_documents,
    copy_tokenizer,
    link_weights,
    read_settings,
    tell_left_out,
    with_tensors,
    write_weights,
)
from revocab.models.load import check_model
from revocab.models.shape import load_config, model_class
from revocab.models.special_ids import new_config, new_generation_config, special_ids
from revocab.models.token_rows import PER_LAYER_ROWS, filled, is_per_layer, padded_rows
from revocab.output import OutputFolder
from revocab.progress import Say, silent
from revocab.vocabulary.tokenizers.load import some


@dataclass(frozen=True)
class NewMatrices:
    """The matrices of a new vocabulary: ``input``, and ``output`` if untied."""

    matrices: dict[Which, Tensor] = field(default_factory=dict)
    #: Diagnostics of each.
    described: dict[Which, Any] = field(default_factory=dict)
    #: Which source rows make up their rows, where the method says so.
    source_weights: dict[Which, SourceWeights] = field(default_factory=dict)
    #: Further tensors with a row per token, in their stored shape, and diagnostics of each.
    tables: dict[str, Tensor] = field(default_factory=dict)
    described_tables: dict[str, Any] = field(default_factory=dict)


def initialise_matrices(material: Material, say: Say) -> NewMatrices:
    import torch

    new = NewMatrices()
    method, job, vocabularies = material.method, material.job, material.vocabularies

    def diagnostics(
        name: str, stored_VD: Tensor, matrix_VD: Tensor, inputs: MethodInputs, copies: bool
    ) -> dict[str, Any]:
        say(f"{name}: diagnostics")
        new_N, copied_N = inputs.missing_N.cpu(), inputs.overlap_target_N.cpu()
        if not copies:
            new_N, copied_N = torch.arange(inputs.target_rows), copied_N[:0]
        statistics = describe(stored_VD, matrix_VD, copied_N, new_N)
        for example in statistics["near_duplicates"]["examples"]:
            ids = [example["token"], example["other"]]
            example["texts"] = vocabularies.target_tokenizer.convert_ids_to_tokens(ids)
        return statistics

    def fill_matrix(which: Which, name: str) -> MethodInputs:
        """Fill and describe one matrix; what else is read for it is freed with this call."""
        say(f"{name}: {method.name}")
        source_VD = material.source.matrix(which, len(vocabularies.source_tokenizer))
        inputs = material.method_inputs(which, source_VD)
        matrix_VD = new.matrices[which] = fill(source_VD, inputs, method, job)
        if method.source_weights is not None:
            weights = weights_with_words(inputs, method.source_weights(inputs, job))
            new.source_weights[which] = with_shared(weights, inputs)
        statistics = diagnostics(name, source_VD, matrix_VD, inputs, method.copies_overlap)
        new.described[which] = {**statistics, "method": inputs.notes}
        return replace(inputs, source_VD=source_VD)

    shared = shared_tables(material.source, material.tables)
    own = [name for name in material.tables if name not in shared]
    for which, name in material.source.vocabulary_tensors.items():
        inputs = fill_matrix(which, name)
        if which == "input":
            for table in new_tables(material.source, own, inputs, method, job):
                statistics = diagnostics(table.name, table.stored_RW, table.rows_TW, inputs, True)
                new.described_tables[table.name] = {**statistics, "method": table.notes}
                new.tables[table.name] = table.rows_TW.reshape(-1, *table.shape[1:])
    for name, which in shared.items():
        notes = {"name": method.name, **new.described[which]["method"]}
        new.described_tables[name] = {**new.described[which], "method": notes}
        new.tables[name] = new.matrices[which]
    return new


def initialise_model(
    inputs: InitInputs,
    job: InitJob,
    out: Path,
    *,
    device: str = "cpu",
    say: Say = silent,
    figure: bool = True,
) -> None:
    """Write ``out``: the source model with a new vocabulary (or, for lapt, as it is).

    Beside the model: ``new_rows.npy``, ``source_weights.npz`` where the method says them,
    ``provenance.json``, ``diagnostics.json`` with its figure, a card and, last, ``manifest.json``.
    ``say`` is called with what is being done. Raises :class:`RevocabError` for what
    :func:`revocab.models.load.check_model` refuses, in source or helper, and for options and
    folders that do not fit.
    """
    output = OutputFolder(out, "adapted model", [*inputs.model_dump().values()])
    check_device(device)
    method = find_method(job.method)
    inputs.check(method, job)
    say(f"reading {inputs.source.name}")
    source = ModelFolder(inputs.source)
    source_tokenizer = inputs.source_tokenizer or inputs.source
    provenance: dict[str, Any] = {
        "method": method.name,
        "options": job.own_options(),
        "seed": job.seed,
        "names": {"source": origin.name_of(inputs.source)},
        "source": origin.fingerprint(source, source_tokenizer),
        origin.BEFORE: origin.history_of(inputs.source),
        "libraries": origin.library_versions(),
    }
    if method.keeps_vocabulary:
        check_model(inputs.source)
        with output.replaced() as folder:
            copy_documents(source, folder, fates=("tokenizer",))
            copy_tokenizer(source_tokenizer, folder)
            link_weights(source, folder)
            _finish(folder, provenance, {"method": method.name, "matrices": {}, "warnings": []})
        return
    if "quantization_config" in source.config:
        raise RevocabError(
            f"{source.path}: its weights are quantised, and so would the new rows have to be; use"
            " the unquantised model"
        )
    material = Material.open(inputs, job, device, say)
    new = initialise_matrices(material, say)
    warnings = [*_warnings(material, new)]
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    provenance |= _provenance(material, new, provenance["names"])
    report = {"method": method.name, "matrices": new.described, "warnings": warnings}
    if new.described_tables:
        report["tables"] = new.described_tables
    say("writing the model folder")
    target = material.vocabularies.target_tokenizer
    rows = padded_rows(len(target), getattr(job, "pad_to", None))
    matrices = {which: filled(new.matrices[which], len(target), rows) for which in new.matrices}
    with output.replaced() as folder:
        provenance["special_token_ids"] = special_ids(target)
        provenance["dropped_settings"] = write_adapted(
            material, matrices, folder, tables=new.tables, progress=say is not silent
        )
        if new.source_weights:
            padded = {which: sparse.padded(rows) for which, sparse in new.source_weights.items()}
            write_source_weights(folder, padded)
        missing_N = material.vocabularies.intersection.missing
        write_new_rows(folder, missing_N if method.copies_overlap else range(len(target)))
        facts = {
            **provenance,
            **report,
            "tables": provenance.get("tables", {}),
            "citation": method.citation,
            "languages": [language_label(language) for language in job.languages],
            "titles": TITLES,
            "loader": model_class(load_config(source.path)).__name__,
        }
        card = origin.card("adapted", source.path, facts, {"language": list(job.languages)})
        write_text(folder / "README.md", card)
        if figure:
            draw(report, folder)
        _finish(folder, provenance, report)
    say("done")


def _warnings(material: Material, new: NewMatrices) -> Iterator[str]:
    method = material.method
    if coverage := material.coverage:
        yield from coverage.warnings(method)
    report = material.vocabularies.intersection.report
    if special := report["special_without_counterpart"]["target"]:
        stand_in = new.described["input"]["method"].get("stand_in")
        begin = f" and begin as {stand_in!r}" if stand_in else ", so their rows are new"
        listed = some(f"{number} {string}" for number, string in special.items())
        yield (
            f"method {method.name!r}: {len(special)} special tokens have no counterpart in"
            f" the source{begin}: {listed}; where the source has one, name it by --roles of"
            " 'revocab intersect', and give --pairs"
        )
    for which, statistics in new.described.items():
        yield from warn(method.name, which, statistics)
        wanted, shared = (statistics["method"].get(key) for key in ("anchors_wanted", "anchors"))
        if wanted is not None and wanted > shared:
            yield (
                f"method {method.name!r}, {which} matrix: anchors: {wanted:,} asked for,"
                f" {shared:,} tokens are shared, and all of them serve"
            )
    for name, statistics in new.described_tables.items():
        yield from warn(statistics["method"]["name"], name, statistics)


def _provenance(material: Material, new: NewMatrices, names: dict[str, str]) -> dict[str, Any]:
    vocabularies, models = material.vocabularies, {}
    if material.helper is not None:
        models["helper"] = material.helper.model
    if material.donor is not None:
        models |= {"adapted": material.donor.adapted.model, "base": material.donor.base.model}
    facts: dict[str, Any] = {}
    for name, model in models.items():
        facts[name] = origin.fingerprint(model, model.path)
        names[name] = origin.name_of(model.path)
    if coverage := material.coverage:
        facts["helper_vocabulary"] = coverage.counts(material.method)
    if material.inputs.vectors is not None:
        facts["auxiliary"] = vectors_hash(material.inputs.vectors)
    names["target_tokenizer"] = origin.name_of(vocabularies.target)
    tables = {
        name: {
            "method": statistics["method"]["name"],
            "source_rows": statistics["source"]["rows"],
            "rows": len(new.tables[name]),
        }
        for name, statistics in new.described_tables.items()
    }
    return {
        **facts,
        "target_tokenizer": origin.tokenizer_hash(vocabularies.target),
        "identity": material.job.identity,
        "counts": {
            "source_tokens": len(vocabularies.source_tokenizer),
            "target_tokens": len(vocabularies.target_tokenizer),
            "overlap": len(vocabularies.intersection.target_ids),
            "missing": len(vocabularies.intersection.missing),
        },
        "tied": material.source.tied,
        **({"tables": tables} if tables else {}),
        "dtype": str(new.matrices["input"].dtype).removeprefix("torch."),
        "norms": {
            which: {
                "source": statistics["source"],
                "copied": statistics["norm_copied"],
                "new": statistics["norm_new"],
            }
            for which, statistics in new.described.items()
        },
    }


def write_adapted(
    material: Material,
    matrices: dict[Which, Tensor],
    out: Path,
    *,
    tables: Mapping[str, Tensor],
    progress: bool,
) -> list[str]:
    """Write the adapted model into the folder ``out``; return the settings that were dropped.

    They are named on stderr, too: what a model does without them may surprise. Rows of ``matrices``
    after those of the tokens are padding; ``tables`` are all other tensors with a row per token.
    """
    source, counterparts = material.source, material.vocabularies.counterparts
    names = source.vocabulary_tensors
    changed: dict[str, Tensor | None] = {names[which]: matrices[which] for which in names}
    changed |= tables
    changed |= dict.fromkeys(source.tied_copies)  # dropped: a copy of the old matrix would be stale
    copy_documents(source, out, fates=("tokenizer", "written", "stale"))
    copy_tokenizer(material.vocabularies.target, out)
    tell_left_out(source.path, out)
    write_weights(source, with_tensors(source, changed), out, progress=progress)
    ids = special_ids(counterparts.target)
    tokens, rows = len(counterparts.target), len(matrices["input"])
    more_sizes = {PER_LAYER_ROWS: tokens} if any(map(is_per_layer, tables)) else {}
    config, dropped = new_config(source.config, tokens, rows, ids, counterparts, more_sizes)
    write_json(out / "config.json", config)
    old = source.path / "generation_config.json"
    generation, more = new_generation_config(
        read_settings(old) if old.is_file() else None,
        {**source.config, **source.text_config},
        list(range(tokens, rows)),
        ids,
        counterparts,
    )
    write_json(out / "generation_config.json", generation)
    dropped = sorted({*dropped, *more})
    if dropped:
        print(
            f"warning: settings for tokens of the old vocabulary were dropped: "
            f"{', '.join(dropped)}; set what matters in the new generation_config.json",
            file=sys.stderr,
        )
    return dropped


def _finish(folder: Path, provenance: dict[str, Any], described: dict[str, Any]) -> None:
    write_json(folder / "provenance.json", provenance)
    write_json(folder / "diagnostics.json", described)
    write_json(folder / "manifest.json", provenance)
