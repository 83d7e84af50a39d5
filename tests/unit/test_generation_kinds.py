"""Kinds of generation tasks: their metrics by hand, what they make of rows, their words."""

from __future__ import annotations

import itertools
import math
import random
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_prompts import prompts_of

from revocab import languages as language_data
from revocab.corpora.documents import copying_task
from revocab.demoworld.build import translated, with_answer
from revocab.errors import RevocabError
from revocab.evaluation.generation.generate import task_scores
from revocab.evaluation.generation.kind import find_kind, generation_kinds
from revocab.evaluation.generation.kinds.copying import common_length, is_released_copy, units
from revocab.evaluation.generation.kinds.darumeru import EXAM, Exam, Extraction, points, r_precision
from revocab.evaluation.generation.prompts import prompt_row, render
from revocab.evaluation.metrics import (
    ROUGE_L,
    WordTokenizer,
    exact_match,
    normalise_answer,
    token_f1,
)
from revocab.languages import fill, languages, words_of
from revocab.training.chat.layout import Layout


def scores(kind, languages, *rows):
    """Return the scores of output rows by metric."""
    return {row["metric"]: row for row in task_scores(kind, languages, rows)}


def values(kind, languages, *rows):
    return {metric: row["value"] for metric, row in scores(kind, languages, *rows).items()}


def answer(output, *references):
    return {"output": output, "references": list(references)}


# Translations, answers and summaries --------------------------------------------------------------


def test_a_perfect_translation_scores_100_and_comet_says_why_it_is_empty():
    texts = ["il gatto dorme sul tappeto", "il cane corre nel parco", "piove forte"]
    found = scores("translation", ["en", "it"], answer(texts[0], texts[0]))
    assert found["chrf++"]["value"] == pytest.approx(100) == found["bleu"]["value"]
    assert found["comet22"]["value"] is None
    assert found["comet22"]["reason"] == "comet not configured"
    rows = [answer(text, f"{text} già") for text in texts]
    *corpus, comet = task_scores("translation", ["en", "it"], rows, comet_apart=True)
    assert "comet.csv" in comet["reason"]
    for score in corpus:
        assert score["low"] < score["value"] < score["high"] and score["stderr"] > 0


def test_rouge_keeps_accents_and_is_the_longest_common_subsequence():
    words = WordTokenizer().tokenize("Perché la CITTÀ è così?")
    assert words == ["perché", "la", "città", "è", "così"]
    assert WordTokenizer().tokenize("citta\u0300") == ["città"]  # decomposed
    # Longest common subsequence: il gatto sul tappeto (4). Precision 4/5, recall 4/6.
    rows = [
        answer("il gatto dorme sul tappeto", "il gatto nero siede sul tappeto"),
        answer("papà", "papa"),
    ]
    first, second = ROUGE_L.items(rows, ["it"]).counts_NK[:, 0]
    assert first == pytest.approx(100 * 2 * (4 / 5) * (4 / 6) / (4 / 5 + 4 / 6))
    assert second == 0
    # As released: the first answer, "la citt" against "la citta", one word of two.
    found = values("question_answering", ["it"], answer("la città", "la citta", "la città"))
    assert found["rougeL"] == 100
    assert found["rougeL-released"] == pytest.approx(50)


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("it", "L'imperatore Adriano.", "imperatore adriano"),
        ("it", "l' imperatore", "imperatore"),
        ("it", "un’altra  città", "altra città"),
        ("it", "Nel 1985!", "nel 1985"),
        ("it", "gli Uno", ""),
        ("it", "a Roma", "a roma"),
        ("it", "U.S.A.", "usa"),
        ("it", "1914-1918", "19141918"),
        ("it", "1.500 uomini", "1500 uomini"),
        ("it", "dell'acqua", "dellacqua"),
        ("it", "l.a. confidential", "confidential"),
        ("it", "“Il” «gatto»", "gatto"),
        # As SQuAD's own script has them: punctuation goes before articles do.
        ("en", "A.C. Milan, the club", "ac milan club"),
        ("en", "O'Neill's", "oneills"),
        ("en", "The il a", "il"),
        ("ru", "The il a", "the il a"),
        ("xx", "The il a", "the il a"),
    ],
)
def test_answers_are_normalised(language, text, words):
    assert normalise_answer(text, language) == words.split()


