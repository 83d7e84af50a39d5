"""Corpora of parallel text: what is asked, what is learned, which pairs are kept."""

from __future__ import annotations

import math

import pytest
import training_pico as pico
from chat_toys import chat_model, write_tokenizer
from hypothesis import given
from hypothesis import strategies as st
from jobs import job_of

from revocab.closed import checked
from revocab.corpora.formats import file_rows
from revocab.corpora.prepare import CorpusJob, heldout_documents, prepare, prepare_corpus
from revocab.corpora.read import documents, holds_conversations
from revocab.corpora.source import Form
from revocab.corpora.translations import Translations, pairs
from revocab.errors import RevocabError
from revocab.evaluation.generation.prompts import PromptJob, build_prompts
from revocab.io import write_jsonl
from revocab.training.chat.template import find_template
from revocab.training.data.conversations import (
    ConversationCount,
    conversations_of,
    load_chat_tokenizer,
)
from revocab.training.data.heldout import pack_heldout_folder
from revocab.training.data.packed_folder import pack_folder
from revocab.training.data.packing import HeldoutJob, PackingJob
from revocab.training.named_recipes import named_recipe
from revocab.training.recipe import PackingOptions, Recipe, TrainingOptions
from revocab.training.run import Settings, TrainingRun
from revocab.training.train import train

#: How ALMA asks, as an experiment writes it for tasks and corpora.
ALMA = {
    "language": "en",
    "instruction": "Translate this from <<source>> to <<target>>:",
    "labels": ["<<source>>", "<<target>>"],
    "between_shots": "\n",
}
ROWS = [
    {"id": "a", "en": "The bread is warm.", "it": "Il pane è caldo.", "score": 1.1},
    {"id": "b", "en": "The bridge is  long.", "it": "Il ponte\nè lungo.", "score": 1.3},
    {"id": "c", "en": "The mill turns.", "it": "Il mulino gira.", "score": 1.2},
]


def job(**options):
    given = {"languages": ["en", "it"], "layout": ALMA, **options}
    return CorpusJob(corpus="pairs", language="it", translation=given)


def said(folder, split="train"):
    return [
        (row["id"], *(one["content"] for one in row["messages"]))
        for row in documents(folder, split)
    ]


def test_pairs_ask_for_translations_both_ways(tmp_path):
    manifest = prepare_corpus(ROWS[:2], {"label": "rows"}, job(both_directions=True), tmp_path)
    there = "Translate this from English to Italian:\nEnglish: {}\nItalian:"
    back = "Translate this from Italian to English:\nItalian: {}\nEnglish:"
    assert said(tmp_path) == [
        ("a.en-it", there.format("The bread is warm."), "Il pane è caldo."),
        ("a.it-en", back.format("Il pane è caldo."), "The bread is warm."),
        ("b.en-it", there.format("The bridge is long."), "Il ponte è lungo."),
        ("b.it-en", back.format("Il ponte è lungo."), "The bridge is long."),
    ]
    assert holds_conversations(tmp_path) and "text_field" not in manifest
    assert manifest["translation"]["languages"] == ["en", "it"]


@pytest.mark.parametrize("layout", [None, ALMA])
def test_a_model_is_asked_as_it_was_taught(tmp_path, layout):
    """The question of a pair is the prompt of the translation task without examples."""
    write_jsonl(tmp_path / "rows.jsonl", ROWS)
    prepare_corpus(ROWS, {"label": "rows"}, job(layout=layout), tmp_path / "corpus")
    direction = {"kind": "translation", "direction": ["en", "it"]}
    task = job_of(PromptJob, **direction, shots=0, task="t", seed=1, layout=layout)
    prompts = build_prompts(task, [tmp_path / "rows.jsonl"], [tmp_path / "rows.jsonl"])
    asked = [(row["prompt"], row["references"][0]) for row in prompts]
    assert [tuple(one) for _, *one in said(tmp_path / "corpus")] == asked


