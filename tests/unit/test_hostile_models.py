"""Models from strangers: an index that points elsewhere, links out of the folder, false headers.

Whatever a folder claims, nothing outside the output folder is written, and nothing from outside
the model is copied into it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
from pathlib import Path

import pytest
import torch
from huggingface_hub import snapshot_download
from jobs import job_of
from safetensors.torch import load_file
from toy_folders import adapt, initialise, load, shard

from revocab.errors import RevocabError
from revocab.initialise import adapted_model
from revocab.io import read_json, write_json
from revocab.models.change import ChangeJob, change_model
from revocab.models.fetch import FetchJob, fetch_model
from revocab.models.folder import INDEX, ModelFolder
from revocab.models.weights import read_header
from revocab.training import checkpoints

HEAD = "lm_head.weight"
EVERY_BLOCK = job_of(ChangeJob, change="blocks", share=1.0)


def everything(folder):
    """Every file below a folder with its bytes, links as what they say."""
    return {
        str(path.relative_to(folder)): str(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def refused(work, toys, source, match):
    """Every verb that takes the model refuses it, and changes nothing in the folder ``work``."""
    before = everything(work)
    target = toys / "target-tokenizer"
    verbs = (
        lambda: initialise(source, work / "out", "fvt", target_tokenizer=target),
        lambda: initialise(source, work / "out", "lapt"),
        lambda: change_model(EVERY_BLOCK, source, work / "out"),
        lambda: fetch_model(work / "f" / "snapshot", FetchJob(), source),
        lambda: checkpoints.stored_dtype(source),
    )
    for verb in verbs:
        with pytest.raises(RevocabError, match=match):
            verb()
        assert everything(work) == before


# The index of the shards. ------------------------------------------------------------------------


ELSEWHERE = [
    "../victim.safetensors", "sub/part.safetensors", "..\\victim.safetensors",
    "C:victim.safetensors", "..", "", "model.bin", ".safetensors", "a\nb.safetensors",
    "x" * 300 + ".safetensors", "/dev/null",
]  # fmt: skip


@pytest.mark.parametrize("place", ELSEWHERE)
def test_an_index_names_files_beside_it(toys, tmp_path, place):
    source = shard(toys / "untied", tmp_path / "work" / "source")
    index = read_json(source / INDEX)
    index["weight_map"][HEAD] = place
    write_json(source / INDEX, index)
    wanted = rf"weight_map has {re.escape(repr(place))} for 'lm_head\.weight'"
    with pytest.raises(RevocabError, match=wanted):
        ModelFolder(source)


@pytest.mark.parametrize("absolute", [False, True])
def test_a_shard_that_is_there_but_elsewhere_is_left_alone(toys, tmp_path, absolute):
    """Joined to the output folder, an absolute path is itself: it would be overwritten."""
    source = shard(toys / "untied", tmp_path / "work" / "source")
    victim = tmp_path / "work" / "victim.safetensors"
    index = read_json(source / INDEX)
    own = index["weight_map"][HEAD]
    (source / own).rename(victim)
    place = str(victim) if absolute else "../victim.safetensors"
    index["weight_map"] = {
        name: place if file == own else file for name, file in index["weight_map"].items()
    }
    write_json(source / INDEX, index)
    refused(tmp_path / "work", toys, source, "without folders")


def test_everything_wrong_with_an_index_is_listed(toys, tmp_path):
    source = shard(toys / "untied", tmp_path / "source")
    for wrong in ([], {"weight_map": []}, {"metadata": {}}, {"weight_map": {}}, "x"):
        write_json(source / INDEX, wrong)
        with pytest.raises(RevocabError, match="weight_map"):
            ModelFolder(source)
    metadata = {"total_size": "12", "total_parameters": True}
    files = {"a": "/x.safetensors", "b": 3, "c": "c.safetensors", "d": None}
    write_json(source / INDEX, {"metadata": metadata, "weight_map": files})
    with pytest.raises(RevocabError) as error:
        ModelFolder(source)
    assert len(error.value.problems) == 5
    many = {str(number): f"../{number}.safetensors" for number in range(500)}
    write_json(source / INDEX, {"metadata": 7, "weight_map": many})
    with pytest.raises(RevocabError) as error:
        ModelFolder(source)
    assert len(error.value.problems) == 11
    assert "and 491 more" in str(error.value)


def test_index_and_shards_must_agree(toys, tmp_path):
    source = shard(toys / "untied", tmp_path / "work" / "source")
    index = read_json(source / INDEX)
    files = sorted(set(index["weight_map"].values()))
    other = next(file for file in files if file != index["weight_map"][HEAD])
    cases = {
        "does not hold it": {**index["weight_map"], HEAD: other},
        "which model.safetensors.index.json does not have there": {
            name: file for name, file in index["weight_map"].items() if name != HEAD
        },
        "absent.weight": {**index["weight_map"], "absent.weight": other},
    }
    for match, weight_map in cases.items():
        write_json(source / INDEX, {**index, "weight_map": weight_map})
        for method in ("fvt", "lapt"):
            with pytest.raises(RevocabError, match=re.escape(match)):
                adapt(toys, tmp_path / "work" / "out", source, method)
        assert not (tmp_path / "work" / "out").exists()
    write_json(source / INDEX, index)
    for file in files[:2]:
        (source / file).unlink()
    with pytest.raises(RevocabError) as error:
        adapt(toys, tmp_path / "work" / "out", source)
    assert all(
        file in problem for file, problem in zip(files[:2], error.value.problems, strict=True)
    )


# Links. ------------------------------------------------------------------------------------------

LINKED = "model.safetensors config.json generation_config.json tokenizer.json README.md LICENSE"


@pytest.mark.parametrize("name", LINKED.split())
def test_a_link_out_of_the_folder_is_refused(toys, tmp_path, name):
    source = shutil.copytree(toys / "untied", tmp_path / "work" / "source")
    private = tmp_path / "private"
    private.write_bytes((source / name).read_bytes() if (source / name).exists() else b"secret")
    (source / name).unlink(missing_ok=True)
    (source / name).symlink_to(os.path.relpath(private, source))
    refused(tmp_path / "work", toys, source, rf"{re.escape(name)}: a link out of its folder")
    (source / name).unlink()
    (source / name).symlink_to("/nowhere/at/all")
    if name != "config.json":
        refused(tmp_path / "work", toys, source, "which is not a file")


def test_all_links_are_listed_and_those_within_the_folder_work(toys, tmp_path):
    source = shard(toys / "untied", tmp_path / "source")
    (source / "inner").mkdir()
    for name in ("config.json", *ModelFolder(source).files):
        (source / name).rename(source / "inner" / name)
        (source / name).symlink_to(f"inner/{name}")
    (source / "NOTES.md").symlink_to("inner/config.json")
    (tmp_path / "elsewhere").symlink_to(source)  # the folder itself may be a link
    out = adapt(toys, tmp_path / "out", tmp_path / "elsewhere")
    load(out)
    assert not any(path.is_symlink() for path in out.iterdir())
    for name in ("a.md", "b.json", "c.txt"):
        (source / name).symlink_to("/etc/hosts")
    with pytest.raises(RevocabError) as error:
        ModelFolder(source)
    assert len(error.value.problems) == 3


def test_a_shard_that_is_a_link_out_is_refused(toys, tmp_path):
    source = shard(toys / "untied", tmp_path / "work" / "source")
    file = read_json(source / INDEX)["weight_map"][HEAD]
    (source / file).rename(tmp_path / "moved")
    (source / file).symlink_to(tmp_path / "moved")
    refused(tmp_path / "work", toys, source, "a link out of its folder")


def test_a_target_tokenizer_with_a_link_is_refused_before_computing(toys, tmp_path, monkeypatch):
    monkeypatch.setattr(adapted_model, "initialise_matrices", None)  # any call would fail
    target = shutil.copytree(toys / "target-tokenizer", tmp_path / "target")
    (target / "chat_template.jinja").symlink_to("/etc/hosts")
    with pytest.raises(RevocabError, match=r"chat_template\.jinja: a link out"):
        initialise(toys / "untied", tmp_path / "out", "fvt", target_tokenizer=target)


def test_exported_checkpoints_do_not_follow_links_out(toys, tmp_path):
    source = shutil.copytree(toys / "untied", tmp_path / "source")
    model = load(source)
    (source / "merges.txt").symlink_to("/etc/hosts")
    with pytest.raises(RevocabError, match=r"merges\.txt: a link out"):
        checkpoints.export(
            model, model.state_dict(), torch.float32, source, tmp_path / "checkpoints" / "step"
        )
    assert not (tmp_path / "checkpoints" / "step").exists()


# The Hub's cache. --------------------------------------------------------------------------------


@pytest.fixture
def root(toys, tmp_path):
    """A Hub with one model in shards."""
    shard(toys / "untied", tmp_path / "hub" / "models" / "o" / "m" / "main")
    return tmp_path / "hub"


@pytest.fixture
def snapshot(hub):
    """The model in the cache of the Hub's client: links into ``blobs/``."""
    return Path(snapshot_download("o/m"))


