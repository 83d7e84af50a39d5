"""A Hugging Face model folder on disk: its files, where its tensors are, which hold the vocabulary.

:data:`FATES` says what becomes of each file when the model gets another vocabulary. Weight files
are written tensor by tensor where something changes, and linked where nothing does.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, Literal

from revocab.errors import RevocabError, refuse
from revocab.heavy_types import Tensor
from revocab.io import not_folder, read_json, write_json
from revocab.limits import LARGEST_WEIGHT, MODEL_SIZES
from revocab.links import DOCUMENTS, check_file, check_links, copy_present, link_or_copy
from revocab.marker import MARKER
from revocab.models.weights import (
    INDEX,
    WEIGHTS,
    Part,
    placement_problems,
    read_index,
    read_tensor,
    replaced_parts,
    stored_parts,
    write_parts,
)
from revocab.vocabulary.tokenizers.file_ids import TEMPLATES, changed_files, write_changed

#: Files that this project writes beside a model and that describe only that folder.
OWN_FILES = (
    MARKER,
    "job.json",  # of earlier versions
    "manifest.json",
    "provenance.json",
    "diagnostics.json",
    "trainer_state.json",
    "kept_ids.json",
)
#: A vocabulary matrix of a model.
Which = Literal["input", "output"]
#: Names that nearly every decoder uses; others are looked up in the architecture.
_USUAL = ("model.embed_tokens.weight", "lm_head.weight")
#: How the names of LM heads end. A tied model may store its head, too, as a copy.
HEADS = ("lm_head.weight", "embed_out.weight", "output_layer.weight")

#: ``tokenizer``: that of the new tokenizer, or none; ``written``: written anew for the new ids;
#: ``body``: copied, though a training's checkpoints leave out other documents; ``stale``: names
#: tokens or rows of the old vocabulary in a way that is not rewritten, so it is left out.
Fate = Literal["tokenizer", "written", "body", "stale"]
#: By name, or by pattern within the folder. A file that is not named is the body's, and is copied
#: where it is a document (:attr:`ModelFolder.documents`).
FATES: Mapping[Fate, tuple[str, ...]] = {
    "tokenizer": (
        "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
        "chat_template.jinja", "chat_template.json", "additional_chat_templates/*.jinja",
        # Older formats, which a loader might prefer to tokenizer.json, and other programs'.
        "merges.txt", "vocab.json", "vocab.txt", "tokenizer.model", "tokenizer.model.v*",
        "spiece.model", "sentencepiece*.model", "*.tiktoken", "tiktoken.json", "tekken.json",
    ),
    "written": ("config.json", "generation_config.json"),
    "body": ("preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json"),
    # Of earlier versions of revocab, Mistral's own format (vocab_size), and older ones.
    "stale": ("token_ids.json", "params.json", "encoder.json", "vocab.bpe", "lang2id.json"),
}  # fmt: skip


def files_of(folder: Path, *fates: Fate) -> list[str]:
    """Return the files of a folder with one of some fates, by their paths within it, sorted."""
    paths = {path for fate in fates for pattern in FATES[fate] for path in folder.glob(pattern)}
    # Also links that lead nowhere.
    return sorted(str(p.relative_to(folder)) for p in paths if p.is_file() or p.is_symlink())


def tell_left_out(source: Path, out: Path) -> None:
    """Say on stderr which files of ``source``, of its old vocabulary, are not in ``out``."""
    names = files_of(source, "tokenizer", "stale")
    if left_out := [name for name in names if not (out / name).exists()]:
        print(
            f"note: {source}: left out, as of the old tokenizer: {', '.join(left_out)}",
            file=sys.stderr,
        )


def read_settings(path: Path) -> dict[str, Any]:
    """Return a JSON file that must hold an object, such as ``config.json``."""
    check_file(path)
    settings = read_json(path)
    if not isinstance(settings, dict):
        raise RevocabError(f"{path}: not a JSON object; fetch the model again")
    refuse(size_problems(settings, str(path)))
    return settings


def size_problems(settings: dict[str, Any], place: str) -> Iterator[str]:
    """Yield the sizes in a ``config.json`` that no model has; parts of it are looked into."""
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from size_problems(value, f"{place}: {key}")
        most = next((n for keys, n in MODEL_SIZES.items() if re.fullmatch(keys, key)), None)
        if most is not None and isinstance(value, int | float) and abs(value) > most:
            yield f"{place}: {key} is {str(value)[:40]}; no model has more than {most:,}"


def text_part(config: dict[str, Any]) -> dict[str, Any]:
    """Return what a configuration says of the language model: of a composite one, a part."""
    nested = config.get("text_config")
    return nested if isinstance(nested, dict) and "vocab_size" in nested else config


def check_tokenizer_folder(tokenizer: Path) -> None:
    """Raise :class:`RevocabError` unless the tokenizer files of a folder can be copied."""
    if not (tokenizer / "tokenizer_config.json").is_file():
        raise RevocabError(
            f"{tokenizer}: no tokenizer_config.json; give a Hugging Face tokenizer folder"
        )
    check_links(tokenizer, [TEMPLATES, *files_of(tokenizer, "tokenizer")])


def copy_tokenizer(tokenizer: Path, out: Path) -> None:
    """Copy the tokenizer files of a folder (:func:`check_tokenizer_folder`), byte for byte but for
    what :mod:`revocab.vocabulary.tokenizers.file_ids` reads otherwise.
    """
    check_tokenizer_folder(tokenizer)
    copy_present(tokenizer, files_of(tokenizer, "tokenizer"), out)
    write_changed(changed_files(tokenizer)[0], out)


def check_model_folder(folder: str | Path) -> None:
    """Raise :class:`RevocabError` unless ``folder`` is there and looks like a model."""
    folder = Path(folder)
    if folder.suffix == ".gguf" and folder.is_file():
        raise RevocabError(
            f"{folder}: a GGUF; make a folder of it first: revocab fetch --path {folder}"
            f" --out {folder.stem}/model"
        )
    if not folder.is_dir():
        raise RevocabError(
            f"{folder}: {not_folder(folder)}; give a Hugging Face model folder, or by hand a Hub"
            " id (OWNER/NAME)"
        )
    if not (folder / "config.json").is_file():
        patterns = ("*/config.json", "*/*/config.json")
        below = [str(path.parent) for pattern in patterns for path in sorted(folder.glob(pattern))]
        named = f", such as {', '.join(below[:5])}" if below else ""
        raise RevocabError(
            f"{folder}: not a model folder (it has no config.json); give a Hugging Face model"
            f" folder{named}"
        )
    read_settings(folder / "config.json")


@dataclass(frozen=True)
class ModelFolder:
    """A causal language model in safetensors, sharded or not; nothing is loaded until it is read.

    The folder may come from anybody: an index that names files elsewhere, and weights, settings or
    documents that are links out of the folder (:mod:`revocab.links`), are refused with a
    :class:`RevocabError` that lists them all.
    """

    path: Path

    def __post_init__(self) -> None:
        check_model_folder(self.path)
        check_links(self.path, self.documents)
        check_links(self.path, self.files)  # by the index, which is one of the others
        if not self.files:
            names = ", ".join(sorted(file.name for file in self.path.glob("*.bin"))[:3])
            pickled = f" (found {names}, which are pickles and are not read)" if names else ""
            raise RevocabError(
                f"{self.path}: no safetensors weights{pickled}; fetch or convert the model to"
                " safetensors first"
            )

    @cached_property
    def config(self) -> dict[str, Any]:
        return read_settings(self.path / "config.json")

    @property
    def text_config(self) -> dict[str, Any]:
        return text_part(self.config)

    @cached_property
    def documents(self) -> list[str]:
        """Return the small files, sorted: no weights, no code, nothing of revocab's; of subfolders
        that of the tokenizer's chat templates.
        """
        own = [
            file.name
            for file in sorted(self.path.iterdir())
            if file.name not in OWN_FILES
            and (file.suffix in DOCUMENTS or file.name.startswith("LICENSE"))
            and (file.is_file() or file.is_symlink())  # also one that leads nowhere
        ]
        return sorted({*own, *files_of(self.path, "tokenizer")})

    @cached_property
    def index(self) -> dict[str, Any] | None:
        return read_index(self.path / INDEX) if (self.path / INDEX).is_file() else None

    @cached_property
    def files(self) -> list[str]:
        """Return the names of the weight files, sorted; with an index, those that it names."""
        if self.index is not None:
            return sorted(set(self.index["weight_map"].values()))
        single = self.path / WEIGHTS
        return [single.name] if os.path.lexists(single) else []

    @cached_property
    def parts(self) -> dict[str, dict[str, Part]]:
        """Return the tensors by file, from the files' headers.

        Raises :class:`RevocabError` for shards that are missing or damaged, and where index and
        shards do not hold the same tensors.
        """
        parts, problems = {}, []
        stored: dict[str, list[str]] = {}
        for file in self.files:
            if not (self.path / file).is_file():
                problems.append(f"{self.path}: shard {file} is missing; fetch the model again")
                continue
            try:
                parts[file] = stored_parts(self.path / file)[0]
            except RevocabError as error:
                problems += error.problems
                continue
            for name in parts[file]:
                stored.setdefault(name, []).append(file)
        if not problems and self.index is not None:
            problems = placement_problems(self.path, self.index["weight_map"], stored)
        refuse(problems)
        return parts

    @cached_property
    def tensors(self) -> dict[str, tuple[str, list[int]]]:
        """Return each tensor's file and shape, as :attr:`parts`."""
        parts = [(file, part) for file, parts in self.parts.items() for part in parts.values()]
        return {part.name: (file, list(part.shape)) for file, part in parts}

    @cached_property
    def tied(self) -> bool:
        """Tell whether one matrix is embedding and LM head, as said or by the architecture."""
        for config in (self.config, self.text_config):
            if "tie_word_embeddings" in config:
                return bool(config["tie_word_embeddings"])
        from revocab.models.load import loading
        from revocab.models.shape import load_config

        with loading(self.path, Exception):  # of any type, where settings are nonsense
            return bool(load_config(self.path).get_text_config().tie_word_embeddings)

    @cached_property
    def vocabulary_names(self) -> dict[Which, str]:
        """Return the stored names by matrix: ``input`` always, ``output`` unless tied.

        Raises :class:`RevocabError` for what is stored under them and is no matrix.
        """
        embedding, head = _USUAL
        if embedding not in self.tensors or not (self.tied or head in self.tensors):
            embedding, head = self._names_by_architecture()
        names: dict[Which, str] = {"input": embedding}
        if not self.tied and head:
            names["output"] = head
        shapes = {name: self.tensors[name][1] for name in names.values() if name in self.tensors}
        refuse(
            f"{self.path}: {name} has shape {shape}; a vocabulary matrix has rows and columns:"
            " fetch or save the model again"
            for name, shape in shapes.items()
            if len(shape) != 2 or 0 in shape
        )
        return names

    @cached_property
    def vocabulary_tensors(self) -> dict[Which, str]:
        """Return :attr:`vocabulary_names` of a causal language model.

        Raises :class:`RevocabError` for any other, and for a head with a bias.
        """
        if self.vocabulary_names["input"] != _USUAL[0]:
            from revocab.models.load import loading
            from revocab.models.shape import check_causal, load_config

            with loading(self.path, Exception):
                check_causal(load_config(self.path), self.path)
        for name in (*self.vocabulary_names.values(), *_USUAL[1:]):
            bias = f"{name.removesuffix('.weight')}.bias"
            if bias in self.tensors:
                raise RevocabError(f"{self.path}: its LM head has a bias, which is not supported")
        return self.vocabulary_names

    @cached_property
    def tied_copies(self) -> list[str]:
        """Return the stored copies of a tied model's one matrix that stand for its LM head."""
        if not self.tied:
            return []
        embedding = self.vocabulary_names["input"]
        ends = tuple(f".{end}" for end in HEADS)
        return [name for name in self.tensors if name != embedding and f".{name}".endswith(ends)]

    def _names_by_architecture(self) -> tuple[str, str]:
        """Return the names of embedding and LM head; that of an encoder without a head is empty."""
        from revocab.models.load import loading
        from revocab.models.shape import load_shape, names_in_model

        with loading(self.path, Exception):  # of any type, where settings are nonsense
            model = load_shape(self.path)
        in_model = names_in_model(model, self.tensors)
        names = {id(module): name for name, module in model.named_modules()}
        stored_names: list[str] = []
        for module in (model.get_input_embeddings(), model.get_output_embeddings()):
            if module is None:
                return stored_names[0], ""
            name = f"{names[id(module)]}.weight"
            stored = [tensor for tensor, own in in_model.items() if own == name]
            if not stored and stored_names:  # GPT-NeoX stores its head under another name
                stored = [tensor for tensor in self.tensors if tensor in HEADS]
            needed = not (self.tied and stored_names)
            if needed and len(stored) != 1:
                raise RevocabError(
                    f"{self.path}: {len(stored)} stored tensors match {name!r}, "
                    f"the {'LM head' if stored_names else 'embedding'} of {type(model).__name__}; "
                    "this layout is not supported"
                )
            stored_names.append(stored[0] if stored else name)
        return stored_names[0], stored_names[1]

    def read(self, name: str) -> Tensor:
        """Return one tensor by its stored name, on the CPU, in its stored dtype."""
        return read_tensor(self.path / self.tensors[name][0], name)

    def matrix(self, which: Which, tokens: int) -> Tensor:
        """Return the ``input`` or ``output`` vocabulary matrix, rows of real tokens only.

        A tied model gives its one matrix for both. Models may have more rows than tokens (padding,
        cut off here). Raises :class:`RevocabError` for fewer, since some tokens would have no row,
        for quantised matrices, and for values that no trained model has.
        """
        import torch

        name = self.vocabulary_tensors.get(which, self.vocabulary_tensors["input"])
        matrix_VD = self.read(name)
        if not matrix_VD.dtype.is_floating_point or matrix_VD.element_size() < 2:
            raise RevocabError(
                f"{self.path}: {name} is stored as {matrix_VD.dtype}; quantised vocabularies are "
                f"not supported, only {torch.float32}, {torch.bfloat16}, {torch.float16}"
            )
        if matrix_VD.shape[0] < tokens:
            raise RevocabError(
                f"{self.path}: {name} has {matrix_VD.shape[0]} rows for a tokenizer of {tokens} "
                "tokens; model and tokenizer do not belong together"
            )
        if not matrix_VD[:tokens].any():
            raise RevocabError(f"{self.path}: {name} is all zeros; fetch or save the model again")
        if (largest := matrix_VD.abs().max().item()) > LARGEST_WEIGHT:
            raise RevocabError(
                f"{self.path}: {name} has values up to {largest:.2g}, and no trained model has any"
                f" above {LARGEST_WEIGHT:.0e}; fetch or save the model again"
            )
        return matrix_VD[:tokens]


