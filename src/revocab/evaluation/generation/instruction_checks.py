"""What a rule can say of an answer to an instruction: its language, length, format, content.

A check is a key of a row's ``checks`` with what is wanted: ``{"sentences": 2, "language": "it"}``.
It looks at the text of an answer and at nothing else, so that a person would decide the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from revocab.closed import unknown
from revocab.corpora.copies import sentences
from revocab.languages import frequent_words, languages

#: What kind of instruction a check is of.
Group = Literal["language", "length", "format", "copy", "content", "refusal"]


@dataclass(frozen=True)
class Check:
    """One rule: whether an answer is as wanted, and which values can be wanted."""

    group: Group
    passed: Callable[[str, Any], bool]
    #: Whether a value can be wanted, and how messages describe those that can.
    allowed: Callable[[Any], bool]
    described: str


def is_in_language(answer: str, language: str) -> bool:
    """Return whether more of an answer's words are frequent in a language than in any other one.

    The languages are those whose file lists frequent words (``revocab/languages``).
    """
    _, counts = frequent_words([answer])
    wanted = counts.pop(language)
    return wanted > max(counts.values(), default=0)


def known_languages() -> dict[str, Any]:
    return {name: file for name, file in languages().items() if file.frequent}


def lines(answer: str) -> list[str]:
    return [line.strip() for line in answer.splitlines() if line.strip()]


def holds(answer: str, text: str) -> bool:
    return text.casefold() in answer.casefold()


def is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_text, value))


TEXT, COUNT, TEXTS = (
    (is_text, "a text"), (is_count, "a number from 1"), (are_texts, "a list of texts")
)  # fmt: skip
CHECKS: dict[str, Check] = {
    "language": Check(
        "language", is_in_language, lambda value: value in known_languages(),
        "a language whose file lists frequent words",
    ),
    "sentences": Check("length", lambda answer, n: len(sentences(answer)) == n, *COUNT),
    "lines": Check("length", lambda answer, n: len(lines(answer)) == n, *COUNT),
    "words_at_most": Check("length", lambda answer, n: 0 < len(answer.split()) <= n, *COUNT),
    "every_line_begins": Check(
        "format",
        lambda answer, text: bool(lines(answer))
        and all(line.startswith(text.strip()) for line in lines(answer)),
        *TEXT,
    ),
    "equals": Check("copy", lambda answer, text: answer.strip() == text.strip(), *TEXT),
    "contains": Check("content", holds, *TEXT),
    "refuses": Check(
        "refusal", lambda answer, texts: any(holds(answer, text) for text in texts), *TEXTS
    ),
}  # fmt: skip


def problems(checks: Any, where: str) -> Iterator[str]:
    if not isinstance(checks, Mapping) or not checks:
        yield f"{where}: checks: received {checks!r}; give one or more of {', '.join(CHECKS)}"
        return
    for name, wanted in checks.items():
        if name not in CHECKS:
            yield unknown(f"{where}: checks", name, CHECKS, "check")
        elif not CHECKS[name].allowed(wanted):
            known = f" ({', '.join(known_languages())})" if name == "language" else ""
            yield (
                f"{where}: checks.{name}: received {wanted!r}; give {CHECKS[name].described}{known}"
            )


def passes(answer: str, checks: Mapping[str, Any]) -> bool:
    return all(CHECKS[name].passed(answer, wanted) for name, wanted in checks.items())


def in_group(checks: Mapping[str, Any], group: Group) -> dict[str, Any]:
    return {name: wanted for name, wanted in checks.items() if CHECKS[name].group == group}
