"""Chat templates: Jinja that makes one text of a conversation and marks the answers in it.

Marks are those of transformers: ``{% generation %}`` and ``{% endgeneration %}`` around what the
model is to write. Templates run by its own renderer, so that text and tokens are those of
``apply_chat_template``, in Jinja's immutable sandbox: a template that somebody else wrote cannot
reach Python or change what it is given. It may loop for as long as it likes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.errors import RevocabError, refuse
from revocab.extensions import files_in
from revocab.links import check_file
from revocab.training.chat.messages import ASSISTANT, Message, answers

#: Templates that come with the package; dropping a file there adds one.
FOLDER = Path(__file__).parent / "templates"
MARK = re.compile(r"\{%-?\s*generation\s*-?%\}")
MARKS = re.compile(r"\{%[-+]?\s*(end)?generation\s*[-+]?%\}")
#: Characters; the longest known chat templates have 30,000.
MAX_TEMPLATE = 100_000
#: Rendered once, to see what a template marks.
PROBE: tuple[Message, ...] = (
    {"role": "user", "content": "First question?"},
    {"role": ASSISTANT, "content": "First answer."},
    {"role": "user", "content": "Second question?"},
    {"role": ASSISTANT, "content": "Second answer."},
)


def chat_template_field() -> Any:
    return Field(
        default=None,
        description="of conversations: a Jinja file that marks answers, or the name of a template "
        "of the package, such as plain; none: the tokenizer's own",
    )


def find_template(named: str | Path) -> Path:
    """Return a template's file: the path that is given, or the package's template of that name.

    Raises :class:`RevocabError` for what is neither.
    """
    path = Path(named)
    if path.is_file():
        return path
    templates = files_in(FOLDER, ".jinja")
    if str(named) not in templates:
        raise RevocabError(
            f"chat_template: no file {str(named)!r}, and no template of this name (known: "
            f"{', '.join(templates)}); give a Jinja file, or one of these"
        )
    return templates[str(named)]


def read_template(named: str | Path) -> str:
    """Return the text of a template by file or name; raise :class:`RevocabError` for what is none,
    with file and line.
    """
    from jinja2 import Environment, TemplateSyntaxError

    path = find_template(named)
    check_file(path)
    try:
        text = path.read_text(encoding="utf-8")
        # The marks are transformers' own, and change nothing of the rest.
        Environment(extensions=["jinja2.ext.loopcontrols"]).parse(MARKS.sub("", text))
    except UnicodeDecodeError as error:
        raise RevocabError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except TemplateSyntaxError as error:
        raise RevocabError(
            f"{path}, line {error.lineno}: not a chat template ({error.message}); correct it"
        ) from None
    return text


@dataclass(frozen=True)
class Rendered:
    """A conversation as text, and where its answers lie: (begin, end) in characters."""

    text: str
    answers: list[tuple[int, int]]


@dataclass(frozen=True)
class ChatTemplate:
    """A template's text with the tokenizer's special tokens, which it may name."""

    text: str
    place: str
    #: ``bos_token`` and the like, by name.
    tokens: Mapping[str, Any] = field(default_factory=dict)

    def rendered(self, messages: Sequence[Message], where: str) -> Rendered:
        """Return the text of a conversation and its answers.

        Raises :class:`RevocabError`, naming ``where``, for what the template refuses: its own
        complaints, mistakes in it, and what the sandbox does not allow.
        """
        from transformers.utils.chat_template_utils import render_jinja_template

        rendered: Any  # declared as text; with a mask it is texts, and spans beside them
        try:
            check_length(self.text)
            rendered = render_jinja_template(
                [list(messages)],
                chat_template=self.text,
                return_assistant_tokens_mask=True,
                **self.tokens,
            )
        # A template may fail in any way that Python code can.
        except Exception as error:
            raise RevocabError(
                f"{self.place}: {where}: {explain(error)}; correct the template, or leave such"
                " conversations out"
            ) from None
        (text,), (spans,) = rendered
        return Rendered(text, [(begin, end) for begin, end in spans if end > begin])


def check_length(template: str) -> None:
    """Raise :class:`jinja2.exceptions.SecurityError` for a template that is too long."""
    if len(template) > MAX_TEMPLATE:
        from jinja2.exceptions import SecurityError

        raise SecurityError(f"it has {len(template):,} characters; allowed are {MAX_TEMPLATE:,}")


def explain(error: Exception) -> str:
    """Return in words why a template was not rendered."""
    from jinja2.exceptions import SecurityError, TemplateSyntaxError

    if isinstance(error, SecurityError):
        return f"template refused: {error}"
    line = f", line {error.lineno}" if isinstance(error, TemplateSyntaxError) else ""
    return f"template cannot be rendered ({type(error).__name__}{line}: {error})"


def own_template(tokenizer: Any) -> str:
    """Return the text of a tokenizer's chat template, of several the usual one; empty: none."""
    own = tokenizer.chat_template
    return (own.get("default") if isinstance(own, dict) else own) or ""


