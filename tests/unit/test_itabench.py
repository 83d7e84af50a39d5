"""What the templates of ITA-Bench ask, in both languages."""

from __future__ import annotations

import pytest
from evaluation_toys import render

from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice import tasks

ITABENCH = {
    "id": "1",
    "input": "Who sells bread?",
    "input_translation": "Chi vende il pane?",
    "choices": ["the baker.", "the cat"],
    "choices_translation": ["il fornaio.", "il gatto"],
    "label": "1",
    "metadata": {
        "category": "question",
        "passage": "The baker sells bread.",
        "passage_translation": "Il fornaio vende il pane.",
        "subject": "us_foreign_policy",
    },
}
IT, EN = "Domanda: Chi vende il pane?\nRisposta", "Question: Who sells bread?\nAnswer"
#: template, language, changes of the row, (context, second continuation, target). The same requests
#: as ITA-Bench's own task files: tests/parity/test_itabench_prompts.py.
ITABENCH_RENDERED = [
    ("itabench_arc_easy", "it", {}, (f"{IT}:", " il gatto", 1)),
    ("itabench_arc_easy", "en", {}, (f"{EN}:", " the cat", 1)),
    ("itabench_sciq", "it", {}, (f"{IT}:", " il gatto", 1)),
    ("itabench_sciq_with_passages", "it", {},
     (f"Contesto: Il fornaio vende il pane.\n{IT}:", " il gatto", 1)),
    ("itabench_sciq_with_passages", "en", {"metadata": {"passage": ""}},
     (f"{EN}:", " the cat", 1)),
    ("itabench_mmlu", "en", {},
     ("The following are multiple choice questions (with answers) about"
      f' "us foreign policy".\n\n{EN}:', " the cat", 1)),
    ("itabench_mmlu_letters", "it", {},
     ("Le seguenti sono domande a scelta multipla (con risposte) su"
      ' "politica estera degli Stati Uniti".\n\n'
      "Domanda: Chi vende il pane?\nA. il fornaio\nB. il gatto\nRisposta:", " B", 1)),
    ("itabench_hellaswag", "it", {"input_translation": " [titolo] Piove. [passo] Lei"},
     (" Piove. Lei", " il gatto", 1)),
    ("itabench_hellaswag", "en", {"choices": ["a", "[step] Bread is sold. [substeps] There."]},
     ("Who sells bread?", "  Bread is sold. There.", 1)),
    ("itabench_piqa", "it", {}, (f"{IT}: ", "il gatto", 1)),
    ("itabench_piqa", "en", {}, (f"{EN}: ", "the cat", 1)),
    ("itabench_piqa", "it", {"metadata": {"category": "topic"}},
     ("Chi vende il pane?\n", "il gatto", 1)),
    ("itabench_piqa", "it", {"metadata": {"category": "property"}},
     ("Chi vende il pane?: ", "il gatto", 1)),
    ("itabench_piqa", "en", {"metadata": {"category": "text_completion"}},
     ("Who sells bread? ", "the cat", 1)),
    ("itabench_boolq", "it", {"label": "True"}, (f"{IT} (Sì o No):", " No", 0)),
    ("itabench_boolq", "it", {"label": 1}, (f"{IT} (Sì o No):", " No", 0)),
    ("itabench_boolq", "en", {"label": 0}, (f"{EN} (Yes or No):", " No", 1)),
    ("itabench_boolq_with_passages", "en", {"label": False},
     (f"Context: The baker sells bread.\n{EN} (Yes or No):", " No", 1)),
    ("itabench_first_boolq_with_passages", "it", {"label": "False"},
     (f"Il fornaio vende il pane.\n{IT} (sì o no):", " no", 1)),
    ("itabench_first_mmlu_letters", "it", {"metadata": {"subject": "us foreign policy"}},
     ("Le seguenti sono domande a scelta multipla (con risposte) su"
      " Politica Estera Degli Stati Uniti.\n\n"
      "Domanda: Chi vende il pane?\nA. il fornaio\nB. il gatto\nRisposta:", " B", 1)),
]  # fmt: skip


@pytest.mark.parametrize(("template", "language", "changes", "expected"), ITABENCH_RENDERED)
def test_itabench_templates_render(repository, template, language, changes, expected):
    path = tasks.TEMPLATES / f"{template}.yaml"
    config = tasks.build_task(template, path, language=language)
    assert config["dataset_path"].startswith("sapienzanlp/")
    row = {**ITABENCH, **changes}
    row["metadata"] = {**ITABENCH["metadata"], **changes.get("metadata", {})}
    ((context, continuations, target),) = render(config, [row])
    assert (context, continuations[1], target) == expected


@pytest.mark.parametrize(
    ("template", "changes"),
    [
        ("itabench_boolq", {"label": "forse"}),
        ("itabench_mmlu", {"metadata": {"subject": "astrology"}}),
    ],
)
def test_what_itabench_never_had_is_not_guessed(repository, template, changes):
    config = tasks.build_task(template, tasks.TEMPLATES / f"{template}.yaml")
    with pytest.raises(RevocabError, match="has no attribute"):
        render(config, [{**ITABENCH, **changes}])
