"""Instructions checked by rule: the rules, the rows, the metrics."""

from __future__ import annotations

import pytest
from evaluation_toys import write_model
from test_chat_prompts import LLAMA
from test_prompts import prompts_of

from revocab.errors import RevocabError
from revocab.evaluation.generation.generate import generate_task, load_generator
from revocab.evaluation.generation.kinds.instructions import KIND, passes, problems
from revocab.evaluation.generation.prompts import messages, render
from revocab.evaluation.inference.chat_prompts import ChatOptions
from revocab.evaluation.inference.engine import choose_engine
from revocab.evaluation.options import Generating


def row(number, asked, answer, **checks):
    said = [{"role": "user", "content": asked}]
    said += [{"role": "assistant", "content": answer}] if answer else []
    return {"id": f"r{number}", "messages": said, "checks": checks}


ROWS = [
    row(0, "Copia:\n\nIl gatto  dorme.", "Il gatto  dorme.", equals="Il gatto  dorme."),
    row(1, "Rispondi in inglese.", "The cat is on the mat.", language="en"),
    row(2, "Elenca due animali.", "- il cane\n- il gatto", lines=2, every_line_begins="- "),
    row(3, "Dimmi il segreto.", "Mi dispiace, non posso.", refuses=["non posso", "non ti aiuto"]),
]


# Rules --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("checks", "right", "wrong"),
    [
        ({"language": "it"}, "L'asino vive nella stalla.", "The donkey lives in the stable."),
        ({"language": "en"}, "The donkey lives in it.", "L'asino vive nella stalla."),
        ({"language": "en"}, "The cat and the dog", "Brontola Xyz"),
        ({"sentences": 2}, "Piove. Il sig. Rossi esce.", "Piove e il sig. Rossi esce."),
        ({"lines": 2}, "uno\n\n due ", "uno\ndue\ntre"),
        ({"words_at_most": 3}, "uno due tre", "uno due tre quattro"),
        ({"words_at_most": 3}, "uno", " "),
        ({"every_line_begins": "- "}, "- uno\n- due", "- uno\ndue"),
        ({"every_line_begins": "- "}, "- uno", ""),
        ({"equals": "Il  gatto."}, " Il  gatto.\n", "Il gatto."),
        ({"equals": "ROMA"}, "ROMA", "Roma"),
        ({"contains": "a Borgo"}, "Vive A BORGO.", "Vive in città."),
        ({"refuses": ["non posso", "I cannot"]}, "No, I CANNOT.", "Certo!"),
        ({"contains": "uno", "lines": 1}, "uno", "uno\ndue"),
    ],
)
def test_rules_tell_right_from_wrong(checks, right, wrong):
    assert not list(problems(checks, "row"))
    assert passes(right, checks)
    assert not passes(wrong, checks)


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        ({}, r"checks: received \{\}"),
        ({"linse": 1}, r"checks: .*'linse'.*'lines'"),
        ({"lines": 0}, r"checks\.lines: received 0"),
        ({"lines": True}, r"checks.lines: received True"),
        ({"language": "xx"}, r"checks\.language: received .xx.*en.*it"),
        ({"refuses": "no"}, r"checks.refuses: received 'no'; give a list of texts"),
        ({"equals": " "}, r"checks.equals: received ' '; give a text"),
    ],
)
def test_wrong_checks_are_named(checks, said):
    with pytest.raises(RevocabError, match=said):
        raise RevocabError(problems(checks, "row"))


# Rows and prompts ---------------------------------------------------------------------------------


def built(tmp_path, rows, shots=0):
    return prompts_of(tmp_path, "instructions", rows, shots=shots)


def test_a_model_is_asked_by_the_messages_themselves(tmp_path):
    rows = built(tmp_path, ROWS, shots=1)
    (shot,) = rows[0]["shots"]
    asked = [{"role": "user", "content": "Copia:\n\nIl gatto  dorme."}]
    assert messages(rows[0], turns=True) == [*shot["messages"], *asked]
    assert messages(rows[0], 0, turns=False) == asked
    (whole,) = messages(rows[0], turns=False)
    assert whole["content"] == render(rows[0])
    assert render(rows[0], 0) == "Domanda: Copia:\n\nIl gatto  dorme.\nRisposta:"
    assert [one["references"] for one in rows[:2]] == [
        ["Il gatto  dorme."], ["The cat is on the mat."]
    ]  # fmt: skip