@pytest.mark.parametrize(
    ("output", "reference", "f1", "exact"),
    [
        # Shared: pane, fresco. Output 3 words, reference 4.
        ("pane fresco oggi", "il pane molto fresco caldo", 2 * 2 / 7, 0),
        ("pane pane", "pane", 2 / 3, 0),  # a repeated word counts once
        ("", "pane", 0, 0),
        ("il", "la", 1, 1),
        ("Il fornaio.", "fornaio", 1, 1),
        ("la fornaia", "fornaio", 0, 0),
    ],
)
def test_f1_and_exact_match_by_hand(output, reference, f1, exact):
    assert token_f1(output, reference, "it") == pytest.approx(f1)
    assert exact_match(output, reference, "it") == exact


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20)), min_size=1, max_size=4))
def test_answer_scores_stay_within_bounds_and_an_answer_matches_itself(pairs):
    found = values("question_answering", ["it"], *(answer(*pair) for pair in pairs))
    assert all(0 <= score <= 100 + 1e-9 for score in found.values())
    for text, _ in pairs:
        assert exact_match(text, text, "it") == 1
        assert token_f1(text, text, "it") == pytest.approx(1)


def test_best_reference_and_standard_error():
    rows = [answer("a", "z", "a"), answer("b", "b"), answer("x", "y")]
    score = scores("question_answering", ["it"], *rows)["exact_match"]
    assert score["value"] == pytest.approx(200 / 3)
    # Sample variance of 100, 100, 0 is 10000/3; divided by 3 items.
    assert score["stderr"] == pytest.approx(math.sqrt(10000 / 9))
    alone = scores("question_answering", ["it"], rows[0])["exact_match"]
    assert (alone["value"], alone["stderr"], alone["low"]) == (100, None, None)


def test_the_mean_of_f1_and_exact_match_takes_the_best_of_each():
    """F1 1 and EM 1; F1 4/5, two of three words, and no match; nothing said."""
    wanted = [["москва", "в москве"], ["в городе Москве", "Москва", "х"], ["Москва"]]
    for outputs, expected in (
        (["В Москве.", "городе Москве", ""], 100 * (1 + 0.8 / 2 + 0) / 3), (["и"] * 3, 0)
    ):  # fmt: skip
        rows = [answer(output, *right) for output, right in zip(outputs, wanted, strict=True)]
        found = values("question_answering", ["ru"], *rows)
        assert found["f1_exact_match"] == pytest.approx(expected)


def test_rouge_1_and_2_by_hand():
    """Of "кот спит на окне" come back кот, спит, на; of its pairs кот спит, спит на."""
    found = values(
        "summarisation", ["ru"], answer("Кот спит на полу — дома.", "«Кот спит на окне»")
    )
    recall, precision = (3 / 4, 2 / 3), (3 / 5, 2 / 4)
    f = [2 * r * p / (r + p) for r, p in zip(recall, precision, strict=True)]
    assert found["rouge_recall"] == pytest.approx(100 * sum(recall) / 2)
    assert found["rouge_f"] == pytest.approx(100 * sum(f) / 2)


def test_lists_of_sentences_are_texts(tmp_path):
    rows = [{"text": [f"Снег {n}.", "Дороги\nзакрыты."], "summary": [f"Снег {n}."]} for n in (0, 1)]
    options = {"direction": ["ru"], "shots": 1, "layout": {"instruction": "Кратко!"}}
    first = prompts_of(tmp_path, "summarisation", rows, **options)[0]
    assert first["prompt"] == (
        "Кратко!\nТекст: Снег 1. Дороги закрыты.\nTL;DR: Снег 1.\n\n"
        "Кратко!\nТекст: Снег 0. Дороги закрыты.\nTL;DR:"
    )
    assert first["references"] == ["Снег 0."]


