"""Kinds of generation tasks, languages and metrics: one file and one place for each."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scratch_package import blocks, run_scratch, scratch

from revocab import languages as language_data
from revocab.chat.layout import Layout
from revocab.demoworld.build import asked, translated
from revocab.errors import RevocabError
from revocab.evaluation.generation.kind import (
    GenerationKind,
    find_kind,
    generation_kinds,
    metrics,
)
from revocab.evaluation.generation.prompts import prompt_row, render
from revocab.evaluation.metric import CHOICE_METRICS, COMET_METRICS, OTHER_METRICS
from revocab.languages import fill, language_label, languages, words_of
from revocab.report.names import metric_label

PLAIN = {"question", "context", "answer", "text", "copy", "copied", "translate"}
#: Where the files of docs/extending.md belong, and how they begin there.
PLACES = {
    "evaluation/generation/kinds/summary.py": '"""Summaries',
    "languages/la.yaml": "name: Latin",
}
#: Run with a copy of the package that has two files more.
SCRIPT = """
import sys
from pathlib import Path

import yaml

from revocab.config import validate
from revocab.errors import RevocabError

assert not {"numpy", "torch", "sacrebleu", "rouge_score", "pandas"} & set(sys.modules)
folder = Path(sys.argv[1])
values = yaml.safe_load(Path("config/demo.yaml").read_text())
sources = {name: {"path": str(folder / f"{name}.jsonl")} for name in ("pool", "test")}
shared = {"shots": 1, **sources}
evaluation = values["evaluation"]
tasks = {
    "news_la": {"kind": "summary", "longest": 6, "direction": ["la"], **shared},
    "pairs_en_la": {"kind": "translation", "direction": ["en", "la"], **shared},
    "pairs_la_it": {"kind": "translation", "direction": ["la", "it"], **shared},
    "copy_la": {"kind": "copying", "unit": "sentence", "direction": ["la"], **shared},
    "squad_la": {"kind": "question_answering", "direction": ["la"], **shared},
}
choices = {"arc_la": {"family": "arc_easy", "language": "la", "template": "question",
                      "data": sources["test"]}}
evaluation["generation"]["tasks"] = tasks
evaluation["multiple_choice"] |= {"tasks": choices, "limit": None}
table = {"kind": "generation", "group": "mistral", "title": "Texts"}
values["tables"], values["figures"] = {"table05": table}, {}
text = "Felis nigra in tecto dormit."
rows = [{"id": str(n), "text": f"{text[:-1]} {n}.", "summary": f"Felis {n}.", "en": f"A cat {n}.",
         "la": f"Felis {n}.", "it": f"Un gatto {n}.", "context": text, "question": f"Quis {n}?",
         "answers": ["felis"], "choices": ["felis", "canis"], "answer": 0} for n in range(4)]
rows.append({**rows[0], "id": "long", "text": "a " * 60})
from revocab.io import read_jsonl, write_csv, write_jsonl

for name, part in (("pool", rows[2:]), ("test", rows[:2])):
    write_jsonl(folder / f"{name}.jsonl", part)
experiment = validate(values)
for task, direction, words in (
    ("news_la", ["eo"], "eo.yaml lacks the words text (languages"),
    ("pairs_la_it", ["la", "ru"], "ru.yaml lacks the words from_la (languages"),
    ("pairs_la_it", ["la", "la"], "both are equal"),
):
    wrong = {**tasks, task: {**tasks[task], "direction": direction}}
    generation = {**evaluation["generation"], "tasks": wrong}
    try:
        validate({**values, "evaluation": {**evaluation, "generation": generation}})
    except RevocabError as error:
        assert words in error.problems[0], error
        assert error.problems[0].startswith(f"evaluation.generation.tasks.{task}.direction"), error
    else:
        raise AssertionError(words)

from revocab.cli import call
from revocab.commands import build_prompts, build_task
from revocab.plan import Plan

plan, prompts = Plan(experiment), {}
for task in tasks:
    step = plan.step("build_prompts", task=task)
    out = folder / f"{task}.prompts.jsonl"
    call(build_prompts.COMMAND, [*step.arguments()[:-1], str(out)], "build_prompts")
    prompts[task] = list(read_jsonl(out))
assert [row["id"] for row in prompts["news_la"]] == ["0", "1"]
assert "long" not in {shot["id"] for row in prompts["news_la"] for shot in row["shots"]}
shown = {task: (made[0]["shots"][0]["id"], made[0]["prompt"]) for task, made in prompts.items()}
for task, prompt in {
    "news_la": "Textus: {text} N.\\nTL;DR: Felis N.\\n\\nTextus: {text} 0.\\nTL;DR:",
    "pairs_en_la": "Verte ex Anglico in Latinum\\nText: A cat N.\\nTranslation: Felis N.\\n\\n"
    "Text: A cat 0.\\nTranslation:",
    "pairs_la_it": "Traduci dal Latino all'Italiano\\nText: Felis N.\\nTranslation: Un gatto N."
    "\\n\\nText: Felis 0.\\nTranslation:",
    "copy_la": "Describe textum ad verbum.\\nTextus: {text} N.\\nExemplar: {text} N.\\n\\n"
    "Textus: {text} 0.\\nExemplar:",
    "squad_la": "Contextus: {text}.\\nQuaestio: Quis N?\\nResponsum: felis\\n\\n"
    "Contextus: {text}.\\nQuaestio: Quis 0?\\nResponsum:",
}.items():
    shot, made = shown[task]
    expected = prompt.replace("{text}", text[:-1]).replace("N", shot.partition(".")[0])
    assert made == expected, (made, expected)
step = plan.step("build_task", task="arc_la")
call(build_task.COMMAND, [*step.arguments()[:-1], str(folder / "arc_la.yaml")], "build_task")
asked = yaml.safe_load((folder / "arc_la.yaml").read_text())["doc_to_text"]
assert asked.endswith("Quaestio: {{question}}\\nResponsum:"), asked

from fake_results import fake_results
from revocab.config import Experiment
from revocab.evaluation.generation.generate import COLUMNS, score_rows
from revocab.evaluation.options import Generating
from revocab.report.checks import value_problems
from revocab.report.make_tables import make_tables
from revocab.report.results import Results
from revocab.report.results.scores import collect_scores

root = fake_results(folder / "results" / "demo", tables=values["tables"], figures={},
                    evaluation=evaluation)
made = [{"output": "Felis 0.", "references": row["references"], "shots_used": 1,
         "finish_reason": "eos", "output_tokens": 2} for row in prompts["news_la"]]
scored = score_rows(prompts["news_la"], made, Generating())
assert [(row["metric"], row["value"]) for row in scored] == [("rougeL", 75), ("length", 100)]
for run in Results(root).group("mistral"):
    keys = {"run": run.id, "task": "news_la", "engine": "none"}
    steps = run.select(["first", "last"])
    lines = [{**keys, "step": step, **row} for step in steps for row in scored]
    write_csv(root / f"runs/{run.id}/generation/scores.csv", COLUMNS, lines)
collect_scores(root, root / "scores.parquet")
make_tables(root, root / "tables")
results = Results(root)
assert not [one for one in value_problems(results) if "news_la" in one]
header, first = (root / "tables" / "table05.csv").read_text().split("\\n")[:2]
assert "news_la ROUGE-L" in header and "news_la Length" in header, header
assert "75.0" in first and "100.0" in first, first
notes = (root / "tables" / "table05.md").read_text()
assert "Length: words of the output in per cent of the reference's." in notes
"""


