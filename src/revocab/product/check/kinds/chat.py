"""Chat templates: that there is one, that it renders, and that generation stops where it ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from revocab.errors import RevocabError
from revocab.models.findings import Finding, some
from revocab.models.load import quiet
from revocab.product.check.kind import GENERATION, TOKENIZER_CONFIG, Kind, Mended, Subject, fault
from revocab.product.check.kinds.ids import ids_of, is_id
from revocab.training.chat.template import MARKS, PROBE, ChatTemplate, own_template, special_texts

FILE = "chat_template.jinja"
#: How tokens of chat are spelt, whether a vocabulary has them or not.
_SPELLING = re.compile(r"\s*(<\|[^<>|\s]+\|>|<(?:end_of_turn|end_of_utterance)>|</s>)")


#: How special tokens are spelt, near a real one or at the beginning.
_TOKEN = re.compile(r"<[|｜]?[^<>\s]{1,40}[|｜]?>|\[/?[A-Z_]{2,30}\]")
_NEAR = 0.75


def two_templates(subject: Subject) -> Iterator[Finding]:
    stored = subject.settings(TOKENIZER_CONFIG).get("chat_template")
    if not subject.has(FILE) or not isinstance(stored, str):
        return
    used = (subject.path / FILE).read_text(encoding="utf-8", errors="replace")
    if stored.strip() != used.strip():
        yield fault(
            "two-chat-templates", lambda mended: mended.edit(TOKENIZER_CONFIG).pop("chat_template")
        )


def rendering(subject: Subject) -> Iterator[Finding]:
    text = own_template(subject.tokenizer)
    if not text:
        return
    special = subject.tokenizer.special_tokens_map
    template = ChatTemplate(MARKS.sub("", text), "chat template", special)
    try:
        with quiet():
            rendered = template.rendered(PROBE, "two questions and answers").text
    except RevocabError as error:
        yield fault("template-fails", what=error.problems[0].partition("; ")[0])
        return
    yield from spelling(subject, rendered)
    yield from ending(subject, rendered)


def spelling(subject: Subject, rendered: str) -> Iterator[Finding]:
    """Yield what is spelt like a special token and is none: near one, or where texts begin."""
    vocabulary, special = subject.tokenizer.get_vocab(), special_texts(subject.tokenizer)
    roles = ("user", "system", "assistant", "human", "bot", "model")
    wrong: dict[str, str] = {}
    for match in _TOKEN.finditer(rendered):
        near = get_close_matches(match[0], special, 1, _NEAR)
        named = any(role in match[0].lower() for role in roles)  # <|user|>, in pieces by design
        first = not rendered[: match.start()].strip() and not named
        if match[0] not in vocabulary and (near or first):
            wrong[match[0]] = f", near {near[0]!r}" if near else " and begins every text"
    if wrong:
        listed = some([f"{text!r}, which is not a token{why}" for text, why in wrong.items()])
        yield fault("misspelt-token", listed=listed)


def opening(subject: Subject) -> Iterator[Finding]:
    """Yield a template that does not open the answer where ``add_generation_prompt`` asks for it,
    unless no more than spaces lie between question and answer, as in Mistral's ``[/INST]``.
    """
    if not own_template(subject.tokenizer):
        return
    turns = [{**message} for message in PROBE[:2]]

    def text(messages: list[dict[str, Any]], asks: bool) -> str:
        render: Any = subject.tokenizer.apply_chat_template
        return str(render(messages, tokenize=False, add_generation_prompt=asks))

    try:
        with quiet():
            opened, without = (text(turns[:1], asks) for asks in (True, False))
            before, answered, _ = text(turns, False).partition(turns[1]["content"])
    except Exception:  # a template may fail in any way that Python code can: see rendering
        return
    question = opened.rstrip()
    missing = before[len(question) :] if before.startswith(question) else before
    if answered and opened == without and missing.strip():
        yield fault("prompt-not-opened", missing=missing.strip()[-60:])


def ending(subject: Subject, rendered: str) -> Iterator[Finding]:
    _, answered, after = rendered.rpartition(PROBE[-1]["content"])
    vocabulary = subject.tokenizer.get_vocab()
    if not answered:
        yield fault("answer-left-out")
        return
    spelt = _SPELLING.match(after)
    if spelt and spelt[1] not in vocabulary:
        yield fault("end-is-no-token", end=spelt[1])
        return
    ends = [token for token in special_texts(subject.tokenizer) if token in after]
    if not ends:
        yield fault("no-end-token")
        return
    end = vocabulary[min(ends, key=lambda token: (after.index(token), -len(token)))]
    own = subject.settings(GENERATION).get("eos_token_id")
    listed = ids_of(own if own is not None else subject.defaults.get("eos_token_id"))
    stops = [number for number in listed if is_id(number)]  # where transformers' generation does
    if end in stops:
        return

    def stop_there(mended: Mended) -> None:
        met = [n for n in stops if n < len(subject.tokens)]
        mended.edit(GENERATION)["eos_token_id"] = [*met, end] if met else end

    stopped = subject.listed(stops) or "nothing"
    yield fault("end-not-stopped", stop_there, token=subject.listed([end]), stops=stopped, end=end)


KIND = Kind("chat", (two_templates, rendering, opening), quick=True)
