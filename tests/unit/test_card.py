"""The card of an adapted model: what it says of its origin, and that the Hub's client reads it."""

from __future__ import annotations

import shutil

import pytest
from huggingface_hub import ModelCard
from huggingface_hub.repocard_data import model_index_to_eval_results
from toy_folders import adapt

from revocab.io import read_json, write_json
from revocab.models.origin import hub_id, licence_of, name_of
from revocab.training.outputs.card import TRAINING, card

HUB = "owner/model-7B"
CARD = "---\nlicense: {licence}\nlanguage: en\ntags: [a]\n---\n\n# Its own words\n"
UNKNOWN = "names no licence"


@pytest.fixture
def source(toys, tmp_path):
    """A model as the Hub's cache keeps it, with a card of its own."""
    folder = tmp_path / "hub/models--owner--model-7B/snapshots" / ("0" * 40)
    shutil.copytree(toys / "untied", folder)
    (folder / "README.md").write_text(CARD.format(licence="apache-2.0"), encoding="utf-8")
    return folder


def card_of(folder) -> ModelCard:
    """Return a card as the Hub's client reads it, without a network."""
    return ModelCard.load(folder / "README.md")


def test_the_hub_reads_what_the_card_says(toys, source, tmp_path):
    out = adapt(toys, tmp_path / "out", source, "sava", languages=["it", "en"])
    card = card_of(out)
    assert card.data.to_dict() == {
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "base_model": HUB,
        "base_model_relation": "finetune",
        "language": ["it", "en"],
        "license": "apache-2.0",
        "tags": ["vocabulary-adaptation", "revocab"],
    }
    for line in (
        f"# {HUB}, adapted to another vocabulary",
        f"- Source model: {HUB}",
        "- Target tokenizer: target-tokenizer",
        "- Helper model: helper",
        "- Language: Italian, English",
    ):
        assert line in card.text.splitlines()
    assert "licence is that of the source model: apache-2.0." in card.text
    assert "Its own words" not in card.content
    names = {"source": HUB, "target_tokenizer": "target-tokenizer", "helper": "helper"}
    assert read_json(out / "provenance.json")["names"] == names


def test_what_is_not_known_is_left_out(toys, tmp_path):
    out = adapt(toys, tmp_path / "out")
    card = card_of(out)
    assert {"base_model", "language", "license"}.isdisjoint(card.data.to_dict())
    assert UNKNOWN in card.text
    assert "- Source model: untied" in card.text
    assert "Helper" not in card.text and "- Language" not in card.text
    for file in ("README.md", "provenance.json", "manifest.json"):
        assert str(tmp_path) not in (out / file).read_text()
        assert str(toys) not in (out / file).read_text()


def test_the_models_behind_a_difference_are_named(toys, tmp_path):
    card = card_of(adapt(toys, tmp_path / "out", method="lep"))
    names = read_json(tmp_path / "out/provenance.json")["names"]
    assert f"- Adapted model: {names['adapted']}" in card.text.splitlines()
    assert f"- Base of the adapted model: {names['base']}" in card.text.splitlines()


@pytest.mark.parametrize(
    ("front", "taken"),
    [
        ("license: mit", {"license": "mit"}),
        (
            "license: other\nlicense_name: tongyi: 'x'\nlicense_link: LICENSE",
            {},  # no YAML
        ),
        (
            'license: other\nlicense_name: "gemma: 2"\nlicense_link: LICENSE\nlicense_more: x',
            {"license": "other", "license_name": "gemma: 2", "license_link": "LICENSE"},
        ),
        ("license: [mit, {a: b}]", {}),
        ("license_name: mine", {}),
        ("- license: mit", {}),
        ("license: !!python/object/apply:os.getcwd []", {}),
        ("", {}),
    ],
)
def test_a_licence_is_taken_over_where_it_can_be_read(tmp_path, front, taken):
    (tmp_path / "README.md").write_text(f"---\n{front}\n---\ntext\n", encoding="utf-8")
    assert licence_of(tmp_path) == taken


def test_a_card_that_is_none(tmp_path):
    assert licence_of(tmp_path) == {}
    (tmp_path / "README.md").write_bytes(b"---\nlicense: \xff\n---\n")
    assert licence_of(tmp_path) == {}
    (tmp_path / "README.md").write_text("no metadata")
    assert licence_of(tmp_path) == {}


def test_another_licence_keeps_its_name_and_address(toys, source, tmp_path):
    front = "other\nlicense_name: gemma\nlicense_link: https://ai.google.dev/gemma/terms"
    (source / "README.md").write_text(CARD.format(licence=front), encoding="utf-8")
    card = card_of(adapt(toys, tmp_path / "out", source))
    assert (card.data.license, card.data.license_name) == ("other", "gemma")
    assert card.data.license_link == "https://ai.google.dev/gemma/terms"
    assert "licence is that of the source model: gemma." in card.text


@pytest.mark.parametrize(
    ("place", "manifest", "name"),
    [
        ("models/mistral/snapshot", {"hub": HUB, "commit": "0" * 40}, HUB),
        ("models/mistral/snapshot", {"path": "Mine-7B"}, "Mine-7B"),
        ("models/mistral/snapshot", {"path": "/home/someone/Mine-7B"}, "mistral"),
        ("models/mistral/checkpoints/step-000200", None, "mistral"),
        ("runs/mistral-sava/init", None, "mistral-sava"),
        ("tokenizers/target", {"hub": HUB}, HUB),
        ("tokenizers/target", {"hub": ["no", "text"]}, "target"),
        ("models--gpt2/snapshots/abc", None, "gpt2"),
    ],
)
def test_a_folder_is_known_by_where_it_came_from(tmp_path, monkeypatch, place, manifest, name):
    folder = tmp_path / place
    folder.mkdir(parents=True)
    if manifest is not None:
        beside = folder.parent if folder.name == "snapshot" else folder
        write_json(beside / "manifest.json", manifest)
    assert name_of(folder) == name
    assert hub_id(folder) == (name if name in (HUB, "gpt2") else None)
    monkeypatch.chdir(folder)
    assert name_of(folder.relative_to(folder)) == name


def test_a_configuration_names_a_repository_or_a_folder_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_json(tmp_path / "config.json", {"_name_or_path": HUB})
    assert hub_id(tmp_path) == HUB
    (tmp_path / HUB).mkdir(parents=True)
    assert hub_id(tmp_path) is None
    (tmp_path / "config.json").write_text("no JSON")
    assert hub_id(tmp_path) is None


def test_the_losses_of_a_checkpoint_stand_at_the_head_of_its_card():
    loss = {"corpus": "it", "language": "it", "bits_per_byte": 0.75, "bytes": 100}
    training = {
        "what": TRAINING, "model": "m", "step": 6, "tokens": 96, "sequence_length": 16,
        "recipe": {"steps": 6}, "text": {"corpora": {}, "languages": ["it"]}, "heldout": [loss],
        "inputs": {"model": {}, "packed": "0"},
    }  # fmt: skip
    page = ModelCard(card([{"what": "Base model", "name": "owner/base"}, training], {}))
    assert page.data.base_model == "owner/base" and page.data.base_model_relation == "finetune"
    (result,) = page.data.eval_results
    assert (result.dataset_type, result.metric_type, result.metric_value) == (
        "it",
        "bits_per_byte",
        0.75,
    )
    _, again = model_index_to_eval_results(page.data.to_dict()["model-index"])
    assert again == [result]
