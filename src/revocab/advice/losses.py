"""What a new vocabulary would lose, as far as configuration and tokenizer tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from revocab.advice.published import about, published
from revocab.advice.recommendation import Option
from revocab.costs.devices import Shape
from revocab.errors import RevocabError
from revocab.export.architecture import by_model_type
from revocab.model_check.kind import kinds, look_at

#: Sides of a model folder that are looked at without weights.
SIDES = ("chat", "special_ids")


def losses(
    folder: Path, tokenizer: Any, config: Any, shape: Shape, option: Option
) -> Iterator[tuple[str, str]]:
    yield "chat", chat(tokenizer)
    yield "other languages", other_languages(shape, option)
    yield "adapters, drafts", adapters(option)
    yield "GGUF", gguf(folder, config)
    for finding in look_at(folder, [kinds()[side] for side in SIDES]):
        if finding.code != "unreadable":  # without weights some is
            yield f"already now: {finding.code}", f"{finding.what}; {finding.effect}"
    yield "quality", published().says["quality"].told()
    for figure in about(option.construction):
        yield "tokens to recover", figure.told()


def chat(tokenizer: Any) -> str:
    if not tokenizer.chat_template:
        return "no chat template: nothing to lose"
    return f"the template stays, but chat quality may not: {published().says['chat'].told()}"


def other_languages(shape: Shape, option: Option) -> str:
    more = (option.vocabulary - shape.vocabulary) * shape.hidden / (shape.body + shape.head)
    costs = f"computation per token changes by {more:+.1%}"
    if option.construction == "extend":
        return f"no old id changes, so their text has no more tokens; {costs}"
    return f"tokens that the new text does not use are dropped, so their text gets longer; {costs}"


def adapters(option: Option) -> str:
    fit = (
        "those that leave embeddings alone still load"
        if option.construction == "extend"
        else "none fits the new one"
    )
    return (
        f"LoRA adapters were trained with the old model, and {fit}; a draft model for speculative"
        " decoding also needs the new vocabulary"
    )


def gguf(folder: Path, config: Any) -> str:
    """Return whether a GGUF of it can be expected (:mod:`revocab.export`)."""
    from revocab.export.cutters import cutters_for
    from revocab.export.vocabulary import Vocabulary

    made = by_model_type().get(config.model_type)
    if made is None:
        return f"not exported: model_type {config.model_type}"
    try:
        problems = [*made.problems(config)]
        exact = not problems and cutters_for(Vocabulary.read(folder))[1]
    except RevocabError as error:
        problems = error.problems
    if problems:
        return f"not exported: {problems[0]}"
    if exact:
        return "llama.cpp has its splitter, and revocab export keeps every token"
    return "llama.cpp lacks its splitter, and revocab export may refuse"
