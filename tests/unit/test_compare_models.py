"""`revocab compare`: losses equal to a direct computation, parts, and what is said of them."""

from __future__ import annotations

import math

import pytest
import torch
from toy_models import build_old_and_new

from revocab.io import read_json
from revocab.product.compare import FOLDER, answer, compare, measured_loss, parts_of
from revocab.report.template import environment

TEXT = [f"the cat sat on the mat {number} and the dog è a casa" for number in range(40)]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return build_old_and_new(tmp_path_factory.mktemp("toys"))


def direct_nats(folder, documents, length) -> list[float]:
    """Return the summed loss of each document, a window at a time, from the logits."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    sums = []
    for document in documents:
        ids = tokenizer(document, add_special_tokens=False)["input_ids"]
        total = 0.0
        for begin in range(0, len(ids), length - 1):
            window = torch.tensor([[tokenizer.bos_token_id, *ids[begin : begin + length - 1]]])
            with torch.no_grad():
                logs = model(window).logits.log_softmax(-1)
            total -= sum(
                float(logs[0, place, token]) for place, token in enumerate(window[0, 1:].tolist())
            )
        sums.append(total)
    return sums


def test_losses_are_those_of_a_direct_computation(models):
    sizes = [len(text.encode()) for text in TEXT]
    for folder in models:
        loss = measured_loss(folder, TEXT, 16, "cpu")
        direct = parts_of(direct_nats(folder, TEXT, 16), sizes)
        assert loss.nats == pytest.approx([sum(part) for part in direct], rel=1e-5)
        assert sum(loss.bytes) == sum(sizes)
        assert loss.bits_per_byte == pytest.approx(
            sum(map(sum, direct)) / sum(sizes) / math.log(2), rel=1e-5
        )


def test_parts_hold_all_documents_in_order():
    assert parts_of("abcdef", [10, 10, 10, 10, 10, 30]) == [[letter] for letter in "abcdef"]
    parts = parts_of(range(100), [1000] * 100)
    assert [len(part) for part in parts] == [5] * 20  # 5,000 bytes are the first above 4,096
    assert [document for part in parts for document in part] == list(range(100))


def test_the_page_has_both_models_and_a_verdict(models, tmp_path):
    text = tmp_path / "it.txt"
    text.write_text("\n".join(TEXT) + "\n", encoding="utf-8")
    out = tmp_path / "out"
    words = [*map(str, models), "--text", f"it={text}", "--out", str(out), "--device", "cpu"]
    page = compare(words)
    assert (out / "comparison.md").read_text(encoding="utf-8") == page
    (found,) = read_json(out / "comparison.json")["texts"]
    old, new = found["models"]
    difference = new["bits_per_byte"] - old["bits_per_byte"]
    assert found["difference"]["difference"] == pytest.approx(difference)
    assert found["difference"]["low"] < difference < found["difference"]["high"]
    assert f"| {old['bits_per_byte']:.4f} | {new['bits_per_byte']:.4f} |" in page
    for side in ("reference", "greedy", "sampled"):
        share = found["adoption"][side]["tokens"]["share"]
        assert 0 < share < 1 and f" {share:.1%} (" in page
    assert old["tokens"] > new["tokens"]  # the new vocabulary knows "casa" and "è"
    template = environment(FOLDER).get_template("comparison.md.j2")
    few = {"difference": 0.1, "low": 0.09, "high": 0.11, "p_value": 0.13, "texts": 1}
    for p_value, clear in ((0.13, False), (0.01, True)):
        comparison = {"models": models, "texts": [{**found, "parts": 4, "difference": few}]}
        few["p_value"] = p_value
        page = template.render(comparison, answer=answer)
        assert ("p = 0.13 (at the least about 0.12 " in page) != clear  # 2 of 16 exchanges
        assert ("old model is better" in page) == clear


def test_a_model_is_no_better_than_itself(models, tmp_path):
    text = tmp_path / "it.txt"
    text.write_text("\n\n".join(TEXT), encoding="utf-8")
    page = compare([str(models[0]), str(models[0]), "--text", f"it={text}", "--device", "cpu"])
    assert "+0.0000 bits per byte" in page
