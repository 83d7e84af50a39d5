"""Copying: corpora of copying tasks, and copies by an engine that writes what it reads."""

from __future__ import annotations

import pytest
from evaluation_toys import write_model
from test_prompts import prompts_of

from revocab.corpora.documents import copying_task, sentences
from revocab.corpora.documents import units as corpus_units
from revocab.corpora.prepare import CorpusJob, prepare_corpus
from revocab.corpora.read import documents, holds_conversations
from revocab.device import Checkpoint
from revocab.errors import RevocabError
from revocab.evaluation.generation.generate import generate_task, task_scores
from revocab.evaluation.inference.decoding import Output
from revocab.evaluation.inference.engines.transformers import TransformersGenerator
from revocab.evaluation.options import Generating

DOCUMENT = (
    "Il fornaio vende il pane nella città vecchia. Il sig. Rossi lo compra ogni mattina «presto "
    "e bene». Costa poco.\n\n" + "La farina arriva dal mulino vicino al fiume. " * 6
)


def test_sentences():
    text = 'Il sig. Rossi è qui. "Dove?" Qui! Costa 3.5 euro… Poi basta'
    parts = ["Il sig. Rossi è qui.", '"Dove?"', "Qui!", "Costa 3.5 euro…", "Poi basta"]
    assert sentences(text) == parts


def test_an_article_is_the_whole_text_with_its_paragraphs():
    """Neither too short nor too long, whitespace inside a line collapsed."""
    ((number, text),) = corpus_units(DOCUMENT.replace("vende il", "vende   il"), "article")
    first, second = text.split("\n")
    assert number == 0 and first.startswith("Il fornaio vende il pane") and "Costa poco." in first
    assert second.count("La farina") == 6
    for words, found in ((39, 0), (40, 1), (2000, 1), (2001, 0)):
        assert len([*corpus_units("parola " * words, "article")]) == found


@pytest.fixture
def prompts(tmp_path):
    rows = [{"text": f"Il gatto numero {i} dorme sul tappeto della casa."} for i in range(8)]
    return prompts_of(tmp_path, "copying", rows, unit="sentence", shots=1, limit=3)


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


def test_a_perfect_copy_and_a_short_one(prompts, tmp_path):
    folder = write_model(tmp_path / "model", context_length=512)
    engine = Parrot(Checkpoint(folder, "cpu", "float32", 4), 512)
    options = Generating(max_new_tokens=64, context_length=512)
    made = generate_task(engine, prompts, options)
    values = {row["metric"]: row["value"] for row in task_scores("copying", ["it"], made)}
    per_token = values.pop("characters_per_token")
    assert 0 < per_token < sum(len(row["output"]) / row["output_tokens"] for row in made) / 3
    assert values == dict.fromkeys(
        ("copy_ratio", "copied", "copy_length", "copied_tokens", "copied_released"),
        pytest.approx(100),
    )
    engine.keep = 5
    made = generate_task(engine, prompts, options)
    assert all(row["copied_tokens"] <= 5 < row["reference_tokens"] for row in made)
    values = {row["metric"]: row["value"] for row in task_scores("copying", ["it"], made)}
    assert values["copied"] == 0 and values["copy_ratio"] > 100
    shares = [100 * 5 / row["reference_tokens"] for row in made]
    assert values["copy_length"] == pytest.approx(sum(shares) / len(shares))
    assert values["copied_tokens"] <= values["copy_length"]  # a cut may end in half a character


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
    with pytest.raises(ValueError, match="messages_field and copying"):
        CorpusJob(corpus="c", language="it", copying="sentence", messages_field="messages")


def test_no_prompt_fits(prompts, tmp_path):
    folder = write_model(tmp_path / "model", context_length=32)
    engine = Parrot(Checkpoint(folder, "cpu", "float32", 4), 512)
    with pytest.raises(RevocabError, match="no prompt of this task fits"):
        generate_task(engine, prompts, Generating(max_new_tokens=28, context_length=512))
