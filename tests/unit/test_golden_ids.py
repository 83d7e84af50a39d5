"""Golden ids beside every tokenizer that is written: what they hold, when they are made anew."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from change_toys import changed
from chat_toys import write_tokenizer
from toy_models import TARGET_WORDS, build_tokenizer

from revocab.api import adapt_model
from revocab.errors import RevocabError
from revocab.io import read_json, sha256, write_json
from revocab.models.folder import copy_tokenizer
from revocab.tokenizer_building.build import save_tokenizer
from revocab.tokenizers.golden_ids import (
    GOLDEN_IDS,
    file_hashes,
    fixed_texts,
    keep_golden_ids,
    read_golden_ids,
)
from revocab.tokenizers.load import load_tokenizer
from revocab.training.outputs.checkpoints import write_companions

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture
def chatty(tmp_path) -> Path:
    folder = write_tokenizer(tmp_path / "chatty")
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return folder


def test_ids_are_those_that_the_tokenizer_gives_to_text_and_chat_turns(chatty):
    keep_golden_ids(chatty)
    golden, tokenizer = read_golden_ids(chatty), load_tokenizer(chatty)
    assert golden.files["tokenizer.json"] == sha256(chatty / "tokenizer.json")
    texts = [entry.text for entry in golden.texts]
    assert texts[: len(fixed_texts())] == [*fixed_texts()] and len(fixed_texts()) > 60
    for entry in golden.texts:
        assert entry.ids == tokenizer.encode(entry.text, add_special_tokens=entry.special)
        assert entry.decoded == tokenizer.decode(entry.ids, skip_special_tokens=True)
    (*_, asked, answered, all_turns) = golden.texts
    assert asked.text.startswith("<s><|im_start|>user\nPerché 2 + 2 = 4?\nSpiega.<|im_end|>\n")
    assert asked.text.endswith("<|im_start|>assistant\n") and not asked.special
    assert asked.ids.count(0) == 1 and answered.text.endswith("<|im_end|>\n")
    assert len(all_turns.ids) > len(answered.ids) > len(asked.ids)
    assert any("<|eot_id|>" in text for text in texts)


def test_the_same_folder_gives_the_same_bytes(chatty, tmp_path):
    keep_golden_ids(chatty)
    other = tmp_path / "other"
    shutil.copytree(chatty, other)
    (other / GOLDEN_IDS).unlink()
    keep_golden_ids(other)
    assert (other / GOLDEN_IDS).read_bytes() == (chatty / GOLDEN_IDS).read_bytes()
    lines = (chatty / GOLDEN_IDS).read_text(encoding="utf-8").splitlines()
    assert sum('"ids"' in line for line in lines) == len(read_golden_ids(chatty).texts)


def test_what_travels_with_its_tokenizer_stays_and_is_made_anew_for_another(chatty, tmp_path):
    keep_golden_ids(chatty)
    own = read_json(chatty / GOLDEN_IDS)
    write_json(chatty / GOLDEN_IDS, own | {"texts": own["texts"][:5]})
    out = tmp_path / "out"
    out.mkdir()
    copy_tokenizer(chatty, out)
    keep_golden_ids(out)
    assert len(read_golden_ids(out).texts) == 5
    for file, change in (
        ("tokenizer.json", lambda text: text.replace('"add_prefix_space":false', "")),
        ("tokenizer_config.json", lambda text: text.replace('"</s>"', '"<|im_end|>"')),
        ("chat_template.jinja", lambda text: text.replace("user", "User") + "x"),
    ):
        copy_tokenizer(chatty, out)
        (out / file).write_text(change((out / file).read_text()) + "\n")
        keep_golden_ids(out)
        golden = read_golden_ids(out)
        assert len(golden.texts) > 60 and golden.files == file_hashes(out), file


@pytest.mark.parametrize(
    "content",
    [
        "not json",
        "[]",
        '{"files": {}, "texts": []}',
        '{"files": {"a": "b"}, "texts": [{}]}',
        *(
            f'{{"files": {{"a": "b"}}, "texts": [{{"text": {text}, "ids": {ids}, "decoded": "",'
            ' "special": true}]}'
            for text, ids in (("1", "[]"), ('""', "[-1]"), ('""', '"1"'), ('""', "[9999999999]"))
        ),
    ],
)
def test_somebody_elses_file_is_told_when_read_and_replaced_when_written(chatty, content):
    (chatty / GOLDEN_IDS).write_text(content)
    with pytest.raises(RevocabError, match=GOLDEN_IDS):
        read_golden_ids(chatty)
    keep_golden_ids(chatty)
    assert len(read_golden_ids(chatty).texts) > 60


def test_without_a_tokenizer_that_loads_there_is_no_file_and_a_warning(chatty, capsys):
    keep_golden_ids(chatty)
    (chatty / "tokenizer.json").write_text("{}")
    keep_golden_ids(chatty)
    assert read_golden_ids(chatty) is None
    assert f"warning: no {GOLDEN_IDS}: " in capsys.readouterr().err
    (chatty / "tokenizer.json").unlink()
    keep_golden_ids(chatty)
    assert read_golden_ids(chatty) is None and not capsys.readouterr().err


@pytest.mark.parametrize(
    "template", ["{{ nothing.at.all }}", "{{ raise_exception('no') }}", "{{ strftime_now('%d') }}"]
)
def test_a_template_that_fails_or_tells_the_date_gives_no_chat_turns(chatty, template):
    (chatty / "chat_template.jinja").write_text(template)
    keep_golden_ids(chatty)
    assert all(entry.special for entry in read_golden_ids(chatty).texts)


def test_tokenizers_and_stand_ins_are_written_with_them(toys, tmp_path):
    for model in ("untied", "tied", "helper"):
        golden = read_golden_ids(toys / model)
        assert golden.files == file_hashes(toys / model)
    built = build_tokenizer(TARGET_WORDS, 20, tmp_path / "built")
    save_tokenizer(load_tokenizer(built), {}, tmp_path / "saved")
    assert read_golden_ids(tmp_path / "saved").files == file_hashes(tmp_path / "saved")


def test_adapted_and_changed_models_have_those_of_their_tokenizer(toys, tmp_path):
    """Those of a tokenizer without any are made; those of a changed model are its body's."""
    target = {"target_tokenizer": toys / "target-tokenizer"}
    assert read_golden_ids(toys / "target-tokenizer") is None
    adapt_model(toys / "untied", tmp_path / "adapted", "fvt", **target)
    golden = read_golden_ids(tmp_path / "adapted")
    assert golden.files == file_hashes(tmp_path / "adapted")
    assert golden.files["tokenizer.json"] == sha256(toys / "target-tokenizer/tokenizer.json")
    changed("blocks", tmp_path / "adapted", tmp_path / "changed", share=0.5)
    assert read_golden_ids(tmp_path / "changed") == golden
    adapt_model(tmp_path / "adapted", tmp_path / "again", "fvt", **target)
    assert read_golden_ids(tmp_path / "again") == golden


def test_a_checkpoint_with_a_learned_chat_template_has_its_turns(toys, tmp_path):
    write_companions(toys / "untied", tmp_path, {"chat_template.jinja": TEMPLATE})
    golden = read_golden_ids(tmp_path)
    assert golden.files == file_hashes(tmp_path) != read_golden_ids(toys / "untied").files
    assert "<|im_start|>user" in golden.texts[-1].text and not golden.texts[-1].special
    assert json.loads((tmp_path / GOLDEN_IDS).read_text(encoding="utf-8"))["files"]
