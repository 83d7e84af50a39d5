"""Heads that predict further tokens: their own embedding and head follow, or are refused."""

from __future__ import annotations

import pytest
import torch
from sound_models import Sound, byte_level, write_sound
from toy_folders import initialise, restore

from revocab.errors import RevocabError
from revocab.io import read_json
from revocab.models.folder import ModelFolder
from revocab.product.check.kind import look_at
from revocab.product.trim import trim
from revocab.product.verify.verify import VerifyOptions, verified_model

DEEPSEEK = Sound(
    "deepseek_v3", byte_level, ("<s>", "</s>"), {"bos_token": "<s>", "eos_token": "</s>"},
    more={"q_lora_rank": 8, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4,
          "v_head_dim": 8, "num_key_value_heads": 4, "n_routed_experts": 4, "n_group": 1,
          "num_experts_per_tok": 2, "topk_group": 1, "n_shared_experts": 1,
          "first_k_dense_replace": 1, "moe_intermediate_size": 16},
)  # fmt: skip
#: The layer that transformers leaves out of DeepSeek-V3.
HEAD = "model.layers.61"
EMBEDDING, OUTPUT = f"{HEAD}.embed_tokens.weight", f"{HEAD}.shared_head.head.weight"
MATRICES = {EMBEDDING: "model.embed_tokens.weight", OUTPUT: "lm_head.weight"}
OWN = f"{HEAD}.own.weight"


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return write_sound(DEEPSEEK, tmp_path_factory.mktemp("heads") / "plain")


def with_tensors(plain, out, **made):
    """Copy the model with more tensors: ``shared`` is a head as it was published, and others
    are of a shape, 0 standing for the number of tokens.
    """
    rows = ModelFolder(plain).text_config["vocab_size"]
    shared = made.pop("shared", HEAD)

    def more(tensors):
        copies = {
            name.replace(HEAD, shared): tensors[matrix].clone() for name, matrix in MATRICES.items()
        }
        projection = {f"{shared}.eh_proj.weight": torch.ones(32, 64, dtype=torch.bfloat16)}
        draws = torch.Generator().manual_seed(5)
        others = {
            f"{HEAD}.{name}.weight": torch.randn([n or rows for n in shape], generator=draws)
            for name, shape in made.items()
        }
        return tensors | copies | projection | others

    restore(plain, out, more)
    return out


@pytest.fixture(scope="module")
def source(plain, tmp_path_factory):
    return with_tensors(plain, tmp_path_factory.mktemp("head") / "m", own=(0, 24))


def trimmed(source, out, keep=280):
    text = out.parent / "en.txt"
    text.write_text("the cat sat\n\non the mat\n")
    trim([str(source), f"en={text}", "--keep", str(keep), "--out", str(out)])
    return out


def test_trimmed_heads_keep_their_rows(source, tmp_path):
    out = trimmed(source, tmp_path / "o")
    kept = read_json(out / "kept_ids.json")
    assert read_json(out / "manifest.json")["tensors"].keys() == {
        *MATRICES, *MATRICES.values(), OWN,
    }  # fmt: skip
    before, after = ModelFolder(source), ModelFolder(out)
    assert before.tensors.keys() == after.tensors.keys()
    for name in before.tensors:
        old = before.read(name)
        assert torch.equal(after.read(name), old[kept] if len(old) > 280 else old)
    assert not [finding for finding in look_at(out) if finding.severity == "error"]
    options = VerifyOptions(runtime=["tokenizers", "transformers"])
    assert {result.state for result in verified_model(str(out), options).results} == {"equal"}


@pytest.mark.parametrize(("method", "filler"), [("fvt", "fvt"), ("random", "fvt")])
def test_shared_matrices_stay_shared_and_own_ones_are_filled(
    source, toys, tmp_path, method, filler
):
    out = initialise(source, tmp_path / "o", method, target_tokenizer=toys / "target-tokenizer")
    made = ModelFolder(out)
    for name, matrix in MATRICES.items():
        assert torch.equal(made.read(name), made.read(matrix))
    assert not torch.equal(made.read(EMBEDDING), made.read(OUTPUT))
    methods = {
        name: table["method"]
        for name, table in read_json(out / "provenance.json")["tables"].items()
    }
    assert methods == {EMBEDDING: method, OUTPUT: method, OWN: filler}
    own = made.read(OWN)
    assert list(own.shape) == [made.text_config["vocab_size"], 24] and own.isfinite().all()
    assert not [finding for finding in look_at(out) if finding.severity == "error"]


@pytest.mark.parametrize(
    ("tensors", "named"),
    [
        ({"shared": "model.layers.2"}, r"model\.layers\.2\.eh_proj\.weight"),
        ({"score": (32, 0)}, rf"{HEAD}\.score\.weight \[32, 300\]"),  # a column for each token
    ],
)
def test_layers_that_cannot_follow_are_refused_by_name(plain, toys, tmp_path, tensors, named):
    source = with_tensors(plain, tmp_path / "m", **tensors)
    with pytest.raises(RevocabError, match=named):
        trimmed(source, tmp_path / "o")
    with pytest.raises(RevocabError, match=named):
        initialise(source, tmp_path / "o", "fvt", target_tokenizer=toys / "target-tokenizer")
    assert not (tmp_path / "o").exists()
