"""Our templates of ITA-Bench against its own task files, in the installed harness.

lm-evaluation-harness does not ship them: ``REVOCAB_ITABENCH`` names the folder ``tasks`` of a clone
of https://github.com/SapienzaNLP/ita-bench. Its commit a0114e3 was compared with the templates
``itabench_*``, and b1f124b, its first version, with ``itabench_first_*``.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from revocab.evaluation.multiple_choice import tasks

FOLDER = "REVOCAB_ITABENCH"


def row(label, **metadata):
    """Return a row with all that the data sets have; tags, periods and spaces are of use here."""
    both = {
        "category": "question",
        "passage": "The baker sells bread.",
        "activity_label": "Baking",
        "subject": "high_school_us_history",
    }
    italian = {
        "passage_translation": "Il fornaio vende il pane.",
        "activity_label_translation": "Cucinare",
    }
    return {
        "id": "1",
        "input": " [title] Who sells  bread. [step] She",
        "choices": ["the baker.", "the cat [title] there.", " no  one", "all"],
        "input_translation": " [titolo] Chi vende  il pane. [passo] Lei",
        "choices_translation": ["il fornaio.", "il gatto [titolo] qui.", " nessuno", "tutti."],
        "label": label,
        "metadata": {**both, **italian, **metadata},
    }


KINDS = [row(1, category=kind) for kind in ("question", "text_completion", "topic", "property")]
PASSAGES = [row(0), row(1, passage="", passage_translation="")]
SUBJECT = "high_school_us_history"
SPACED = [row(3, subject=SUBJECT.replace("_", " "))]
BOTH = ("it", "en")
#: Whether of the first version, template, the task of ITA-Bench, rows, languages. MMLU of the first
#: version is lettered in English only: the Italian files were made in the cloze form.
CASES = [
    (False, "itabench_arc_easy", "itabench_arc_easy", [row("2")], BOTH),
    (False, "itabench_hellaswag", "itabench_hellaswag", [row(3)], BOTH),
    (False, "itabench_piqa", "itabench_piqa", KINDS, BOTH),
    (False, "itabench_sciq", "itabench_sciq", PASSAGES, BOTH),
    (False, "itabench_sciq_with_passages", "itabench_sciq_with_passages", PASSAGES, BOTH),
    (False, "itabench_mmlu", f"itabench_mmlu_cloze_{SUBJECT}", [row(0)], BOTH),
    (False, "itabench_mmlu_letters", f"itabench_mmlu_multichoice_{SUBJECT}", [row(3)], BOTH),
    (False, "itabench_boolq", "itabench_boolq", [row(True), row(False)], BOTH),
    (False, "itabench_boolq_with_passages", "itabench_boolq_with_passages", PASSAGES, BOTH),
    (True, "itabench_first_hellaswag", "itabench_hellaswag", [row(3)], BOTH),
    (True, "itabench_first_sciq_with_passages", "itabench_sciq_with_passages", PASSAGES, BOTH),
    (True, "itabench_first_boolq_with_passages", "itabench_boolq_with_passages", [row("True")],
     BOTH),
    (True, "itabench_piqa", "itabench_piqa", KINDS, BOTH),
    (True, "itabench_arc_easy", "itabench_arc_easy", [row("2")], BOTH),
    (True, "itabench_first_mmlu_letters", f"itabench_mmlu_{SUBJECT}", SPACED, ("en",)),
]  # fmt: skip


@pytest.fixture(scope="module")
def manager(tmp_path_factory):
    """The task files of ITA-Bench, as the harness reads them.

    They name functions ``../utils.NAME``, which this harness does not find: it gets a copy, with
    the modules beside the files.
    """
    given = os.environ.get(FOLDER)
    if not given:
        pytest.skip(f"{FOLDER} names no clone of ITA-Bench")
    from lm_eval.tasks import TaskManager

    folder = tmp_path_factory.mktemp("itabench")
    shutil.copytree(Path(given) / "translations", folder, dirs_exist_ok=True)
    for path in folder.rglob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        if "!function ../utils." in text:
            path.write_text(text.replace("../utils.", "utils."), encoding="utf-8")
            shutil.copy(path.parent.parent / "utils.py", path.parent)
    return TaskManager(include_path=str(folder), include_defaults=False)


def requests(task):
    """Return what is asked of a model for each choice, and the answer.

    The harness moves the spaces at the end of a context to the choice, so they are compared there.
    """
    task.build_all_requests()
    docs = list(task.eval_docs)
    compared = []
    for one in task.instances:
        context, continuation = one.args
        bare = context.rstrip()
        right = int(task.doc_to_target(docs[one.doc_id])) == one.idx
        compared.append((bare, context[len(bare) :] + continuation, right))
    return compared


@pytest.mark.parametrize(("first", "template", "name", "rows", "languages"), CASES)
def test_requests_are_those_of_itabench(
    monkeypatch, manager, first, template, name, rows, languages
):
    from datasets import Dataset, DatasetDict
    from lm_eval.api.task import ConfigurableTask

    # MMLU has one form in the first version.
    if first != (f"itabench_mmlu_{SUBJECT}_it-it" in manager.task_index):
        pytest.skip("the clone is of the other version")
    data = DatasetDict({name: Dataset.from_list(rows) for name in ("train", "validation", "test")})
    monkeypatch.setattr(
        ConfigurableTask, "download", lambda self, *_a, **_k: setattr(self, "dataset", data)
    )
    for language in languages:
        (expected,) = manager.load([f"{name}_{language}-{language}"])["tasks"].values()
        config = tasks.build_task("t", tasks.TEMPLATES / f"{template}.yaml", language=language)
        (ours,) = manager.load([config])["tasks"].values()
        assert requests(ours) == requests(expected)
