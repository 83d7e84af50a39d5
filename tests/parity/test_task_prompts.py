"""Templates over local files against the tasks that the harness ships: the same requests."""

from __future__ import annotations

import pytest
import yaml

from revocab.evaluation.metrics import choice_metrics
from revocab.evaluation.multiple_choice import harness, tasks

PREMISE, CHOICES = "Il mio corpo fece ombra.", ["Il sole sorse.", "L'erba era tagliata."]
XCOPA = [
    {"premise": PREMISE, "question": kind, "choice1": CHOICES[0], "choice2": CHOICES[1], "label": i}
    for i, kind in enumerate(("cause", "effect"))
]
OUR_XCOPA = [
    {"context": one["premise"], "question": one["question"], "choices": CHOICES, "answer": i}
    for i, one in enumerate(XCOPA)
]
PAIR = {"premise": "Он спит.", "hypothesis": "Он дома."}
XNLI = [{**PAIR, "label": label} for label in range(3)]
OUR_XNLI = [
    {"context": "Он спит.", "question": "Он дома.", "choices": list("enc"), "answer": i}
    for i in range(3)
]
OPTIONS = ["uno", "due", "tre", "quattro"]
BELEBELE = [
    {
        "flores_passage": "Un passo.",
        "question": "Chi? ",
        "correct_answer_num": str(i + 1),
        **{f"mc_answer{n}": text for n, text in enumerate(OPTIONS, 1)},
    }
    for i in range(4)
]
OUR_BELEBELE = [
    {"context": "Un passo.", "question": "Chi? ", "choices": OPTIONS, "answer": i} for i in range(4)
]
MMLU = [
    {
        "instruction": " Chi?",
        "answer": letter,
        **{f"option_{n}": text for n, text in zip("abcd", OPTIONS, strict=True)},
    }
    for letter in "ABCD"
]
OUR_MMLU = [{"question": " Chi?", "choices": OPTIONS, "answer": i} for i in range(4)]
WINOGRANDE = [
    {"sentence": "Ann saw Eve as _ was tall.", "option1": "Ann", "option2": "Eve", "answer": "2"}
]
OUR_WINOGRANDE = [
    {"question": "Ann saw Eve as _ was tall.", "choices": ["Ann", "Eve"], "answer": 1}
]
SIQA = [
    {"context": "It rains.", "question": "Why?", "label": "2"}
    | dict(zip(("answerA", "answerB", "answerC"), OPTIONS, strict=False))
]
OUR_SIQA = [{"context": "It rains.", "question": "Why?", "choices": OPTIONS[:3], "answer": 1}]
LABELLED = {"text": OPTIONS, "label": list("ABCD")}
OPENBOOK = [{"question_stem": "The sun", "choices": LABELLED, "answerKey": "C"}]
OUR_OPENBOOK = [{"question": "The sun", "choices": OPTIONS, "answer": 2}]
PAIRS = [{"sent_more": "Uno.", "sent_less": "Due."}]
OUR_PAIRS = [{"choices": ["Uno.", "Due."], "answer": 0}]
PIQA = [{"goal": "Boil water", "sol1": "heat it", "sol2": "cool it", "label": 0}]
OUR_PIQA = [{"question": "Boil water", "choices": ["heat it", "cool it"], "answer": 0}]

#: task of the harness, its rows, our template, our rows, language
CASES = [
    *[(f"xcopa_{one}", XCOPA, "xcopa", OUR_XCOPA, one) for one in ("it", "sw", "et", "ht", "id")],
    *[
        (f"xnli_{one}", XNLI, "xnli", OUR_XNLI, one)
        for one in ("ar", "bg", "de", "el", "en", "fr", "ru", "sw", "zh")
    ],
    ("belebele_ita_Latn", BELEBELE, "belebele", OUR_BELEBELE, "it"),
    ("m_mmlu_it", MMLU, "m_mmlu", OUR_MMLU, "it"),
    ("winogrande", WINOGRANDE, "winogrande", OUR_WINOGRANDE, "en"),
    ("social_iqa", SIQA, "social_iqa", OUR_SIQA, "en"),
    ("openbookqa", OPENBOOK, "openbookqa", OUR_OPENBOOK, "en"),
    ("crows_pairs_english", PAIRS, "crows_pairs", OUR_PAIRS, "en"),
    ("piqa", PIQA, "piqa_en", OUR_PIQA, "en"),
]