def test_the_translation_and_its_end_alone_are_learned(tmp_path):
    """By hand on a byte-level tokenizer: all up to the last colon is masked."""
    write_tokenizer(tmp_path / "tokenizer")
    prepare_corpus(ROWS, {"label": "rows"}, job(), tmp_path / "corpus")
    chat = load_chat_tokenizer(tmp_path / "tokenizer", "completion")
    count = ConversationCount("pairs", 1, 0)
    one = next(conversations_of(chat, documents(tmp_path / "corpus"), count))
    learned = [token for token, bit in zip(one.ids, one.learned, strict=True) if bit]
    masked = [token for token, bit in zip(one.ids, one.learned, strict=True) if not bit]
    assert [*masked, *learned] == one.ids
    whole = chat.backend.decode(one.ids, skip_special_tokens=False)
    assert whole == (
        "<s>Translate this from English to Italian:\nEnglish: The bread is warm.\nItalian:"
        " Il pane è caldo.</s>"
    )
    assert chat.backend.decode(learned, skip_special_tokens=False) == " Il pane è caldo.</s>"
    assert one.answer_bytes == len("Il pane è caldo.".encode())


def test_the_highest_scores_are_kept_in_the_order_of_the_rows(tmp_path):
    top = job(top={"field": "score", "count": 2})
    prepare_corpus(ROWS, {"label": "rows"}, top, tmp_path)
    assert [identifier for identifier, *_ in said(tmp_path)] == ["b.en-it", "c.en-it"]


def numbered(scores):
    return [{"en": f"n{n}", "it": f"m{n}", "score": score} for n, score in enumerate(scores)]


def kept(rows, count):
    options = Translations(languages=["en", "it"], top={"field": "score", "count": count})
    return [pair.number for pair in pairs(rows, "rows", options)]


def test_a_repeated_pair_counts_once_and_an_empty_side_never():
    rows = numbered([5, 1, 2])
    rows.insert(1, dict(rows[0]))
    rows.append({"en": "alone", "it": " ", "score": 9})
    assert kept(rows, 2) == [1, 4]


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 12))
def test_the_heap_keeps_what_sorting_would(scores, count):
    """Python's sort is stable, so that of equal scores the earlier comes first."""
    best = sorted(range(len(scores)), key=lambda n: -scores[n])[:count]
    assert kept(numbered(scores), count) == sorted(n + 1 for n in best)


def test_scores_are_read_as_a_stream():
    """Memory holds the kept pairs: of a source without end, rows are let go as they are read."""
    import gc
    import weakref

    class Row(dict):
        """A row that can be watched."""

    watched = []

    def rows():
        for n in range(500):
            row = Row(en=f"n{n}", it=f"m{n}", score=n % 7)
            watched.append(weakref.ref(row))
            yield row
            if n > 20 and n % 100 == 0:
                del row
                gc.collect()
                assert sum(one() is not None for one in watched) <= 5

    assert len(kept(rows(), 3)) == 3


def test_both_directions_of_a_pair_are_held_out_together(tmp_path):
    rows = [{"en": f"Number {n}.", "it": f"Numero {n}."} for n in range(60)]
    options = job(both_directions=True).model_copy(update={"heldout_bytes": 1500})
    manifest = prepare_corpus(rows, {"label": "rows"}, options, tmp_path)
    train, aside = (
        {identifier.partition(".")[0] for identifier, *_ in said(tmp_path, split)}
        for split in ("train", "heldout")
    )
    assert not train & aside and len(train | aside) == 60
    assert manifest["heldout"]["documents"] == 2 * len(aside) >= 4


def test_equal_hashes_stay_together():
    hashes = [b"a", b"b", b"b", b"c"]
    assert heldout_documents(hashes, [1, 1, 1, 1], 2) == {0, 1, 2}
    assert heldout_documents(hashes, [1, 1, 1, 1], 1) == {0}
    assert heldout_documents(hashes, [1, 1, 1, 1], 0) == set()


def test_files_as_nllb_has_them(tmp_path):
    """Columns of a TSV file go by their numbers: sentence, sentence, score, and more."""
    lines = [
        f'{row["en"].replace("  ", " ")}\t"{n}\t{row["score"]}\tx' for n, row in enumerate(ROWS)
    ]
    path = tmp_path / "eng_Latn-ita_Latn.tsv"
    path.write_text("\n".join([*lines, ""]))
    assert next(iter(file_rows(path))) == {
        "1": "The bread is warm.", "2": '"0', "3": "1.1", "4": "x"
    }  # fmt: skip
    options = job(fields={"en": "1", "it": "2"}, top={"field": "3", "count": 1})
    manifest = prepare([path], options, tmp_path / "out")
    ((identifier, _, answer),) = said(tmp_path / "out")
    assert (identifier, answer) == ("pairs-2.en-it", '"1')
    assert manifest["source"]["file"] == path.name


