"""Rows after those of the last token, up to a multiple, and how none of them is ever written.

GPUs multiply matrices faster whose sizes are multiples of 64. Initialisation can therefore add rows
(``pad_to``); ``config.json`` then says under :data:`TOKEN_ROWS` how many rows are tokens. Training
leaves the others out of the softmax, evaluation cuts them off, and ``generation_config.json``
suppresses them. For programs that do none of this, each is the mean of the tokens' rows: its logit
is the mean of all logits, so never the largest, and its probability at most one by the number of
tokens (the mean of exponentials is at least the exponential of the mean).
Suffixes: V rows of tokens, P rows with padding, D width.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from revocab.heavy_types import PreTrainedModel, Tensor
from revocab.io import write_json
from revocab.models.finding import Finding
from revocab.models.folder import ModelFolder, copy_documents, copy_tokenizer
from revocab.models.write import with_tensors, write_weights

#: Beside ``vocab_size`` in ``config.json``: the rows of tokens, where there are others.
TOKEN_ROWS = "unpadded_vocab_size"


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
    tokens = token_rows(model.config)
    if tokens is None:
        return {}
    modules = (model.get_input_embeddings(), model.get_output_embeddings())
    own = {id(module.weight) for module in modules if module is not None}
    return {name: tokens for name, weight in model.named_parameters() if id(weight) in own}


def filled_anew(state: Mapping[str, Tensor], matrices: Mapping[str, int]) -> dict[str, Tensor]:
    """Return weights, :func:`filled` those of :func:`padded_matrices`; tied ones stay so."""
    new = {state[name].data_ptr(): filled(state[name], rows) for name, rows in matrices.items()}
    return {name: new.get(tensor.data_ptr(), tensor) for name, tensor in state.items()}


def cut_off(model: PreTrainedModel) -> None:
    """Remove the rows of padding from a loaded model: it is then that of the tokens alone."""
    if tokens := token_rows(model.config):
        model.resize_token_embeddings(tokens, mean_resizing=False)


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

        held = len(load_tokenizer(folder.path))
        if held > tokens:
            yield Finding(
                "padding", "error", f"{setting}, but the folder's tokenizer has {held} tokens",
                effect,
                f"set it to {held}, and take their ids out of suppress_tokens in"
                " generation_config.json",
            )  # fmt: skip


@contextmanager
def without_padding(folder: Path) -> Iterator[Path]:
    """Yield a model folder without rows of padding, for other programs: itself, or another."""
    model = ModelFolder(folder)
    tokens = model.text_config.get(TOKEN_ROWS)
    if tokens is None:
        yield folder
        return
    names = {*model.vocabulary_tensors.values(), *model.tied_copies}
    with TemporaryDirectory(prefix="revocab-unpadded-") as temporary:
        out = Path(temporary)
        copy_documents(model, out, ("config.json",), ("tokenizer",))
        if (folder / "tokenizer_config.json").is_file():
            copy_tokenizer(folder, out)
        write_json(out / "config.json", _unpadded(model.config, tokens))
        cut = {name: model.read(name)[:tokens].contiguous() for name in sorted(names)}
        changed = with_tensors(model, cut)
        write_weights(model, changed, out, link=lambda file, link: link.symlink_to(file.resolve()))
        yield out


def _unpadded(config: dict[str, Any], tokens: int) -> dict[str, Any]:
    changed = {key: value for key, value in config.items() if key != TOKEN_ROWS}
    if "vocab_size" in changed:
        changed["vocab_size"] = tokens
    if isinstance(nested := changed.get("text_config"), dict):
        changed["text_config"] = _unpadded(nested, tokens)
    return changed
