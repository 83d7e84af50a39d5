"""Tensors with a row per token, and rows after those of the last token.

**Tensors** beside embedding and LM head (tables per layer, the embedding of a prediction head) get
the new vocabulary's rows, too; what has a column per token, or a size of the vocabulary for another
reason, is refused. ASSUME: a tensor is told by its shape. A dimension that equals the number of
source tokens, a ``vocab_size`` or the stored rows of embedding or head is evidence of a table,
unless the number is also one of the configuration's other sizes (widths, heads, ranks and what is
usually made of them), as in toys whose vocabulary is as large as a layer is wide.

**Padding.** GPUs multiply matrices faster whose sizes are multiples of 64, so rows can be added
(``pad_to``); ``config.json`` then says under :data:`TOKEN_ROWS` how many rows are tokens. Training
leaves the others out of the softmax, evaluation cuts them off, ``generation_config.json``
suppresses them. For programs that do none of this, each is the mean of the tokens' rows: its logit
is the mean of all logits, so never the largest, and its probability at most one by the number of
tokens (the mean of exponentials is at least the exponential of the mean). Suffixes: V rows of
tokens, D width.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from revocab.errors import refuse
from revocab.heavy_types import Tensor
from revocab.io import write_json
from revocab.models.findings import Finding
from revocab.models.folder import (
    ModelFolder,
    copy_documents,
    copy_tokenizer,
    with_tensors,
    write_weights,
)
from revocab.models.weights import first_of

#: Beside ``vocab_size`` in ``config.json``: the rows of tokens, where there are others.
TOKEN_ROWS = "unpadded_vocab_size"
#: How the names of tables with rows of every layer end, and the setting that says their rows.
PER_LAYER = "embed_tokens_per_layer.weight"
PER_LAYER_ROWS = "vocab_size_per_layer_input"
#: How many kinds of segments BERT and its kin have rows for.
SEGMENTS = "type_vocab_size"
#: What BART and its kin add to the logits, a single row with a value per token.
LOGITS_BIAS = "final_logits_bias"
#: Keys of a configuration that name a size of layers; vocabularies and lengths of texts are not.
_SIZE = re.compile(r"size|dim|width|head|hidden|inner|ffn|ff$|embd|d_model|d_kv|rank|expert|state")
_NO_SIZE = re.compile(r"vocab|token|window|position|length")
_POSITIONS = re.compile(r"position|n_ctx|length")
#: Tensors with a row per position, and masks over positions.
_OF_POSITIONS = re.compile(r"(^|[._])(wpe|pos\w*|inv_freq|rotary\w*|\w*mask\w*|attn\.bias)([._]|$)")


def is_per_layer(name: str) -> bool:
    return f".{name}".endswith(f".{PER_LAYER}")


def _parts(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield config
    for value in config.values():
        if isinstance(value, dict):
            yield from _parts(value)


def _integers(config: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield every whole number of a configuration with its key, nested parts and lists included."""
    for part in _parts(config):
        for key, value in part.items():
            for number in value if isinstance(value, list) else [value]:
                if isinstance(number, int) and not isinstance(number, bool):
                    yield key, number


def _derived_sizes(config: dict[str, Any]) -> Iterator[int]:
    """Yield sizes that follow from others: all heads, fused projections, unnamed inner widths."""

    def first(*keys: str) -> int:
        return next((config[key] for key in keys if isinstance(config.get(key), int)), 0)

    width = first("hidden_size", "n_embd", "d_model")
    heads = first("num_attention_heads", "n_head", "num_heads")
    kv_heads = first("num_key_value_heads") or heads
    head = first("head_dim") or width // max(heads, 1)
    inner = first("intermediate_size", "n_inner", "ffn_dim", "d_ff")
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
            if "vocab_size" in key and key != SEGMENTS and isinstance(value, int):
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
        of_positions = positions if _OF_POSITIONS.search(name) else set()
        matching = [n for n in shape if n in sizes and n not in of_positions]
        sure = next((n for n in matching if n not in others), None)
        if matching and name not in known:
            yield name, shape, matching[0] if sure is None else sure, sure is None


def token_tables(model: ModelFolder, tokens: int) -> dict[str, int]:
    """Return all tensors with a row per token, and their rows: those that can be cut.

    Embedding and head, its copies and bias, and tables per layer (Gemma 3n) are known by name; any
    other is told by its first dimension. Raises :class:`RevocabError` naming the tensors of which
    that is not certain, with a column per token, or too few rows.
    """
    names = model.vocabulary_names
    head = names.get("output", "lm_head.weight")
    known = {*names.values(), *model.tied_copies, f"{head.removesuffix('weight')}bias"}
    known |= {name for name in model.tensors if is_per_layer(name)}
    tables = {name: model.tensors[name][1][0] for name in sorted(known & model.tensors.keys())}
    for name, (_, shape) in model.tensors.items():
        if name.endswith(LOGITS_BIAS) and len(shape) == 2 and shape[0] == 1:
            known.add(name)
            tables[name] = shape[1]
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
    refuse(first_of(problems))
    return tables