# Copying ------------------------------------------------------------------------------------------


def longest_common(first, second):
    """The textbook table."""
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for (i, a), (j, b) in itertools.product(enumerate(first), enumerate(second)):
        table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(st.lists(st.integers(0, 4), max_size=40), st.lists(st.integers(0, 4), max_size=40))
def test_common_length_equals_the_textbooks(first, second):
    assert common_length(first, second) == longest_common(first, second)


def copy(output, original, written=None, most=99, reason="length"):
    """Return an output row whose tokens are words."""
    row = {**answer(output, original), "max_new_tokens": most, "finish_reason": reason}
    row["output_tokens"] = len(output.split()) if written is None else written
    return row | find_kind("copying").counts(row, lambda text: [hash(w) for w in text.split()])


TEXT = "Кот спит на окне, а пёс лежит у двери и ждёт."
WORDS = TEXT.split()


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
    found = values("copying", ["ru"], copy(output, TEXT))
    assert (found["copied"], found["copied_released"]) == (paper, released)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # An end token is none of the copy's.
        (copy("a b c d e", "a b c d e f g h i j", 6, reason="eos"),
         {"copy_length": 50, "copied_tokens": 50, "copied": 0, "copy_ratio": 1000 / 6,
          "characters_per_token": 9 / 6}),
        # Twice too long is as far off as half.
        (copy("a b c d", "a b", 4), {"copy_length": 50, "copied_tokens": 100, "copied": 100}),
        (copy("", "a b", 1, reason="eos"), {"copy_length": 0, "copied_tokens": 0, "copied": 0}),
        # Tokens that are not in order are not copied.
        (copy("d c b a", "a b c d"), {"copy_length": 100, "copied_tokens": 25, "copied": 0}),
        # Of an original counts what may be written.
        (copy("a b c d", "a b c d e f", 4, most=4), {"copy_length": 100}),
        (copy("a b c", "a b c d e f", 3, most=4), {"copy_length": 75}),
        # 99 of 100 is not more than 99 %.
        (copy(" ".join(map(str, range(199))), " ".join(map(str, range(200)))), {"copied": 100}),
        (copy(" ".join(map(str, range(99))), " ".join(map(str, range(100)))), {"copied": 0}),
    ],
)  # fmt: skip
def test_copies_by_hand(row, expected):
    found = values("copying", ["it"], row)
    assert {metric: found[metric] for metric in expected} == pytest.approx(expected)


@given(st.text("абв", max_size=12), st.text("абв г", max_size=12))
def test_the_short_cut_of_released_copies_is_none(original, written):
    blocks = SequenceMatcher(None, original.strip(), written.strip(), autojunk=False)
    same = sum(block.size for block in blocks.get_matching_blocks())
    wanted = bool(written.strip()) and same / len(written.strip()) >= 0.99
    assert is_released_copy(original, written) == wanted


def test_prompts_ask_for_a_copy_as_models_are_calibrated(tmp_path):
    rows = [{"id": str(i), "text": f"Il gatto {i} dorme sul tappeto."} for i in range(8)]
    row = prompts_of(tmp_path, "copying", rows, unit="sentence", shots=1, limit=3)[0]
    (shot,) = row["shots"]
    assert row["prompt"] == (
        f"Copia il testo parola per parola.\nTesto: {shot['text']}\nCopia: {shot['text']}\n\n"
        "Testo: Il gatto 0 dorme sul tappeto.\nCopia:"
    )
    assert row["references"] == [rows[0]["text"]] and shot["text"] != rows[0]["text"]
    question, _ = copying_task(rows[0]["text"], "it")
    assert question == {"role": "user", "content": render(row, 0)}
    (whole,) = prompts_of(tmp_path, "copying", [{"text": "Una  riga."}], unit="text")
    assert whole["references"] == ["Una riga."]  # however short
    with pytest.raises(RevocabError, match=r"pool\.jsonl\.gz: no paragraph of 40 to 200 words"):
        prompts_of(tmp_path, "copying", rows, unit="paragraph")