def load_template(tokenizer: Any, folder: Path, named: str | Path | None = None) -> ChatTemplate:
    """Return the template in a file or of the package or, where none is named, the tokenizer's own.

    ``folder`` is the tokenizer's. Raises :class:`RevocabError` if there is none, and for each thing
    that is wrong with it, see :func:`template_problems`.
    """
    if named is not None:
        path = find_template(named)
        text, place = read_template(path), str(path)
    else:
        text = own_template(tokenizer)
        place = f"{folder}, chat template"
        if not text:
            raise RevocabError(f"{folder}: this tokenizer has no chat template; {advice()}")
    template = ChatTemplate(text, place, tokenizer.special_tokens_map)
    refuse(template_problems(template, special_texts(tokenizer)))
    return template


def advice() -> str:
    return (
        "give a file that marks answers with {% generation %} … {% endgeneration %}, or the name of"
        f" a template of the package (chat_template: NAME; {', '.join(files_in(FOLDER, '.jinja'))})"
    )


def template_problems(template: ChatTemplate, special: Sequence[str]) -> Iterator[str]:
    """Yield what keeps a template from being learned from.

    No marks; another text every day; answers that are not marked; answers whose end is not: a model
    would never learn to stop. ``special`` are the texts of the tokenizer's special tokens.
    """
    if "strftime_now" in template.text:
        yield (
            f"{template.place}: writes today's date (strftime_now), so that the same text would"
            " give different tokens tomorrow; write a date into a copy of it, and give that"
        )
    if not MARK.search(template.text):
        yield f"{template.place}: marks no answer; {advice()}"
        return
    try:
        rendered = template.rendered(PROBE, "a conversation of two questions and answers")
    except RevocabError as error:
        yield from error.problems
        return
    marked = [rendered.text[begin:end] for begin, end in rendered.answers]
    for answer in answers(PROBE):
        ends = [part.partition(answer)[2] for part in marked if answer in part]
        if not ends:
            yield f"{template.place}: marks no answer ({answer!r} is outside the marks); {advice()}"
        elif not any(token in ends[0] for token in special):
            yield (
                f"{template.place}: no special token ends a marked answer (after {answer!r} comes"
                f" {ends[0]!r}), so that no model would learn to stop; put the end token before"
                " {% endgeneration %}"
            )


def end_of_answers(template: ChatTemplate, tokenizer: Any) -> str:
    """Return the special token that ends the answers of a template from :func:`load_template`."""
    rendered = template.rendered(PROBE, "a conversation of two questions and answers")
    begin, end = rendered.answers[-1]
    after = rendered.text[begin:end].rpartition(PROBE[-1]["content"])[2]
    named = [token for token in special_texts(tokenizer) if token in after]
    return min(named, key=lambda token: (after.index(token), -len(token)))


def special_texts(tokenizer: Any) -> list[str]:
    """Return the texts of a tokenizer's special tokens, declared by name or added as such."""
    added = tokenizer.backend_tokenizer.get_added_tokens_decoder().values()
    named = set(tokenizer.all_special_tokens)
    return sorted(named | {token.content for token in added if token.special})
