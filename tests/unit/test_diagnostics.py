"""Diagnostics by hand: norms, directions, near duplicates, warnings, figure."""

from __future__ import annotations

import pytest
import torch

from revocab.initialise import diagnostics
from revocab.initialise.rows import alignment


def ids(*values):
    return torch.tensor(values, dtype=torch.int64)


def described(new_rows, copied_rows=((3.0, 4.0), (4.0, 3.0))):
    matrix = torch.tensor([*copied_rows, *new_rows])
    split = len(copied_rows)
    return diagnostics.describe(
        matrix[:split], matrix, torch.arange(split), torch.arange(split, len(matrix))
    )


def test_statistics_by_hand():
    found = described([[0.0, 2.0], [4.0, 0.0]])
    assert found["norm_copied"] == {
        "rows": 2, "mean": 5.0, "std": 0.0, "min": 5.0, "median": 5.0, "max": 5.0,
    }  # fmt: skip
    assert found["norm_new"]["mean"] == 3.0
    assert found["norm_new"]["std"] == 1.0
    # The copied rows' mean points to (1, 1): cosine 7 / (5 sqrt 2).
    assert found["cosine_to_mean_copied"] == pytest.approx(7 / (5 * 2**0.5))
    # Mean of the new rows: (2, 1); cosines 1 / sqrt 5 and 2 / sqrt 5.
    assert found["cosine_to_mean_new"] == pytest.approx(1.5 / 5**0.5)
    assert found["cosine_of_new_to_copied_mean"] == pytest.approx(2**-0.5)
    assert sum(found["histograms"]["norm"]["new"]) == 2
    assert found["histograms"]["norm"]["copied"][-1] == 2
    assert diagnostics.warn("m", "input", found) == []


def test_norms_over_a_decade_are_binned_on_a_log_scale():
    histogram = described([[0.005, 0.0], [0.0, 50.0]])["histograms"]["norm"]
    assert histogram["log"]
    assert histogram["edges"][0] == pytest.approx(0.005)
    assert histogram["edges"][-1] == pytest.approx(50)
    assert histogram["new"][0] == histogram["new"][-1] == 1
    assert sum(histogram["copied"]) == 2
    close = described([[4.0, 0.0]])["histograms"]["norm"]
    assert not close["log"]
    assert (close["edges"][0], close["edges"][-1]) == (4, 5)


def test_without_copied_rows_the_source_is_the_measure():
    source = torch.tensor([[3.0, 4.0], [5.0, 0.0]])
    matrix = torch.tensor([[0.1, 0.0], [0.0, 0.1], [0.1, 0.1]])
    found = diagnostics.describe(source, matrix, ids(), torch.arange(3))
    assert found["norm_copied"]["mean"] is None
    assert found["cosine_of_new_to_copied_mean"] is None
    assert "of the source rows' 5" in diagnostics.warn("m", "input", found)[0]


def test_the_mean_of_rows_is_that_of_all_chunks(monkeypatch):
    monkeypatch.setattr(alignment, "CHUNK_ROWS", 2)
    # Chunks of two rows and of one, whose own means point elsewhere.
    found = described([[4.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    # The mean is (8, 4) / 3: cosines 2 / sqrt 5 twice, and 1 / sqrt 5.
    assert found["cosine_to_mean_new"] == pytest.approx(5 / 3 / 5**0.5)


def test_a_single_new_row_like_another_is_no_warning():
    found = described([[3.0, 4.0]])
    assert found["near_duplicates"]["identical"] == 1
    assert diagnostics.warn("m", "input", found) == []
    assert diagnostics.warn("m", "input", described([[3.0, 4.0], [4.0, 3.0]]))


def test_few_and_zero_rows_have_no_duplicates_and_no_new_rows_no_warning():
    found = diagnostics.describe(torch.ones(2, 2), torch.ones(2, 2), torch.arange(2), ids())
    assert found["norm_new"]["rows"] == 0
    assert diagnostics.warn("m", "input", found) == []
    assert diagnostics.near_duplicates(torch.ones(1, 4), ids(0))["rows"] == 0
    assert diagnostics.near_duplicates(torch.zeros(3, 4), ids(0, 1))["rows"] == 0


def test_clp_that_blows_up_is_told():
    from method_inputs import make

    from revocab.initialise.method import methods
    from revocab.initialise.target_matrix import fill

    # Cosines 1 and -0.9999: their sum, by which clp divides, is nearly zero.
    inputs = make([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]], helper=[[1, 0], [-0.9999, 0.01414], [1, 0]])
    method = methods()["clp"]
    matrix = fill(inputs.source_VD, inputs, method, method.options())
    found = diagnostics.describe(inputs.source_VD, matrix, ids(0, 1), ids(2))
    assert "exploded" in diagnostics.warn("clp", "input", found)[0]


# Near duplicates. --------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [16, 700])
def test_near_duplicates_are_those_of_a_full_search(width, monkeypatch):
    monkeypatch.setattr(diagnostics, "BLOCK_ROWS", 7)  # several blocks
    generator = torch.Generator().manual_seed(5)
    matrix = torch.randn(60, width, generator=generator)
    matrix[50] = 3 * matrix[0] + 0.03 * torch.randn(width, generator=generator)  # near a copied row
    matrix[51] = matrix[52]  # the same bits
    matrix[53] = 2 * matrix[54]  # the same direction
    matrix[55] = matrix[6] + 0.5 * torch.randn(width, generator=generator)  # cosine about 0.9
    new = torch.arange(40, 60)
    unit = torch.nn.functional.normalize(matrix, dim=1)
    cosines = unit @ unit.T
    cosines.fill_diagonal_(-2)
    expected = {int(i) for i in new if cosines[i].max() >= diagnostics.COSINE}
    found = diagnostics.near_duplicates(matrix, new)
    assert expected == {50, 51, 52, 53, 54}
    assert found["rows"] == len(expected)
    assert found["identical"] == 2
    assert {example["token"] for example in found["examples"]} == expected
    for example in found["examples"]:
        cosine = float(cosines[example["token"], example["other"]])
        assert example["cosine"] == pytest.approx(cosine, abs=1e-5)
