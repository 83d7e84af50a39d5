"""Task templates: exact prompts per kind, inheritance, data checks, the command line."""

from __future__ import annotations

from pathlib import Path

import hub_itabench
import pytest
import yaml
from evaluation_toys import IT_ROWS, render, write_task

from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice import tasks
from revocab.evaluation.options import ExpectedItems
from revocab.experiment import options, validate
from revocab.experiment.layout import Layout
from revocab.io import read_jsonl, write_jsonl
from revocab.languages import languages

QUESTION = {"id": "1", "question": "Chi vende il pane?", "choices": ["il fornaio", "il gatto"]}
PASSAGE = {**QUESTION, "context": "Il fornaio vende il pane.", "answer": 0}
ENGLISH = {"id": "1", "question": "who?", "context": "It rains.", "choices": ["no", "yes"]}
XCOPA = {"id": "1", "context": "Piove.", "choices": ["È inverno.", "L'erba cresce."], "answer": 1}

BAKER = [" il fornaio", " il gatto"]
#: template, row, (context, answer texts, index of the right one) as the harness scores them
RENDERED = [
    ("arc_easy_it", {**QUESTION, "answer": 1},
     ("Domanda: Chi vende il pane?\nRisposta:", BAKER, 1)),
    ("mmlu_it", {**QUESTION, "answer": 0, "subject": "us_history"},
     ("Domanda: Chi vende il pane?\nRisposta:", BAKER, 0)),
    ("boolq_it", {**PASSAGE, "choices": ["sì", "no"]},
     ("Contesto: Il fornaio vende il pane.\nDomanda: Chi vende il pane?\nRisposta:",
      [" sì", " no"], 0)),
    ("sciq_en", {**ENGLISH, "answer": 1},
     ("Context: It rains.\nQuestion: who?\nAnswer:", [" no", " yes"], 1)),
    ("piqa_en", {**ENGLISH, "context": None, "answer": 1},
     ("Question: who?\nAnswer:", [" no", " yes"], 1)),
    ("hellaswag_en", {"id": "1", "context": "The cat", "choices": [" sat.", "ran. "], "answer": 0},
     ("The cat", [" sat.", " ran."], 0)),
    ("mmlu_letters_it", {**QUESTION, "answer": 1, "subject": "us_history"},
     ("Le seguenti sono domande a scelta multipla (con risposta) su us history.\n\n"
      "Domanda: Chi vende il pane?\nA. il fornaio\nB. il gatto\nRisposta:", [" A", " B"], 1)),
    ("mmlu_letters_en", {**ENGLISH, "answer": 1},
     ("Question: who?\nA. no\nB. yes\nAnswer:", [" A", " B"], 1)),
    ("xcopa_it", {**XCOPA, "question": "cause"},
     ("Piove perché", [" è inverno.", " l'erba cresce."], 1)),
    ("xcopa_it", {**XCOPA, "question": "effect"},
     ("Piove quindi", [" è inverno.", " l'erba cresce."], 1)),
    ("question_without_passage", PASSAGE,
     ("Domanda: Chi vende il pane?\nRisposta:", BAKER, 0)),
    ("race", PASSAGE,
     ("Article: Il fornaio vende il pane.\n\nQuestion: Chi vende il pane?\nAnswer:", BAKER, 0)),
    ("crows_pairs",
     {"id": "1", "choices": ["Le donne guidano male.", "Gli uomini no."], "answer": 1},
     ("", ["Le donne guidano male.", "Gli uomini no."], 1)),
    ("truthfulqa_mc1_it", {**QUESTION, "answer": 0},
     ("Domanda: Chi vende il pane?\nRisposta:", BAKER, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("template", "row", "expected"), RENDERED)
def test_local_templates_render(template, row, expected):
    path = tasks.TEMPLATES / f"{template}.yaml"
    config = tasks.fill_words(tasks.load_template(path), path, "it")
    config |= {"task": template, "test_split": "test"}
    assert render(config, [row]) == [expected]


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


def test_a_template_may_have_words_of_its_own(tmp_path):
    (tmp_path / "base.yaml").write_text(
        "words: {it: {text: testo, end: fine}, en: {text: text, end: end}}\n"
        "output_type: multiple_choice\ndataset_path: a/b\n"
    )
    (tmp_path / "mine.yaml").write_text(
        "include: base.yaml\nwords: {it: {end: termine}}\n"
        'doc_to_text: "{{<<text>>}} <<question>> <<end>>"\ndoc_to_choice: ["<<text>>"]\n'
    )
    path = tmp_path / "mine.yaml"
    assert tasks.load_template(path)["words"]["it"] == {"text": "testo", "end": "termine"}
    english = tasks.build_task("t", path, language="en")
    assert english["doc_to_text"] == "{{text}} Question end"
    assert english["doc_to_choice"] == ["text"]
    assert "words" not in english
    # The first of its languages, where none is asked for.
    assert tasks.build_task("t", path)["doc_to_text"] == "{{testo}} Domanda termine"
    with pytest.raises(RevocabError, match=r"mine\.yaml: in it, en, not in 'ru'; choose one"):
        tasks.build_task("t", path, language="ru")
    path.write_text('include: base.yaml\ndoc_to_text: "<<text>> <<about_all>>"\n')
    with pytest.raises(RevocabError, match="lacks the words about_all"):
        tasks.build_task("t", path, language="en")


def test_every_template_is_complete():
    paths = sorted((tasks.TEMPLATES).glob("*.yaml"))
    assert len(paths) > 30
    for path in paths:
        config = tasks.load_template(path)
        assert config["output_type"] == "multiple_choice", path
        assert config["metadata"]["version"], path
        assert config["metric_list"][0]["metric"] == "acc", path


def test_task_file_is_self_contained_and_repeats(repository, tmp_path):
    path = write_task(tmp_path, repository, "arc_easy_it", IT_ROWS, "arc_easy_it")
    first = path.read_bytes()
    config = yaml.safe_load(first)
    assert "include" not in config
    assert config["task"] == "arc_easy_it"
    assert config["dataset_kwargs"] == {
        "data_files": {"test": str(tmp_path / "arc_easy_it.jsonl.gz")}
    }
    write_task(tmp_path, repository, "arc_easy_it", IT_ROWS, "arc_easy_it")
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "a", "choices": ["x", "y"], "answer": 0}, r"row 2 \(id a\): field 'question'"),
        ({"id": "a", "question": "q", "answer": 0}, "field 'choices' is missing"),
        ({"id": "a", "question": "q", "choices": ["x"], "answer": 0}, "at least two"),
        ({"id": "a", "question": "q", "choices": ["x", " "], "answer": 0}, "empty choice"),
        ({"id": "a", "question": "q", "choices": ["x", "y"], "answer": 2}, "received 2"),
        ({"id": "a", "question": "q", "choices": ["x", "y"], "answer": "1"}, "received '1'"),
    ],
)
def test_bad_rows_are_named(repository, tmp_path, row, message):
    with pytest.raises(RevocabError, match=message):
        write_task(tmp_path, repository, "t", [IT_ROWS[0], row], "arc_easy_it")


