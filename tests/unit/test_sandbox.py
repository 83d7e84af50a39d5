"""Templates of others: what would take the machine down is refused, in seconds and little memory,
and everything else gives the text that Jinja gives."""

from __future__ import annotations

import resource
import threading

import jinja2
import pytest
from chat_toys import messages_of, write_tokenizer

from revocab.chat.template import ChatTemplate, load_template
from revocab.errors import RevocabError
from revocab.evaluation.inference.chat_prompts import ChatFormat, ChatOptions, set_template
from revocab.sandbox import Sandbox, explain
from revocab.template_budget import MAX_COST, Refused
from revocab.tokenizers.load import load_tokenizer

#: Each would take minutes or gigabytes, or leave the sandbox, in a plain environment of Jinja's.
ATTACKS = {
    "power": "{{ 10**10**10 }}",
    "range": "{% for i in range(1000000000) %}x{% endfor %}",
    "nested loops": "{% for i in range(9999) %}{% for j in range(9999) %}x{% endfor %}{% endfor %}",
    "loop over a filter": "{% for i in range(9999) %}{% for j in range(9999)|map('string') %}"
    "{% set x = j %}{% endfor %}{% endfor %}",
    "filtered loop": "{% for i in range(9999) %}{% for j in range(9999) if i == 0 %}"
    "{% endfor %}{% endfor %}",
    "recursive loop": "{% for i in range(999) recursive %}{{ loop(range(999)) }}{% endfor %}",
    "recursive macro": "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}"
    "{{ f(60) }}",
    "recursive block": "{% block a %}{{ self.a() }}{{ self.a() }}{% endblock %}",
    "repeated text": "{{ 'a' * 10000000000 }}",
    "repeated list": "{{ [1] * 10000000000 }}",
    "repeated in a condition": "{% if 'a' * 10000000000 %}{% endif %}",
    "sum of texts": "DOUBLED = n.s + n.s",
    "joined texts": "DOUBLED = n.s ~ n.s",
    "nested lists": "DOUBLED = [n.s, n.s]",
    "nested dicts": "DOUBLED = {'a': n.s, 'b': n.s}",
    "huge number": "DOUBLED = (n.s|int(default=99)) * (n.s|int(default=99))",
    "captured": "{% set n = namespace(s='ab') %}{% for i in range(60) %}{% set x %}"
    "{{ n.s }}{{ n.s }}{% endset %}{% set n.s = x %}{% endfor %}",
    "namespace of itself": "{% set n = namespace(a=1) %}{% set n.a = [n, n] %}{{ n.a }}",
    "replace": "{{ ('a'*1000000).replace('a', 'b'*1000000) }}",
    "filter replace": "{{ ('a'*1000000)|replace('a', 'b'*1000000) }}",
    "join": "{{ ('b'*100000).join('a'*100000) }}",
    "filter join": "{{ ('a'*100000)|list|join('b'*100000) }}",
    "join of an iterator": "{{ ('a'*100000)|map('upper')|join('b'*100000) }}",
    "percent": "{{ '%9999999999d' % 1 }}",
    "percent of a width": "{{ '%*d' % (9999999999, 1) }}",
    "percent of a name": "{{ '%(a(b))9999999999s' % {'a(b)': 1} }}",
    "filter format": "{{ '%9999999999d'|format(1) }}",
    "braces": "{{ '{:>9999999999}'.format(1) }}",
    "braces of a width": "{{ '{0:{1}}'.format(1, 9999999999) }}",
    "format_map": "{{ '{a:>9999999999}'.format_map({'a': 1}) }}",
    "many fields": "{{ ('{0}' * 100000).format('a' * 100000) }}",
    "center": "{{ 'a'|center(9999999999) }}",
    "center of each": "{{ ['a']|map('center', 9999999999)|list }}",
    "block of a filter": "{% filter center(9999999999) %}a{% endfilter %}",
    "method": "{{ 'a'.ljust(9999999999) }}",
    "method by filter": "{{ ('a'|attr('ljust'))(9999999999) }}",
    "expandtabs": "{{ '\t'.expandtabs(9999999999) }}",
    "indent": "{{ ('\n'*1000000)|indent(1000000) }}",
    "batch": "{{ [1]|batch(9999999999, 0)|list }}",
    "slice": "{{ [1]|slice(9999999999)|list }}",
    "tojson": "{{ [1]|tojson(indent=9999999999) }}",
    "round": "{{ 1|round(999999999, 'ceil') }}",
    "sum": "{{ [[1], [2]]|sum(start=[]) }}",
    "strip": "{{ ('a'*4000000).strip('b'*4000000 ~ 'a') }}",
    "bytes": "{{ (1).to_bytes(9999999999, 'big') }}",
    "lipsum": "{{ lipsum(99999999) }}",
    "slices": "{% set s = 'a'*4000000 %}{% for i in range(9999) %}{% set x = s[1:] %}{% endfor %}",
    "comparisons": "{% set a = ['a'*100000]*99999 %}{{ a == a[1:] }}",
    "shell": "{{ cycler.__init__.__globals__.os.system('touch PWNED') }}",
    "classes": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "format of an attribute": "{{ '{0.__class__}'.format('') }}",
    "changes": "{{ [].append(1) }}",
    "long template": "x" * 200_000,
    "deep template": "{{" + "[" * 5000 + "]" * 5000 + "}}",
}  # fmt: skip
DOUBLED = "{% set n = namespace(s='ab') %}{% for i in range(60) %}{% set n.s NEW %}{% endfor %}"