def test_aligned_lines_are_pairs(tmp_path):
    for language in ("en", "it"):
        (tmp_path / language).write_text("".join(f"{language} {n}\n" for n in range(3)))
    options = job().model_copy(update={"source": Form(kind="lines", languages=("en", "it"))})
    prepare([tmp_path / "en", tmp_path / "it"], options, tmp_path / "out")
    assert [answer for *_, answer in said(tmp_path / "out")] == ["it 0", "it 1", "it 2"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"en": "a"}, "row 1, translation.fields: no field 'it' .a row has: en"),
        ({"en": "a", "it": 3}, "row 1: field 'it' is a int, expected text"),
        ("a", "row 1: a str, expected an object"),
        ({"en": "a", "it": "b"}, "row 1, translation.top: no field 'score'"),
        ({"en": "a", "it": "b", "score": "high"}, "field 'score' is 'high', expected a number"),
        ({"en": "a", "it": "b", "score": float("nan")}, "is nan, expected a number"),
    ],
)
def test_rows_that_are_no_scored_pairs_are_named(tmp_path, row, message):
    options = job(top={"field": "score", "count": 2})
    with pytest.raises(RevocabError, match=message):
        prepare_corpus([row], {"label": "rows"}, options, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"language": "sw"}, "language: 'sw' is none of the languages of translation .en, it"),
        ({"messages_field": "said"}, "messages_field and translation"),
        ({"near_duplicates": {}}, "leave near_duplicates or both_directions out"),
        ({"translation": {"languages": ["en", "en"]}}, "and both are equal"),
        ({"translation": {"languages": ["en", "it"], "fields": {"sw": "x"}}}, "fields: sw is none"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    pair = {"languages": ["en", "it"], "both_directions": True}
    given = {"corpus": "c", "language": "it", "translation": pair, **options}
    with pytest.raises(RevocabError, match=message):
        checked(CorpusJob, given)


def test_a_model_is_tuned_as_by_almas_recipe(tmp_path):
    """From pairs to the best checkpoint, which held-out pairs tell, at a pico model's size."""
    write_tokenizer(tmp_path / "tokenizer")
    chat_model(tmp_path / "model")
    rows = [{"en": f"Bread {n}.", "it": f"Pane {n}."} for n in range(60)]
    options = job(both_directions=True).model_copy(update={"heldout_bytes": 1500})
    prepare_corpus(rows, {"label": "rows"}, options, tmp_path / "pairs")
    small = {"sequence_length": 128, "batch_size": 4, "steps": 6, "checkpoint_every": 2}
    alma, _ = named_recipe("alma", {"like": "alma", **small, "precision": "float32"})
    recipe = Recipe.model_validate(alma)
    folders = {name: tmp_path / name for name in ("model", "packed", "heldout")}
    tokenizer, corpora = tmp_path / "tokenizer", {"pairs": tmp_path / "pairs"}
    packing = recipe.model_dump(include={*PackingOptions.model_fields})
    rows_job = PackingJob(**packing, rows=24, seed=1, shares={"pairs": [1]})
    template, windows = recipe.chat_template, HeldoutJob(sequence_length=128)
    pack_folder(tokenizer, corpora, rows_job, folders["packed"], corpora.values(), template)
    pack_heldout_folder(tokenizer, corpora, windows, folders["heldout"], template)
    trained = Settings(**recipe.model_dump(include={*TrainingOptions.model_fields}), seed=1)
    manifest = train(TrainingRun(**folders, out=tmp_path / "run", settings=trained))
    rates = [float(one["learning_rate"]) for one in pico.table(tmp_path / "run/losses.csv")]
    assert rates == pytest.approx([0, *(2e-5 / math.sqrt(n) for n in range(1, 6))])
    losses = [
        (float(one["loss"]), int(one["step"])) for one in pico.table(tmp_path / "run/heldout.csv")
    ]
    assert manifest["best"]["step"] == min(losses[1:])[1]
    template = (tmp_path / "run/checkpoints/best/chat_template.jinja").read_text()
    assert template == find_template("completion").read_text()
