"""A head of some tokens: its rows to the bit, logits equal to the model's, and what is refused."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file, save_file
from sound_models import SOUND, TEXT, write_sound
from toy_folders import load

import revocab
from revocab.errors import RevocabError
from revocab.models.folder import ModelFolder
from revocab.product.trimmed_head import FILE, use_head
from revocab.vocabulary.tokenizers.load import load_tokenizer

#: Untied, in half precision; tied with a soft cap of logits; a head of another name.
NAMES = ("llama-3-instruct", "gemma-2-it", "pythia")


@pytest.fixture(scope="module", params=NAMES)
def folders(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("head")
    text = folder / "en.txt"
    text.write_text("\n\n".join([TEXT, TEXT]))
    source = write_sound(SOUND[request.param], folder / "source")
    keep = len(load_tokenizer(source)) - 20
    options = {"keep": keep, "head_only": True, "allow_unknown": True}
    out = revocab.trim(source, {"en": text}, out=folder / "out", **options)
    frame = revocab.trim(source, {"en": text}, dry_run=True, **options)
    return source, out, keep, frame


def test_rows_are_the_models_and_logits_equal(folders):
    source, out, keep, _ = folders
    stored, model = load_file(out / FILE), ModelFolder(source)
    ids = stored["ids"]
    assert ids.dtype == torch.int64 and len(ids) == keep and bool((ids.diff() > 0).all())
    assert torch.equal(stored["weight"], model.matrix("output", 1 + int(ids.max()))[ids])
    before, after = load(source), load(source)
    use_head(after, out)
    text = ids[torch.randint(len(ids), (3, 20), generator=torch.manual_seed(0))]
    with torch.no_grad():
        expected, received = before(text).logits, after(text).logits
    assert received.shape == expected.shape
    if before.dtype == torch.bfloat16:
        assert torch.equal(received[..., ids], expected[..., ids])
    torch.testing.assert_close(received[..., ids], expected[..., ids], rtol=1e-5, atol=1e-5)
    gone = torch.ones(expected.shape[-1], dtype=torch.bool).index_fill_(0, ids, False)
    assert gone.sum() >= 20 and bool((received[..., gone] == -torch.inf).all())
    # Input rows stay, of tied models, too.
    assert torch.equal(before.get_input_embeddings().weight, after.get_input_embeddings().weight)


def test_sizes_are_of_the_head_alone(folders):
    source, _, keep, frame = folders
    model = ModelFolder(source)
    name = model.vocabulary_names.get("output", model.vocabulary_names["input"])
    sizes = {part.name: part.size for parts in model.parts.values() for part in parts.values()}
    kept = sizes[name] // model.tensors[name][1][0] * keep
    whole = sum(sizes.values())
    assert frame.loc["as it is", ["row_bytes", "model_bytes"]].tolist() == [sizes[name], whole]
    tied_or_gone = whole if model.tied else whole - sizes[name]
    assert frame.loc["trimmed", "row_bytes"] == kept
    assert frame.loc["trimmed", "model_bytes"] == tied_or_gone + kept


def test_the_head_of_another_model_is_refused(folders, tmp_path):
    source, out, _, _ = folders
    stored = load_file(out / FILE)
    for change in ({"weight": stored["weight"] + 1}, {"weight": stored["weight"][:, 1:]},
                   {"ids": stored["ids"] + 10**6}, {"ids": stored["ids"] - 10**6},
                   {"ids": stored["ids"].float()},
                   {"ids": stored["ids"][:0], "weight": stored["weight"][:0]}):  # fmt: skip
        save_file({n: t.contiguous() for n, t in {**stored, **change}.items()}, tmp_path / FILE)
        with pytest.raises(RevocabError, match=str(tmp_path)):
            use_head(load(source), tmp_path)
    with pytest.raises(RevocabError, match="elsewhere"):
        use_head(load(source), tmp_path / "elsewhere")
