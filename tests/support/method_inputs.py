"""Inputs of methods for the tests: small, by hand or random."""

from __future__ import annotations

import torch
from jobs import job_of

from revocab.initialise.method import DonorRows, MethodInputs, methods
from revocab.initialise.options import ChosenMethod, find_method
from revocab.initialise.rows.means import AuxiliaryOptions
from revocab.initialise.target_matrix import own_rows

#: Methods that make new rows; one that takes a helper's as they are is in test_helper.
CHANGING = [
    name
    for name, method in methods().items()
    if not (method.keeps_vocabulary or method.takes_helper_rows)
]
#: Methods that compare tokens in auxiliary embeddings.
COMPARING = [
    name for name, method in methods().items() if issubclass(method.options, AuxiliaryOptions)
]
SOURCE = [[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]]


def make(source, helper=None, overlap=((0, 1), (1, 0)), missing=(2,), pieces=None, **keys):
    """Return inputs from nested lists; ``overlap`` is (target, source) pairs."""
    table = pieces or {}
    return MethodInputs(
        source_VD=torch.tensor(source, dtype=torch.float32),
        target_rows=len(overlap) + len(missing),
        overlap_target_N=torch.tensor([pair[0] for pair in overlap], dtype=torch.int64),
        overlap_source_N=torch.tensor([pair[1] for pair in overlap], dtype=torch.int64),
        missing_N=torch.tensor(missing, dtype=torch.int64),
        seed=keys.pop("seed", 0),
        pieces=lambda token: table[token],
        pieces_released=lambda token: table[token][:1],
        helper_VD=None if helper is None else torch.tensor(helper, dtype=torch.float32),
        **keys,
    )


def chosen(name, **options):
    return job_of(ChosenMethod, method=name, **options)


def new_rows(name, inputs, **options):
    return own_rows(inputs, find_method(name), chosen(name, **options))


def random_inputs(overlap=40, missing=25, source_width=8, helper_width=6, seed=0):
    generator = torch.Generator().manual_seed(99)
    target = overlap + missing
    order = torch.randperm(target, generator=generator)
    shared = order[:overlap].sort().values
    return MethodInputs(
        source_VD=torch.randn(target, source_width, generator=generator),
        target_rows=target,
        overlap_target_N=shared,
        overlap_source_N=torch.randperm(target, generator=generator)[:overlap],
        missing_N=order[overlap:].sort().values,
        seed=seed,
        pieces=lambda token: [token % 7, token % 5, token % 3],
        pieces_released=lambda token: [] if token % 2 else [token % 5],
        helper_VD=torch.randn(target, helper_width, generator=generator),
        donor=DonorRows(
            torch.randn(target, source_width, generator=generator), None,
            torch.randn(target, source_width, generator=generator), None,
        ),
        kept_N=torch.tensor([], dtype=torch.int64),
    )  # fmt: skip