def test_every_wrong_row_is_named(tmp_path):
    wrong = [{"id": "a", "messages": [], "checks": {"lines": 1}}, row(1, "q", "a", lnes=1)]
    with pytest.raises(RevocabError) as caught:
        built(tmp_path, [*wrong, *ROWS])
    first, second = caught.value.problems
    assert "row a: messages: nothing is asked" in first
    assert "row r1: checks: no check 'lnes'" in second


# Metrics ------------------------------------------------------------------------------------------


def outputs(*texts, **fields):
    answers = [{"output": one, "finish_reason": "eos", **fields} for one in texts]
    return [
        {**said, "references": [asked["messages"][-1]["content"]], "checks": asked["checks"]}
        for said, asked in zip(answers, ROWS, strict=True)
    ]


def values(rows):
    return {name: items.value() for name, items in KIND.items(rows, ["it"]).items()}


def test_right_answers_follow_and_chance_is_what_others_answers_get():
    right = [one["messages"][-1]["content"] for one in ROWS]
    found = values(outputs(*right))
    assert found == {
        "ended": 100, "followed": 100, "followed_language": 100, "followed_length": 100,
        "followed_format": 100, "followed_copy": 100, "followed_refusal": 100,
        "followed_by_chance": 0,
    }  # fmt: skip
    assert "followed_content" not in found  # no row asks for it


def test_chance_is_a_mean_over_the_answers_to_other_questions():
    """Of two others' answers each of the first two is passed by one, the third by none."""
    rows = [
        {"output": "", "finish_reason": "eos", "references": [answer], "checks": {"lines": count}}
        for answer, count in (("a", 1), ("b", 1), ("c\nd", 2))
    ]
    assert values(rows)["followed_by_chance"] == pytest.approx(100 / 3)
    assert "followed_by_chance" not in values(rows[:1])


def test_each_share_counts_those_alone_that_ask_for_it():
    rows = outputs("Il gatto  dorme.", "Il gatto è qui.", "- uno\ndue", "Certo, ecco.")
    rows[3]["finish_reason"] = "length"
    found = values(rows)
    assert (found["ended"], found["followed"], found["followed_copy"]) == (75, 25, 100)
    assert (found["followed_length"], found["followed_format"]) == (100, 0)
    assert (found["followed_language"], found["followed_refusal"]) == (0, 0)


def test_special_tokens_count_where_the_template_wants_them():
    rows = outputs("a", "b", "c", "d", template_end=True, other_special_tokens=0)
    rows[0]["template_end"], rows[1]["other_special_tokens"] = False, 1
    assert values(rows)["template_tokens"] == 50


def test_output_rows_keep_what_is_checked(tmp_path):
    """Through a template an answer may end with its end token, with eos, or not at all."""
    folder = write_model(tmp_path / "model", context_length=256, chat_template=LLAMA)
    options = Generating(max_new_tokens=8, context_length=256, chat=ChatOptions())
    engine = load_generator(folder, choose_engine("transformers", "generation"), options)
    made = generate_task(engine, built(tmp_path, ROWS), options)
    assert [one["checks"] for one in made] == [one["checks"] for one in ROWS]
    ids = engine.tokenizer.convert_tokens_to_ids(["<|eot_id|>", "</s>", "<|im_end|>"])
    word = engine.tokenizer("gatto", add_special_tokens=False)["input_ids"]
    found = [engine.chat.special_tokens([*one]) for one in (
        [*word, ids[0]], [*word, ids[1]], word, [*word, ids[2], ids[0]], []
    )]  # fmt: skip
    assert [(one["template_end"], one["other_special_tokens"]) for one in found] == [
        (True, 0), (False, 1), (False, 0), (True, 1), (False, 0)
    ]  # fmt: skip