def further_tables(model: ModelFolder, tokens: int) -> dict[str, int]:
    """Return the tensors beside embedding and head that have a row per token, and their rows.

    ``tokens`` is the size of the source tokenizer. Tables per layer are known by their name, and
    may have fewer rows than the embedding; any other has as many. Raises :class:`RevocabError`
    naming, with their shapes, all tensors with a column per token, or whose rows are a
    vocabulary's and not the embedding's.
    """
    names = [*model.vocabulary_tensors.values(), *model.tied_copies]
    rows, sizes = model.tensors[names[0]][1][0], _vocabulary_sizes(model, tokens)
    tables = {name: shape[0] for name, (_, shape) in model.tensors.items() if is_per_layer(name)}
    problems = []
    for name, shape, match, doubtful in _matches(model, sizes, {*names, *tables}):
        if not doubtful and shape[0] == rows and shape.count(match) == 1:
            tables[name] = rows
        elif not doubtful:
            what = "rows" if shape[0] == match else "columns"
            problems.append(
                f"{model.path}: {name} {shape} has as many {what} as a vocabulary ({match}:"
                f" {sizes[match]}); only tensors with a row for each of the embedding's {rows} get"
                " new rows: remove the tensor where the model runs without it (a prediction or"
                " classification head), choose another source model, or keep the vocabulary"
                " (method lapt)"
            )
    refuse(first_of(problems))
    return dict(sorted(tables.items()))


def padded_rows(tokens: int, multiple: int | None) -> int:
    return tokens if multiple is None else -(-tokens // multiple) * multiple


def token_rows(config: Any) -> int | None:
    """Return how many rows are tokens, from a configuration of transformers; none: all are."""
    return getattr(config.get_text_config(), TOKEN_ROWS, None) or getattr(config, TOKEN_ROWS, None)


def filled(matrix_VD: Tensor, tokens: int, rows: int | None = None) -> Tensor:
    """Return a matrix whose rows after the first ``tokens``, up to ``rows``, are their mean.

    ``rows``: as many as it has. Of the same dtype, on the same device; a copy, unless no row is
    added or replaced.
    """
    import torch

    rows = len(matrix_VD) if rows is None else rows
    own_VD = matrix_VD[:tokens]
    if rows == tokens:
        return own_VD
    mean_D = own_VD.mean(0, dtype=torch.float64).to(own_VD.dtype)
    return torch.cat([own_VD, mean_D.expand(rows - tokens, -1)])


def padded_matrices(model: Any) -> dict[str, int]:
    """Return a model's parameters that have rows of padding, and how many rows before them."""
    if (tokens := token_rows(model.config)) is None:
        return {}
    modules = (model.get_input_embeddings(), model.get_output_embeddings())
    own = {id(module.weight) for module in modules if module is not None}
    return {name: tokens for name, weight in model.named_parameters() if id(weight) in own}


def filled_anew(state: Mapping[str, Tensor], matrices: Mapping[str, int]) -> dict[str, Tensor]:
    """Return weights, :func:`filled` those of :func:`padded_matrices`; tied ones stay so."""
    new = {state[name].data_ptr(): filled(state[name], rows) for name, rows in matrices.items()}
    return {name: new.get(tensor.data_ptr(), tensor) for name, tensor in state.items()}


def padding_findings(folder: ModelFolder) -> Iterator[Finding]:
    """Yield what contradicts a folder's number of token rows, if it has one."""
    settings = folder.text_config
    tokens = settings.get(TOKEN_ROWS)
    if tokens is None:
        return
    setting, rows = f"config.json: {TOKEN_ROWS}: {tokens!r}", settings.get("vocab_size")
    effect = "tokens would be cut off, or rows of padding written"
    if not isinstance(tokens, int) or not isinstance(rows, int) or not 0 < tokens <= rows:
        mend = f"it is a number from 1 to vocab_size, {rows!r}"
        yield Finding("padding", "error", setting, effect, mend)
    elif (folder.path / "tokenizer_config.json").is_file():
        from revocab.vocabulary.tokenizers.load import load_tokenizer

        size = len(load_tokenizer(folder.path))
        if size > tokens:
            what = f"{setting}, but the folder's tokenizer has {size} tokens"
            mend = f"set it to {size}, and take their ids out of suppress_tokens in"
            yield Finding("padding", "error", what, effect, f"{mend} generation_config.json")


@contextmanager
def without_padding(folder: Path) -> Iterator[Path]:
    """Yield a model folder without rows of padding, for other programs: itself, or another."""
    model = ModelFolder(folder)
    tokens = model.text_config.get(TOKEN_ROWS)
    if tokens is None:
        yield folder
        return

    def unpadded(config: dict[str, Any]) -> dict[str, Any]:
        changed = {key: value for key, value in config.items() if key != TOKEN_ROWS}
        if "vocab_size" in changed:
            changed["vocab_size"] = tokens
        if isinstance(nested := changed.get("text_config"), dict):
            changed["text_config"] = unpadded(nested)
        return changed

    with TemporaryDirectory(prefix="revocab-unpadded-") as temporary:
        out = Path(temporary)
        copy_documents(model, out, ("config.json",), ("tokenizer",))
        if (folder / "tokenizer_config.json").is_file():
            copy_tokenizer(folder, out)
        write_json(out / "config.json", unpadded(model.config))
        names = sorted({*model.vocabulary_tensors.values(), *model.tied_copies})
        changed = with_tensors(model, {n: model.read(n)[:tokens].contiguous() for n in names})
        write_weights(model, changed, out, link=lambda file, link: link.symlink_to(file.resolve()))
        yield out
