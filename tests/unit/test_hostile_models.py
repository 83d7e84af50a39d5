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
from safetensors.torch import load_file, save_file
from toy_folders import adapt, initialise, load, shard

from revocab import __main__ as entry_point
from revocab.errors import RevocabError
from revocab.initialise import adapted_model
from revocab.io import read_json, write_json
from revocab.model_check.kind import look_at
from revocab.models.change import ChangeJob
from revocab.models.changed_model import change_model
from revocab.models.fetch import FetchJob, fetch_model
from revocab.models.folder import INDEX, ModelFolder
from revocab.models.load import _kernels, load_causal_lm
from revocab.models.shape import load_shape
from revocab.models.weights.files import read_header
from revocab.training.outputs import checkpoints

HEAD = "lm_head.weight"
EVERY_BLOCK = ChangeJob(change="blocks", option={"share": 1.0})


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
    refused(tmp_path / "work", toys, source, wanted)


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


def test_the_command_names_every_problem_and_writes_nothing(toys, tmp_path, capsys):
    source = shard(toys / "untied", tmp_path / "work" / "source")
    index = read_json(source / INDEX)
    index["weight_map"] |= {HEAD: "../victim.safetensors", "model.norm.weight": "/x.safetensors"}
    write_json(source / INDEX, index)
    before = everything(tmp_path / "work")
    words = ["init", "--source", source, "--target-tokenizer", toys / "target-tokenizer"]
    words += ["--method", "fvt", "--out", tmp_path / "work" / "out"]
    with pytest.raises(SystemExit) as caught:
        entry_point.main([*map(str, words)])
    assert caught.value.code == 1 and "error: 2 problems" in capsys.readouterr().err
    assert everything(tmp_path / "work") == before


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


# Settings and tokenizers that take the machine, or end in the middle. ----------------------------


def set_keys(name, **values):
    """Set keys of a JSON file, as a careless program writes them: with NaN."""
    return lambda folder: (folder / name).write_text(
        json.dumps({**read_json(folder / name), **values})
    )


def edit_tokenizer(change):
    def changed(folder):
        content = read_json(folder / "tokenizer.json")
        change(content["model"]["vocab"], content)
        write_json(folder / "tokenizer.json", content)

    return changed


def scale(name, factor):
    def scaled(folder):
        tensors = load_file(folder / "model.safetensors")
        tensors[name] = tensors[name] * factor
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})

    return scaled


def add_token(number):
    return lambda _, content: content["added_tokens"].append(
        {**content["added_tokens"][0], "content": "<far>", "id": number}
    )


CONFIG, TOKENS = "config.json", "tokenizer.json"
#: What is done to a sound folder, and what the line that refuses it names.
TAKES_ALL = {
    "layers": (set_keys(CONFIG, num_hidden_layers=10**9), "num_hidden_layers is 1000000000"),
    "layers, not a whole number": (set_keys(CONFIG, num_hidden_layers=1e9), "1000000000.0"),
    "layers of another name": (set_keys(CONFIG, n_layer=10**9), "n_layer is"),
    "layers of a part": (set_keys(CONFIG, text_config={"num_layers": 10**9}), "text_config: num_l"),
    "heads": (set_keys(CONFIG, num_attention_heads=10**15), "num_attention_heads is"),
    "experts": (set_keys(CONFIG, num_local_experts=10**9), "num_local_experts is"),
    "width": (set_keys(CONFIG, hidden_size=10**12), "hidden_size is 1000000000000"),
    "rows": (set_keys(CONFIG, vocab_size=10**15), "vocab_size is"),
    "positions": (set_keys(CONFIG, max_position_embeddings=10**18), "max_position_embeddings is"),
    "NaN": (set_keys(CONFIG, rms_norm_eps=float("nan")), "NaN is no finite number"),
    "infinity": (set_keys(CONFIG, rope_theta=float("inf")), "Infinity is no finite number"),
    "NaN in a file beside it": (
        set_keys("generation_config.json", temperature=float("nan")), "NaN is no finite number",
    ),
    "an id": (edit_tokenizer(lambda vocab, _: vocab.update(far=2**32 - 1)), "4,294,967,295 ('fa"),
    "an id of an added token": (edit_tokenizer(add_token(2**32 - 1)), "4,294,967,295 ('<far>')"),
    "no token": (
        edit_tokenizer(lambda vocab, content: content.update(
            added_tokens=[], model={**content["model"], "vocab": {}, "merges": []})),
        "has no token",
    ),
    "no token but special ones": (
        edit_tokenizer(lambda vocab, content: content["model"].update(vocab={}, merges=[])),
        "no tokenizer could be loaded",
    ),
    "a template that is a number": (
        set_keys("tokenizer_config.json", chat_template=5), "chat_template is 5",
    ),
    "a length that is text": (
        set_keys("tokenizer_config.json", model_max_length="x"), "no tokenizer could be loaded",
    ),
    "huge weights": (scale("model.embed_tokens.weight", 1e30), "embed_tokens.weight has values up"),
    "huge weights of the head": (scale(HEAD, 1e20), "lm_head.weight has values up to"),
}  # fmt: skip


