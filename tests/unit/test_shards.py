"""Shards: any size gives the same rows, checksums find the damaged one, nothing stale is read."""

from __future__ import annotations

import hashlib
import io as streams

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from revocab import io
from revocab.errors import RevocabError
from revocab.training.data.packed_rows import open_packed
from revocab.training.data.shards import MARKS, OPEN_SHARDS, new_shards, open_shards


def written(folder, tokens, *, shard_bytes, masks=False, order=None):
    """Write rows in some order, a few at a time, and the manifest that reading needs."""
    rows, length = tokens.shape
    order = np.arange(rows) if order is None else order
    with new_shards(
        folder, rows, length, tokens.dtype, conversations=masks, shard_bytes=shard_bytes
    ) as shards:
        for some in map(np.sort, np.array_split(order, 3)):
            shards.arrays["tokens"][some] = tokens[some]
            for stem in MARKS if masks else ():
                shards.arrays[stem][some] = bits_of(tokens)[some]
    manifest = {
        "rows": rows, "sequence_length": length, "tokens": tokens.size, "tokens_per_byte": 0.5,
        "largest_id": int(tokens.max()),
        **shards.described(),
    }  # fmt: skip
    io.write_json(folder / "manifest.json", manifest)
    return manifest


def bits_of(tokens):
    """Return marks of documents: here a document begins at every even id."""
    return np.packbits(tokens % 2 == 0, axis=1)


def sha256_of(array):
    file = streams.BytesIO()
    np.save(file, array)
    return hashlib.sha256(file.getvalue()).hexdigest()


@settings(max_examples=50)  # files are written
@given(
    rows=st.integers(1, 60),
    length=st.integers(1, 20),
    shard_bytes=st.integers(1, 600),
    dtype=st.sampled_from([np.uint16, np.uint32]),
    seed=st.integers(0, 99),
)
def test_any_shard_size_gives_the_same_rows(
    tmp_path_factory, rows, length, shard_bytes, dtype, seed
):
    folder = tmp_path_factory.mktemp("rows")
    random = np.random.default_rng(seed)
    tokens = random.integers(0, 60000, (rows, length)).astype(dtype)
    order = random.permutation(rows)
    manifest = written(folder, tokens, shard_bytes=shard_bytes, masks=True, order=order)
    per_shard = max(1, shard_bytes // (length * tokens.itemsize))
    assert [one["rows"] for one in manifest["shards"]] == [
        min(per_shard, rows - first) for first in range(0, rows, per_shard)
    ]
    # Checksums of the whole do not depend on how it is cut.
    assert manifest["sha256"] == sha256_of(tokens)
    assert manifest["starts_sha256"] == sha256_of(bits_of(tokens))
    opened = open_shards(folder, manifest, rows)
    found, starts = opened["tokens"], opened.get("starts")
    assert (found[np.arange(rows)] == tokens).all()
    assert (found[order] == tokens[order]).all()
    assert (starts[order.tolist()] == bits_of(tokens)[order]).all()
    assert all((found[row] == tokens[row]).all() for row in range(rows))


def test_training_batches_do_not_depend_on_shards(tmp_path):
    tokens = np.random.default_rng(1).integers(0, 500, (40, 16)).astype(np.uint16)
    batches = {}
    for name, size in (("one", 10**6), ("many", 3 * 32)):
        written(tmp_path / name, tokens, shard_bytes=size, masks=True)
        packed = open_packed(tmp_path / name, 40, batch_size=8)
        assert len(list((tmp_path / name).glob("tokens-*.npy"))) == (1 if name == "one" else 14)
        batches[name] = [packed.__getitems__(list(range(n, n + 4))) for n in range(0, 40, 4)]
    for one, many in zip(batches["one"], batches["many"], strict=True):
        assert set(one) == {"input_ids", "position_ids", "predicted", "learned"}
        assert all((one[key] == many[key]).all() for key in one)


def test_few_shards_are_mapped_at_a_time(tmp_path):
    tokens = np.arange(400, dtype=np.uint16).reshape(100, 4)
    manifest = written(tmp_path, tokens, shard_bytes=8)
    found = open_shards(tmp_path, manifest, 100)["tokens"]
    assert (found[np.arange(100)] == tokens).all()
    assert len(found.files) == 100
    assert found._map.cache_info().currsize == OPEN_SHARDS


@pytest.fixture
def folder(tmp_path):
    """Twelve rows in shards of five: rows 0 to 4, 5 to 9, 10 and 11."""
    tokens = np.arange(48, dtype=np.uint16).reshape(12, 4)
    written(tmp_path, tokens, shard_bytes=5 * 8 + 7, masks=True)
    return tmp_path


def damage(file):
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def test_every_damaged_or_missing_shard_is_named(folder):
    damage(folder / "tokens-00001.npy")
    (folder / "starts-00002.npy").unlink()
    with pytest.raises(RevocabError) as caught:
        open_packed(folder, 12)
    first, second = caught.value.problems
    assert "tokens-00001.npy: SHA-256" in first and "rows 5 to 9" in first
    assert "put a good copy in its place, or delete" in first and "pack again" in first
    assert "starts-00002.npy: missing" in second and "rows 10 to 11" in second


def test_shards_that_are_not_needed_are_not_read(folder):
    damage(folder / "tokens-00002.npy")
    assert open_packed(folder, 10).tokens[9].tolist() == [36, 37, 38, 39]
    with pytest.raises(RevocabError, match=r"tokens-00002.npy: .* damaged"):
        open_packed(folder, 11)


def test_a_failure_leaves_no_shard(tmp_path):
    with (
        pytest.raises(RuntimeError, match="stop"),
        new_shards(tmp_path, 12, 4, np.uint16, conversations=True, shard_bytes=16) as shards,
    ):
        shards.arrays["tokens"][np.arange(12)] = np.ones((12, 4))
        raise RuntimeError("stop")
    assert list(tmp_path.iterdir()) == []


def test_an_index_is_needed_and_a_size_that_makes_sense(folder):
    manifest = io.read_json(folder / "manifest.json")
    io.write_json(folder / "manifest.json", {**manifest, "shards": []} | {"rows": 0})
    with pytest.raises(RevocabError, match="0 rows, 12 needed"):
        open_packed(folder, 12)
    del manifest["shards"]
    io.write_json(folder / "manifest.json", manifest)
    with pytest.raises(RevocabError, match="no index of shards; pack again"):
        open_packed(folder, 12)
    with pytest.raises(RevocabError, match="--shard-bytes: 0; give 1 or more"):
        written(folder, np.zeros((3, 4), dtype=np.uint16), shard_bytes=0)
