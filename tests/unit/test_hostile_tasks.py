"""Task files of strangers: nothing in one is run, and what is refused is named by file and key."""

from __future__ import annotations

from pathlib import Path

import darumeru
import pytest
import yaml
from evaluation_toys import IT_ROWS, write_model, write_task

from revocab.errors import RevocabError
from revocab.evaluation.inference.chat_prompts import ChatOptions
from revocab.evaluation.multiple_choice import tasks
from revocab.evaluation.multiple_choice.scoring import Scorer
from revocab.evaluation.options import Scoring
from revocab.experiment import validate

SHELL = "{{ cycler.__init__.__globals__.os.system('touch PWNED') }}"
#: Each field that the harness renders, with a template in it, by the key that an error names.
FIELDS = {
    "doc_to_text": {"doc_to_text": SHELL},
    "doc_to_target": {"doc_to_target": SHELL},
    "doc_to_choice": {"doc_to_choice": f"{SHELL}[]"},
    "description": {"description": SHELL},
    "gen_prefix": {"gen_prefix": SHELL},
    # Only from the third row on.
    "doc_to_text ": {"doc_to_text": "{% if question.endswith('2?') %}" + SHELL + "{% endif %}"},
}
#: What a file says beside texts, by the key that an error names.
KEYS = {
    "fewshot_config": {"fewshot_config": {"doc_to_text": SHELL}},
    "process_docs": {"process_docs": "evil.run"},
    "custom_dataset": {"custom_dataset": "evil.run"},
    "class": {"class": "evil.Task"},
    "include": {"include": "functions.yaml"},
    "task": {"task": ["arc_easy", {"task": "mine", "process_docs": "evil.run"}]},
    "metadata.mean_over": {"metadata": {"mean_over": "subject.__class__"}},
    "metric_list.0.metric": {"metric_list": [{"metric": "./evil.py"}]},
    "metric_list.0.hf_evaluate": {"metric_list": [{"metric": "acc", "hf_evaluate": True}]},
    "dataset_path": {"dataset_path": "pandas"},
    "dataset_kwargs.trust_remote_code": {"dataset_kwargs": {"trust_remote_code": True}},
    "dataset_kwargs.cache_dir": {"dataset_kwargs": {"cache_dir": "/somewhere"}},
    "unsafe_code": {"unsafe_code": True},
}


@pytest.fixture
def task(repository, tmp_path, monkeypatch) -> Path:
    """A task file, in a folder of its own with a module that a task could name."""
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text("open('PWNED', 'w')\ndef run(*_, **__): return []\n")
    Path("functions.yaml").write_text("process_docs: !function evil.run\n")
    yield write_task(tmp_path, repository, "mine", IT_ROWS, "arc_easy_it")
    assert not Path("PWNED").exists()


def change(task: Path, changes: dict) -> Path:
    config = yaml.safe_load(task.read_text(encoding="utf-8"))
    task.write_text(yaml.safe_dump(config | changes), encoding="utf-8")
    return task


def refusal(task: Path) -> str:
    """Return why a task cannot be scored."""
    with pytest.raises(RevocabError) as caught:
        darumeru.score([task], darumeru.Answerer(darumeru.right))
    return str(caught.value)


@pytest.mark.parametrize(("key", "changes"), FIELDS.items(), ids=FIELDS)
def test_every_field_is_rendered_in_the_sandbox(task, key, changes):
    assert f"{task}: {key.strip()}: " in refusal(change(task, changes))


@pytest.mark.parametrize(("key", "changes"), KEYS.items(), ids=KEYS)
def test_a_task_file_has_no_other_keys(task, key, changes):
    assert f"{task}: {key}: " in refusal(change(task, changes))


@pytest.mark.parametrize("key", ["process_docs", "doc_to_text", "process_results"])
def test_functions_are_refused(task, key):
    task.write_text(f"{task.read_text()}\n{key}: !function evil.run\n")
    assert str(task) in (said := refusal(task)) and "!function" in said


@pytest.mark.parametrize("template", [SHELL, "{{ question"])
def test_templates_of_an_experiment_run_nothing(repository, task, template):
    """They are rendered when models are scored; what can be known before is said before."""
    own = task.parent / "prompts/own.yaml"
    own.parent.mkdir()
    own.write_text(yaml.safe_dump({"include": "question_it.yaml", "doc_to_text": template}))
    data = task.with_suffix(".jsonl.gz")
    try:
        tasks.write_task(task, tasks.build_task("mine", own, data=data))
    except RevocabError as error:
        assert f"{own}: doc_to_text: " in str(error)
    else:
        assert "doc_to_text: " in refusal(task)


@pytest.mark.parametrize("template", [SHELL, "{% for i in range(10 ** 9) %}x{% endfor %}"])
def test_a_models_chat_template_runs_nothing(task, template):
    model = write_model(task.parent / "model", context_length=512, chat_template=template)
    scorer = Scorer([task], Scoring(device="cpu", chat=ChatOptions()))
    with pytest.raises(RevocabError, match="chat template: "):
        scorer.score(scorer.load(model), "mine")


def test_an_experiment_with_such_a_template_is_refused(repository, task):
    (folder := task.parent / "prompts").mkdir()
    (folder / "own.yaml").write_text("include: question_it.yaml\nprocess_docs: evil.run\n")
    values = yaml.safe_load((repository / "tests/experiments/small.yaml").read_text())
    choices = values["evaluation"]["multiple_choice"]
    choices["templates"] = "prompts"
    choices["tasks"]["arc_easy_en"]["template"] = "own"
    with pytest.raises(RevocabError, match=r"tasks\.arc_easy_en: .*own\.yaml: process_docs: "):
        validate(values)
