"""Models that lack weights, have others, or have some that are not finite are used by nothing."""

from __future__ import annotations

import shutil
import sys
import types

import pytest
import torch
from damaged_models import DAMAGES, DOWN, EMBEDDING, HEAD, UP, damaged, with_value
from evaluation_toys import IT_ROWS, write_model, write_task
from toy_folders import initialise, shard

from revocab import __main__ as entry
from revocab.device import Checkpoint
from revocab.errors import RevocabError
from revocab.evaluation import efficiency
from revocab.evaluation.generation import generate
from revocab.evaluation.generation.prompts import prompt_row
from revocab.evaluation.inference.decoding import cause
from revocab.evaluation.inference.engines import vllm
from revocab.evaluation.multiple_choice import scoring
from revocab.evaluation.options import EfficiencyJob, Generating, Hardware, Scoring
from revocab.io import read_json, write_json, write_jsonl
from revocab.marker import MARKER
from revocab.models.findings import broken_rows
from revocab.models.load import check_model, load_causal_lm
from revocab.models.weights import BLOCK_BYTES
from revocab.training import checkpoints

SHORT = EfficiencyJob(
    run="r", step=0, corpus="c", language="it", engine="transformers",
    prompts=2, prompt_characters=40, new_tokens=3, batch_size=2, repeats=1,
)  # fmt: skip
SHORT_TEXT = Generating(max_new_tokens=4, context_length=128, engine="transformers")


class Workplace:
    """Sound models and what each use of a model needs beside it."""

    def __init__(self, root, repository):
        self.sound = write_model(root / "sound", context_length=256)
        self.tied = write_model(root / "tied", context_length=256, tied=True)
        self.task = write_task(root, repository, "arc_easy_it", IT_ROWS[:2], "arc_easy_it")
        self.prompts = root / "prompts.jsonl"
        query = {"id": "t", "en": "bread", "it": "pane"}
        write_jsonl(self.prompts, [prompt_row("translation", ["en", "it"], query, [])])
        self.text = root / "heldout.jsonl.gz"
        write_jsonl(self.text, [{"id": "0", "text": "il fornaio vende il pane al gatto " * 9}])

    def convert(self, source, out, method="fvt", helper=None):
        target = self.sound if helper is None else helper
        initialise(source, out, method, target_tokenizer=target, helper=helper)


USES = {
    "score": lambda place, folder, out: scoring.score_checkpoints(
        "r", {0: folder}, [place.task], out, Scoring()
    ),
    "generate": lambda place, folder, out: generate.generate_checkpoints(
        "r", {0: folder}, {"t": place.prompts}, out, SHORT_TEXT
    ),
    "efficiency": lambda place, folder, out: efficiency.measure_efficiency(
        folder, place.text, SHORT, Hardware(), out
    ),
    "source": lambda place, folder, out: place.convert(folder, out),
    "copy": lambda place, folder, out: place.convert(folder, out, "lapt"),
    "helper": lambda place, folder, out: place.convert(place.sound, out, "clp", helper=folder),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory, repository):
    return Workplace(tmp_path_factory.mktemp("loading"), repository)


#: Every use, and every damage: all uses look with one function.
PAIRS = [*((use, "no mlp") for use in USES), *(("source", damage) for damage in DAMAGES)]


@pytest.mark.parametrize(("use", "damage"), dict.fromkeys(PAIRS))
def test_a_damaged_model_is_refused(place, tmp_path, use, damage):
    change, words = DAMAGES[damage]
    folder, out = damaged(place.sound, tmp_path / "model", change), tmp_path / "out"
    with pytest.raises(RevocabError) as caught:
        USES[use](place, folder, out)
    if damage == "no head" and use in ("source", "copy"):
        words = "0 stored tensors match 'lm_head.weight'"  # what has no head has no vocabulary
    assert str(folder) in str(caught.value) and words in str(caught.value)
    assert not (out / "manifest.json").exists() and not out.is_file()
    assert {path.name for path in out.glob("*")} <= {MARKER}, "more than a claim was written"


@pytest.mark.parametrize("part", ["generation", "multiple_choice", "efficiency"])
def test_vllm_is_given_no_damaged_model(place, tmp_path, monkeypatch, part):
    monkeypatch.setitem(sys.modules, "vllm", types.ModuleType("vllm"))  # nothing in it is called
    change, words = DAMAGES["no mlp"]
    folder = damaged(place.sound, tmp_path / "model", change)
    with pytest.raises(RevocabError) as caught:
        checkpoint = Checkpoint(folder, "cpu", "float32", 4)
        if part == "multiple_choice":
            vllm.ENGINE.multiple_choice(checkpoint, long_prompts="error")
        else:
            getattr(vllm.ENGINE, part)(checkpoint, 64)
    assert words in str(caught.value)


