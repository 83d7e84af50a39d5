"""Tasks that nothing is generated for: the likeliest of given texts are taken as the answer.

A candidate stands where an answer would, after the label if that begins the answer. It is worth the
mean log-probability of the answer's first M tokens, where M is the number of tokens of the shortest
of the prompt's candidates, so that none is judged by its length. Ties: the earlier candidate first.
As in the code that LEP's authors released (docs/papers.md, 3.13).
"""

from __future__ import annotations

from collections.abc import Sequence

from revocab.errors import RevocabError
from revocab.evaluation.generation.kind import Row, find_kind
from revocab.evaluation.generation.prompts import asks_itself, begun, layout_of, messages, render
from revocab.evaluation.inference.decoding import Output, TextGenerator
from revocab.evaluation.options import Generating
from revocab.training.chat.messages import ASSISTANT

#: Token ids of a prompt with a candidate, and how many of them come before the answer.
Encoded = tuple[list[int], int]


def choose_candidates(
    engine: TextGenerator, rows: Sequence[Row], room: int, options: Generating
) -> list[Row]:
    """Return the output rows of a task: as many candidates as there are right answers, best first.

    ``likelihoods`` are the candidates' in their order, ``chosen`` the places of the output's. A
    prompt that is longer than ``room`` tokens with a candidate has none (``finish_reason``
    prompt_too_long, empty output).
    """
    return [chosen_row(engine, row, room, options.shots_of(len(row["shots"]))) for row in rows]


def chosen_row(engine: TextGenerator, row: Row, room: int, shots: int) -> Row:
    kind = find_kind(row["kind"])
    assert kind.candidates is not None
    texts = list(kind.candidates(row["query"]))
    encoded = [encode(engine, row, shots, text) for text in texts]
    longest = max(len(ids) for ids, _ in encoded)
    likelihoods = mean_log_probabilities(engine, encoded) if longest <= room else []
    chosen = best(likelihoods)[: len(row["references"])]
    text = "\n".join(texts[at] for at in chosen)
    output = Output(text, 0, "chosen" if likelihoods else "prompt_too_long")
    return {
        **output_row(row, asked(engine, row, shots)[0], longest, output, shots),
        "likelihoods": likelihoods,
        "chosen": chosen,
        **{name: row["query"][name] for name in kind.kept},
    }


def output_row(row: Row, prompt: str, prompt_tokens: int, output: Output, shots: int) -> Row:
    """Return what every kind stores of an output."""
    return {
        "id": row["id"],
        "prompt": prompt,
        "output": output.text,
        "references": row["references"],
        "prompt_tokens": prompt_tokens,
        "output_tokens": output.tokens,
        "finish_reason": output.finish_reason,
        "shots_used": shots,
    }


def best(values: Sequence[float]) -> list[int]:
    """Return the places of values, the greatest first; of equal ones the earlier first."""
    return sorted(range(len(values)), key=lambda at: (-values[at], at))


def mean_log_probabilities(engine: TextGenerator, encoded: Sequence[Encoded]) -> list[float]:
    """Return each answer's mean over as many tokens as the shortest answer has."""
    tokens = min(len(ids) - start for ids, start in encoded)
    by_context: dict[tuple[int, ...], list[int]] = {}
    for at, (ids, start) in enumerate(encoded):
        by_context.setdefault(tuple(ids[:start]), []).append(at)
    means = [0.0] * len(encoded)
    for context, places in by_context.items():
        answers = [tuple(encoded[at][0][len(context) : len(context) + tokens]) for at in places]
        # Answers that begin alike are equal to the last bit: padded otherwise they would not be.
        different = list(dict.fromkeys(answers))
        sums = engine.log_probabilities(list(context), list(map(list, different)))
        sum_of = dict(zip(different, sums, strict=True))
        for at, answer in zip(places, answers, strict=True):
            means[at] = sum_of[answer] / tokens
    return means


def encode(engine: TextGenerator, row: Row, shots: int, candidate: str) -> Encoded:
    """Return a prompt with a candidate, split before the token of the answer's first character."""
    text, answer = asked(engine, row, shots, candidate)
    first = len(text) - len(answer)
    if not text.endswith(answer):
        raise RevocabError(
            f"item {row['id']}: the chat template changes the end of an answer, {answer[-60:]!r}; "
            "leave chat out, or give another template"
        )
    read = engine.tokenizer(
        text, add_special_tokens=engine.chat is None, return_offsets_mapping=True
    )
    start = next(at for at, (_, end) in enumerate(read["offset_mapping"]) if end > first)
    return read["input_ids"], start


def asked(
    engine: TextGenerator, row: Row, shots: int, candidate: str | None = None
) -> tuple[str, str]:
    """Return a prompt as text with its answer so far: its label, and a candidate if one is given.

    The answer is the end of the text.
    """
    layout = layout_of(row)
    label = begun(row["query"]) if asks_itself(row) else layout.answer_label
    tail = "" if candidate is None else f"{layout.before_text}{candidate}"
    if engine.chat is None:
        return f"{render(row, shots)}{tail}", f"{label}{tail}".strip()
    conversation = messages(row, shots, turns=engine.chat.turns)
    if conversation[-1]["role"] == ASSISTANT:
        conversation, answer = conversation[:-1], f"{label}{tail}".strip()
    else:  # the label is the question's
        answer = candidate or ""
    conversation = (
        [*conversation, {"role": ASSISTANT, "content": answer}] if answer else conversation
    )
    return engine.chat.text(conversation), answer
