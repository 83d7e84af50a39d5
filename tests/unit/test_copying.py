"""The copying task: what is copied, how, and how it is counted."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest
from evaluation_toys import write_model
from hypothesis import given
from hypothesis import strategies as st
from jobs import job_of

from revocab.corpora.copies import copying_task, sentences
from revocab.corpora.copies import units as corpus_units
from revocab.corpora.prepare import CorpusJob, prepare_corpus
from revocab.corpora.read import documents, holds_conversations
from revocab.device import Checkpoint
from revocab.errors import RevocabError
from revocab.evaluation.generation.generate import generate_task, task_scores
from revocab.evaluation.generation.kinds.copying import (
    KIND,
    common_length,
    is_released_copy,
    units,
)
from revocab.evaluation.generation.prompts import PromptJob, build_prompts
from revocab.evaluation.inference.decoding import Output
from revocab.evaluation.inference.engines.transformers import TransformersGenerator
from revocab.evaluation.options import Generating
from revocab.io import write_jsonl

DOCUMENT = (
    "Il fornaio vende il pane nella città vecchia. Il sig. Rossi lo compra ogni mattina «presto "
    "e bene». Costa poco.\n\n" + "La farina arriva dal mulino vicino al fiume. " * 6
)


def test_sentences():
    text = 'Il sig. Rossi è qui. "Dove?" Qui! Costa 3.5 euro… Poi basta'
    assert sentences(text) == [
        "Il sig. Rossi è qui.",
        '"Dove?"',
        "Qui!",
        "Costa 3.5 euro…",
        "Poi basta",
    ]


def test_units_have_a_length_and_do_not_repeat():
    rows = [
        {"id": "a", "text": DOCUMENT},
        {"id": "b", "it": "La farina arriva dal mulino vicino al fiume."},
    ]
    found = list(units(rows, "sentence", "it"))
    assert [one["text"] for one in found] == [
        "Il fornaio vende il pane nella città vecchia.",
        "Il sig. Rossi lo compra ogni mattina «presto e bene».",
        "La farina arriva dal mulino vicino al fiume.",
    ]
    assert found[0]["id"] == "a.0"
    (paragraph,) = units(rows, "paragraph", "it")
    assert paragraph["text"].startswith("La farina") and len(paragraph["text"].split()) == 48


def test_an_article_is_the_whole_text_with_its_paragraphs():
    """Neither too short nor too long, whitespace inside a line collapsed."""
    ((number, text),) = corpus_units(DOCUMENT.replace("vende il", "vende   il"), "article")
    first, second = text.split("\n")
    assert number == 0 and first.startswith("Il fornaio vende il pane") and "Costa poco." in first
    assert second.count("La farina") == 6
    for words, found in ((39, 0), (40, 1), (2000, 1), (2001, 0)):
        assert len([*corpus_units("parola " * words, "article")]) == found


def longest_common(first, second):
    """The textbook table."""
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
            )
    return table[-1][-1]


@given(st.lists(st.integers(0, 4), max_size=40), st.lists(st.integers(0, 4), max_size=40))
def test_common_length_equals_the_textbooks(first, second):
    assert common_length(first, second) == longest_common(first, second)


@pytest.fixture
def files(tmp_path):
    rows = [
        {"id": str(i), "text": f"Il gatto numero {i} dorme sul tappeto della casa grande."}
        for i in range(8)
    ]
    write_jsonl(tmp_path / "texts.jsonl", rows)
    return tmp_path / "texts.jsonl"


def prompts(files, unit="sentence"):
    values = {"shots": 1, "seed": 17, "limit": 3}
    job = job_of(PromptJob, task="copy_it", kind="copying", direction=["it"], unit=unit, **values)
    return build_prompts(job, [files], [files])


def test_the_prompt_asks_for_a_copy(files):
    row = prompts(files)[0]
    (shot,) = row["shots"]
    text = "Il gatto numero 0 dorme sul tappeto della casa grande."
    assert row["prompt"] == (
        f"Copia il testo parola per parola.\nTesto: {shot['text']}\nCopia: {shot['text']}\n\n"
        f"Testo: {text}\nCopia:"
    )
    assert row["references"] == [text] and shot["text"] != text


def test_what_is_copied_must_be_said():
    given = {"task": "c", "kind": "copying", "direction": ["it"], "shots": 0, "seed": 1}
    with pytest.raises(RevocabError, match="unit: required"):
        job_of(PromptJob, **given)
    with pytest.raises(RevocabError) as caught:
        job_of(PromptJob, **given, unit="word", units=2)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["unit", "units"]


def test_nothing_to_copy_is_said(files):
    with pytest.raises(RevocabError, match=r"texts\.jsonl: no paragraph of 40 to 200 words"):
        prompts(files, unit="paragraph")


class Parrot(TransformersGenerator):
    """An engine that writes the text it was given, cut after ``keep`` tokens."""

    keep = 10**6

    def generate(self, prompts, max_new_tokens, stop):
        made = []
        for prompt in prompts:
            text = self.tokenizer.decode(prompt).rsplit("Testo: ", 1)[1].split("\nCopia:")[0]
            ids = self.encode_text(text)[: self.keep]
            made.append(Output(self.tokenizer.decode(ids).strip(), len(ids), "blank_line"))
        return made


def test_a_perfect_copy_and_a_short_one(files, tmp_path):
    folder = write_model(tmp_path / "model", context_length=512)
    engine = Parrot(Checkpoint(folder, "cpu", "float32", 4), 512)
    options = Generating(max_new_tokens=64, context_length=512)
    made = generate_task(engine, prompts(files), options)
    values = {row["metric"]: row["value"] for row in task_scores("copying", ["it"], made)}
    per_token = values.pop("characters_per_token")
    assert 0 < per_token < sum(len(row["output"]) / row["output_tokens"] for row in made) / 3
    assert values == dict.fromkeys(
        ("copy_ratio", "copied", "copy_length", "copied_tokens", "copied_released"),
        pytest.approx(100),
    )
    engine.keep = 5
    made = generate_task(engine, prompts(files), options)
    assert all(row["copied_tokens"] <= 5 < row["reference_tokens"] for row in made)
    values = {row["metric"]: row["value"] for row in task_scores("copying", ["it"], made)}
    assert values["copied"] == 0 and values["copy_ratio"] > 100
    shares = [100 * 5 / row["reference_tokens"] for row in made]
    assert values["copy_length"] == pytest.approx(sum(shares) / len(shares))
    assert values["copied_tokens"] <= values["copy_length"]  # a cut may end in half a character


def test_lengths_count_either_way_and_nothing_counts_as_nothing():
    """Twice too long is as far off as half; tokens that are not in order are not copied."""
    rows = [
        {
            "reference_tokens": original, "output_tokens": written, "copied_tokens": same,
            "writable_tokens": original,
            "finish_reason": "eos" if ended else "length",
        }
        for original, written, same, ended in (
            (10, 6, 5, True), (10, 20, 10, False), (10, 1, 0, True), (4, 4, 1, False),
        )
    ]  # fmt: skip
    found = KIND.items([{**row, "output": "", "references": [""]} for row in rows], ["it"])
    assert found["copy_length"].value() == pytest.approx((50 + 50 + 0 + 100) / 4)
    assert found["copied_tokens"].value() == pytest.approx((50 + 100 + 0 + 25) / 4)


TEXT = "Кот спит на окне, а пёс лежит у двери и ждёт."


@pytest.mark.parametrize(
    ("output", "paper", "released"),
    [
        (TEXT, 100, 100),
        (TEXT[: len(TEXT) // 2], 0, 100),
        (f"{TEXT} {TEXT}", 100, 0),
        ("", 0, 0),
        ("  ", 0, 0),
        ("и " * 20, 0, 0),
        (f" {TEXT}\n", 100, 100),
    ],
    ids=["perfect", "half", "doubled", "empty", "blank", "constant", "spaced"],
)
def test_the_papers_measure_beside_the_released_one(output, paper, released):
    """The paper: tokens over the original's. The release: characters over the output's."""
    row = {"output": output, "references": [TEXT], "output_tokens": len(output.split())}
    row["max_new_tokens"] = 99
    row |= KIND.counts(row, lambda text: [hash(word) for word in text.split()])
    scores = task_scores("copying", ["ru"], [{**row, "finish_reason": "length"}])
    values = {score["metric"]: score["value"] for score in scores}
    assert (values["copied"], values["copied_released"]) == (paper, released)


@given(st.text("абв", max_size=12), st.text("абв г", max_size=12))
def test_the_short_cut_of_released_copies_is_none(original, written):
    blocks = SequenceMatcher(None, original.strip(), written.strip(), autojunk=False)
    same = sum(block.size for block in blocks.get_matching_blocks())
    wanted = bool(written.strip()) and same / len(written.strip()) >= 0.99
    assert is_released_copy(original, written) == wanted


def test_of_an_original_counts_what_may_be_written():
    """Six tokens that are cut after four are as long as can be; after three, three quarters."""
    row = {"references": ["a b c d e f"], "output": "a b c d", "max_new_tokens": 4}
    row |= KIND.counts(row, str.split)
    for written, share in ((4, 100), (3, 75)):
        cut = {**row, "output_tokens": written, "finish_reason": "length"}
        assert KIND.items([cut], ["it"])["copy_length"].value() == pytest.approx(share)


def test_whole_texts_are_copied_however_long(files):
    write_jsonl(files, [{"text": "Una  riga."}, {"text": "Due."}])
    assert [row["references"] for row in prompts(files, unit="text")] == [["Una riga."], ["Due."]]


def test_a_copying_task_asks_as_the_kind_does_in_chat(tmp_path):
    """What models are calibrated on is worded as what they are scored on."""
    (said, copy) = copying_task("Il gatto dorme qui adesso.", "it")
    layout = KIND.layout.in_words(["it"], {})
    texts = KIND.texts({"text": copy["content"]}, ["it"])
    assert [said] == layout.messages([], texts, turns=True)
    assert copy == {"role": "assistant", "content": "Il gatto dorme qui adesso."}


def test_a_corpus_of_copying_tasks(tmp_path):
    """One conversation for each sentence that fits, exact repetitions once."""
    rows = [{"id": "a", "text": DOCUMENT}, {"text": "Troppo corta.\n\n" + DOCUMENT}]
    job = CorpusJob(corpus="copies", language="it", copying="sentence", limit_documents=2)
    manifest = prepare_corpus(rows, {"label": "rows"}, job, tmp_path / "out")
    assert holds_conversations(tmp_path / "out") and manifest["copying"] == "sentence"
    found = list(documents(tmp_path / "out"))
    assert [row["id"] for row in found] == ["a.0", "a.1"]
    assert found[0]["messages"] == copying_task(
        "Il fornaio vende il pane nella città vecchia.", "it"
    )
    job = job.model_copy(update={"limit_documents": None})
    manifest = prepare_corpus(rows, {"label": "rows"}, job, tmp_path / "all")
    assert manifest["train"]["documents"] == 3 and manifest["skipped"]["duplicate"] == 5 + 3 + 5
    with pytest.raises(ValueError, match="leave messages_field out"):
        CorpusJob(corpus="c", language="it", copying="sentence", messages_field="messages")


def test_no_prompt_fits(files, tmp_path):
    folder = write_model(tmp_path / "model", context_length=32)
    engine = Parrot(Checkpoint(folder, "cpu", "float32", 4), 512)
    with pytest.raises(RevocabError, match="no prompt of this task fits"):
        generate_task(engine, prompts(files), Generating(max_new_tokens=28, context_length=512))
