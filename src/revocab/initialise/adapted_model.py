"""Initialise a model for a new vocabulary: source folder in, folder out that loads everywhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from revocab.errors import RevocabError
from revocab.initialise import diagnostics, diagnostics_figure
from revocab.initialise.adapted_folder import copy_unchanged, write_adapted
from revocab.initialise.auxiliary import reads_auxiliary
from revocab.initialise.donor import Donor, kept_tokens
from revocab.initialise.helper import Helper, check_rows_fit
from revocab.initialise.method import Auxiliary, Method, MethodInputs, MethodOptions, RowsOptions
from revocab.initialise.model_card import model_card
from revocab.initialise.options import check_given, check_options, find_method
from revocab.initialise.source_weights import SourceWeights, with_shared, write_source_weights
from revocab.initialise.target_matrix import fill
from revocab.initialise.vocabularies import Vocabularies
from revocab.io import sha256, write_json, write_text
from revocab.models import padding, provenance
from revocab.models.folder import ModelFolder, Which, check_tokenizer_folder
from revocab.models.load import check_model
from revocab.models.origin import name_of
from revocab.models.per_token_tensors import check_other_tables
from revocab.models.special_ids import special_ids
from revocab.output import OutputFolder
from revocab.progress import Say, silent

if TYPE_CHECKING:
    import torch

    from revocab.intersection.match import Identity


def make_inputs(
    which: Literal["input", "output"],
    source_VD: torch.Tensor,
    helper_VD: torch.Tensor | None,
    vocabularies: Vocabularies,
    *,
    seed: int,
    helper_known_V: torch.Tensor | None = None,
    auxiliary: Auxiliary | None = None,
    donor: Donor | None = None,
    device: str = "cpu",
    shared: dict[str, Any] | None = None,
) -> MethodInputs:
    """Return a method's inputs for one matrix; matrices go to float32 on ``device``.

    With a donor they are so many that the source's stays as stored. ``helper_VD`` is in the order
    of the target vocabulary, ``helper_known_V`` its mask.
    """
    import torch

    pairs, spelling = vocabularies.intersection, vocabularies.missing_pieces()

    def ids(values: Any) -> torch.Tensor:
        return torch.as_tensor(values.copy(), dtype=torch.int64, device=device)

    return MethodInputs(
        source_VD=source_VD.to(device=device, dtype=None if donor else torch.float32),
        target_rows=len(vocabularies.target_tokenizer),
        overlap_target_N=ids(pairs.target_ids),
        overlap_source_N=ids(pairs.source_ids),
        missing_N=ids(pairs.missing),
        seed=seed,
        pieces=spelling.pieces,
        pieces_released=spelling.released,
        spelt=spelling.spelt,
        helper_VD=None if helper_VD is None else helper_VD.to(device=device, dtype=torch.float32),
        helper_known_V=None if helper_known_V is None else helper_known_V.to(device),
        auxiliary=auxiliary,
        donor=donor.rows(which) if donor else None,
        kept_N=kept_tokens(vocabularies) if donor else None,
        matrix=which,
        shared={} if shared is None else shared,
    )


class NewMatrices(NamedTuple):
    """The matrices of a new vocabulary: ``input``, and ``output`` if untied."""

    matrices: dict[Which, torch.Tensor]
    #: Diagnostics of each.
    described: dict[Which, Any]
    #: Which source rows make up their rows, where the method says so.
    source_weights: dict[Which, SourceWeights]


def _auxiliary(
    method: Method,
    options: MethodOptions,
    vocabularies: Vocabularies,
    helper: Helper | None,
    folder: Path | None,
    device: str,
) -> Auxiliary | None:
    """Return the rows that a method reads for both matrices; none: it reads none of that kind."""
    if not reads_auxiliary(method, options):
        return None
    if method.needs(options) == "fasttext":
        from revocab.initialise.fasttext import load_auxiliary

        tokenizers = vocabularies.source_tokenizer, vocabularies.target_tokenizer
        assert folder is not None  # check_given
        return load_auxiliary(folder, *tokenizers, device)
    if method.needs(options) == "file":
        from revocab.initialise.token_vectors import load_token_vectors

        assert folder is not None  # check_given
        tokenizers = vocabularies.source_tokenizer, vocabularies.target_tokenizer
        return load_token_vectors(folder, *tokenizers, device)
    import torch

    assert helper is not None  # check_given
    return Auxiliary(helper.matrix("input").to(device=device, dtype=torch.float32))


def initialise_matrices(
    source: ModelFolder,
    vocabularies: Vocabularies,
    method: Method,
    options: MethodOptions,
    *,
    helper: Helper | None = None,
    auxiliary: Path | None = None,
    donor: Donor | None = None,
    seed: int,
    device: str = "cpu",
    say: Say = silent,
) -> NewMatrices:
    """Return the new matrices, and what is known of them."""
    import torch

    made = NewMatrices({}, {}, {})
    # A tied helper has one matrix for both: what a method takes from it alone is computed once.
    shared: dict[str, Any] = {}
    comparing = _auxiliary(method, options, vocabularies, helper, auxiliary, device)

    def one_matrix(which: Which, name: str) -> None:
        """Fill and describe one; what is read for it is freed with this call."""
        say(f"{name}: {method.name}")
        source_VD = source.matrix(which, len(vocabularies.source_tokenizer))
        helper_VD = None if helper is None else helper.matrix(which)
        inputs = make_inputs(
            which,
            source_VD,
            helper_VD,
            vocabularies,
            seed=seed,
            helper_known_V=None if helper is None else helper.known_V,
            auxiliary=comparing,
            donor=donor,
            device=device,
            shared=shared if helper is not None and helper.model.tied else None,
        )
        made.matrices[which] = fill(source_VD, inputs, method, options)
        if method.source_weights is not None:
            made.source_weights[which] = with_shared(method.source_weights(inputs, options), inputs)
        say(f"{name}: diagnostics")
        new_N, copied_N = inputs.missing_N.cpu(), inputs.overlap_target_N.cpu()
        if not method.copies_overlap:
            new_N, copied_N = torch.arange(inputs.target_rows), copied_N[:0]
        found = diagnostics.describe(source_VD, made.matrices[which], copied_N, new_N)
        for example in found["near_duplicates"]["examples"]:
            ids = [example["token"], example["other"]]
            example["texts"] = vocabularies.target_tokenizer.convert_ids_to_tokens(ids)
        made.described[which] = {**found, "method": inputs.notes}

    for which, name in source.vocabulary_tensors.items():
        one_matrix(which, name)
    return made


def initialise_model(  # noqa: PLR0915  (one statement per thing that is told or written)
    source: Path,
    out: Path,
    method: str,
    options: Mapping[str, Any] | MethodOptions | None = None,
    *,
    target_tokenizer: Path | None = None,
    source_tokenizer: Path | None = None,
    pairs: Path | None = None,
    identity: Identity = "bytes",
    helper: Path | None = None,
    helper_pairs: Path | None = None,
    auxiliary: Path | None = None,
    adapted: Path | None = None,
    base: Path | None = None,
    seed: int = 0,
    languages: Sequence[str] = (),
    device: str = "cpu",
    say: Say = silent,
    figure: bool = True,
) -> None:
    """Write ``out``: the source model with a new vocabulary (or, for lapt, as it is).

    The source tokenizer is taken from the source folder unless given. ``helper_pairs`` is the
    intersection of the helper's tokenizer, which is in its folder, and the target's, as ``pairs``
    is of the source's; without them, both are computed here. ``adapted`` and ``base`` are a model
    with the target's tokens and the one it was adapted from, for lep. Writes, beside the model,
    ``source_weights.npz`` where the method says them, ``provenance.json``, ``diagnostics.json``
    with its figure, a model card and, last, ``manifest.json``; all at once, at the end.
    ``languages`` (ISO 639 codes) go into the card; ``say`` is told what is being done. Raises
    :class:`RevocabError` for what :func:`revocab.models.load.check_model` refuses, in source or
    helper, and for options and folders that do not fit.
    """
    read = [source, source_tokenizer, target_tokenizer, pairs, helper, helper_pairs, auxiliary]
    output = OutputFolder(out, "adapted model", [*read, adapted, base])
    check_device(device)
    chosen = find_method(method)
    checked = check_options(chosen, options or {})
    needed = chosen.needs(checked)
    check_given(chosen, needed, target_tokenizer, helper, auxiliary, adapted, base)
    say(f"reading {source.name}")
    model = ModelFolder(source)
    source_tokenizer = source_tokenizer or source
    made_of: dict[str, Any] = {
        "method": method,
        "options": checked.model_dump(),
        "seed": seed,
        "names": {"source": name_of(source)},
        "source": fingerprint_all(model, source_tokenizer),
        "libraries": provenance.library_versions(),
    }
    if chosen.keeps_vocabulary:
        check_model(source)
        with output.replaced() as folder:
            copy_unchanged(model, source_tokenizer, folder)
            _finish(folder, made_of, {"method": method, "matrices": {}, "warnings": []})
        return

    assert target_tokenizer is not None  # check_given
    check_tokenizer_folder(target_tokenizer)
    # Relatives of one base: their special tokens have the same names, whatever roles they play.
    vocabularies = Vocabularies(
        source_tokenizer, target_tokenizer, identity, pairs, spelled_alike=chosen.needs_donor
    )
    check_other_tables(model, len(vocabularies.source_tokenizer))
    check_model(source)
    found = vocabularies.intersection
    say(f"{len(found.target_ids):,} tokens shared, {len(found.missing):,} new")
    opened, warnings = None, []
    if needed == "helper":
        assert helper is not None
        if chosen.takes_helper_rows:
            check_rows_fit(helper, vocabularies.target_tokenizer, model, chosen.name)
        opened = open_helper(helper, vocabularies, helper_pairs, chosen)
        note_models(made_of, {"helper": helper})
        if coverage := opened.coverage(found):
            made_of["helper_vocabulary"] = coverage.counts(chosen)
            warnings = coverage.warnings(chosen)
            say(coverage.sentence(chosen))
    donor = None
    if chosen.needs_donor:
        assert adapted is not None and base is not None
        donor = Donor.open(adapted, base, model, vocabularies)
        note_models(made_of, {"adapted": adapted, "base": base})
    matrices, described, source_weights = initialise_matrices(
        model,
        vocabularies,
        chosen,
        checked,
        helper=opened,
        auxiliary=auxiliary,
        donor=donor,
        seed=seed,
        device=device,
        say=say,
    )
    if needed == "fasttext":
        assert auxiliary is not None
        made_of["auxiliary"] = sha256(auxiliary / "vectors.safetensors")
    if needed == "file":
        from revocab.initialise.token_vectors import vectors_hash

        assert auxiliary is not None
        made_of["auxiliary"] = vectors_hash(auxiliary)
    warnings += [
        warning
        for which, statistics in described.items()
        for warning in diagnostics.warnings(method, which, statistics)
    ]
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    made_of["names"]["target_tokenizer"] = name_of(target_tokenizer)
    made_of |= {
        "target_tokenizer": provenance.tokenizer_hash(target_tokenizer),
        "identity": identity,
        "counts": {
            "source_tokens": len(vocabularies.source_tokenizer),
            "target_tokens": len(vocabularies.target_tokenizer),
            "overlap": len(found.target_ids),
            "missing": len(found.missing),
        },
        "tied": model.tied,
        "dtype": str(matrices["input"].dtype).removeprefix("torch."),
        "norms": {
            which: {
                "source": found["source"],
                "copied": found["norm_copied"],
                "new": found["norm_new"],
            }
            for which, found in described.items()
        },
    }
    report = {"method": method, "matrices": described, "warnings": warnings}
    say("writing the model folder")
    assert isinstance(checked, RowsOptions)  # of every method that makes rows
    tokens = len(vocabularies.target_tokenizer)
    rows = padding.padded_rows(tokens, checked.pad_to)
    matrices = {which: padding.filled(one, tokens, rows) for which, one in matrices.items()}
    with output.replaced() as folder:
        made_of["special_token_ids"] = special_ids(vocabularies.target_tokenizer)
        made_of["dropped_settings"] = write_adapted(
            model,
            matrices,
            target_tokenizer,
            vocabularies.counterparts,
            folder,
            progress=say is not silent,
        )
        if source_weights:
            padded = {which: one.padded(rows) for which, one in source_weights.items()}
            write_source_weights(folder, padded)
        card = model_card(model, made_of, report, chosen.citation, languages)
        write_text(folder / "README.md", card)
        if figure:
            diagnostics_figure.draw(report, folder)
        _finish(folder, made_of, report)
    say("done")


def note_models(made_of: dict[str, Any], models: dict[str, Path]) -> None:
    """Note fingerprints and names of models that were read beside the source."""
    for name, folder in models.items():
        made_of[name] = fingerprint_all(ModelFolder(folder), folder)
        made_of["names"][name] = name_of(folder)


def open_helper(
    folder: Path, vocabularies: Vocabularies, pairs: Path | None, method: Method
) -> Helper:
    """Return the helper in a model folder; raise :class:`RevocabError` for one of no use here."""
    check_model(folder)
    target, identity = vocabularies.target_tokenizer, vocabularies.identity
    helper = Helper.open(folder, target, identity=identity, pairs=pairs)
    if coverage := helper.coverage(vocabularies.intersection):
        coverage.check(method, folder)
    return helper


def check_device(device: str) -> None:
    """Raise unless torch can compute on ``device``."""
    import torch

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # torch without CUDA asserts
        present = "cpu, cuda" if torch.cuda.is_available() else "cpu"
        reason = str(error).split("\n", maxsplit=1)[0]
        raise RevocabError(
            f"--device {device}: not available here ({reason}); present: {present}"
        ) from None


def fingerprint_all(model: ModelFolder, tokenizer: Path) -> dict[str, Any]:
    """Return a model's fingerprint with its tokenizer's hash."""
    return {
        **provenance.fingerprint(model),
        "tokenizer.json": provenance.tokenizer_hash(tokenizer),
    }


def _finish(folder: Path, made_of: dict[str, Any], described: dict[str, Any]) -> None:
    write_json(folder / "provenance.json", made_of)
    write_json(folder / "diagnostics.json", described)
    write_json(folder / "manifest.json", made_of)