def test_data_that_is_not_there_is_named(tmp_path):
    template = tasks.TEMPLATES / "arc_easy_it.yaml"
    write_jsonl(tmp_path / "empty.jsonl", [])
    for name, said in (("absent", "no such file"), ("empty", "no rows")):
        with pytest.raises(RevocabError, match=rf"{name}\.jsonl: {said}"):
            tasks.build_task("t", template, data=tmp_path / f"{name}.jsonl")
    with pytest.raises(RevocabError, match="names no data set"):
        tasks.build_task("t", template)


def test_bad_templates_are_named(tmp_path):
    (tmp_path / "loop.yaml").write_text("include: loop.yaml\n", encoding="utf-8")
    (tmp_path / "bad.yaml").write_text("a: [", encoding="utf-8")
    for name, said in (
        ("loop", "includes itself"), ("lop", r"no such file; did you mean 'loop\.yaml'"),
        ("bad", "not valid YAML"),
    ):  # fmt: skip
        with pytest.raises(RevocabError, match=said):
            tasks.load_template(tmp_path / f"{name}.yaml")


def test_the_including_file_wins(tmp_path):
    (tmp_path / "a.yaml").write_text("doc_to_text: a\ndoc_to_target: 1\n", encoding="utf-8")
    (tmp_path / "b.yaml").write_text("include: a.yaml\ndoc_to_target: 2\n", encoding="utf-8")
    assert tasks.load_template(tmp_path / "b.yaml") == {"doc_to_text": "a", "doc_to_target": 2}


