"""Draft models: rows of a target's vocabulary, and what they save when both write together."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from evaluation_toys import write_model
from padded_models import pad
from toy_models import SOURCE_WORDS, TARGET_WORDS, build_model, build_tokenizer

from revocab.drafting.draft import Written, counted, draft, write
from revocab.errors import RevocabError
from revocab.io import read_json
from revocab.models.load import load_causal_lm
from revocab.models.parameters import Architecture, build_stand_in
from revocab.tokenizers.load import load_tokenizer

TEXT = ["il gatto e il cane", "perché il cane", "è così la casa"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A target with its own vocabulary and rows of padding, and a draft with another."""
    folder = tmp_path_factory.mktemp("drafts")
    old = build_tokenizer(SOURCE_WORDS, 30, folder / "old")
    new = build_tokenizer(TARGET_WORDS, 45, folder / "new")
    target = build_model(new, folder / "plain", seed=2)
    tokens = read_json(target / "config.json")["vocab_size"]
    pad(target, folder / "target", tokens + 5)
    build_model(old, folder / "draft", seed=3)
    lines = "".join(f"{text} {number}\n" for number in range(40) for text in TEXT)
    (folder / "text.txt").write_text(lines)
    return folder


def test_passes_by_hand():
    """Eight tokens in three passes: five are the draft's, of the eleven that it proposed."""
    written = Written([[1, 2, 3, 4, 5, 6, 7, 8]], 16, 3, 11, 2.0)
    assert (written.proposed, written.accepted) == (11, 5)
    assert written.tokens_per_pass == 8 / 3
    assert written.characters_per_second == 8
    assert written.equal(Written([[1, 2]], 4, 2, 0, 1.0)) == 0


def simulated(agrees: list[bool], block: int) -> tuple[int, int]:
    """Return passes and proposed tokens, from whether the draft agrees at each place of a text."""
    place = passes = proposed = 0
    while place < len(agrees):
        tried = agrees[place : min(place + block, len(agrees) - 1)]
        accepted = [*tried, False].index(False)
        place, passes, proposed = place + accepted + 1, passes + 1, proposed + len(tried)
    return passes, proposed


def test_passes_are_those_that_the_agreement_of_both_models_gives(tmp_path):
    """A direct count, from one pass of the draft over the target's own text."""
    tokenizer = load_tokenizer(write_model(tmp_path / "words", seed=3, context_length=256))
    target = load_causal_lm(tmp_path / "words", dtype=torch.float32).eval()
    helper = load_causal_lm(tmp_path / "words", dtype=torch.float32).eval()
    head = helper.get_output_embeddings().weight
    with torch.no_grad():  # it agrees often, and not always
        head += (
            0.5 * head.std() * torch.randn(head.shape, generator=torch.Generator().manual_seed(1))
        )
    prompts = [tokenizer(text)["input_ids"] for text in ("the cat sat", "il gatto", "bread and")]
    plain = write(target, tokenizer, prompts, 24)
    assert plain.passes == 3 * 24 and plain.proposed == plain.accepted == 0
    for block in (1, 4, 7):
        drafted = write(target, tokenizer, prompts, 24, helper, block)
        assert drafted.tokens == plain.tokens
        expected = []
        for prompt, tokens in zip(prompts, plain.tokens, strict=True):
            with torch.no_grad():
                logits = helper(torch.tensor([prompt + tokens])).logits[0, len(prompt) - 1 : -1]
            end = target.config.eos_token_id
            logits[:, end] = -torch.inf  # barred, as in writing
            agrees = (logits.argmax(-1) == torch.tensor(tokens)).tolist()
            expected.append(simulated(agrees, block))
        sums = [sum(part) for part in zip(*expected, strict=True)]
        assert [drafted.passes, drafted.proposed] == sums
        assert 0 < drafted.accepted < drafted.proposed


def test_the_target_as_its_own_draft_is_always_right(tmp_path):
    tokenizer = load_tokenizer(write_model(tmp_path, seed=3, context_length=256))
    target, helper = (load_causal_lm(tmp_path, dtype=torch.float32).eval() for _ in range(2))
    prompts = [tokenizer("the cat")["input_ids"]]
    drafted = write(target, tokenizer, prompts, 25, helper, 4)
    assert drafted.passes == 5 and drafted.accepted == drafted.proposed == 20
    with counted(target, 1) as lengths:
        target(input_ids=torch.tensor([[1]]))
    assert lengths == [1]


