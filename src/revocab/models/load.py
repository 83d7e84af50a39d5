"""The one place that loads models: no pickles, no code, every tensor there, every weight finite.

transformers fills what a checkpoint lacks at random and goes on; here that is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from revocab.device import divided
from revocab.errors import RevocabError, refuse
from revocab.heavy_types import DType, PreTrainedModel
from revocab.models.findings import Finding, finite_findings, scan, some
from revocab.models.folder import ModelFolder, read_settings
from revocab.models.shape import (
    layer_map,
    load_config,
    load_shape,
    model_class,
    own_class,
    with_own_code,
)
from revocab.models.token_rows import padding_findings, token_rows
from revocab.models.weights import INDEX, WEIGHTS, equal_tensors
from revocab.vocabulary.tokenizers.file_ids import TokenizerFiles

ADAPTER = "adapter_config.json"
_SAFE = {"use_safetensors": True, "trust_remote_code": False, "local_files_only": True}
#: Quantisations for which transformers fetches kernels where the library ``kernels`` is installed.
FETCHING = ("eetq", "fbgemm_fp8", "fp8", "metal", "mxfp4", "mxfp8", "nvfp4")


@contextmanager
def loading(folder: str | Path, *also: type[Exception]) -> Iterator[None]:
    """Turn a library's complaint (or ``also`` others) into a :class:`RevocabError`."""
    from safetensors import SafetensorError

    complaints: tuple[type[Exception], ...] = (OSError, ValueError, SafetensorError, *also)
    try:
        yield
    except (RevocabError, ModuleNotFoundError):  # a library that is absent is no fault of the model
        raise
    except complaints as error:
        reason = " ".join(str(error).split())[:300]
        raise RevocabError(f"{folder}: the model could not be loaded ({reason})") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers' own remarks off: what matters of them is told otherwise."""
    from transformers.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)