def test_templates_of_ones_own_go_before_those_of_the_package(tmp_path):
    """And include them by name."""
    (tmp_path / "mine.yaml").write_text("include: question.yaml\nlanguage: it\nnum_fewshot: 3\n")
    (tmp_path / "letters.yaml").write_text("include: mine.yaml\n")
    assert tasks.find_template("letters", tmp_path) == tmp_path / "letters.yaml"
    assert tasks.find_template("letters") == tasks.TEMPLATES / "letters.yaml"
    assert tasks.find_template("race", tmp_path) == tasks.TEMPLATES / "race.yaml"
    found = tasks.load_template(tmp_path / "letters.yaml")
    assert found["num_fewshot"] == 3 and "<<question>>" in found["doc_to_text"]
    files = [path.stem for path in tasks.template_files(tmp_path / "letters.yaml")]
    assert files == ["letters", "mine", "question", "base"]
    with pytest.raises(RevocabError, match=r"^a\.b: no template 'minee' .*did you mean 'mine'\?"):
        tasks.find_template("minee", tmp_path, "a.b")


def test_an_experiment_has_templates_of_its_own(repository, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = yaml.safe_load((repository / "tests/experiments/small.yaml").read_text())
    choices = values["evaluation"]["multiple_choice"]
    choices["tasks"]["arc_easy_en"]["template"] = "mine"
    with pytest.raises(RevocabError, match=r"arc_easy_en\.template: no template 'mine'"):
        validate(values)
    choices["templates"] = "prompts"
    with pytest.raises(RevocabError, match=r"multiple_choice\.templates: 'prompts' does not exist"):
        validate(values)
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/mine.yaml").write_text("include: question_en.yaml\n")
    (tmp_path / "prompts/unused.yaml").write_text("include: mine.yaml\n")
    layout = Layout(experiment := validate(values))
    mine, shipped = map(layout.task_template, ("arc_easy_en", "hellaswag_it"))
    # The files that its prompt is made of, and no other template.
    assert [Path(file).stem for file in mine] == ["mine", "question_en", "question", "base"]
    assert mine[0] == "prompts/mine.yaml"
    assert "prompts" not in options.task(experiment, "arc_easy_en").canonical()
    assert not [file for file in shipped if "prompts" in file]
    data, config = tmp_path / "rows.jsonl", options.task(experiment, "arc_easy_en")
    write_jsonl(data, [PASSAGE])
    task = tasks.task_config(config, Path(*layout.own_templates("arc_easy_en")), data)
    assert task["doc_to_text"].endswith("Question: {{question}}\nAnswer:")


def test_tasks_by_hand_are_files_or_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, place in (
        ("itabench_boolqq", "--tasks: .*'itabench_boolqq'.*itabench_boolq'"),
        ("question_it", "--tasks question_it: "),
    ):
        with pytest.raises(RevocabError, match=place):
            tasks.task_files([Path(name)], tmp_path)
    Path("itabench_boolq").write_text("a file of this name\n")
    files = [Path("itabench_boolq"), Path("absent/task.yaml"), Path("t.yaml")]
    assert tasks.task_files(files, tmp_path) == files


def test_words_are_the_tasks_unless_the_template_fixes_them(repository):
    folder = tasks.TEMPLATES
    asked = {"hub": tasks.HubData(id="a/b"), "language": "ru"}
    russian = tasks.build_task("q", folder / "question.yaml", **asked)
    assert "Вопрос: {{question}}" in russian["doc_to_text"]
    fixed = tasks.build_task("q", folder / "question_it.yaml", **asked)
    assert "Domanda: {{question}}" in fixed["doc_to_text"]
    assert "language" not in fixed


def test_missing_words_are_named(repository, tmp_path):
    folder = tasks.TEMPLATES
    hub = tasks.HubData(id="a/b")
    with pytest.raises(RevocabError, match="depends on the language; give --language"):
        tasks.build_task("q", folder / "question.yaml", hub=hub)
    lacks = r"xnli\.yaml: .*languages/it\.yaml lacks the words xnli_also, xnli_no, xnli_right"
    having = ", ".join(one for one, known in languages().items() if "xnli_yes" in known.words)
    with pytest.raises(RevocabError, match=lacks + rf".*\(.*: {having}\)"):
        tasks.build_task("q", folder / "xnli.yaml", hub=hub, language="it")
    with pytest.raises(RevocabError, match=r"languages/xx\.yaml lacks the words answer, context"):
        tasks.build_task("q", folder / "question.yaml", hub=hub, language="xx")


def test_fields_of_choices_and_targets_are_required_too(repository):
    folder = tasks.TEMPLATES
    for name, fields in (("xnli", ["context", "question"]), ("winogrande", ["question"])):
        assert tasks.required_fields(tasks.load_template(folder / f"{name}.yaml")) == fields


def local_tasks() -> dict[str, dict]:
    """Return the tasks of shipped experiments on files of a data folder."""
    folder, found = Path(__file__).parents[2] / "config", {}
    for name in ("demos/local-data.yaml", "overlays/tasks-local.yaml"):
        values = yaml.safe_load((folder / name).read_text(encoding="utf-8"))
        found |= values["evaluation"]["multiple_choice"]["tasks"]
    return {name: task for name, task in found.items() if "path" in task.get("data", {})}


@pytest.mark.shared_data
@pytest.mark.parametrize("task", local_tasks().values(), ids=local_tasks())
def test_real_rows_render(shared_folder, task):
    template, language = task["template"], task["language"]
    data = Path(task["data"]["path"].format(data_root=shared_folder))
    path = tasks.TEMPLATES / f"{template}.yaml"
    config = tasks.build_task(template, path, data=data, language=language)
    kept = [{name: row.get(name) for name in tasks.FIELDS} for row in list(read_jsonl(data))[:300]]
    rendered = render(config, kept)
    assert len(rendered) == len(kept)
    for (context, choices, answer), row in zip(rendered, kept, strict=True):
        assert context.strip()
        assert "None" not in context.split("\n")[0].split(":")[0]
        assert len(choices) == len(row["choices"])
        if template == "winogrande":  # the choices are contexts, and what follows is scored
            assert context.count("_") == 0 and answer == row["question"].split("_", 1)[1].strip()
            continue
        assert all(choice[0] == " " and choice[1:].strip() for choice in choices)
        assert answer == row["answer"]


# Numbers of items ---------------------------------------------------------------------------------

#: As printed scores tell: k of so many items (docs/papers/sava.md).
OF_PAPER = {"arc_easy": 2322, "piqa": 1615, "sciq": 958, "boolq": 3270}


@pytest.mark.parametrize(
    ("revision", "advice"),
    [
        (None, "write its commit"),
        ("abcdef0", "write its commit"),  # a pin without the items is not named again
        ("1234567", "write 'revision: 1234567'"),
    ],
)
def test_a_later_version_of_the_data_warns_with_the_counts_and_stops_if_strict(
    monkeypatch, capsys, revision, advice
):
    monkeypatch.setattr("revocab.evaluation.multiple_choice.tasks.dataset_rows", lambda *_: [1, 2])
    config = {"dataset_path": "o/d", "test_split": "test"}
    config["dataset_kwargs"] = {"revision": "abcdef0" + 33 * "1"}
    expected = ExpectedItems(number=3, revision=revision)
    tasks.check_items("t", config, expected)
    warning = capsys.readouterr().err
    assert "2 items, expected 3" in warning and advice in warning
    assert ("'revision: abcdef0'" in warning) is False
    with pytest.raises(RevocabError, match="has 2 items, expected 3"):
        tasks.check_items("t", config, expected.model_copy(update={"strict": True}))
    tasks.check_items("t", config, ExpectedItems(number=2))
    assert not capsys.readouterr().err


def test_rows_of_a_file_are_counted(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\n' * 3)
    config = {"dataset_path": "json", "test_split": "test"}
    config["dataset_kwargs"] = {"data_files": {"test": str(tmp_path / "rows.jsonl")}}
    tasks.check_items("t", config, ExpectedItems(number=3))
    with pytest.raises(RevocabError, match=r"rows\.jsonl, has 3 items, expected 4"):
        tasks.check_items("t", config, ExpectedItems(number=4, strict=True))


def test_the_paper_counts_both_languages_and_pins_as_its_overlay(repository):
    paper = yaml.safe_load((repository / "config/sava.yaml").read_text(encoding="utf-8"))
    first = repository / "config/overlays/itabench-first.yaml"
    overlay = yaml.safe_load(first.read_text(encoding="utf-8"))
    in_paper, pinned = (one["evaluation"]["multiple_choice"]["tasks"] for one in (paper, overlay))
    for name, task in in_paper.items():
        items = task.get("items", {})
        assert items.get("number") == OF_PAPER.get(task["family"]), name
        pin = pinned[name].get("data", {"hub": {}})["hub"].get("revision")
        assert items.get("revision") == (pin if items and task["family"] != "piqa" else None), name
    assert {family for family, one in hub_itabench.DATA_SETS.items() if one.items} == set(OF_PAPER)
