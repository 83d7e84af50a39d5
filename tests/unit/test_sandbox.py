"""Templates of others reach nothing of Python, wherever they are rendered."""

from __future__ import annotations

import pytest
from chat_toys import messages_of, write_tokenizer

from revocab.errors import RevocabError
from revocab.evaluation.inference.chat_prompts import ChatFormat, ChatOptions
from revocab.evaluation.multiple_choice.task_file import Renderer
from revocab.training.chat.template import MAX_TEMPLATE, ChatTemplate, load_template
from revocab.vocabulary.tokenizers.load import load_tokenizer

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
def folder(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("chat") / "tokenizer")


@pytest.mark.parametrize("name", ATTACKS)
def test_a_tasks_template_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RevocabError):
        Renderer()(ATTACKS[name], {"question": "q"})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", sorted({*ATTACKS} - {"file"}))
def test_a_chat_template_is_refused(name, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tokenizer = load_tokenizer(folder)
    file = tmp_path / "mine.jinja"
    file.write_text(ATTACKS[name] + "{% generation %}{% endgeneration %}")
    with pytest.raises(RevocabError, match=r"mine\.jinja"):
        load_template(tokenizer, folder, file)
    with pytest.raises(RevocabError, match="here: it"):
        ChatTemplate(ATTACKS[name], "here").rendered(messages_of(0), "it")
    tokenizer.chat_template = ATTACKS[name]
    with pytest.raises(RevocabError, match="chat template"):
        ChatFormat(tokenizer, folder, ChatOptions())
    assert [path.name for path in tmp_path.iterdir()] == ["mine.jinja"]


def test_the_harness_s_filter_is_there():
    template = "{{ question|regex_replace('a(.)', '<\\\\1>') }}{{ question }}"
    assert Renderer()(template, {"question": "abac"}) == "<b><c>abac"
