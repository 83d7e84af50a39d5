"""A Hugging Face model folder on disk: where its tensors are, which of them hold the vocabulary."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.claim import CLAIM
from revocab.errors import RevocabError
from revocab.io import read_json
from revocab.models.safetensors_files import read_header, read_tensor

if TYPE_CHECKING:
    import torch

INDEX = "model.safetensors.index.json"
#: Files that make up a tokenizer; copied together, and removed together.
TOKENIZER_FILES = (
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "merges.txt",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
)
#: Files that this project writes beside a model and that describe only that folder.
OWN_FILES = (CLAIM, "manifest.json", "provenance.json", "diagnostics.json", "trainer_state.json")
#: Endings of a model folder's small files.
_DOCUMENTS = (".json", ".md", ".txt", ".jinja", ".model")
#: Names that nearly every decoder uses; others are looked up in the architecture.
_USUAL = ("model.embed_tokens.weight", "lm_head.weight")


def link_or_copy(source: Path, out: Path) -> None:
    """Hard-link ``source`` as ``out``; copy where the file system does not allow it."""
    source = source.resolve()  # the Hub's cache holds symbolic links
    try:
        os.link(source, out)
    except OSError:
        shutil.copyfile(source, out)


def copy_tokenizer(tokenizer: Path, out: Path) -> None:
    """Copy the tokenizer files of one folder to another, byte for byte."""
    if not (tokenizer / "tokenizer_config.json").is_file():
        raise RevocabError(
            f"{tokenizer}: no tokenizer_config.json; give a Hugging Face tokenizer folder"
        )
    for name in TOKENIZER_FILES:
        if (tokenizer / name).is_file():
            shutil.copyfile(tokenizer / name, out / name)


@dataclass(frozen=True)
class ModelFolder:
    """A causal language model in safetensors, sharded or not; nothing is loaded until asked."""

    path: Path

    def __post_init__(self):
        if not (self.path / "config.json").is_file():
            raise RevocabError(f"{self.path}: no config.json; give a Hugging Face model folder")
        if not self.files:
            pickled = sorted(file.name for file in self.path.glob("*.bin"))
            raise RevocabError(
                f"{self.path}: no safetensors weights"
                + (f" (found {', '.join(pickled[:3])}, which are pickles and are not read)")
                * bool(pickled)
                + "; fetch or convert the model to safetensors first"
            )

    @cached_property
    def config(self) -> dict[str, Any]:
        """Return ``config.json`` as it stands."""
        return read_json(self.path / "config.json")

    @property
    def text_config(self) -> dict[str, Any]:
        """Return the part of the configuration that has the vocabulary (multimodal models nest)."""
        nested = self.config.get("text_config")
        return nested if isinstance(nested, dict) and "vocab_size" in nested else self.config

    @cached_property
    def files(self) -> list[str]:
        """Return the names of the weight files, sorted; with an index, those that it names."""
        if (self.path / INDEX).is_file():
            return sorted(set(read_json(self.path / INDEX)["weight_map"].values()))
        single = self.path / "model.safetensors"
        return [single.name] if single.is_file() else []

    @cached_property
    def tensors(self) -> dict[str, tuple[str, list[int]]]:
        """Return each tensor's file and shape, from the files' headers."""
        found = {}
        for file in self.files:
            if not (self.path / file).is_file():
                raise RevocabError(f"{self.path}: shard {file} is missing; fetch the model again")
            header, _ = read_header(self.path / file)
            header.pop("__metadata__", None)
            found |= {name: (file, entry["shape"]) for name, entry in header.items()}
        return found

    @cached_property
    def tied(self) -> bool:
        """Tell whether one matrix serves as embedding and as LM head.

        Where ``config.json`` is silent, the architecture's own default decides.
        """
        for config in (self.config, self.text_config):
            if "tie_word_embeddings" in config:
                return bool(config["tie_word_embeddings"])
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(self.path, trust_remote_code=False)
        return bool(config.get_text_config().tie_word_embeddings)

    @cached_property
    def vocabulary_tensors(self) -> dict[str, str]:
        """Return the stored names by matrix: ``input`` always, ``output`` unless tied."""
        embedding, head = _USUAL
        if embedding not in self.tensors or not (self.tied or head in self.tensors):
            embedding, head = self._names_by_architecture()
        if f"{head.removesuffix('.weight')}.bias" in self.tensors:
            raise RevocabError(f"{self.path}: its LM head has a bias, which is not supported")
        return {"input": embedding} if self.tied else {"input": embedding, "output": head}

    def _names_by_architecture(self) -> tuple[str, str]:
        """Find the names of both matrices by building the architecture without weights."""
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM

        config = AutoConfig.from_pretrained(self.path, trust_remote_code=False)
        with torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config)
        names = {id(module): name for name, module in model.named_modules()}
        found = []
        for module in (model.get_input_embeddings(), model.get_output_embeddings()):
            name = f"{names[id(module)]}.weight"
            stored = [one for one in self.tensors if name.endswith(one) or one.endswith(name)]
            needed = not (self.tied and found)
            if needed and len(stored) != 1:
                raise RevocabError(
                    f"{self.path}: {len(stored)} stored tensors match {name!r}, "
                    f"the {'LM head' if found else 'embedding'} of {type(model).__name__}; "
                    "this layout is not supported"
                )
            found.append(stored[0] if stored else name)
        return found[0], found[1]

    def read(self, name: str) -> torch.Tensor:
        """Return one tensor by its stored name, on the CPU, in its stored dtype."""
        return read_tensor(self.path / self.tensors[name][0], name)

    def matrix(self, which: str, tokens: int) -> torch.Tensor:
        """Return the ``input`` or ``output`` vocabulary matrix, rows of real tokens only.

        A tied model gives its one matrix for both. Models may have more rows than tokens (padding,
        cut off here); fewer are an error: some tokens would have no row.
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
        return matrix_VD[:tokens]


def copy_documents(source: ModelFolder, out: Path, skip: tuple[str, ...] = ()) -> None:
    """Copy the small files of a model folder (no weights, no code, nothing that revocab wrote)."""
    for file in sorted(source.path.iterdir()):
        if file.name in OWN_FILES + skip or file.name == INDEX or not file.is_file():
            continue
        if file.suffix in _DOCUMENTS or file.name.startswith("LICENSE"):
            (out / file.name).write_bytes(file.read_bytes())