@pytest.fixture(scope="module")
def named(repository) -> dict[str, str]:
    """The harness' tasks that the experiments name, by file and name."""
    found = {}
    for path in sorted((repository / "config").rglob("*.yaml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        section = content.get("evaluation", {}).get("multiple_choice", {}) if content else {}
        for name, task in section.get("tasks", {}).items():
            if task and "harness" in task:
                found[f"{path.name}: {name}"] = task["harness"]
    return found


@pytest.fixture(scope="module")
def manager(named):
    """A manager of these and of the cases above: to read all of the harness takes 20 s."""
    return harness.manager_of({*named.values(), *(shipped for shipped, *_ in CASES)})


def requests(task) -> list[tuple[tuple[str, str], bool]]:
    """Return each request's context and continuation, and whether it is the right one."""
    task.build_all_requests()
    found = []
    for one in task.instances:
        target = task.doc_to_target(one.doc)
        choices = task.doc_to_choice(one.doc)
        if isinstance(task.doc_to_text(one.doc), int):  # the choices are contexts
            target = task.doc_to_text(one.doc)
        right = choices.index(target) if isinstance(target, str) else target
        found.append((one.args, one.idx == right))
    return found


@pytest.mark.parametrize(("shipped", "theirs", "template", "ours", "language"), CASES)
def test_requests_are_the_harness_own(
    monkeypatch, repository, manager, shipped, theirs, template, ours, language
):
    from datasets import Dataset, DatasetDict
    from lm_eval.api.task import ConfigurableTask

    names = ("train", "validation", "test", "dev")
    rows = DatasetDict({name: Dataset.from_list(theirs) for name in names})
    monkeypatch.setattr(
        ConfigurableTask, "download", lambda self, *_a, **_k: setattr(self, "dataset", rows)
    )
    (expected,) = manager.load([shipped])["tasks"].values()
    monkeypatch.undo()
    path = tasks.TEMPLATES / f"{template}.yaml"
    config = tasks.build_task(template, path, hub=tasks.HubData(id="a/b"), language=language)
    data = DatasetDict(test=Dataset.from_list(ours))
    config |= {"test_split": "test", "dataset_kwargs": None}
    config["custom_dataset"] = lambda **_: data
    (found,) = manager.load([config])["tasks"].values()
    assert requests(found) == requests(expected)


def test_the_harness_has_every_task_that_we_name(named, manager):
    """A task that a newer harness drops is found here, not on a cluster."""
    assert len(named) > 25
    missing = {key: task for key, task in named.items() if task not in manager.task_index}
    assert not missing


def test_pairs_of_sentences_report_the_metric_of_their_family(monkeypatch, manager):
    from datasets import Dataset, DatasetDict
    from lm_eval.api.task import ConfigurableTask

    rows = DatasetDict(test=Dataset.from_list(PAIRS))
    monkeypatch.setattr(
        ConfigurableTask, "download", lambda self, *_a, **_k: setattr(self, "dataset", rows)
    )
    (task,) = manager.load(["crows_pairs_english"])["tasks"].values()
    assert choice_metrics("crows_pairs")[0] in task.aggregation()
    assert "acc" not in task.aggregation()


@pytest.fixture(scope="module")
def whole():
    from lm_eval.tasks import TaskManager

    return TaskManager()


@pytest.mark.long  # it reads all of the harness
@pytest.mark.parametrize(
    ("names", "at_most"),
    [
        (["mmlu", "arabic_leaderboard_arabic_mt_mmlu", "truthfulqa_ar_mc2", "race"], 1000),
        (["belebele_swh_Latn", "xcopa_et", "xnli_ru"], 1000),
        (["leaderboard"], 1000),  # of a folder's tasks
        (["ai2_arc"], 100),  # a tag
        (["arc_eazy"], None),  # what the error lists is similar
    ],
)
def test_folders_that_are_read_are_enough(monkeypatch, whole, names, at_most):
    """Tasks, groups and tags, and all that they are made of, are those of the whole harness."""
    from lm_eval import tasks

    some = tasks.TaskManager
    monkeypatch.setattr(tasks, "TaskManager", lambda **given: some(**given) if given else whole)
    index, whole = (found.task_index for found in (harness.manager_of(names), whole))
    assert len(index) <= (at_most or len(whole)) and (at_most or len(index) == len(whole))
    parts = {part for name in names for part, _ in harness.parts_of(whole, name)}
    for name in parts & whole.keys():
        places = {found[name].yaml_path for found in (whole, index)}
        assert len(places) == 1 and whole[name].tags == index[name].tags, name
        assert whole[name].cfg == index[name].cfg, name
