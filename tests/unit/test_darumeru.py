"""Darumeru's tasks that are answered by choice: their prompts, and what they give to answerers."""

from __future__ import annotations

from pathlib import Path

import darumeru
import pytest
from darumeru import SHOTS, Answerer
from evaluation_toys import IT_ROWS, write_model, write_task

from revocab.errors import RevocabError
from revocab.evaluation.inference.chat_prompts import ChatOptions
from revocab.evaluation.metrics import choice_metrics, families
from revocab.evaluation.multiple_choice import tasks
from revocab.evaluation.multiple_choice.scoring import Scorer
from revocab.evaluation.multiple_choice.task_file import read_task
from revocab.evaluation.options import Scoring
from revocab.evaluation.resampling import bootstrap, items_of
from revocab.training.chat.template import find_template

ITEMS = 200
NAMES = ("rummlu", "parus", "rcb", "ruopenbookqa", "ruworldtree", "rwsd", "mmlu_ru", "mmlu_en",
         "rucola")  # fmt: skip
#: What one that is always wrong gets: Matthews' correlation of two labels is then -1.
WRONG = {"rucola": -1 / 2}


@pytest.fixture(scope="module")
def paths(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("darumeru")
    return darumeru.write_tasks(darumeru.write_data(folder, ITEMS), folder)


def of(paths: list[Path], name: str) -> Path:
    return next(path for path in paths if path.stem == f"darumeru_{name}")


def scores(rows) -> dict[str, float]:
    """Return each task's score in the metric of its family."""
    return {
        name.removeprefix("darumeru_"): by_metric[choice_metrics(family(name))[0]]["value"]
        for name, by_metric in rows.items()
    }


def family(task: str) -> str:
    return task if task in families() else task.rpartition("_")[0]


def test_one_that_knows_and_one_that_never_does(paths):
    known = darumeru.score(paths, Answerer(darumeru.right))
    assert scores(known) == dict.fromkeys(NAMES, pytest.approx(1))
    never = darumeru.score(paths, Answerer(darumeru.wrong))
    assert scores(never) == {name: pytest.approx(WRONG.get(name, 0)) for name in NAMES}


def test_one_that_always_says_the_same(paths):
    rows = darumeru.score(paths, Answerer(lambda choices: 0))
    found = scores(rows)
    assert found["parus"] == 0 and rows["darumeru_parus"]["acc"]["value"] == 0.5
    assert found["rucola"] == pytest.approx(1 / 4)  # accuracy 1/2, correlation 0
    share = rows["darumeru_rcb"]["acc"]["value"]
    only = 2 * share / (1 + share)  # F1 of the label that is always said; of the others 0
    assert found["rcb"] == pytest.approx((share + only / 3) / 2)


def test_a_silent_model_takes_the_first_choice(paths):
    """Equal log-likelihoods: the first choice, as in the release."""
    silent = darumeru.score(paths, Answerer(lambda choices: -1))
    assert scores(silent) == scores(darumeru.score(paths, Answerer(lambda choices: 0)))


def test_items_are_stored_and_resampled(paths):
    rows = darumeru.score(paths, Answerer(darumeru.guesses(3)))
    sizes = {}
    for name, by_metric in rows.items():
        row = by_metric[choice_metrics(family(name))[0]]
        items = items_of({"choices": None, **row})
        assert items.value() == pytest.approx(row["value"])
        interval = bootstrap(items)
        assert interval.low <= row["value"] <= interval.high and interval.stderr > 0
        assert row["stderr"] > 0
        sizes[name.removeprefix("darumeru_")] = row["items"]
    mmlu = 57 * 4 + 1
    assert sizes == {
        **dict.fromkeys(NAMES, ITEMS), "mmlu_ru": mmlu, "mmlu_en": mmlu, "rucola": 120,
    }  # fmt: skip
    assert rows["darumeru_parus"]["acc"]["items"] == 2 * ITEMS


def test_a_limit_keeps_both_orders(paths):
    answerer = Answerer(darumeru.right)
    rows = darumeru.score([of(paths, "parus")], answerer, limit=6)["darumeru_parus"]
    assert rows["acc_together"]["items"] == 3 and rows["acc"]["items"] == 6
    assert [item[0].doc["meta"]["id"] for item in answerer.asked] == [0, 0, 1, 1, 2, 2]


def prompt(paths: list[Path], name: str, number: int, **options) -> list[str]:
    """Return the prompt of an item and what follows it for each choice."""
    answerer = Answerer(darumeru.right)
    darumeru.score([of(paths, name)], answerer, limit=number + 1, **options)
    chosen = answerer.asked[number]
    return [chosen[0].args[0], *(one.args[1] for one in chosen)]


def test_prompts_without_examples(paths):
    assert prompt(paths, "rcb", 1) == [
        "Задание.\ntest 1 premise\ntest 1 hypothesis\nОтвет:", " 1", " 2", " 3",
    ]  # fmt: skip
    assert prompt(paths, "parus", 2)[0].endswith("test 1 choice1\ntest 1 choice2\nОтвет:")
    assert prompt(paths, "parus", 3)[0].endswith("test 1 choice2\ntest 1 choice1\nОтвет:")
    assert prompt(paths, "rwsd", 0)[1:] == [" Да", " Нет"]
    text, *choices = prompt(paths, "rucola", 0)
    assert text.endswith("\nТекст: in_domain_dev, 0.\nОтвет:") and choices == [" 0", " 1"]
    assert prompt(paths, "mmlu_en", 0)[0].endswith(
        " 0 en?\nA. en0\nB. en1\nC. en2\nD. en3\nAnswer:"
    )
    assert prompt(paths, "mmlu_en", 0)[0].startswith("test ")


def test_examples_are_the_first_rows_the_first_one_next_to_the_question(paths):
    text = prompt(paths, "rcb", 1, shots=SHOTS)[0]
    *shown, asked = text.split("\n\n")
    assert shown == [
        f"Задание.\nprompt {i} premise\nprompt {i} hypothesis\nОтвет: {'123'[i * 7 % 3]}"
        for i in reversed(range(SHOTS))
    ]
    assert asked == prompt(paths, "rcb", 1)[0]
    text = prompt(paths, "parus", 1, shots=1)[0]
    assert text.startswith("Задание.\nprompt 0 premise\nprompt 0 choice1\nprompt 0 choice2\n")
    assert "test 0 choice2\ntest 0 choice1" in text


def test_examples_of_rucola_begin_at_its_30th_row(paths):
    *shown, _ = prompt(paths, "rucola", 0, shots=SHOTS)[0].split("\n\n")
    assert [one.rpartition("Текст: ")[2] for one in shown] == [
        f"in_domain_train, {i}.\nОтвет: {i % 2}" for i in (33, 32, 31, 30, 29)
    ]


@pytest.mark.parametrize(
    ("side", "headline"), [("en", " about {}.\n\n"), ("ru", " на тему {}.\n\n")]
)
def test_examples_of_mmlu_are_of_the_subject_in_order(paths, side, headline):
    answerer = Answerer(darumeru.right)
    darumeru.score([of(paths, f"mmlu_{side}")], answerer, shots=SHOTS)
    names = {"en": "virology", "ru": "вирусология"}
    texts = [item[0].args[0] for item in answerer.asked if item[0].doc["subject"] == "virology"]
    assert len(texts) == 5  # of the others 4
    for text in texts:
        before, _, rest = text.partition(headline.format(names[side]))
        assert "\n" not in before
        *shown, asked = rest.split("\n\n")
        assert [one.split("\n", 1)[0] for one in shown] == [
            f"dev virology {i} {side}?" for i in range(SHOTS)
        ]
        assert [one[-1] for one in shown] == ["ABCD"[i % 4] for i in range(SHOTS)]
        assert asked.startswith("test virology") and asked[-1] == ":"


@pytest.mark.parametrize(
    ("template", "begins", "ends"),
    [
        ("llama-3", "user<|end_header_id|>\n\n", "assistant<|end_header_id|>\n\n"),
        ("openchat", "GPT4 Correct User: ", "GPT4 Correct Assistant: "),
    ],
)
def test_a_chat_model_continues_the_beginning_of_an_answer(paths, tmp_path, template, begins, ends):
    text = find_template(template).read_text(encoding="utf-8")
    model = write_model(tmp_path / "model", context_length=1024, chat_template=text)
    options = Scoring(chat=ChatOptions(), device="cpu", limit=1)
    scorer = Scorer([of(paths, "rcb")], options)
    scorer.score(scorer.load(model), "darumeru_rcb")
    (task,) = scorer.tasks["darumeru_rcb"]["tasks"].values()
    asked, *_ = (one.args for one in task.instances)
    assert asked[0].partition(begins)[2].startswith("Задание.\ntest 0 premise\ntest 0 hypothesis")
    assert asked[0].endswith(f"{ends.rstrip(' ')}Ответ:") or asked[0].endswith(f"{ends}Ответ:")
    assert asked[1] == " 1"


@pytest.fixture
def own_task(tmp_path, repository):
    """A task on a file of one's own, with metadata that is given."""

    def write(**metadata) -> Path:
        rows = [{**row, "pair": {"id": f"p{i // 2}"}} for i, row in enumerate(IT_ROWS)]
        path = write_task(tmp_path, repository, "own", rows, "question_it")
        config = {**read_task(path), "metadata": {"version": 1.0, **metadata}}
        tasks.write_task(path, config)
        return path

    return write


def test_rows_of_ones_own_are_right_together(own_task):
    path = own_task(measure={"together": "pair.id"})
    rows = darumeru.score([path], Answerer(lambda choices: 0))["own"]  # every second one is right
    assert rows["acc"]["value"] == 0.5 and rows["acc_together"]["value"] == 0
    assert rows["acc_together"]["items"] == len(IT_ROWS) / 2
    always = Answerer(lambda choices: choices[0].doc["answer"])
    assert darumeru.score([path], always)["own"]["acc_together"]["value"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"measure": {"together": "pair.number"}}, "task own: .*a row has no 'pair.number'"),
        ({"shots": {}}, "own.yaml: metadata.shots: .*examples of themselves"),
        (
            {"mean_over": "pair.id", "measure": {"categories": {"a": ["p0", "p1"], "b": ["x"]}}},
            "task own: .*p2, p3, p4, p5: of no category; x: without items",
        ),
        ({"variants": {"question": [1, 2]}}, "rows have a field 'question'"),
    ],
)
def test_what_the_rows_lack_is_named(own_task, metadata, said):
    with pytest.raises(RevocabError, match=said):
        darumeru.score([own_task(**metadata)], Answerer(lambda choices: 0))


def test_too_many_examples_are_refused(paths):
    with pytest.raises(RevocabError, match=r"9 examples from row 0 on .* has 6 rows"):
        darumeru.score([of(paths, "rcb")], Answerer(darumeru.right), shots=9)
