"""The one place that loads models: no pickles, no code, every tensor there, every weight finite.

transformers fills what a checkpoint lacks at random and goes on; here that is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.errors import RevocabError
from revocab.models.folder import ModelFolder, read_settings
from revocab.models.vocabulary.padding import cut_off, padding_problems
from revocab.models.weights.files import equal_tensors
from revocab.models.weights.finite import file_problems
from revocab.models.weights.index import WEIGHTS

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

_SAFE = {"use_safetensors": True, "trust_remote_code": False, "local_files_only": True}
#: Tensors that a message names.
_SHOWN = 5


@contextmanager
def loading(folder: str | Path) -> Iterator[None]:
    """Turn a library's complaint about a model that it cannot load into a :class:`RevocabError`."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, ValueError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:300]
        raise RevocabError(f"{folder}: the model could not be loaded ({reason})") from error


def quiet_loading() -> None:
    """Keep transformers' progress bars off: models here load by the dozen."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def load_causal_lm(
    folder: str | Path,
    *,
    dtype: str | torch.dtype,
    device: str = "cpu",
    padding: bool = False,
    **options: Any,
) -> PreTrainedModel:
    """Return a folder's causal language model in ``dtype`` on ``device``, for evaluation.

    ``dtype``: a torch dtype, its name, or ``auto`` (as stored). Rows of padding
    (:mod:`revocab.models.vocabulary.padding`) are cut off, unless ``padding`` keeps them.
    ``options`` go through to transformers. Raises :class:`RevocabError` for what
    :func:`check_model` refuses.
    """
    from transformers import AutoModelForCausalLM

    check_model(folder)
    if device != "cpu":
        options = {"device_map": device, **options}  # straight there, not through main memory
    with loading(folder):
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder, output_loading_info=True, dtype=dtype, **_SAFE, **options
        )
    model, info = loaded
    # What a quantised checkpoint must hold is known only when it is loaded.
    if problems := list(_differences(folder, model, info)):
        raise RevocabError(problems)
    if not padding:
        cut_off(model)
    return model.to(device)


def check_model(folder: str | Path) -> None:
    """Raise :class:`RevocabError` unless a model folder has every weight, and all are finite.

    Names what is missing, what the architecture does not have, what has another shape, a stored
    copy of a tied matrix that is none, and tensors with NaN or infinity, all at once. What the
    architecture ignores (``rotary_emb.inv_freq``) and true copies of a tied head are allowed.
    Nothing is loaded: the files' headers are compared with the architecture, then their bytes are
    read once, in blocks.
    """
    model = ModelFolder(Path(folder))
    if (generation := model.path / "generation_config.json").is_file():
        read_settings(generation)  # transformers fails on what is no object, without naming it
    problems: list[str] = []
    if (model.path / WEIGHTS).is_file() and WEIGHTS not in model.files:
        problems.append(
            f"{folder}: both {WEIGHTS} and an index of other files, which may differ; remove one"
        )
    tied: dict[str, str] = {}
    if model.tensors and "quantization_config" not in model.config:
        loaded, info = _on_no_device(model)
        problems += _differences(folder, loaded, info)
        tied |= getattr(loaded, "all_tied_weights_keys", {})
    tied |= {copy: model.vocabulary_tensors["input"] for copy in model.tied_copies}
    problems += _false_copies(model, tied)
    problems += padding_problems(model)
    problems += _vocabulary_problems(model)
    problems += file_problems(model.path, model.files)
    if problems:
        raise RevocabError(problems)


def _on_no_device(folder: ModelFolder) -> tuple[PreTrainedModel, dict[str, Any]]:
    """Return a model and what transformers says of loading it.

    On the meta device, so that nothing but headers is read; without accelerate, which that needs
    (vLLM's environment may lack it), by loading the model.
    """
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging
    from transformers.utils.import_utils import is_accelerate_available

    device = {"device_map": "meta"} if is_accelerate_available() else {}
    quiet_loading()
    level = logging.get_verbosity()
    logging.set_verbosity_error()  # its own report of the same differences
    try:
        with loading(folder.path):
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                folder.path,
                output_loading_info=True,
                ignore_mismatched_sizes=True,
                **_SAFE,
                **device,
            )
    finally:
        logging.set_verbosity(level)
    return loaded


def _differences(folder: str | Path, model: PreTrainedModel, info: dict[str, Any]) -> Iterator[str]:
    """Yield what transformers' loading report names, in one line for each kind."""
    name = type(model).__name__
    if missing := sorted(info["missing_keys"]):
        yield (
            f"{folder}: tensors of {name} are missing: {some(missing)}; they would be"
            " initialised at random: fetch or save the model again"
        )
    copies = ModelFolder(Path(folder)).tied_copies  # under whatever name a head is known by
    if unexpected := sorted({*info["unexpected_keys"]} - {*copies}):
        yield (
            f"{folder}: tensors that {name} does not have: {some(unexpected)}; they would be"
            " ignored: correct config.json if it describes another model, or remove them"
        )
    if mismatched := sorted(info["mismatched_keys"]):
        shapes = [f"{key} {list(is_)} in place of {list(due)}" for key, is_, due in mismatched]
        yield (
            f"{folder}: tensors whose shapes differ from config.json: {some(shapes)}; they do"
            " not belong together: correct config.json, or fetch or save the model again"
        )


def _vocabulary_problems(folder: ModelFolder) -> Iterator[str]:
    """Yield a problem for a tokenizer with tokens that have no row: looking one up would fail."""
    file, rows = folder.path / "tokenizer.json", folder.text_config.get("vocab_size")
    if not file.is_file() or not isinstance(rows, int):
        return
    content = read_settings(file)
    try:
        vocabulary = content["model"]["vocab"]
        ids = range(len(vocabulary)) if isinstance(vocabulary, list) else vocabulary.values()
        added = [token["id"] for token in content.get("added_tokens") or ()]
        tokens = max((*ids, *added), default=-1) + 1
    except (AttributeError, KeyError, TypeError):
        return  # not a tokenizer's file: said where it is loaded
    if tokens > rows:
        yield (
            f"{folder.path}: its tokenizer has {tokens:,} tokens, and the model {rows:,} rows; they"
            " do not belong together: give both of one model"
        )


def _false_copies(folder: ModelFolder, tied: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each stored tensor that is ``tied`` to another one and differs from it.

    transformers would use it, vLLM would not, and a new vocabulary would replace it.
    """
    for copy, original in tied.items():
        if not {copy, original} <= folder.tensors.keys():
            continue
        places = [(folder.path / folder.tensors[name][0], name) for name in (copy, original)]
        if not equal_tensors(*places):
            yield (
                f"{folder.path}: {copy} is tied to {original}, but stored with other values; set"
                " tie_word_embeddings to false in config.json if the model has both, or remove it"
            )


def some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
