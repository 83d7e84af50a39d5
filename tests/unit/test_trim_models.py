"""Trimmed models: the rows that are kept, to the bit, in every architecture of the field."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
import torch
from sound_models import SHAPE, SOUND, TEXT, WITH_TABLES, Sound, pieces, write_sound
from toy_folders import load, restore, shard

from revocab.errors import RevocabError
from revocab.io import read_json, write_json
from revocab.models.folder import ModelFolder
from revocab.models.load import check_model
from revocab.models.trimmed_model import named_ids, renumbered
from revocab.models.weights import Part
from revocab.product.check.kind import look_at
from revocab.product.trim import trim
from revocab.vocabulary.tokenizers.load import load_tokenizer

FIELD = SOUND | WITH_TABLES
#: Of each alphabet, head, norm and type, of shards, padding, experts and tables, one or two are
#: tried in every run of the tests.
ALWAYS = (
    "llama-2", "llama-3-instruct", "llama-sharded", "mixtral", "qwen2-base", "gemma-2-it", "gpt2",
    "pythia", "opt", "bloom", "xglm", "gemma-3n", "gemma-4-untied",
)  # fmt: skip
EACH = [pytest.param(name, marks=[] if name in ALWAYS else pytest.mark.long) for name in FIELD]
WORDS = TEXT.split()


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    file = tmp_path_factory.mktemp("text") / "en.txt"
    file.write_text("".join(f"{' '.join(WORDS[n : n + 3])}\n" for n in range(0, 12, 3)))
    return file


@pytest.fixture(scope="module")
def made(tmp_path_factory, text):
    """Return a model of the field and the same trimmed, by name, each made once."""
    folder, done = tmp_path_factory.mktemp("field"), {}

    def make(name):
        if name not in done:
            source = write_sound(FIELD[name], folder / name)
            size = len(load_tokenizer(source))
            keep = size - 25 if FIELD[name].cut is not SOUND["xglm"].cut else size - 8
            run(source, text, folder / f"{name}-o", "--keep", keep, "--allow-unknown")
            done[name] = source, folder / f"{name}-o", keep
        return done[name]

    return make


def run(source, text, out, *words):
    return trim([str(word) for word in (source, f"en={text}", *words, "--out", out)])


def ids_of(folder):
    return read_json(folder / "kept_ids.json")


@pytest.mark.parametrize("name", EACH)
def test_every_architecture_keeps_its_rows_states_and_logits(made, name):
    source, out, keep = made(name)
    check_model(out)
    assert not [one for one in look_at(out) if one.severity == "error"]
    kept = torch.tensor(ids_of(out))
    assert len(kept) == len(load_tokenizer(out)) == keep
    before, after = load(source), load(out)
    cut = read_json(out / "manifest.json")["tensors"]
    for tensor, shape in cut.items():
        old, new = ModelFolder(source).read(tensor), ModelFolder(out).read(tensor)
        assert list(new.shape) == shape and torch.equal(new, old[kept[kept < len(old)]])
    others = ModelFolder(source).tensors.keys() - cut
    assert all(
        torch.equal(ModelFolder(source).read(tensor), ModelFolder(out).read(tensor))
        for tensor in others
    )
    new = torch.arange(len(kept))[torch.randperm(len(kept), generator=torch.manual_seed(3))][:24]
    with torch.no_grad():
        expected = before(kept[new][None], output_hidden_states=True)
        received = after(new[None], output_hidden_states=True)
    for old_state, state in zip(expected.hidden_states, received.hidden_states, strict=True):
        assert torch.equal(state, old_state)
    logits = expected.logits[..., kept]
    if before.dtype == torch.bfloat16:
        assert torch.equal(received.logits, logits)
    else:  # blocks of a matrix product end elsewhere: see the test below
        assert torch.allclose(received.logits, logits, rtol=0, atol=1e-5)


@pytest.mark.parametrize("tied", [True, False])
def test_float32_logits_are_the_same_bits_where_both_sizes_are_multiples_of_64(
    tmp_path, tied, monkeypatch
):
    sound = Sound("llama", pieces, SOUND["llama-2"].special, SOUND["llama-2"].roles, tied=tied,
                  padding=448 - 340, dtype="float32")  # fmt: skip
    source = write_sound(sound, tmp_path / "m")
    size = len(load_tokenizer(source))
    assert ModelFolder(source).text_config["vocab_size"] == 448 if size == 340 else size
    (tmp_path / "t.txt").write_text("the cat\n\nsat on\n")
    run(source, tmp_path / "t.txt", tmp_path / "o", "--coverage", "1")
    kept = torch.tensor(ids_of(tmp_path / "o"))
    assert len(kept) == 320
    new = torch.arange(60)
    with torch.no_grad():
        expected = load(source)(kept[new][None]).logits[..., kept]
        assert torch.equal(load(tmp_path / "o")(new[None]).logits, expected)


def test_settings_name_the_same_tokens(made):
    for name in ("llama-3-instruct", "qwen3-chat", "gemma-2-it", "phi-3", "gemma-3"):
        source, out, _ = made(name)
        new = {old: number for number, old in enumerate(ids_of(out))}
        for file in ("config.json", "generation_config.json"):
            old, now = read_json(source / file), read_json(out / file)
            for key in [key for key in old if key.endswith("_token_id") and old[key] is not None]:
                ends = old[key] if isinstance(old[key], list) else [old[key]]
                mapped = [new[number] for number in ends]
                assert now[key] == (mapped if isinstance(old[key], list) else mapped[0])
        before, after = (load_tokenizer(folder) for folder in (source, out))
        assert before.special_tokens_map == after.special_tokens_map
        assert before.chat_template == after.chat_template


def test_ids_in_settings_are_renumbered_wherever_they_stand():
    settings = {
        "vocab_size": 12, "vocab_size_per_layer_input": 6, "unpadded_vocab_size": 10,
        "eos_token_id": [9, 2], "pad_token_id": -1, "bos_token_id": None, "image_token_id": 11,
        "audio_token_index": 30, "suppress_tokens": [4, 10, 11], "bad_words_ids": [[2, 4], [9]],
        "sequence_bias": [[[3], -1.0]], "text_config": {"vocab_size": 12, "eos_token_id": 9},
        "hidden_size": 9, "begin_suppress_tokens": [10],
    }  # fmt: skip
    changed, dropped = renumbered(settings, np.array([0, 2, 4, 5, 9, 11]))
    assert changed == {
        "vocab_size": 6, "vocab_size_per_layer_input": 4, "eos_token_id": [4, 1],
        "pad_token_id": -1, "bos_token_id": None, "image_token_id": 5, "audio_token_index": None,
        "suppress_tokens": [2, 5], "bad_words_ids": [[1, 2], [4]], "hidden_size": 9,
        "text_config": {"vocab_size": 6, "eos_token_id": 4}, "begin_suppress_tokens": None,
    }  # fmt: skip
    assert dropped == ["sequence_bias"]
    assert named_ids(settings) == {2, 4, 9, 10, 11, 30}
    assert named_ids(settings, lists=False) == {2, 9, 11, 30}


def test_named_ids_keep_their_rows_with_or_without_a_token(tmp_path, text):
    source = write_sound(FIELD["gemma-3"], tmp_path / "m")
    size = len(load_tokenizer(source))
    rare = size - 1
    config = {**read_json(source / "config.json"), "image_token_id": size + 1, "boi_token_id": rare}
    write_json(source / "config.json", config)
    run(source, text, tmp_path / "o", "--keep", size - 30)
    made = read_json(tmp_path / "o/config.json")
    assert made["vocab_size"] == size - 30 + 1 and made["image_token_id"] == size - 30
    assert ids_of(tmp_path / "o")[made["boi_token_id"]] == rare
    name = "model.embed_tokens.weight"
    old, new = (ModelFolder(folder).read(name) for folder in (source, tmp_path / "o"))
    assert torch.equal(new[-1], old[size + 1])


def test_shards_stay_shards_and_untouched_files_are_linked(made, tmp_path, text):
    source = shard(made("llama-2")[0], tmp_path / "sharded")
    run(source, text, tmp_path / "o", "--keep", 310)
    before, after = ModelFolder(source), ModelFolder(tmp_path / "o")
    assert before.files == after.files and len(after.files) == 3
    assert {n: f for n, (f, _) in before.tensors.items()} == {
        n: f for n, (f, _) in after.tensors.items()
    }
    cut = {after.tensors[name][0] for name in after.vocabulary_names.values()}
    for file in after.files:
        same = (source / file).stat().st_ino == (tmp_path / "o" / file).stat().st_ino
        assert same == (file not in cut)
    check_model(tmp_path / "o")


def test_a_stored_copy_of_a_tied_head_is_cut_like_it(made, tmp_path, text):
    def with_head(tensors):
        return {**tensors, "lm_head.weight": tensors["model.embed_tokens.weight"].clone()}

    restore(made("gemma")[0], tmp_path / "m", with_head)
    run(tmp_path / "m", text, tmp_path / "o", "--keep", 310)
    check_model(tmp_path / "o")
    assert ModelFolder(tmp_path / "o").tensors["lm_head.weight"][1][0] == 310


@pytest.mark.parametrize(
    ("name", "shape", "said"),
    [
        ("score.weight", (32, 0), "not certain that its rows are tokens"),
        ("square.weight", (0, 0), "not certain"),
        ("mtp.weight", (0, 8), "does not have: mtp.weight"),
    ],
)
def test_other_tensors_with_the_size_of_the_vocabulary(made, tmp_path, text, name, shape, said):
    rows = ModelFolder(made("llama-2")[0]).text_config["vocab_size"]
    more = torch.ones([size or rows for size in shape], dtype=torch.float16)
    restore(made("llama-2")[0], tmp_path / "m", lambda tensors: {**tensors, name: more})
    with pytest.raises(RevocabError, match=said):
        run(tmp_path / "m", text, tmp_path / "o", "--keep", 310)
    assert not (tmp_path / "o").exists()


def test_a_size_that_layers_have_too_is_doubtful(tmp_path, text):
    rows = ModelFolder(write_sound(FIELD["llama-2"], tmp_path / "a")).text_config["vocab_size"]
    wide = Sound("llama", pieces, SOUND["llama-2"].special, SOUND["llama-2"].roles,
                 shape={**SHAPE, "intermediate_size": rows})  # fmt: skip
    with pytest.raises(RevocabError, match=r"gate_proj\.weight .* not certain"):
        run(write_sound(wide, tmp_path / "m"), text, tmp_path / "o", "--keep", 310)


def test_rows_are_gathered_in_blocks_of_any_size():
    table = np.arange(40 * 6, dtype=np.uint8).reshape(40, 6)

    def blocks(most):
        data = table.tobytes()
        return [data[at : at + most] for at in range(0, len(data), most)]

    part = Part("t", "U8", [40, 3, 2], 240, blocks)
    for rows in ([0], [39], [3, 4, 5, 20, 39], range(40), [17, 18]):
        gathered = part.gathered(np.array(rows))
        assert gathered.shape == [len(rows), 3, 2] and gathered.size == 6 * len(rows)
        for most in (1, 6, 7, 50, 1000):
            got = b"".join(map(bytes, gathered.blocks(most)))
            assert got == table[rows].tobytes()


def test_a_dry_run_says_what_it_saves_and_writes_nothing_but_what_it_is_told(made, tmp_path, text):
    source = made("mistral-instruct")[0]
    (tmp_path / "it.txt").write_text("il gatto\n\nil cane\n")
    told = trim(
        [str(source), f"en={text}", f"it={tmp_path / 'it.txt'}", "--keep", "320", "--dry-run",
         "--out", str(tmp_path / "o"), "--picture", str(tmp_path / "p"),
         "--reasons", str(tmp_path / "r.csv")]
    )  # fmt: skip
    (row,) = (line.split() for line in told.splitlines() if line.startswith("trimmed"))
    assert row[1] == "320" and len(row) == 6
    assert {path.name for path in tmp_path.iterdir()} == {"it.txt", "p.svg", "p.png", "r.csv"}
    tokens = pandas.read_csv(tmp_path / "r.csv", keep_default_na=False)
    assert (len(tokens), sum(tokens["new_id"] != "")) == (len(load_tokenizer(source)), 320)
    assert {"id", "token", "reason", "uses_en", "uses_it"} <= {*tokens}
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")


def test_languages_need_no_text(made, tmp_path):
    source = made("mistral-instruct")[0]
    with pytest.raises(RevocabError, match="--picture"):
        trim([str(source), "--languages", "zh", "--dry-run", "--picture", str(tmp_path / "p")])
    with pytest.raises(RevocabError, match="nothing to trim"):
        trim([str(source), "--languages", "it,ru,zh", "--out", str(tmp_path / "o")])
    told = trim([str(source), "--languages", "zh", "--out", str(tmp_path / "o")])
    assert "trimmed" in told and not (tmp_path / "o/coverage.png").exists()
