"""How prompts are written: an instruction, labels, texts, and what stands between them.

Prompts of generation tasks and questions that models are tuned on have one layout, so that a model
is asked as it was taught.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field, field_validator

from revocab.closed import Closed, Id
from revocab.errors import RevocabError
from revocab.languages import fill
from revocab.training.chat.messages import ASSISTANT, Message

#: A task's languages as ``direction`` gives them; the last is that of the answer.
Languages = Sequence[str]


class LayoutOptions(Closed):
    """How prompts are written where not as usual; :class:`Layout` says what each key is.

    What is left out is as usual.
    """

    language: Id | None = Field(
        default=None, description="language of the words; default: that of the answer"
    )
    instruction: str | None = Field(default=None, description="before all; empty: nothing")
    labels: list[str] | None = Field(default=None, description="one for each text of a shot")
    after_label: str | None = Field(default=None, description="such as ':'")
    before_text: str | None = Field(default=None, description="between label and text")
    between_lines: str | None = Field(default=None, description="between the lines of a shot")
    between_shots: str | None = Field(
        default=None, min_length=1, description="ends an answer, too; it needs a line break"
    )
    stop: str | None = Field(
        default=None,
        min_length=1,
        description="ends an answer, in place of what stands between shots",
    )
    label_begins_answer: bool | None = Field(
        default=None,
        description="through a chat template, the last label begins the answer and does not end "
        "the question",
    )

    @field_validator("between_shots")
    @classmethod
    def _never_in_a_text(cls, text: str | None) -> str | None:
        if text is not None and "\n" not in text:
            raise ValueError("each text is one line, so only a line break never occurs in them")
        return text

    def given(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


@dataclass(frozen=True)
class Layout:
    """How a prompt is written: an instruction, then lines for each shot, then those of the query.

    ``<<question>>`` is a word of the language that is answered in (:mod:`revocab.languages`).
    """

    #: What stands before each text of a shot; the last text is the answer.
    labels: tuple[str, ...]
    #: Stands before all; empty: nothing does.
    instruction: str = ""
    #: Whether the instruction stands before every shot and the query, too.
    repeated: bool = False
    after_label: str = ":"
    before_text: str = " "
    between_lines: str = "\n"
    #: Whitespace in a text is collapsed, so that this ends an answer and is never part of one.
    between_shots: str = "\n\n"
    #: Ends an answer in plain text; empty: what stands between shots does.
    stop: str = ""
    #: Whether the label of the answer begins it, where prompts are conversations.
    label_begins_answer: bool = False

    @property
    def end(self) -> str:
        return self.stop or self.between_shots

    @property
    def answer_label(self) -> str:
        return f"{self.labels[-1]}{self.after_label}"

    @property
    def _head(self) -> str:
        return f"{self.instruction}{self.between_lines}" if self.instruction else ""

    def in_words(
        self,
        languages: Languages,
        aliases: Mapping[str, str],
        changes: Mapping[str, Any],
    ) -> Layout:
        """Return the layout, with the fields of ``changes``, in words of the language that is
        answered in, or that ``changes`` name.

        Raises :class:`RevocabError` naming the words that the language lacks, and those that have
        them, and for labels that are more or fewer than the layout's own.
        """
        others = dict(changes)
        language = others.pop("language", languages[-1])
        labels = tuple(others.pop("labels", self.labels))
        if len(labels) != len(self.labels):
            wanted = ", ".join(map(repr, self.labels))
            raise RevocabError(
                f"layout.labels: {len(labels)} given, {len(self.labels)} needed, instead"
                f" of {wanted}"
            )
        changed = replace(self, **others)
        instruction, *worded = fill((changed.instruction, *labels), language, aliases)
        return replace(changed, instruction=instruction, labels=tuple(worded))

    def prompt(self, shots: Sequence[Sequence[str]], query: Sequence[str]) -> str:
        """Return the prompt of texts in the order of the labels; the query's answer is left out."""
        blocks = [self._block(texts, answered=True) for texts in shots]
        blocks.append(self._block(query, answered=False))
        if self.repeated:
            return self.between_shots.join(f"{self._head}{block}" for block in blocks)
        return self._head + self.between_shots.join(blocks)

    def messages(
        self, shots: Sequence[Sequence[str]], query: Sequence[str], *, turns: bool
    ) -> list[Message]:
        """Return the same as messages; with ``turns`` each shot is a question and its answer."""
        if not turns:
            return self._asked(self.prompt(shots, query))
        messages: list[Message] = []
        for number, texts in enumerate([*shots, query]):
            before = self._head if self.repeated or number == 0 else ""
            messages += self._asked(f"{before}{self._block(texts, answered=False)}")
            if number < len(shots) and self.label_begins_answer:
                messages[-1]["content"] += f"{self.before_text}{texts[-1]}"
            elif number < len(shots):
                messages.append({"role": ASSISTANT, "content": texts[-1]})
        return messages

    def _asked(self, question: str) -> list[Message]:
        if not self.label_begins_answer:
            return [{"role": "user", "content": question}]
        before = question.removesuffix(f"{self.between_lines}{self.answer_label}")
        label = {"role": ASSISTANT, "content": self.answer_label}
        return [{"role": "user", "content": before}, label]

    def _block(self, texts: Sequence[str], *, answered: bool) -> str:
        lines = [
            f"{label}{self.after_label}{self.before_text}{text}"
            for label, text in zip(self.labels, texts, strict=True)
        ]
        if not answered:  # it ends with the label, and the space is the answer's
            lines[-1] = self.answer_label
        return self.between_lines.join(lines)