def test_units_do_not_repeat():
    rows = [
        {"id": "a", "text": "Il gatto dorme sul tappeto. Piove. La farina arriva dal mulino."},
        {"id": "b", "it": "La farina arriva dal mulino."},
    ]
    assert units(rows, "sentence", "it") == [
        {"id": "a.0", "text": "Il gatto dorme sul tappeto."},
        {"id": "a.2", "text": "La farina arriva dal mulino."},
    ]


# Exams --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "right", "worth"),
    [
        # As many, or nothing.
        ("matching", "4,2,1,5", {"4, 2, 1, 5": 4, "4,1,2,5": 2, "4,2,1": 0, "": 0}),
        ("text", "прийти", {"Прийти.": 1, "прийти или придти": 0, "": 0}),
        ("text", "какнибудь,кактонибудь", {"1) как-то нибудь": 1}),
        ("choices", "1,3", {"3, 1": 1, "1": 0, "1,3,4": 0}),
        ("choices", "2", {"2.": 0}),
        ("penalised", "1,3", {"1,3": 2, "3": 1, "1,2": 1, "1,3,4": 1, "1,2,3,4,5": 0, "": 0}),
        ("penalised", "1,3,5", {"1,3,5": 3}),  # above MERA's two, as released
    ],
)
def test_points(rule, right, worth):
    assert {output: points(rule, right, output) for output in worth} == worth


def paper(variant):
    """One variant of 34 points: 28 questions of one point, one of four, one of two."""
    kinds = ["text"] * 8 + ["multiple_choice"] * 20 + ["matching", "multiple_choice"]
    right = {"text": "слово", "matching": "1,2,3,4"}
    rows = [
        {"question": f"q{variant}.{at}", "type": kind, "number": 100 + at,
         "answer": right.get(kind, str(1 + at % 4)), "variant": variant}
        for at, kind in enumerate(kinds)
    ]  # fmt: skip
    return [*rows[:-1], {**rows[-1], "number": 16, "answer": "2,4"}]


OWN = {"maximum": 34, "penalised": ["16"]}


def grade(write):
    """Return the score of two papers that ``write`` answers."""
    options = Exam(kind="exam", direction=["ru"], shots=0, **OWN)
    rows = options.usable([*paper(0), *paper(1)], "rows")
    rows = [{**row, **answer(write(row), *EXAM.right_answers(row, ["ru"]))} for row in rows]
    return scores("exam", ["ru"], *rows)["grade"]


def test_a_perfect_an_empty_a_random_answerer_and_a_variant_as_a_whole():
    assert grade(lambda row: row["answer"])["value"] == pytest.approx(100)
    assert grade(lambda row: "")["value"] == 0
    draw = random.Random(0)
    found = [grade(lambda row: str(draw.randint(1, 4)))["value"] for _ in range(200)]
    # A quarter of twenty questions; and one of four of "2,4" in half of all cases.
    assert sum(found) / len(found) == pytest.approx(100 * (5 + 0.5) / 34, rel=0.05)
    # The first paper has all of its matches right, the second one no answer: (4/34 + 0) / 2.
    matching = ("0", "matching")
    score = grade(lambda row: "1,2,3,4" if (row["variant"], row["rule"]) == matching else "")
    assert score["value"] == pytest.approx(100 * 4 / 34 / 2)
    assert 0 <= score["low"] < score["value"] < score["high"]


def test_rows_of_exams_have_how_they_are_marked(tmp_path):
    rows = [{**row, "variant": 0} for row in paper(0)[-2:]]
    matching, penalised = prompts_of(tmp_path, "exam", rows, direction=["ru"], **OWN)
    assert matching["prompt"] == "Вопрос: q0.28\nОтвет:"
    marks = {name: penalised["query"][name] for name in EXAM.stored}
    assert marks == {"rule": "penalised", "variant": "0", "maximum": "34"}
    with pytest.raises(RevocabError, match="limit: "):
        prompts_of(tmp_path, "exam", rows, direction=["ru"], **OWN, limit=3)
    rows = [{"question": "?", "answer": "1", "type": "text"}]
    with pytest.raises(RevocabError, match="row 0: no field 'number'"):
        prompts_of(tmp_path, "exam", rows, direction=["ru"], **OWN)


