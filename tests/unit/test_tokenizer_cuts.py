"""``truncation`` and ``padding`` in a tokenizer.json change no number, row, prompt or score."""

from __future__ import annotations

import shutil

import pytest
from evaluation_toys import IT_ROWS, write_model, write_task

from revocab.device import Checkpoint
from revocab.evaluation import efficiency
from revocab.evaluation.inference.engines import transformers
from revocab.evaluation.inference.shared_contexts import tokenizer_fingerprint
from revocab.evaluation.multiple_choice import scoring
from revocab.evaluation.options import EfficiencyJob, Hardware, Scoring
from revocab.io import read_json, write_json, write_jsonl
from revocab.training.data.packing import load_tokenizer as load_for_packing
from revocab.training.data.packing import tokenise
from revocab.vocabulary.fertility import Text, measure_fertility
from revocab.vocabulary.tokenizers.load import load_tokenizer

TRUNCATION = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
PADDING = {
    "strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": None,
    "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>",
}  # fmt: skip
CASES = {
    "truncation": ({"truncation": TRUNCATION}, {}),
    "padding": ({"padding": PADDING}, {}),
    "both": ({"truncation": TRUNCATION, "padding": {**PADDING, "strategy": "BatchLongest"}}, {}),
    "config": (
        {},
        {"model_max_length": 4, "max_length": 4, "truncation_side": "left", "stride": 1},
    ),
}
SENTENCES = [
    "Il fornaio vende il pane in città.",
    "il gatto",
    "Chi vende il pane numero 3? Nessuno.",
]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("cuts") / "plain", context_length=256)


@pytest.fixture(params=CASES)
def cutting(request, plain, tmp_path):
    """The plain model with a tokenizer that would cut or pad."""
    folder = tmp_path / "cutting"
    shutil.copytree(plain, folder)
    for name, changes in zip(("tokenizer", "tokenizer_config"), CASES[request.param], strict=True):
        path = folder / f"{name}.json"
        write_json(path, {**read_json(path), **changes})
    return folder


def test_fertility_is_that_of_the_plain_tokenizer(plain, cutting):
    loaded = {"plain": load_tokenizer(plain), "cutting": load_tokenizer(cutting)}
    rows, _ = measure_fertility(loaded, [Text("c", "it", SENTENCES, "unicode")])
    ours, theirs = ({**row, "tokenizer": ""} for row in rows)
    assert ours == theirs and ours["fertility"] > 2


def test_packing_takes_whole_documents(plain, cutting):
    documents = [{"id": str(i), "text": text} for i, text in enumerate(SENTENCES)]
    ours, theirs = (
        [one.ids for one in tokenise(load_for_packing(folder), documents)]
        for folder in (cutting, plain)
    )
    assert ours == theirs and 4 < len(ours[0]) < 64


def test_prompts_and_texts_are_whole(plain, cutting):
    ours, theirs = (
        transformers.TransformersGenerator(Checkpoint(folder, "cpu", "float32", 2), 256)
        for folder in (cutting, plain)
    )
    for text in SENTENCES:
        assert ours.encode(text) == theirs.encode(text)
        assert ours.encode_text(text) == theirs.encode_text(text)
    batch = [ours.tokenizer.backend_tokenizer.encode_batch(SENTENCES) for ours in (ours, theirs)]
    assert [one.ids for one in batch[0]] == [one.ids for one in batch[1]]


def test_scores_are_those_of_the_plain_tokenizer(plain, cutting, tmp_path, repository):
    task = write_task(tmp_path, repository, "arc_easy_it", IT_ROWS, "arc_easy_it")
    written = []
    for folder in (plain, cutting):
        out = tmp_path / f"{folder.name}.csv"
        scoring.score_checkpoints("r", {0: folder}, [task], out, Scoring())
        written.append(out.read_bytes())
    assert written[0] == written[1]


def test_efficiency_counts_whole_prompts(plain, cutting, tmp_path):
    text = tmp_path / "heldout.jsonl.gz"
    write_jsonl(text, [{"id": "0", "text": " ".join(SENTENCES) * 4}])
    job = EfficiencyJob(
        run="r", step=0, corpus="c", language="it", engine="transformers",
        prompts=2, prompt_characters=60, new_tokens=2, repeats=1,
    )  # fmt: skip
    ours, theirs = (
        efficiency.measure(folder, text, job, Hardware())["tokens"] for folder in (cutting, plain)
    )
    assert ours == theirs > 8


def test_other_vocabularies_have_other_fingerprints(plain, tmp_path):
    """Token ids are shared between checkpoints by this; some vocabularies lie in vocab.json."""
    fingerprints = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        shutil.copyfile(plain / "tokenizer_config.json", tmp_path / name / "tokenizer_config.json")
        (tmp_path / name / "vocab.json").write_text(f'{{"{name}": 0}}')
        fingerprints.add(tokenizer_fingerprint(tmp_path / name))
    assert len(fingerprints) == 2
