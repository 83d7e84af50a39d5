"""Instructions whose answers a rule can check: what tuning and adaptation can break.

Rows are conversations, ``messages`` with ``role`` and ``content``, whose last message may be an
answer, which no prompt has; ``checks`` say what the answer must be, such as ``{"sentences": 2,
"language": "it"}``. A check looks at the text of an answer and at nothing else, so that a person
would decide the same. Through a chat template a model is asked by the messages themselves; as plain
text by a question and a label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from revocab.closed import unknown
from revocab.corpora.documents import sentences
from revocab.errors import RevocabError, all_of, refuse
from revocab.evaluation.generation.kind import GenerationKind, OneLanguage
from revocab.evaluation.metrics import Metric, Row, mean_metric, mean_of
from revocab.languages import frequent_words, languages
from revocab.training.chat.layout import Languages, Layout
from revocab.training.chat.messages import ASSISTANT, Message, checked_messages

if TYPE_CHECKING:
    from revocab.evaluation.resampling import Items

# Checks -------------------------------------------------------------------------------------------

#: What kinds of instruction checks are of, and their labels.
GROUPS = {
    "language": "Language", "length": "Length", "format": "Format", "copy": "Exact text",
    "content": "Content", "refusal": "Refused",
}  # fmt: skip


@dataclass(frozen=True)
class Check:
    """One rule: whether an answer is as wanted, and which values can be wanted."""

    group: str
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


def known_languages() -> list[str]:
    return [name for name, file in languages().items() if file.frequent]


def lines(answer: str) -> list[str]:
    return [line.strip() for line in answer.splitlines() if line.strip()]


def holds(answer: str, text: str) -> bool:
    return text.casefold() in answer.casefold()


def is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


TEXT = is_text, "a text"
COUNT = (lambda value: type(value) is int and value >= 1), "a number from 1"
TEXTS = (
    (lambda value: isinstance(value, list) and bool(value) and all(map(is_text, value))),
    "a list of texts",
)
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


# Rows and messages --------------------------------------------------------------------------------


class Instructions(OneLanguage):
    """Conversations with checks; the direction is the language that asks."""

    kind: Literal["instructions"]

    def usable(self, rows: list[Row], where: str) -> list[Row]:
        """Return the rows with the usual roles; raise :class:`RevocabError` naming every one that
        is none.
        """
        return all_of(partial(checked_row, row, f"{where}, row {row['id']}") for row in rows)


def checked_row(row: Row, place: str) -> Row:
    row = {**row, "messages": checked_messages(row.get("messages"), f"{place}: messages")}
    if not split(row)[0]:
        raise RevocabError(f"{place}: messages: nothing is asked; give a question of role user")
    refuse(problems(row.get("checks"), place))
    return row


def split(row: Row) -> tuple[list[Message], str]:
    """Return the messages that ask, and the answer, empty where there is none."""
    messages = row["messages"]
    if messages and messages[-1]["role"] == ASSISTANT:
        return messages[:-1], messages[-1]["content"]
    return messages, ""


def conversation(shots: Sequence[Row], query: Row) -> list[Message]:
    return [message for shot in shots for message in shot["messages"]] + split(query)[0]


def texts(row: Row, languages: Languages) -> list[str]:
    questions, answer = split(row)
    return ["\n".join(message["content"] for message in questions), answer]


# Metrics ------------------------------------------------------------------------------------------


def template_tokens(row: Row) -> float | None:
    """Return 100 for an answer that ends with the template's own end token and has no special token
    before it, else 0; None where models are not asked through a template.
    """
    if "template_end" not in row:
        return None
    return 100.0 * (row["template_end"] and not row["other_special_tokens"])


def followed(group: str | None, row: Row) -> float | None:
    """Return 100 for an answer that passes its checks (of one group; None: all), else 0; None where
    it has no such checks.
    """
    checks = {
        name: value for name, value in row["checks"].items() if group in (None, CHECKS[name].group)
    }
    return 100.0 * passes(row["output"], checks) if checks else None


def by_chance(rows: Sequence[Row], languages: Languages) -> Items | None:
    """Return the share of checks passed by the right answers to other questions.

    The chance level of ``followed``: what one gets who knows how answers look and not what is
    asked. An item is the mean over all other answers of the task.
    """
    known = [(row["references"][0], row["checks"]) for row in rows if row["references"][0]]
    if len(known) < 2:
        return None
    passed = [
        sum(passes(answer, checks) for j, (answer, _) in enumerate(known) if j != i)
        for i, (_, checks) in enumerate(known)
    ]
    return mean_of([100.0 * (number / (len(known) - 1)) for number in passed])


KIND = GenerationKind(
    options=Instructions,
    layout=Layout(labels=("<<question>>", "<<answer>>")),
    fields=("messages",),
    scored=("checks",),
    verbatim=("messages", "checks"),
    stored=("checks",),
    texts=texts,
    conversation=conversation,
    metrics=(
        mean_metric("ended", "Ended", lambda row: 100.0 * (row["finish_reason"] == "eos")),
        mean_metric("template_tokens", "Template's tokens", template_tokens),
        mean_metric("followed", "Followed", partial(followed, None)),
        *(
            mean_metric(f"followed_{group}", label, partial(followed, group))
            for group, label in GROUPS.items()
        ),
        Metric("followed_by_chance", "By chance", 0, 100, by_chance),
    ),
    in_tables=("ended", "template_tokens", "followed", "followed_by_chance"),
    caption="Ended: per cent of answers that an end token ends. Template's tokens: of those asked "
    "through a chat template, per cent that end with its end token and have no other special token."
    " Followed: per cent that pass every check by rule; by chance: of the right answers to the "
    "other questions.",
    place=40,
)