def render(template: str, context: dict = {}) -> str:  # noqa: B006
    environment = Sandbox(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(template).render(context)


def attack(name: str) -> str:
    text = ATTACKS[name]
    return DOUBLED.replace("NEW", text.removeprefix("DOUBLED ")) if "DOUBLED" in text else text


@pytest.fixture(params=[pytest.param(MAX_COST, marks=pytest.mark.long), MAX_COST // 20])
def budget(request, monkeypatch):
    """Have a rendering cost at most this much; an attack spends all of it."""
    monkeypatch.setattr("revocab.template_budget.MAX_COST", request.param)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused_with_little_memory(budget, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(Exception) as caught:
        render(attack(name))
    assert explain(caught.value).startswith("template ")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB
    assert not list(tmp_path.iterdir())


def test_the_limits_hold_in_a_thread_and_for_each_rendering_anew():
    problems = []

    def work():
        for _ in range(3):
            render("{% for i in range(99999) %}{% endfor %}")
        try:
            render(attack("nested loops"))
        except Refused as error:
            problems.append(explain(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(problems) == 1 and "takes too much time or memory" in problems[0]


#: Uses everything that payments are put into.
ORDINARY = [
    "{{ 'a' ~ 1 ~ [2] }} {{ '%s-%02d%%' % ('x', 3) }} {{ '{}:{:>3}|{b!r}'.format(1, 2, b='c') }}\n",
    "{% for k, v in {'a': 1, 'b': [1, 2]}.items() %}{{ loop.index }}{{ k }}={{ v }}"
    "{% if not loop.last %}, {% endif %}{% else %}none{% endfor %}",
    "{% for i in [1, 2, 3] if i > 1 %}{{ i, loop.length, loop.cycle('a', 'b') }}{% endfor %}",
    "{% for i in [[1], []] recursive %}<{{ loop(i) if i is iterable else i }}>{% endfor %}",
    "{{ [3, 1]|sort|join('-') }}{{ ['A', 'B'][1:] }}{{ 'text'[::-1] }}{{ {'a': 'é<'}|tojson }}",
    "{% macro f(a, b=2) %}<{{ a }}{{ b }}>{% endmacro %}{{ f(1) }}{{ f('x', b=[]) }}",
    "{% macro g() %}<{{ caller() }}>{% endmacro %}{% call g() %}q{% endcall %}",
    "{% set x, y = 1, 2 %}{{ x + y * 2 - 1 }}{{ 7 // 2 }}{{ 7 % 4 }}{{ 1 / 4 }}{{ -x }}",
    "{{ 'a' in 'abc' }}{{ 1 < 2 < 3 }}{{ x is defined }}{{ [1] == [1] }}{{ 1 is eq 1 }}",
    "{% set n = namespace(a=[]) %}{% for i in row.l %}{% set n.a = n.a + [i] %}{% endfor %}{{ n }}",
    "{{ row.l|map('upper')|list }}{{ row.d|map(attribute='a')|sum }}{{ row.l|first }}",
    "{{ row.l|select('equalto', 'x')|list|length }}{{ row['l'][0].strip().split('b') }}",
    "{% block a %}text{% endblock %}{% filter upper %}x{{ 1 }}{% endfilter %}\n\n",
    "{{ 'a\nb'|indent(2) }}{{ 'abc'|replace('b', 'x')|center(9) }}{{ 1.25|round(1) }}{{ '5'|int }}",
]


@pytest.mark.parametrize("template", ORDINARY)
def test_other_templates_give_the_text_that_jinja_gives(template):
    context = {"row": {"l": ["x ", " aby"], "d": [{"a": 1}, {"a": 2}]}}
    plain = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    expected = plain.from_string(template).render(context)
    assert render(template, context) == expected


def test_a_long_template_may_look_at_every_message_for_every_message():
    """As some models' own templates do; only what a turn runs is paid for."""
    long = "{% macro tools() %}" + "{{ 'a' }}" * 2000 + "{% endmacro %}"
    loop = "{% for NAME in messages %}"
    loops = loop.replace("NAME", "m") + loop.replace("NAME", "n") + "{{ m if m == n }}"
    loops += "{% endfor %}{% endfor %}"
    assert render(long + loops, {"messages": ["x"] * 80}) == "x" * 6400


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_tokenizer(tmp_path_factory.mktemp("chat") / "tokenizer")


CHAT_ATTACKS = ["repeated text", "nested loops", "nested lists", "center", "shell"]


@pytest.mark.parametrize("name", CHAT_ATTACKS)
def test_a_chat_template_to_learn_from_is_refused(budget, name, folder, tmp_path):
    file = tmp_path / "mine.jinja"
    file.write_text(attack(name) + "{% generation %}{% endgeneration %}")
    with pytest.raises(RevocabError, match=r"mine\.jinja.*template refused"):
        load_template(load_tokenizer(folder), folder, file)
    with pytest.raises(RevocabError, match="template refused"):
        ChatTemplate(attack(name), "here").rendered(messages_of(0), "it")


@pytest.mark.parametrize("name", CHAT_ATTACKS)
def test_a_models_own_chat_template_is_refused(budget, name, folder):
    tokenizer = load_tokenizer(folder)
    tokenizer.chat_template = attack(name)
    with pytest.raises(RevocabError, match="chat template: template refused"):
        ChatFormat(tokenizer, folder, ChatOptions())
    # So asks the harness, which knows nothing of our messages.
    set_template(tokenizer, folder, None)
    with pytest.raises(jinja2.exceptions.SecurityError):
        tokenizer.apply_chat_template(messages_of(0), tokenize=False)