def rotary(tensors):
    """Add what old checkpoints store and transformers computes."""
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(4)


def copied(tensors):
    """Store a tied head once more."""
    tensors[HEAD] = tensors[EMBEDDING].clone()


def unprefixed(tensors):
    """Store the names of the base model."""
    for name in list(tensors):
        tensors[name.removeprefix("model.")] = tensors.pop(name)


@pytest.mark.parametrize(
    ("source", "change"), [("sound", rotary), ("tied", copied), ("sound", unprefixed)]
)
def test_other_layouts_load_the_same_weights(place, tmp_path, source, change):
    sound, folder = getattr(place, source), tmp_path / "model"
    loaded = load_causal_lm(damaged(sound, folder, change), dtype="auto")
    if change is not unprefixed:
        USES["source"](place, folder, tmp_path / "out")
        assert (tmp_path / "out/manifest.json").is_file()
    expected = load_causal_lm(sound, dtype="auto").state_dict()
    received = loaded.state_dict()
    assert all(torch.equal(received[name], expected[name]) for name in expected)


@pytest.mark.parametrize("name", [HEAD, "embed_out.weight"])
def test_a_head_that_is_no_copy_is_refused(place, tmp_path, name):
    """Transformers 5 uses the first as a head of its own, whatever the configuration says."""
    folder = damaged(
        place.tied,
        tmp_path / "model",
        lambda tensors: tensors.update({name: tensors[EMBEDDING] * 2}),
    )
    with pytest.raises(RevocabError, match="tie_word_embeddings to false"):
        check_model(folder)
    if name == HEAD:
        config = read_json(folder / "config.json") | {"tie_word_embeddings": False}
        write_json(folder / "config.json", config)
        check_model(folder)