def test_a_real_cache_works_and_other_places_do_not(toys, snapshot, tmp_path):
    files = ModelFolder(snapshot).files
    assert all((snapshot / name).is_symlink() for name in ("config.json", *files))
    out = adapt(toys, tmp_path / "out", snapshot)
    plain = adapt(toys, tmp_path / "plain", "untied")
    expected = load_file(plain / "model.safetensors")
    adapted = ModelFolder(out)
    assert adapted.tensors.keys() == expected.keys()
    assert all(torch.equal(adapted.read(name), expected[name]) for name in expected)
    assert not any(path.is_symlink() for path in out.iterdir())
    fetch_model(tmp_path / "f" / "snapshot", FetchJob(), snapshot)
    load(tmp_path / "f" / "snapshot")

    repository = snapshot.parent.parent
    cache = shutil.copytree(repository.parent, tmp_path / "shared", symlinks=True)
    shared = cache / repository.name
    own = shared / "snapshots" / snapshot.name
    blob = (own / files[0]).resolve()
    digest = "ab" * 32
    # One store for all repositories of a cache, as newer clients keep it.
    store = shared.parent / "blobs" / digest[:2] / digest
    store.parent.mkdir(parents=True)
    blob.rename(store)
    blob.symlink_to(os.path.relpath(store, blob.parent))
    adapt(toys, tmp_path / "from-store", own)

    def lead(link, target):
        link.unlink()
        link.symlink_to(os.path.relpath(target, link.parent))
        with pytest.raises(RevocabError, match="a link out of its folder"):
            ModelFolder(own)

    other = shared.parent / "models--o--private" / "blobs" / digest
    other.parent.mkdir(parents=True)
    shutil.copyfile(store, other)
    lead(own / files[0], store)  # not by way of the repository's own blobs/
    lead(own / files[0], other)
    (own / files[0]).unlink()
    (own / files[0]).symlink_to(os.path.relpath(blob, own))
    ModelFolder(own)
    lead(blob, other)


