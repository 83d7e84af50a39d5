"""Tensors with a row per token beside embedding and LM head: tables per layer (Gemma 3n), the
embedding of a prediction head.

They get the new vocabulary's rows, too; left as they are, row 17 would still be that of the old
token 17. What has a column per token, or a size of the vocabulary for another reason, is refused.

ASSUME: a tensor is told by its shape. A dimension that equals the number of source tokens, a
``vocab_size`` of the configuration or the stored rows of embedding or head is evidence of a table,
unless the same number is also one of the configuration's other sizes (widths, heads, ranks and what
is usually made of them), as in toys whose vocabulary is as large as a layer is wide.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from revocab.errors import RevocabError
from revocab.models.folder import ModelFolder
from revocab.models.weights.index import first_of

#: Keys of a configuration that name a size of layers; vocabularies and lengths of texts are not.
_SIZE = re.compile(r"size|dim|width|head|hidden|inner|ffn|ff$|embd|d_model|d_kv|rank|expert|state")
_NO_SIZE = re.compile(r"vocab|token|window|position|length")
_POSITIONS = re.compile(r"position|n_ctx|length")
#: Tensors with a row per position, and masks over positions.
_OF_POSITIONS = re.compile(r"(^|[._])(wpe|pos\w*|inv_freq|rotary\w*|\w*mask\w*|attn\.bias)([._]|$)")
#: How the names of tables with rows of every layer end, and the setting that says their rows.
PER_LAYER = "embed_tokens_per_layer.weight"
PER_LAYER_ROWS = "vocab_size_per_layer_input"
_INNER = ("intermediate_size", "n_inner", "ffn_dim", "d_ff")


def _integers(config: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield every whole number of a configuration with its key, nested parts and lists included."""
    for key, value in config.items():
        if isinstance(value, dict):
            yield from _integers(value)
            continue
        for number in value if isinstance(value, list) else [value]:
            if isinstance(number, int) and not isinstance(number, bool):
                yield key, number


def _parts(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield config
    for value in config.values():
        if isinstance(value, dict):
            yield from _parts(value)


def _first(config: dict[str, Any], *keys: str) -> int:
    return next((config[key] for key in keys if isinstance(config.get(key), int)), 0)


def _derived_sizes(config: dict[str, Any]) -> Iterator[int]:
    """Yield sizes that follow from others: all heads, fused projections, unnamed inner widths."""
    width = _first(config, "hidden_size", "n_embd", "d_model")
    heads = _first(config, "num_attention_heads", "n_head", "num_heads")
    kv_heads = _first(config, "num_key_value_heads") or heads
    head = _first(config, "head_dim") or width // max(heads, 1)
    inner = _first(config, *_INNER)
    yield from (heads * head, kv_heads * head, 2 * kv_heads * head, (heads + 2 * kv_heads) * head)
    yield 2 * inner if inner else 4 * width


def other_sizes(config: dict[str, Any]) -> set[int]:
    named = {n for key, n in _integers(config) if _SIZE.search(key) and not _NO_SIZE.search(key)}
    return named.union(*map(_derived_sizes, _parts(config)))


def _vocabulary_sizes(model: ModelFolder, tokens: int) -> dict[int, str]:
    """Return the numbers of rows that speak of a vocabulary, and where they stand."""
    sizes = {tokens: "the tokens of the source tokenizer"}
    for config in (model.config, model.text_config):
        for key, value in config.items():
            if "vocab_size" in key and isinstance(value, int):
                sizes.setdefault(value, f"{key} of config.json")
    for name in model.vocabulary_names.values():
        sizes.setdefault(model.tensors[name][1][0], f"the rows of {name}")
    return sizes


def _matches(
    model: ModelFolder, sizes: Collection[int], known: Collection[str]
) -> Iterator[tuple[str, list[int], int, bool]]:
    """Yield tensors of a vocabulary's size: name, shape, that size, whether it is another too."""
    others = other_sizes(model.config)
    positions = {n for key, n in _integers(model.config) if _POSITIONS.search(key)}
    for name, (_, shape) in model.tensors.items():
        if name in known:
            continue
        of_positions = positions if _OF_POSITIONS.search(name) else set()
        matching = [n for n in shape if n in sizes and n not in of_positions]
        sure = next((n for n in matching if n not in others), None)
        if matching:
            yield name, shape, matching[0] if sure is None else sure, sure is None


def token_tables(model: ModelFolder, tokens: int) -> dict[str, int]:
    """Return all tensors with a row per token, and their rows: those that can be cut.

    Known by name are embedding and head, its copies and bias, and tables per layer (Gemma 3n);
    any other is one whose first dimension is the vocabulary's. Raises :class:`RevocabError` naming
    the tensors of which that is not certain, with a column per token, or too few rows.
    """
    names = model.vocabulary_names
    head = names.get("output", "lm_head.weight")
    known = {*names.values(), *model.tied_copies, f"{head.removesuffix('weight')}bias"}
    known |= {name for name in model.tensors if is_per_layer(name)}
    tables = {name: model.tensors[name][1][0] for name in sorted(known & model.tensors.keys())}
    sizes, problems = _vocabulary_sizes(model, tokens), []
    for name, shape, match, doubtful in _matches(model, sizes, known):
        if shape[0] == match and shape.count(match) == 1 and not doubtful:
            tables[name] = match
        elif not doubtful or shape[0] == match:
            problems.append(
                f"{model.path}: {name} {shape} has a size of the vocabulary ({match}:"
                f" {sizes[match]}), but it is not certain that its rows are tokens; a model with"
                " such a tensor is not trimmed"
            )
    problems += [
        f"{model.path}: {name} has {model.tensors[name][1][0]:,} rows for a tokenizer of"
        f" {tokens:,} tokens; model and tokenizer do not belong together"
        for name in names.values()
        if model.tensors[name][1][0] < tokens
    ]
    if problems:
        raise RevocabError(first_of(problems))
    return tables


def is_per_layer(name: str) -> bool:
    return f".{name}".endswith(f".{PER_LAYER}")


def further_tables(model: ModelFolder, tokens: int) -> dict[str, int]:
    """Return the tensors beside embedding and head that have a row per token, and their rows.

    ``tokens`` is the size of the source tokenizer. Tables per layer are known by their name, and
    may have fewer rows than the embedding; any other has as many, and no doubt about it. Raises
    :class:`RevocabError` naming, with their shapes, all tensors with a column per token, or whose
    rows are a vocabulary's and not the embedding's.
    """
    names = [*model.vocabulary_tensors.values(), *model.tied_copies]
    rows, sizes = model.tensors[names[0]][1][0], _vocabulary_sizes(model, tokens)
    tables = {name: shape[0] for name, (_, shape) in model.tensors.items() if is_per_layer(name)}
    problems = []
    for name, shape, match, doubtful in _matches(model, sizes, {*names, *tables}):
        if doubtful:
            continue
        if shape[0] == rows and shape.count(match) == 1:
            tables[name] = rows
            continue
        what = "rows" if shape[0] == match else "columns"
        problems.append(
            f"{model.path}: {name} {shape} has as many {what} as a vocabulary ({match}:"
            f" {sizes[match]}); only tensors with a row for each of the embedding's {rows} get new"
            " rows: remove the tensor where the model runs without it (a prediction or"
            " classification head), choose another source model, or keep the vocabulary"
            " (method lapt)"
        )
    if problems:
        raise RevocabError(first_of(problems))
    return dict(sorted(tables.items()))
