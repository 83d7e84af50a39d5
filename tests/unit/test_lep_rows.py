"""LEP's rows: of the source's dtype, rounded once."""

from __future__ import annotations

import pytest
import torch
from method_inputs import new_rows, random_inputs

from revocab.initialise.options import check_options, find_method
from revocab.initialise.target_matrix import fill


@pytest.mark.parametrize("map_", ["swap", "overlap", "conversion"])
def test_rows_are_those_of_float32_rounded_once(map_):
    from dataclasses import replace

    given = random_inputs()
    stored = given.source_VD.bfloat16()
    known = torch.arange(given.target_rows) % 7 > 0  # others are the source's
    donor = replace(given.donor, adapted_known_V=known)
    exact = replace(given, source_VD=stored.float(), donor=donor, notes={})
    coarse = replace(given, source_VD=stored, donor=donor, notes={})
    wanted, found = (new_rows("lep", one, map=map_) for one in (exact, coarse))
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, wanted.bfloat16())
    assert exact.notes == coarse.notes
    lep = find_method("lep")
    matrix = fill(stored, coarse, lep, check_options(lep, {"map": map_}))
    assert torch.equal(matrix, found) and not matrix.is_inference()


def test_rows_too_large_for_the_source_s_dtype_are_told():
    from dataclasses import replace

    from revocab.errors import RevocabError

    given = random_inputs()
    donor = replace(given.donor, adapted_VD=given.donor.adapted_VD * 1e6)
    lep = find_method("lep")
    source_VD = given.source_VD.half()
    given = replace(given, source_VD=source_VD, donor=donor)
    with pytest.raises(RevocabError, match=r"new rows are too large for torch.float16"):
        fill(source_VD, given, lep, check_options(lep, {"map": "swap"}))