# Headers. ----------------------------------------------------------------------------------------


def entry(begin, end, shape=(1,), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


WRONG = {
    "ends behind the file": {"a": entry(0, 4000, (1000,))},
    "overlaps": {"a": entry(0, 8, (2,)), "b": entry(4, 8)},
    "leaves unused bytes": {"a": entry(4, 8)},
    "leaves bytes at the end": {"a": entry(0, 4)},
    "fewer bytes than its shape": {"a": entry(0, 8, (3,))},
    "more bytes than its shape": {"a": entry(0, 8, ())},
    "more values than there are numbers": {"a": entry(0, 8, (1 << 62, 1 << 62))},
    "ends before it begins": {"a": entry(8, 0, (2,))},
    "negative offset": {"a": entry(-4, 4, (2,))},
    "offset true": {"a": entry(True, 8, (2,))},
    "negative size": {"a": entry(0, 8, (-2,))},
    "size 2.0": {"a": entry(0, 8, (2.0,))},
    "dtype 3": {"a": entry(0, 8, (2,), 3)},
    "unknown dtype": {"a": entry(0, 8, (5,), "F3_NEW")},
    "tensor that is a list": {"a": [0, 8]},
    "no object": [1],
    "metadata of numbers": {"__metadata__": {"a": 1}, "b": entry(0, 8, (2,))},
    "deep": b"[" * 100_000,
    "cut off": b'{"a": {"dtype": "F32", "sh',
    "no UTF-8": b'{"\xff": 1}',
}
SHORT = (b"", b"abc", b"\0\0\x10" + bytes(5), b"\xff" * 8)


def stored(header):
    """Return the bytes of a file with this header, and eight bytes of tensors."""
    text = json.dumps(header).encode() if not isinstance(header, bytes) else header
    return struct.pack("<Q", len(text)) + text + b"\0" * 8


@pytest.mark.parametrize(
    "content", [*map(stored, WRONG.values()), *SHORT], ids=[*WRONG, *map(str, SHORT)]
)
def test_a_false_header_and_a_file_shorter_than_its_header_are_refused(tmp_path, content):
    (tmp_path / "a.safetensors").write_bytes(content)
    with pytest.raises(RevocabError, match=r"a\.safetensors: .* fetch it again"):
        read_header(tmp_path / "a.safetensors")


def test_damaged_shards_stop_every_verb_before_anything_is_written(toys, tmp_path):
    source = shard(toys / "untied", tmp_path / "work" / "source")
    for file in ModelFolder(source).files[:2]:
        data = (source / file).read_bytes()
        (source / file).write_bytes(data[:-40])
    refused(tmp_path / "work", toys, source, "fetch it again")
    with pytest.raises(RevocabError) as error:
        _ = ModelFolder(source).tensors
    assert len(error.value.problems) >= 2