@pytest.mark.parametrize("case", TAKES_ALL)
def test_what_would_take_the_machine_is_one_line(toys, tmp_path, case):
    change, named = TAKES_ALL[case]
    source = shutil.copytree(toys / "untied", tmp_path / "source")
    if not (source / "generation_config.json").exists():
        write_json(source / "generation_config.json", {})
    change(source)
    with pytest.raises(RevocabError) as refused:
        initialise(source, tmp_path / "out", "fvt", target_tokenizer=toys / "target-tokenizer")
    assert named in str(refused.value) and "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()
    try:
        found = look_at(source)  # says so, or what else it can of such a folder
    except RevocabError as error:
        assert named in str(error)
    else:
        if case.startswith("huge"):
            return
        assert {finding.severity for finding in found} & {"error", "warning"}, found


def test_names_of_strangers_move_no_cursor():
    error = RevocabError(["a\x1b[31mb\x9b2J", "c\nd\u202e"])
    shown = error.render()
    assert shown.count("\n") == 2 and shown.endswith("c d\\u202e")
    assert "a\\x1b[31mb\\x9b2J" in shown and "\x1b" not in shown


# Code that transformers would fetch. --------------------------------------------------------------

KERNEL = "somebody/kernel@main:layer"


@pytest.mark.parametrize(
    "keys",
    [
        {"_attn_implementation": KERNEL},
        {"attn_implementation": KERNEL},
        {"_attn_implementation": "flash_attention_3"},
        {"attn_implementation": {"": KERNEL, "text_config": KERNEL}},
        {"_attn_implementation_internal": KERNEL},
        {"_experts_implementation": KERNEL},
        {"experts_implementation": "sonicmoe"},
        {"use_kernels": True, "allow_all_kernels": True, "kernel_config": {"RMSNorm": KERNEL}},
        {"auto_map": {"AutoModelForCausalLM": "modeling.Own", "AutoConfig": "modeling.Config"}},
    ],
)
def test_no_key_names_code_to_compute_with(toys, tmp_path, monkeypatch, keys):
    """Nothing is fetched or run, and the model computes what it did."""
    from transformers.integrations import hub_kernels

    def fetched(*_, **__):
        pytest.fail("a kernel was fetched")

    for name in ("get_kernel", "load_and_register_attn_kernel", "lazy_load_kernel"):
        monkeypatch.setattr(hub_kernels, name, fetched)
    source = Path(shutil.copytree(toys / "untied", tmp_path / "source"))
    (source / "modeling.py").write_text("raise SystemExit('code of the model was run')")
    write_json(source / "config.json", {**read_json(source / "config.json"), **keys})
    ids = torch.arange(5)[None]
    with torch.no_grad():
        expected, *received = (
            load_causal_lm(folder, dtype="float32")(ids).logits
            for folder in (toys / "untied", source, adapt(toys, tmp_path / "out", source))
        )
    assert torch.equal(received[0], expected) and received[1].isfinite().all()
    assert load_shape(source).config._attn_implementation in ("sdpa", "eager")


@pytest.mark.parametrize("installed", [True, False])
def test_quantisation_that_fetches_kernels_is_refused(toys, tmp_path, monkeypatch, installed):
    source = Path(shutil.copytree(toys / "untied", tmp_path / "source"))
    quantised = {"quantization_config": {"quant_method": "mxfp4"}}
    write_json(source / "config.json", {**read_json(source / "config.json"), **quantised})
    monkeypatch.setattr(
        "transformers.utils.import_utils.is_kernels_available", lambda *_: installed
    )
    found = [one.code for one in _kernels(ModelFolder(source))]
    assert found == ["fetched-kernels"] * installed
    if installed:
        with pytest.raises(RevocabError, match="quant_method 'mxfp4'"):
            load_causal_lm(source, dtype="float32")