def test_a_draft_gets_the_vocabulary_and_the_rows_of_its_target(models, tmp_path, capsys):
    words = [str(models / "draft"), "--for", str(models / "target"), "--out", str(tmp_path / "d")]
    more = ["--text", f"it={models}/text.txt", "--prompts", "3", "--prompt-characters", "10"]
    page = draft([*words, *more, "--new-tokens", "6", "--json"])
    told = json.loads(page)
    assert [row["draft"] for row in told["rows"]] == ["none", "as it was", "moved"]
    assert all(row["equal"] == row["prompts"] == 3 for row in told["rows"])
    made, target = (read_json(f / "config.json") for f in (tmp_path / "d", models / "target"))
    assert made["vocab_size"] == target["vocab_size"]
    old, new, moved = (
        load_tokenizer(f) for f in (models / "draft", models / "target", tmp_path / "d")
    )
    assert moved.get_vocab() == new.get_vocab() != old.get_vocab()
    assert told["shared_tokens"] == len(old.get_vocab().keys() & new.get_vocab().keys())
    # What was moved, or trained since, is only measured.
    again = draft(
        [str(tmp_path / "d"), "--for", str(models / "target"), *more, "--new-tokens", "6"]
    )
    assert "as it was | 3 of 3" in again and "moved |" not in again
    with pytest.raises(RevocabError, match="; leave out --out"):
        draft([str(tmp_path / "d"), "--for", str(models / "target"), "--out", str(tmp_path / "x")])
    with pytest.raises(RevocabError, match="; give --text"):
        draft([str(tmp_path / "d"), "--for", str(models / "target")])
    with pytest.raises(RevocabError, match="lower --prompt-characters"):
        draft([*words[:3], *more[:2], "--out", str(tmp_path / "y"), "--prompt-characters", "99"])


SCRIPT = """
import sys
from vllm import LLM, SamplingParams
target, draft, prompts = sys.argv[1], sys.argv[2], eval(sys.argv[3])
how = {"model": draft, "method": "draft_model", "num_speculative_tokens": 3}
more = {"speculative_config": how} if draft else {}
model = LLM(target, dtype="float32", max_model_len=64, enforce_eager=True, seed=0,
            gpu_memory_utilization=0.1, generation_config="vllm", **more)
asked = [{"prompt_token_ids": ids} for ids in prompts]
written = model.generate(asked, SamplingParams(temperature=0, max_tokens=12), use_tqdm=False)
print("WRITTEN", [list(text.outputs[0].token_ids) for text in written])
"""


def test_vllm_writes_the_same_text_with_a_moved_draft(vllm_interpreter, call, models, tmp_path):
    """Heads of 32: vLLM's CPU attention knows no smaller ones."""
    shape = {"hidden_size": 64, "intermediate_size": 96, "heads": 2, "kv_heads": 1}
    for name, layers, vocabulary in (("target", 3, "new"), ("draft", 1, "old")):
        family = Architecture(family="llama", layers=layers, **shape)
        build_stand_in(models / vocabulary, family, 128, 3, tmp_path / name)
    names = [str(tmp_path / name) for name in ("draft", "target", "d")]
    draft([names[0], "--for", names[1], "--out", names[2]])
    tokenizer = load_tokenizer(tmp_path / "target")
    prompts = repr([tokenizer(text)["input_ids"] for text in TEXT])
    (tmp_path / "write.py").write_text(f"if __name__ == '__main__':\n    exec({SCRIPT!r})\n")
    written = []
    for helper in ("", tmp_path / "d"):
        done = call(vllm_interpreter, tmp_path / "write.py", tmp_path / "target", helper, prompts)
        assert done.returncode == 0, done.stderr[-3000:]
        written.append([line for line in done.stdout.splitlines() if line.startswith("WRITTEN")])
    assert written[0] == written[1] and len(written[0]) == 1
    shutil.rmtree(tmp_path)