def test_where_config_is_silent_the_architecture_says_what_is_tied(place, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(place.tied, folder)
    config = read_json(folder / "config.json")
    del config["tie_word_embeddings"]  # Mistral's default is an own head
    write_json(folder / "config.json", config)
    with pytest.raises(RevocabError, match=f"are missing: {HEAD}"):
        check_model(folder)


def test_all_problems_come_at_once(place, tmp_path):
    def change(tensors):
        for name in [name for name in tensors if "layers.1." in name]:
            del tensors[name]
        tensors["extra"] = torch.ones(1)
        tensors[DOWN][2, 2] = torch.inf
        tensors[HEAD][:] = torch.nan

    with pytest.raises(RevocabError) as caught:
        check_model(damaged(place.sound, tmp_path / "model", change))
    missing, unexpected, values = caught.value.problems
    assert missing.count("model.layers.1.") == 5 and "and 4 more" in missing
    assert "does not have: extra;" in unexpected
    assert f"{DOWN}, 1 of 32 rows (2)" in values and "(0, 1, 2, 3, 4, 5, 6, 7 …)" in values


def test_every_shard_is_looked_at(place, tmp_path):
    sharded = shard(place.sound, tmp_path / "sharded")
    check_model(sharded)
    hurt = damaged(place.sound, tmp_path / "hurt", with_value("model.norm.weight", 31, torch.nan))
    with pytest.raises(RevocabError, match=r"model\.norm\.weight, 1 of 32 rows \(31\)"):
        check_model(shard(hurt, tmp_path / "hurt-sharded"))
    shutil.copy(place.sound / "model.safetensors", sharded)
    with pytest.raises(RevocabError, match=r"both model\.safetensors and an index"):
        check_model(sharded)
    (sharded / "model.safetensors").unlink()
    (sharded / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(RevocabError, match=r"shard model-00002.* is missing"):
        check_model(sharded)


# Finite, block by block. -------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_broken_rows_by_hand(dtype):
    rows = torch.full((40, 3), 6e4, dtype=dtype)  # their sum overflows float16, none of them does
    assert broken_rows(rows) == []
    rows[7, 2], rows[30, 0], rows[31] = torch.nan, torch.inf, -torch.inf
    assert broken_rows(rows) == [7, 30, 31]
    assert broken_rows(rows[:, 0]) == [30, 31]
    assert broken_rows(torch.tensor([1, 2])) == []


def test_rows_are_counted_across_blocks(tmp_path):
    from safetensors.torch import save_file

    from revocab.models.findings import finite_findings, scan

    values = BLOCK_BYTES // 2
    width = 1000  # rows that lie across the border of two blocks
    tensor = torch.zeros(values * 2 // width, width, dtype=torch.bfloat16)
    border = values // width
    tensor.view(-1)[values - 1] = torch.nan
    tensor.view(-1)[values] = torch.inf
    tensor[-1, -1] = torch.nan
    save_file({"a": torch.zeros(5), "b": tensor}, tmp_path / "x.safetensors")
    (finding,) = finite_findings(scan(tmp_path, ["x.safetensors"]))
    assert f"b, 2 of {len(tensor)} rows ({border}, {len(tensor) - 1})" in finding.what


# Export. -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "value", "reason"),
    [
        (torch.float32, torch.nan, "training diverged"),
        (torch.float16, 1e5, "too large for torch.float16"),
    ],
)
def test_nothing_is_exported_that_is_not_finite(place, tmp_path, dtype, value, reason):
    model = load_causal_lm(place.sound, dtype="float32")
    state = model.state_dict()
    state[UP][4, 1] = value
    with pytest.raises(RevocabError) as caught:
        checkpoints.export(model, state, dtype, place.sound, tmp_path / "step-000001")
    assert f"{UP}, 1 of 64 rows (4)" in str(caught.value) and reason in str(caught.value)
    assert not list(tmp_path.iterdir())


# Overflow on the way. ----------------------------------------------------------------------------


def overflowing(tensors):
    """Finite weights whose logits are not."""
    tensors[HEAD][5] = 3e38


def test_scores_that_overflow_are_refused(place, tmp_path):
    folder = damaged(place.sound, tmp_path / "model", overflowing)
    with pytest.raises(RevocabError) as caught:
        scoring.score_checkpoints("r", {0: folder}, [place.task], tmp_path / "s.csv", Scoring())
    text = str(caught.value)
    assert "task arc_easy_it: " in text and " log-likelihoods are not finite" in text
    assert "item 0 of arc_easy_it with 'il fornaio'" in text and "even in float32" in text
    assert not (tmp_path / "s.csv").exists()


@pytest.mark.parametrize(
    ("use", "words"),
    [("generate", 'the prompt beginning "Traduci'), ("efficiency", "the prompt beginning 'il")],
)
def test_logits_that_overflow_are_refused(place, tmp_path, use, words):
    folder = damaged(place.sound, tmp_path / "model", overflowing)
    with pytest.raises(RevocabError) as caught:
        USES[use](place, folder, tmp_path / "out")
    assert f"logits after {words}" in str(caught.value) and "not finite" in str(caught.value)
    assert not list((tmp_path / "out").glob("**/*.jsonl"))


def test_vllm_outputs_that_overflow_are_refused():
    def result(total):
        return types.SimpleNamespace(outputs=[types.SimpleNamespace(cumulative_logprob=total)])

    vllm.refuse_outputs([result(-3.5), result(None)], str, "float16")
    with pytest.raises(RevocabError, match=r"logits after 1 are .* dtype float16; use"):
        vllm.refuse_outputs([result(-3.5), result(float("nan"))], str, "float16")


@pytest.mark.parametrize(
    ("dtype", "step"),
    [
        (torch.float16, "--dtype bfloat16 or --dtype float32"),
        ("bfloat16", "--dtype float32"),
        (torch.float32, "take another one"),
    ],
)
def test_the_next_step_depends_on_the_dtype(dtype, step):
    assert cause(dtype).endswith(step)


def test_similarity_refuses_embeddings_that_are_not_finite(place, tmp_path):
    from revocab.evaluation.embedding_similarity import EmbeddingSimilarityJob, RunModels, measure

    folder = damaged(place.sound, tmp_path / "model", with_value(EMBEDDING, 9, torch.nan))
    runs = [
        RunModels(name, place.sound, last) for name, last in (("a", place.sound), ("b", folder))
    ]
    job = EmbeddingSimilarityJob(group="g", anchors=4, last_step=1, seed=1)
    with pytest.raises(RevocabError, match=r"1 embeddings are NaN or infinite \(rows 9\)"):
        measure(job, runs, place.sound, None)


def test_commands_end_with_one_line_and_code_1(place, tmp_path, capsys):
    change, reason = DAMAGES["no mlp"]
    folder = damaged(place.sound, tmp_path / "model", change)
    words = ["score", "--run", "r", "--models", f"0={folder}", "--tasks", place.task]
    with pytest.raises(SystemExit) as caught:
        entry.main([*map(str, words), "--out", str(tmp_path / "scores.csv")])
    said = capsys.readouterr().err
    assert caught.value.code == 1 and reason in said and said.startswith("error: ")
    assert "LOAD REPORT" not in said and said.count("\n") == 1
    assert not (tmp_path / "scores.csv").exists()