def test_a_kind_and_a_language_are_one_file_and_one_line(repository, tmp_path):
    """Those of the docs, put into a copy of the package: built, scored, checked and shown."""
    page = "extending.md"
    docs = (repository / "docs" / page).read_text(encoding="utf-8")
    shown, files = [*blocks(page, "python"), *blocks(page, "yaml")], {}
    for place, beginning in PLACES.items():
        assert f"src/revocab/{place}`" in docs
        (files[place],) = (block for block in shown if block.startswith(beginning))
    scratch(tmp_path, **files)
    run_scratch(tmp_path, SCRIPT, tmp_path, at=repository)


# Kinds -------------------------------------------------------------------------------------------


def test_every_kind_is_found_under_its_own_name_in_the_order_of_tables():
    places = [kind.place for kind in generation_kinds().values()]
    assert places == sorted(places)
    assert all(name == kind.name for name, kind in generation_kinds().items())
    with pytest.raises(RevocabError, match=r"'copyin' \(known: copying, .*'copying'\?"):
        find_kind("copyin")


@pytest.mark.parametrize("kind", generation_kinds().values(), ids=list(generation_kinds()))
def test_a_kind_is_whole(kind: GenerationKind):
    names = [metric.name for metric in kind.metrics]
    assert names and set(kind.shown) <= set(names)
    assert all(metric.items for metric in kind.metrics)
    assert kind.layout.between_shots == "\n\n"


def test_columns_of_tables_have_comet_where_it_applies():
    comet = ["comet22", "xcomet"]
    for kind in generation_kinds().values():
        applies = kind.comet_source is not None
        assert kind.columns(comet) == [*(comet if applies else []), *kind.columns()]
    assert find_kind("translation").columns(comet) == [*comet, "chrf++", "bleu"]


def test_the_demo_world_writes_as_prompts_read():
    """Stand-ins learn the forms that they are asked in; its texts have a copy of the words."""
    pair = {"id": "0", "it": "Piove.", "en": "It rains."}
    for direction in (["en", "it"], ["it", "en"]):
        row = prompt_row("translation", direction, pair, [])
        written = translated(pair, "-".join(direction))
        assert written == f"{row['prompt']} {pair[direction[1]]}"
    passage = {"id": "0", "context": "Piove.", "question": "Piove?", "answers": ["sì"]}
    for language in ("it", "en"):
        prompt = prompt_row("question_answering", [language], passage, [])["prompt"]
        assert asked(passage, language, "sì") == f"{prompt} sì"


