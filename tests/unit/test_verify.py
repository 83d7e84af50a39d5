"""`revocab verify`: planted differences are found, equal folders are equal, in real parts."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gguf_files import write_gguf
from toy_models import TARGET_WORDS, build_model, build_tokenizer

from revocab.errors import RevocabError
from revocab.io import read_json, write_json
from revocab.product.verify.runtimes import LLAMA_CPP, runtimes
from revocab.product.verify.verify import Result, VerifyOptions, verified_model, verify
from revocab.vocabulary.tokenizers.identity import chat_texts, fixed_texts
from revocab.vocabulary.tokenizers.load import load_tokenizer, write_tokenizer

State = dict[str, Any]
HERE = ["tokenizers", "transformers"]
LINES = "il gatto è sulla casa\nperché il cane\n\n  due  spazi\tqui\nthe cat sat on the mat\n"


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    """A model whose tokenizer adds bos and has a chat token, as it is written."""
    folder = tmp_path_factory.mktemp("verify")
    tokenizer = build_tokenizer(TARGET_WORDS, 45, folder / "tokenizer")

    def change(state: State) -> None:
        state["post_processor"] = {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        }
        added = {**state["added_tokens"][2], "id": len(state["model"]["vocab"])}
        state["added_tokens"].append({**added, "content": "<|tool|>"})

    edit(tokenizer, change)
    loaded = load_tokenizer(tokenizer)
    loaded.add_special_tokens({"extra_special_tokens": ["<|tool|>"]})
    write_tokenizer(loaded, folder / "written")
    # Heads as wide as vLLM has them.
    build_model(folder / "written", folder / "model", hidden_size=64, heads=2, kv_heads=1)
    return folder / "model"


@pytest.fixture
def model(sound, tmp_path) -> Path:
    """A copy of it, to plant faults in."""
    return Path(shutil.copytree(sound, tmp_path / "model"))


def edit(folder: Path, change: Callable[[State], object], file: str = "tokenizer.json") -> None:
    state = read_json(folder / file)
    change(state)
    write_json(folder / file, state)


def states(folder: Path, **options: Any) -> dict[str, Result]:
    """Return the results by runtime and the class that loaded it."""
    options = {"runtime": HERE, "logits": False, **options}
    verified = verified_model(str(folder), VerifyOptions.model_validate(options))
    return {f"{r.runtime} {r.about.split()[-1]}".split(".")[0]: r for r in verified.results}


def swap_ids(state: State) -> None:
    vocabulary = state["model"]["vocab"]
    vocabulary["a"], vocabulary["t"] = vocabulary["t"], vocabulary["a"]


def lose_added(state: State) -> None:
    state["added_tokens"] = [a for a in state["added_tokens"] if a["content"] != "<|tool|>"]


def split_at_a(state: State) -> None:
    pattern = {"String": "a"}
    state["pre_tokenizer"] = {
        "type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False,
    }  # fmt: skip


#: What is changed in tokenizer.json, and what then differs from the one that was.
FAULTS: dict[str, tuple[Callable[[State], object], str]] = {
    "two ids swapped": (swap_ids, "ids"),
    "a merge lost": (lambda state: state["model"]["merges"].pop(3), "ids"),
    "merges in another order": (lambda state: state["model"]["merges"].reverse(), "ids"),
    "no bos": (lambda state: state.update(post_processor=None), "ids"),
    "another bos": (
        lambda state: state["post_processor"]["special_tokens"]["<s>"].update(ids=[2]), "ids",
    ),
    "an added token lost": (lose_added, "ids"),
    "an added token that strips": (lambda s: s["added_tokens"][-1].update(lstrip=True), "ids"),
    "a normaliser": (
        lambda state: state["normalizer"]["normalizers"].insert(0, {"type": "NFKC"}), "ids",
    ),
    "no prefix": (lambda state: state["normalizer"]["normalizers"].pop(0), "ids"),
    "no bytes": (lambda state: state["model"].update(byte_fallback=False), "ids"),
    "a splitter": (split_at_a, "ids"),
    "a decoder": (lambda state: state["decoder"]["decoders"].pop(), "text"),
}  # fmt: skip


def test_a_folder_as_it_was_written_is_equal_in_all_that_is_here(model):
    results = states(model, logits=True)
    assert [result.state for result in results.values()] == ["equal"] * 3
    ((size, *same),) = {(r.texts, r.same_ids, r.same_text) for r in results.values()}
    assert size > len(fixed_texts()) > 60 and same == [size, size]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_and_shown(model, sound, fault):
    change, what = FAULTS[fault]
    edit(model, change)
    if change is lose_added:  # transformers adds again what its configuration names
        edit(model, lambda s: s.pop("additional_special_tokens"), "tokenizer_config.json")
    options = VerifyOptions(runtime=HERE, logits=False, tokenizer=sound)
    verified = verified_model(str(model), options)
    assert verified.verdict == "different"
    for result in verified.results:
        assert result.state == "different" and result.differences, result
        assert (result.same_ids < result.texts) == (what == "ids") or fault == "no bytes"
        assert (result.same_text < result.texts) or what == "ids"


def test_a_class_that_builds_another_tokenizer_is_told_apart(model):
    """Without a config.json, the Auto class of transformers 5 believes the name of a class."""
    (model / "config.json").unlink()
    edit(model, lambda s: s.update(tokenizer_class="GPT2Tokenizer"), "tokenizer_config.json")
    results = states(model)
    assert results["tokenizers 0"].state == "equal"
    assert results["transformers AutoTokenizer"].state == "different"


def test_truncation_and_padding_change_nothing(model):
    padding = {
        "strategy": {"Fixed": 40}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
        "pad_type_id": 0, "pad_token": "<unk>",
    }  # fmt: skip
    cut = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    edit(model, lambda state: state.update(truncation=cut, padding=padding))
    assert {result.state for result in states(model).values()} == {"equal"}


def test_lines_of_text_are_compared_with_the_raw_library(model, tmp_path):
    text = tmp_path / "lines.txt"
    text.write_text(LINES, encoding="utf-8")
    before = {r.texts for r in states(model).values()}
    results = states(model, text=[text])
    assert {r.texts - 5 for r in results.values()} == before
    assert {r.state for r in results.values()} == {"equal"}


def test_without_another_tokenizer_the_folders_own_is_right(model):
    edit(model, swap_ids)
    assert verified_model(str(model), VerifyOptions(runtime=HERE, logits=False)).verdict == "equal"


@pytest.mark.parametrize(
    ("template", "turns"),
    [
        ("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}", 3),
        ("{{ nothing.at.all }}", 0),
        ("{{ raise_exception('no') }}", 0),
        ("{{ strftime_now('%d') }}", 0),
    ],
)
def test_a_template_that_fails_or_tells_the_date_gives_no_chat_turns(model, template, turns):
    tokenizer = load_tokenizer(model)
    tokenizer.chat_template = template
    assert len([*chat_texts(tokenizer)]) == turns


def test_what_does_not_load_has_failed(model):
    (model / "tokenizer_config.json").write_text('{"tokenizer_class": "NoSuchTokenizer"}')
    results = verified_model(str(model), VerifyOptions(runtime=HERE, logits=False)).results
    failed = [result for result in results if result.state == "failed"]
    assert all("AutoTokenizer" in result.about for result in failed)
    assert [r.state for r in results if r.runtime == "tokenizers"] == ["equal"]


def test_wrong_files_are_told(model, tmp_path):
    latin = tmp_path / "latin.txt"
    latin.write_bytes("perché".encode("latin-1"))
    for folder, text, problem in (
        (model, [latin], r"latin.txt: not UTF-8 text"),
        (tmp_path / "nowhere", [], "nowhere: no such folder"),
        (tmp_path, [], r"it has no tokenizer\.json"),
    ):
        with pytest.raises(RevocabError, match=problem):
            states(folder, text=text)
    with pytest.raises(RevocabError, match=r"nowhere"):
        states(model, tokenizer=tmp_path / "nowhere")
    (model / "tokenizer.json").write_text("[]")
    with pytest.raises(RevocabError, match=r"tokenizer.json: no 'model' in it"):
        states(model)


def test_a_gguf_without_llama_cpp_is_not_compared(model, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("REVOCAB_LLAMA", str(tmp_path / "nowhere"))
    few = {name: runtimes()[name] for name in (LLAMA_CPP, "tokenizers")}  # vLLM takes half a minute
    monkeypatch.setattr("revocab.product.verify.verify.runtimes", lambda: few)
    gguf = write_gguf(model, tmp_path / "sound.gguf")
    with pytest.raises(SystemExit):
        verify([str(model), "--gguf", str(gguf), "--no-logits"])
    said = capsys.readouterr().out
    assert "differs" not in said and "llama.cpp" in said.splitlines()[-1]


def test_an_unknown_type_of_model_is_not_compared(model):
    write_json(model / "config.json", {**read_json(model / "config.json"), "model_type": "new"})
    verified = verified_model(str(model), VerifyOptions(runtime=["tokenizers"]))
    assert verified.verdict == "not run"
    assert [r.state for r in verified.results if r.runtime == "logits"] == ["failed"]


# Real parts -------------------------------------------------------------------------------------


def test_transformers_4_gives_the_same(real_transformers4, model, sound):
    results = states(model, runtime=["transformers4"])
    assert {result.state for result in results.values()} == {"equal"} and len(results) == 2
    assert all(result.about.startswith("4.") for result in results.values())
    edit(model, swap_ids)
    results = states(model, runtime=["transformers4"], tokenizer=sound)
    assert {result.state for result in results.values()} == {"different"}


def test_vllm_gives_the_same(vllm_interpreter, model, monkeypatch):
    monkeypatch.setenv("REVOCAB_VLLM_PYTHON", vllm_interpreter)
    (result,) = states(model, runtime=["vllm"], logits=True).values()
    assert result.state == "equal" and 0 < result.logits < result.allowed, result


def test_a_gguf_gives_the_same_in_llama_cpp(real_llama, model, tmp_path):
    text = tmp_path / "lines.txt"
    text.write_text(LINES, encoding="utf-8")
    gguf = write_gguf(model, tmp_path / "sound.gguf")
    options = {"runtime": ["llama.cpp"], "logits": True, "gguf": gguf, "text": [text]}
    (result,) = states(model, **options).values()
    assert result.state == "equal" and 0 < result.logits < result.allowed, result


#: What is wrong in the file; scores that say nothing are those of llama.cpp's own converter.
GGUF_FAULTS: dict[str, dict[str, Any]] = {
    "scores that say nothing": {"ranked": False},
    "no bos": {"adds_bos": False},
    "another bos": {"bos": 2},
    "an added token that is none": {"ordinary": ["<|tool|>"]},
    "another weight": {"scaled": 1.5},
}


@pytest.mark.parametrize("fault", GGUF_FAULTS)
def test_a_fault_of_a_gguf_is_found(real_llama, model, tmp_path, fault):
    gguf = write_gguf(model, tmp_path / "faulty.gguf", **GGUF_FAULTS[fault])
    options = {"runtime": ["llama.cpp"], "logits": True, "gguf": gguf}
    (result,) = states(model, **options).values()
    assert result.state == "different"
    if fault == "another weight":
        assert result.same_ids == result.texts and result.logits > 10 * result.allowed
    else:
        assert result.same_ids < result.texts and result.logits < result.allowed


@pytest.mark.long
def test_a_larger_tokenizers_ids_ask_for_no_row_that_is_not_there(real_llama, model, tmp_path):
    larger = build_tokenizer(TARGET_WORDS, 90, tmp_path / "larger")
    gguf = write_gguf(model, tmp_path / "own.gguf")
    options = {"runtime": ["llama.cpp"], "logits": True, "gguf": gguf, "tokenizer": larger}
    (result,) = states(model, **options).values()
    assert result.state == "different" and result.same_ids < result.texts
