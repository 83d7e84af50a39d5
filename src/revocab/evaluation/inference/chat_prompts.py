"""Evaluation prompts through a model's chat template: messages, up to where the answer begins.

The template's text is read without special tokens of the tokenizer's own: what it writes is all
there is, bos included, so that token ids are those of ``apply_chat_template``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from revocab.closed import Closed
from revocab.errors import RevocabError
from revocab.training.chat.messages import ASSISTANT, Message
from revocab.training.chat.template import check_length, explain, own_template, read_template

#: Examples as questions and answers of their own.
TURNS: Literal["turns"] = "turns"


class ChatOptions(Closed):
    """How evaluation asks a model through its chat template."""

    shots: Literal["turns", "one_turn"] = Field(
        default=TURNS,
        description="each example a question and an answer of its own, or all in the question",
    )


def chat_template_input() -> Any:
    return Field(
        default=None,
        description="by which chat asks: a Jinja file, or the name of a template of the package; "
        "none: each model's own",
    )


def template_text(named: Path | None, chat: ChatOptions | None) -> str | None:
    """Return the text of a template for all models; None: each has its own. Raises
    :class:`RevocabError` for one that is not there, and for one without ``chat``.
    """
    if named is None:
        return None
    if chat is None:
        raise RevocabError(
            f"--chat-template {named}: models are asked as plain text; give --chat.shots, too"
        )
    return read_template(named)


def set_template(tokenizer: Any, folder: Path, text: str | None) -> None:
    """Give the tokenizer in ``folder`` the template ``text``; None: it keeps its own. Raises
    :class:`RevocabError` if it has none then.
    """
    if text is not None:
        tokenizer.chat_template = text
    if not tokenizer.chat_template:
        raise RevocabError(
            f"{folder}: its tokenizer has no chat template, which chat needs; give one "
            "(chat: {template: …}, --chat-template), or leave chat out of the run group"
        )


class ChatFormat:
    """A tokenizer's chat template: text and token ids of messages, and what ends an answer."""

    def __init__(
        self, tokenizer: Any, folder: Path, options: ChatOptions, template: str | None = None
    ):
        set_template(tokenizer, folder, template)
        self.tokenizer = tokenizer
        self.folder = folder
        self.turns = options.shots == TURNS
        self.special = {
            number for number, token in tokenizer.added_tokens_decoder.items() if token.special
        }
        #: The special token that the template ends an answer with, or none. Models name it in
        #: ``generation_config.json`` or not: many list eos alone.
        answer = "0"
        question = {"role": "user", "content": answer}
        text = self.text([question, {"role": ASSISTANT, "content": answer}], answered=True)
        after = self.encode(text.rpartition(answer)[2])
        self.ends = [token for token in after if token in self.special][:1]

    def text(self, messages: Sequence[Message], *, answered: bool = False) -> str:
        """Return the text of messages, up to where an answer begins unless the last is one.

        If the last message is an answer's and not ``answered``, the answer goes on after it.
        Raises :class:`RevocabError` for messages that the template refuses.
        """
        from jinja2.exceptions import SecurityError, TemplateError, TemplateSyntaxError

        begun = not answered and messages[-1]["role"] == ASSISTANT
        try:
            check_length(own_template(self.tokenizer))
            return self.tokenizer.apply_chat_template(
                list(messages),
                tokenize=False,
                add_generation_prompt=not (answered or begun),
                continue_final_message=begun,
            )
        except (SecurityError, TemplateSyntaxError, OverflowError) as error:
            raise RevocabError(f"{self.folder}, chat template: {explain(error)}") from None
        except TemplateError as error:
            roles = ", ".join(message["role"] for message in messages)
            raise RevocabError(
                f"{self.folder}: its chat template rejects messages of {roles} ({error}); ask "
                "with shots: one_turn, which has no turns of examples, or with fewer shots"
            ) from error
        except ValueError as error:  # of an answer that is to go on
            raise RevocabError(
                f"{self.folder}: its chat template does not write an answer that is begun "
                f"({error}); leave layout.label_begins_answer out, or give another template"
            ) from error

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text that the template made, as they stand there."""
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def special_tokens(self, ids: Sequence[int]) -> dict[str, Any]:
        """Return whether the template's end token ends generated ids, and how many other special
        tokens they have.
        """
        ends = bool(ids) and ids[-1] in self.ends
        others = sum(token in self.special for token in ids) - ends
        return {"template_end": ends, "other_special_tokens": others}