def quiet_loading() -> None:
    """Keep transformers' progress bars off: models here load by the dozen."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def load_causal_lm(
    folder: str | Path,
    *,
    dtype: str | DType,
    device: str = "cpu",
    gpus: int = 1,
    padding: bool = False,
    **options: Any,
) -> PreTrainedModel:
    """Return a folder's causal language model in ``dtype`` on ``device``, for evaluation.

    ``gpus``: among how many of these its layers are divided, one group after the other; such a
    model is called as on one GPU. ``dtype``: a torch dtype, its name, or ``auto`` (as stored). Rows
    of padding (:mod:`revocab.models.token_rows`) are cut off, unless ``padding`` keeps them.
    ``options`` go through to transformers. Raises :class:`RevocabError` for what
    :func:`check_model` refuses, and for fewer GPUs.
    """
    check_model(folder)
    devices = divided(device, gpus)
    if len(devices) > 1:
        options = {"device_map": layer_map(load_shape(folder), devices), **options}
    elif device != "cpu":
        options = {"device_map": device, **options}  # straight there, not through main memory
    with loading(folder):
        config = with_own_code(options.pop("config", None) or load_config(folder))
        loaded: Any = model_class(config).from_pretrained(
            folder, config=config, output_loading_info=True, dtype=dtype, **_SAFE, **options
        )
    model, info = loaded
    # What a quantised checkpoint must hold is known only when it is loaded.
    refuse(f.line(folder) for f in _differences(ModelFolder(Path(folder)), model, info))
    if not padding and (tokens := token_rows(model.config)):
        model.resize_token_embeddings(tokens, mean_resizing=False)
    return model if len(devices) > 1 else model.to(device)


def check_model(folder: str | Path) -> None:
    """Raise :class:`RevocabError` unless a model folder has every weight, and all are finite.

    Names what is missing, what the architecture does not have, what has another shape, a stored
    copy of a tied matrix that is none, and tensors with NaN or infinity, all at once. What the
    architecture ignores (``rotary_emb.inv_freq``) and true copies of a tied head are allowed.
    Nothing is loaded: the files' headers are compared with the architecture, then their bytes are
    read once, in blocks.
    """
    model = ModelFolder(Path(folder))
    values = finite_findings(scan(model.path, model.files))
    findings = chain(*(check(model) for check in STRUCTURE), values)
    refuse(finding.line(folder) for finding in findings)


def _layout(model: ModelFolder) -> Iterator[Finding]:
    if (model.path / WEIGHTS).is_file() and WEIGHTS not in model.files:
        yield Finding(
            "two-layouts", "error", f"both {WEIGHTS} and an index of other files, which may differ",
            "programs read one or the other", "remove one",
        )  # fmt: skip
    other = model.config.get("transformers_weights")
    if other is not None and other != (WEIGHTS if model.index is None else INDEX):
        yield Finding(
            "two-layouts", "error", f"transformers_weights of config.json is {other!r}",
            "transformers loads that file, other programs the usual one", "remove the key",
        )  # fmt: skip


def _kernels(model: ModelFolder) -> Iterator[Finding]:
    from transformers.utils.import_utils import is_kernels_available

    for config in (model.config, model.text_config):
        quantised = config.get("quantization_config")
        method = quantised.get("quant_method") if isinstance(quantised, dict) else None
        if method in FETCHING and is_kernels_available():
            yield Finding(
                "fetched-kernels", "error",
                f"quantization_config of config.json has quant_method {method!r}",
                "transformers fetches code for it from the Hub and runs it",
                "use the unquantised model, or uninstall the Python library kernels",
            )  # fmt: skip
            return


def _architecture(model: ModelFolder) -> Iterator[Finding]:
    tied: dict[str, str] = {}
    if model.tensors and "quantization_config" not in model.config:
        loaded, info = _on_no_device(model)
        yield from _differences(model, loaded, info)
        tied |= getattr(loaded, "all_tied_weights_keys", {})
    tied |= {copy: model.vocabulary_names["input"] for copy in model.tied_copies}
    for copy, original in tied.items():
        if not {copy, original} <= model.tensors.keys():
            continue
        places = [(model.path / model.tensors[name][0], name) for name in (copy, original)]
        own_head = not model.tied and copy == model.vocabulary_names.get("output")  # mT5's
        # transformers would use it, vLLM would not, and a new vocabulary would replace it.
        if not own_head and not equal_tensors(*places):
            yield Finding(
                "false-tie", "error", f"{copy} is tied to {original}, but stored with other values",
                "transformers would use it, and vLLM would not",
                "set tie_word_embeddings to false in config.json if the model has both, or remove"
                " it",
            )  # fmt: skip


def _on_no_device(folder: ModelFolder) -> tuple[PreTrainedModel, dict[str, Any]]:
    """Return a model on the meta device, and what transformers says of loading it.

    Without accelerate, which that needs (vLLM's environment may lack it), the model is loaded.
    """
    from transformers.utils.import_utils import is_accelerate_available

    if (generation := folder.path / "generation_config.json").is_file():
        read_settings(generation)  # transformers fails on what is no object, without naming it
    if (adapter := folder.path / ADAPTER).is_file():
        base = read_settings(adapter).get("base_model_name_or_path")
        raise RevocabError(
            f"{folder.path}: {ADAPTER} beside a whole model: with peft installed, transformers"
            f" loads {base!r} and the adapter in its place; remove the adapter's files if it"
            " is merged, or keep it in a folder of its own"
        )
    device = {"device_map": "meta"} if is_accelerate_available() else {}
    quiet_loading()
    with quiet(), loading(folder.path, Exception):  # of any type, where settings are nonsense
        options = {"output_loading_info": True, "ignore_mismatched_sizes": True}
        config = load_config(folder.path)
        loaded: Any = own_class(config).from_pretrained(
            folder.path, config=config, **options, **_SAFE, **device
        )
    return loaded


def _differences(
    folder: ModelFolder, model: PreTrainedModel, info: dict[str, Any]
) -> Iterator[Finding]:
    name = type(model).__name__
    # Of encoders, what their first training alone used: many folders have it, many do not.
    unused = re.compile(rf"({model.base_model_prefix}\.)?pooler\.|cls\.seq_relationship\.")
    if missing := sorted(name for name in info["missing_keys"] if not unused.match(name)):
        yield Finding(
            "missing-tensors", "error", f"tensors of {name} are missing: {some(missing)}",
            "they would be initialised at random", "fetch or save the model again",
        )  # fmt: skip
    copies = folder.tied_copies  # under whatever name a head is known by
    beyond = {*info["unexpected_keys"]} - {*copies}
    if unexpected := sorted(name for name in beyond if not unused.match(name)):
        yield Finding(
            "unknown-tensors", "error", f"tensors that {name} does not have: {some(unexpected)}",
            "they would be ignored",
            "correct config.json if it describes another model, or remove them",
        )  # fmt: skip
    if mismatched := sorted(info["mismatched_keys"]):
        shapes = [f"{key} {list(is_)} in place of {list(due)}" for key, is_, due in mismatched]
        yield Finding(
            "shapes", "error", f"tensors whose shapes differ from config.json: {some(shapes)}",
            "they do not belong together", "correct config.json, or fetch or save the model again",
        )  # fmt: skip


def token_ids(folder: Path) -> TokenizerFiles | None:
    """Return what a folder says of tokens and ids; None: no such file, or a broken one."""
    try:
        files = TokenizerFiles.read(folder)
        return files if files.ids else None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RevocabError):
        return None


def _vocabulary(folder: ModelFolder) -> Iterator[Finding]:
    files = token_ids(folder.path)
    if files is not None and (beyond := files.beyond[1]):
        yield Finding(
            "token-without-row", "error",
            f"its tokenizer has tokens without a row, of {files.rows:,}:"
            f" {some([f'{number} {token!r}' for token, number in beyond.items()])}",
            "text, or what the tokenizer puts around it, holds them", "give both of one model, or"
            " take the tokens out of the tokenizer's files",
        )  # fmt: skip


#: What is looked at beside the values of weights, a function each.
STRUCTURE = (_layout, _kernels, _architecture, padding_findings, _vocabulary)
