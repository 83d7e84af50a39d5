"""Task files and templates of strangers: nothing is run, and files and keys are named."""

from __future__ import annotations

from pathlib import Path

import darumeru
import pytest
import yaml
from chat_toys import messages_of, write_tokenizer
from evaluation_toys import IT_ROWS, write_model, write_task

from revocab.errors import RevocabError
from revocab.evaluation.inference.chat_prompts import ChatFormat, ChatOptions
from revocab.evaluation.multiple_choice import tasks
from revocab.evaluation.multiple_choice.scoring import Scorer
from revocab.evaluation.multiple_choice.task_file import Renderer
from revocab.evaluation.options import Scoring
from revocab.experiment import validate
from revocab.training.chat.template import MAX_TEMPLATE, ChatTemplate, load_template
from revocab.vocabulary.tokenizers.load import load_tokenizer

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
    "doc_to_decontamination_query": {
        "should_decontaminate": True,
        "doc_to_decontamination_query": SHELL,
    },
    "doc_to_image": {"doc_to_image": SHELL},
    "use_prompt": {"use_prompt": "prompts.yaml:own"},
    "process_docs": {"process_docs": "evil.run"},
    "custom_dataset": {"custom_dataset": "evil.run"},
    "class": {"class": "evil.Task"},
    "include": {"include": "functions.yaml"},
    "task": {"task": ["arc_easy", {"task": "mine", "process_docs": "evil.run"}]},
    "filter_list": {"filter_list": [{"name": "slow", "filter": [{"function": "regex"}]}]},
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


# Templates alone ---------------------------------------------------------------------------------

ATTACKS = {
    "shell": "{{ cycler.__init__.__globals__.os.system('touch PWNED') }}",
    "classes": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "attribute by filter": "{{ (''|attr('__class__')).__mro__ }}",
    "format of an attribute": "{{ '{0.__class__.__mro__}'.format('') }}",
    "format_map": "{{ '{a.__class__.__mro__}'.format_map({'a': 1}) }}",
    "code of a macro": "{% macro f() %}{% endmacro %}{{ f.__func__.__code__ }}",
    "changes": "{{ [].append(1) }}",
    "range": "{% for i in range(1000000000) %}x{% endfor %}",
    "file": "{% include '/etc/passwd' %}",
    "long template": "x" * (MAX_TEMPLATE + 1),
}


@pytest.fixture(scope="module")
def tokenizer_folder(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("chat") / "tokenizer")


@pytest.mark.parametrize("name", ATTACKS)
def test_a_tasks_template_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RevocabError):
        Renderer()(ATTACKS[name], {"question": "q"})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", sorted({*ATTACKS} - {"file"}))
def test_a_chat_template_is_refused(name, tokenizer_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tokenizer = load_tokenizer(tokenizer_folder)
    file = tmp_path / "mine.jinja"
    file.write_text(ATTACKS[name] + "{% generation %}{% endgeneration %}")
    with pytest.raises(RevocabError, match=r"mine\.jinja"):
        load_template(tokenizer, tokenizer_folder, file)
    with pytest.raises(RevocabError, match="here: it"):
        ChatTemplate(ATTACKS[name], "here").rendered(messages_of(0), "it")
    tokenizer.chat_template = ATTACKS[name]
    with pytest.raises(RevocabError, match="chat template"):
        ChatFormat(tokenizer, tokenizer_folder, ChatOptions())
    assert [path.name for path in tmp_path.iterdir()] == ["mine.jinja"]


def test_the_harness_s_filter_is_there():
    template = "{{ question|regex_replace('a(.)', '<\\\\1>') }}{{ question }}"
    assert Renderer()(template, {"question": "abac"}) == "<b><c>abac"