ONE_LINE = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=9)


@given(st.lists(st.tuples(ONE_LINE, ONE_LINE), min_size=1, max_size=4), st.booleans())
def test_a_prompt_can_be_read_back(pairs, instructed):
    """Blocks, lines and labels are where the separators are, whatever the texts say."""
    layout = Layout(labels=("A", "B"), instruction="Do." if instructed else "", after_label="\t=")
    *shots, query = pairs
    text = layout.prompt(shots, query)
    if instructed:
        first, _, text = text.partition("\n")
        assert first == "Do."
    blocks = [block.split("\n") for block in text.split("\n\n")]
    assert blocks[-1] == [f"A\t= {query[0]}", "B\t="]
    assert [tuple(line[4:] for line in block) for block in blocks[:-1]] == shots


# Languages ---------------------------------------------------------------------------------------


def test_every_language_has_the_words_of_every_kind():
    for language in languages():
        assert set(words_of(language)) >= PLAIN, language
        for name in ("question_answering", "copying"):
            layout = find_kind(name).layout_in([language])
            assert "<<" not in f"{layout}", language


def test_translation_works_between_any_two_languages():
    instructions = set()
    for direction in permutations(languages(), 2):
        layout = find_kind("translation").layout_in(direction)
        assert layout.labels == ("Text", "Translation")
        assert "<<" not in layout.instruction
        instructions.add(layout.instruction)
    assert len(instructions) == len(languages()) * (len(languages()) - 1)


@pytest.mark.parametrize(
    ("direction", "instruction"),
    [
        (["en", "it"], "Traduci dall'Inglese all'Italiano"),
        (["ru", "it"], "Traduci dal Russo all'Italiano"),
        (["sw", "it"], "Traduci dallo Swahili all'Italiano"),
        (["it", "en"], "Translate from Italian to English"),
        (["ht", "en"], "Translate from Haitian Creole to English"),
        (["en", "ru"], "Переведи с английского на русский"),
        (["en", "ko"], "영어를 한국어로 번역하세요"),
        (["it", "et"], "Tõlgi itaalia keelest eesti keelde"),
        (["en", "ar"], "ترجم من الإنجليزية إلى العربية"),
    ],
)
def test_instructions_of_translation(direction, instruction):
    query = {"id": "0", **dict.fromkeys(direction, "x")}
    row = prompt_row("translation", direction, query, [])
    assert render(row) == f"{instruction}\nText: x\nTranslation:"


def test_a_name_of_a_language_has_one_place():
    """Its file says what others call it only where theirs do not; English takes its name."""
    for language, one in languages().items():
        assert "en" not in one.called
        for other in one.called:
            assert f"from_{language}" not in languages()[other].words
    assert not [word for word in languages()["en"].words if word.startswith("from_")]
    assert words_of("en")["from_it"] == language_label("it") == "Italian"


def test_words_in_words_are_filled_too():
    assert fill(["<<translate>>!", "x"], "it", {"source": "from_ru"}) == [
        "Traduci dal Russo all'Italiano!",
        "x",
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            "name: Latin\nwords: {answer: no}",
            "la.yaml.words.answer: expected text",
        ),
        ("name: Latin\nword: {}", r"la.yaml.word: unknown key .*did you mean 'words'"),
        ("words: {}", r"la.yaml.name: required and not given"),
        ("name: Latin\nwords:\n  copy: a\n  copy: b", "words.copy: is on line 3 and again on"),
    ],
)
def test_a_wrong_language_file_is_named(tmp_path, monkeypatch, content, problem):
    (tmp_path / "la.yaml").write_text(content, encoding="utf-8")
    monkeypatch.setattr(language_data, "FOLDER", tmp_path)
    languages.cache_clear()
    try:
        with pytest.raises(RevocabError, match=problem):
            languages()
    finally:
        languages.cache_clear()


# Metrics -----------------------------------------------------------------------------------------


def test_every_metric_is_defined_once():
    of_kinds = {metric for kind in generation_kinds().values() for metric in kind.metrics}
    others = [*CHOICE_METRICS, *COMET_METRICS.values(), *OTHER_METRICS]
    names = [metric.name for metric in (*of_kinds, *others)]
    assert len(set(names)) == len(names) and set(names) == set(metrics())
    assert all(metric.low < metric.high and metric.label for metric in metrics().values())


def test_labels_of_metrics():
    assert metric_label("comet22") == "COMET-22"
    assert metric_label("exact_match") == "EM"
    assert metric_label("unheard_of") == "unheard_of"