# Extraction: what is chosen is in test_candidates -------------------------------------------------


def precision(chosen, extracted):
    return r_precision({"chosen": chosen, "extracted": extracted})


def test_r_precision_by_hand_and_of_a_random_choice():
    """A random choice finds K of N."""
    assert [precision(chosen, [0, 3]) for chosen in ([3, 0], [3, 1], [])] == [100, 50, 0]
    every = [precision(list(pair), [1, 4]) for pair in itertools.permutations(range(7), 2)]
    assert sum(every) / len(every) == pytest.approx(100 * 2 / 7)


def test_blank_sentences_go_and_texts_without_any_mark_are_named(capsys):
    rows = [
        {"id": "a", "sentences": ["", "uno", " ", "due", "tre"], "extracted": [3, 1, 3]},
        {"id": "z", "sentences": ["uno"], "extracted": []},
        {"id": "c", "sentences": ["uno", " "], "extracted": [1]},
    ]
    options = Extraction(kind="extraction", direction=["it"], shots=0)
    (row,) = options.usable(rows, "rows.jsonl")
    assert (row["sentences"], row["extracted"]) == (["uno", "due", "tre"], [0, 1])
    assert find_kind("extraction").right_answers(row, ["it"]) == ["uno", "due"]
    error = capsys.readouterr().err
    assert "rows.jsonl: " in error and "z, c" in error  # as in the file
    wrong = [
        {"id": n, "sentences": ["a"], "extracted": [place]} for n, place in enumerate((1, 0, -1))
    ]
    with pytest.raises(RevocabError) as caught:
        options.usable(wrong, "rows.jsonl")
    first, second = caught.value.problems
    assert "row 0: extracted: received [1]" in first and "row 2: extracted: received [-1]" in second


# Words --------------------------------------------------------------------------------------------


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
        assert with_answer(passage, language, "sì") == f"{prompt} sì"


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


def test_every_language_has_the_words_of_every_kind():
    plain = {"question", "context", "answer", "text", "copy", "copied", "translate"}
    for language in languages():
        assert set(words_of(language)) >= plain, language
        for name, kind in generation_kinds().items():
            assert name == "translation" or "<<" not in f"{kind.layout_in([language])}", language
    instructions = set()
    for direction in itertools.permutations(languages(), 2):
        layout = find_kind("translation").layout_in(direction)
        assert layout.labels == ("Text", "Translation") and "<<" not in layout.instruction
        instructions.add(layout.instruction)
    assert len(instructions) == len(languages()) * (len(languages()) - 1)


@pytest.mark.parametrize(
    ("direction", "instruction"),
    [
        ("en it", "Traduci dall'Inglese all'Italiano"),
        ("ru it", "Traduci dal Russo all'Italiano"),
        ("sw it", "Traduci dallo Swahili all'Italiano"),
        ("it en", "Translate from Italian to English"),
        ("ht en", "Translate from Haitian Creole to English"),
        ("en ru", "Переведи с английского на русский"),
        ("en ko", "영어를 한국어로 번역하세요"),
        ("it et", "Tõlgi itaalia keelest eesti keelde"),
        ("en ar", "ترجم من الإنجليزية إلى العربية"),
    ],
)
def test_instructions_of_translation(direction, instruction):
    assert find_kind("translation").layout_in(direction.split()).instruction == instruction


def test_words_in_words_are_filled_too():
    filled = fill(["<<translate>>!", "x"], "it", {"source": "from_ru"})
    assert filled == ["Traduci dal Russo all'Italiano!", "x"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("name: Latin\nwords: {answer: no}", r"la\.yaml\.words\.answer: "),
        ("name: Latin\nword: {}", r"la\.yaml\.word: .*did you mean 'words'"),
        ("words: {}", r"la\.yaml\.name: "),
        ("name: Latin\nwords:\n  copy: a\n  copy: b", r"words\.copy: is on line 3"),
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
