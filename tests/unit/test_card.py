"""The card of an adapted model: what it says of its origin, and that the Hub's client reads it."""

from __future__ import annotations

import shutil

import pytest
from huggingface_hub import ModelCard
from toy_folders import adapt

from revocab.io import read_json, write_json
from revocab.models.origin import hub_id, licence_of, name_of

HUB = "owner/model-7B"
CARD = "---\nlicense: {licence}\nlanguage: en\ntags: [a]\n---\n\n# Its own words\n"


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
    names = {"source": HUB, "target_tokenizer": "target-tokenizer", "helper": "helper"}
    assert read_json(out / "provenance.json")["names"] == names
    assert all(f": {name}\n" in card.text for name in (*names.values(), "Italian, English"))
    assert "Its own words" not in card.content


@pytest.mark.parametrize(
    ("front", "taken"),
    [
        ("license: mit", {"license": "mit"}),
        ("license: other\nlicense_name: tongyi: 'x'\nlicense_link: LICENSE", {}),  # no YAML
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
