"""Texts on which tokenizers show that they differ: ``golden_texts.yaml``, added tokens, chat turns.

The same for every tokenizer, but for its own added tokens and chat template.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from revocab import yaml_file
from revocab.heavy_types import PreTrainedTokenizerFast

#: Added tokens that get a string of their own: so many from the first, and from the last.
_ADDED = 8
_TURNS = [
    {"role": "user", "content": "Perché 2 + 2 = 4?\nSpiega."},
    {"role": "assistant", "content": "Because it is **four**. 🙂"},
    {"role": "user", "content": "Спасибо!"},
]


def golden_texts(tokenizer: PreTrainedTokenizerFast) -> Iterator[tuple[str, bool]]:
    """Yield all strings, and whether the tokenizer adds its own tokens to them."""
    for text in (*fixed_texts(), *added_texts(tokenizer)):
        yield text, True
    for text in chat_texts(tokenizer):
        yield text, False


@cache
def fixed_texts() -> tuple[str, ...]:
    content, _ = yaml_file.read(Path(__file__).with_name("golden_texts.yaml"))
    return (*content["sentences"].values(), *content["others"])


def added_texts(tokenizer: PreTrainedTokenizerFast) -> Iterator[str]:
    """Yield a string for each token that is found in text before it is cut: special ones, tags."""
    added = tokenizer.backend_tokenizer.get_added_tokens_decoder()
    tokens = [added[number].content for number in sorted(added)]
    shown = tokens if len(tokens) <= 2 * _ADDED else tokens[:_ADDED] + tokens[-_ADDED:]
    yield from (f"a {token} b{token}c\n{token}" for token in shown)
    if shown:
        yield "".join(shown)


def chat_texts(tokenizer: PreTrainedTokenizerFast) -> Iterator[str]:
    """Yield rendered conversations; none where the template fails, or writes today's date."""
    template = str(tokenizer.chat_template or "")
    if not template or "strftime_now" in template:
        return
    for turns, asks in ((_TURNS[:1], True), (_TURNS[:2], False), (_TURNS, True)):
        try:
            yield str(
                tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=asks)
            )
        except Exception:  # a template may fail in any way that Python code can
            return