def copy_documents(
    source: ModelFolder, out: Path, skip: tuple[str, ...] = (), fates: tuple[Fate, ...] = ()
) -> None:
    """Copy the documents, but for some names and those of some fates under another vocabulary."""
    patterns = [*skip, INDEX, *(pattern for fate in fates for pattern in FATES[fate])]
    names = [name for name in source.documents if not any(fnmatch(name, p) for p in patterns)]
    copy_present(source.path, names, out)


def with_tensors(model: ModelFolder, tensors: Mapping[str, Tensor | None]) -> dict[str, list[Part]]:
    """Return the files that hold some tensors, with these replaced (same dtype) or left out."""
    own: dict[str, dict[str, Tensor | None]] = {}
    for name, tensor in tensors.items():
        own.setdefault(model.tensors[name][0], {})[name] = tensor
    return {file: replaced_parts(model.path / file, own[file]) for file in sorted(own)}


def link_weights(model: ModelFolder, out: Path) -> None:
    for name in (*model.files, *([INDEX] if model.index is not None else [])):
        link_or_copy(model.path / name, out / name)


def write_weights(
    model: ModelFolder,
    changed: Mapping[str, list[Part]],
    out: Path,
    *,
    link: Callable[[Path, Path], object] = link_or_copy,
    progress: bool = False,
) -> None:
    from tqdm import tqdm

    size = sum(part.size for parts in changed.values() for part in parts)
    quiet = None if progress else True
    with tqdm(total=size, unit="B", unit_scale=True, desc="writing", disable=quiet) as bar:
        for file in model.files:
            if file in changed:
                _, metadata = stored_parts(model.path / file)
                write_parts(out / file, changed[file], metadata, bar.update)
            else:
                link(model.path / file, out / file)
    if model.index is not None:
        write_json(out / INDEX, _new_index(model, model.index, changed))


def _new_index(
    model: ModelFolder, index: Mapping[str, Any], changed: Mapping[str, Iterable[Part]]
) -> dict[str, Any]:
    """Return the index, grown with the changed files; sorted where there are new names."""
    written = {part.name: file for file, parts in changed.items() for part in parts}
    placed = index["weight_map"].items()
    placed = {name: file for name, file in placed if file not in changed or name in written}
    if written.keys() - placed.keys():
        placed = dict(sorted({**placed, **written}.items()))
    grown = dict.fromkeys(("total_parameters", "total_size"), 0)
    for file, parts in changed.items():
        for sign, own in ((1, parts), (-1, model.parts[file].values())):
            grown["total_parameters"] += sign * sum(prod(part.shape) for part in own)
            grown["total_size"] += sign * sum(part.size for part in own)
    metadata = {key: value + grown.get(key, 0) for key, value in index.get("metadata", {}).items()}
    has_metadata = {"metadata": metadata} if "metadata" in index else {}
    return {**index, **has_metadata, "weight_map": placed}
