"""The order in which packed rows are read: that of the packing, or one that a seed draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training_pico import write_packed

from revocab import io
from revocab.errors import RevocabError
from revocab.training.data.mixture import drawn_order, layout
from revocab.training.data.packed_rows import MARKS, PackedRows, open_packed

#: Shares by stage: two stages, of which the second has one corpus more.
SHARES = {"it": [0.75, 0.25], "en": [0.25, 0.5], "fr": [0, 0.25]}
STAGES = (("first", 16), ("second", 24))


def packed(seed: int) -> tuple[dict, dict[str, list[np.ndarray]]]:
    """Return the manifest of rows in two stages, and where packing put them."""
    places = layout(SHARES, STAGES, seed)
    stages = [
        {"name": name, "rows": rows, "corpora": {
            corpus: {"rows": len(found[number])}
            for corpus, found in places.items() if len(found[number])
        }}
        for number, (name, rows) in enumerate(STAGES)
    ]  # fmt: skip
    return {"seed": seed, "stages": stages}, places


@given(first=st.integers(0, 99), second=st.integers(100, 199))
def test_every_row_once_in_its_stage_and_every_corpus_where_its_share_has_it(first, second):
    manifest, before = packed(first)
    order = drawn_order(manifest, 40, second)
    assert sorted(order.tolist()) == list(range(40))
    after = layout(SHARES, STAGES, second)
    for corpus in SHARES:
        for stage in range(2):
            read = order[after[corpus][stage]]
            assert sorted(read.tolist()) == before[corpus][stage].tolist()


def test_rows_of_one_corpus_change_places():
    manifest = {"seed": 17, "corpora": {"it": {"rows": 100}}}
    order = drawn_order(manifest, 100, 1)
    assert sorted(order.tolist()) == list(range(100))
    assert (order != np.arange(100)).mean() > 0.9


@given(rows=st.integers(1, 40), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_a_shorter_training_reads_the_first_rows(rows, seed):
    manifest, _ = packed(17)
    order = drawn_order(manifest, rows, seed)
    assert sorted(order.tolist()) == list(range(rows))


@pytest.fixture
def folder(tmp_path):
    """A packed folder of 24 rows, seed 17, whose ids say which row they are."""
    tokens = np.repeat(np.arange(24), 8).reshape(24, 8).astype(np.uint16)
    write_packed(tmp_path, tokens)
    return tmp_path


def read(rows, size: int) -> list[int]:
    """Return the rows that batches of a size hold, front to back."""
    batches = [rows.batch(list(range(n, n + size))) for n in range(0, rows.rows, size)]
    return [int(row[0]) for batch in batches for row in batch["input_ids"]]


def test_the_seed_of_the_packing_reads_the_rows_as_they_were_packed(folder):
    for seed in (17, None):
        rows = open_packed(folder, 24, batch_size=4, seed=seed)
        assert rows.order is None and read(rows, 4) == list(range(24))


def test_batches_of_any_size_read_one_order(folder):
    rows = open_packed(folder, 24, batch_size=4, seed=3)
    order = rows.order.tolist()
    assert order != list(range(24))
    assert read(rows, 4) == read(rows, 1) == read(rows, 12) == order


def test_what_a_step_predicts_is_counted_over_the_rows_that_it_reads(tmp_path):
    """Of eight tokens seven are learned, in the first four of twelve rows one less."""
    tokens = np.zeros((12, 8), dtype=np.uint16)
    learned = np.full((12, 1), 0b01111111, dtype=np.uint8)
    learned[:4] = 0b01110111
    marks = {"starts": np.zeros((12, 1), dtype=np.uint8), "answers": learned}
    order = np.array([0, 4, 5, 6, 1, 2, 7, 8, 3, 9, 10, 11])
    rows = PackedRows(tokens, {"sequence_length": 8}, 12, marks, 4, order)
    predicted = [rows.batch([place])["predicted"].item() for place in range(12)]
    assert predicted == [4 * 7 - 1] * 4 + [4 * 7 - 2] * 4 + [4 * 7 - 1] * 4


def test_every_damaged_or_missing_file_is_named(folder):
    marks = np.zeros((24, 1), dtype=np.uint8)
    manifest = io.read_json(folder / "manifest.json")
    for stem in MARKS:
        np.save(folder / f"{stem}.npy", marks)
        manifest[f"{stem}_sha256"] = io.sha256(folder / f"{stem}.npy")
    io.write_json(folder / "manifest.json", manifest)
    assert open_packed(folder, 24).marks.keys() == {*MARKS}
    np.save(folder / "tokens.npy", np.zeros((24, 8), dtype=np.uint16))
    (folder / "starts.npy").unlink()
    with pytest.raises(RevocabError) as caught:
        open_packed(folder, 12)
    first, second = caught.value.problems
    assert f"{folder / 'tokens.npy'}: " in first and f"{folder / 'starts.npy'}: " in second
