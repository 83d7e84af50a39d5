"""How large the models and vocabularies of an experiment are, as far as its files tell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from revocab.costs.devices import known
from revocab.costs.model import Outline
from revocab.errors import RevocabError, refuse
from revocab.experiment.expand import Run
from revocab.experiment.layout import Layout
from revocab.hub import cached_commit
from revocab.io import read_json
from revocab.links import check_file
from revocab.models.change import ModelReference
from revocab.models.changes.blocks import ADDED_BLOCKS, LAYERS
from revocab.models.parameters import config_keys
from revocab.vocabulary.building.constructions.extend import number_kept
from revocab.vocabulary.building.words import read_words

Config = Mapping[str, Any]


class Sizes:
    """Configurations of models and sizes of vocabularies, by id; what is not known is listed."""

    def __init__(self, layout: Layout, shapes: Mapping[str, Path], vocabularies: Mapping[str, int]):
        """Raise :class:`RevocabError` for a model or tokenizer that the experiment has not."""
        self.layout, self.experiment = layout, layout.experiment
        self.shapes, self.vocabularies = shapes, vocabularies
        #: Why a size is not known, by what has it.
        self.unknown: dict[str, str] = {}
        #: Vocabularies of which only the most is known.
        self.assumed: dict[str, str] = {}
        refuse(
            f"{flag}: {name!r} is not in the file, which has {', '.join(have) or 'none'}"
            for flag, names, have in (
                ("--shape", shapes, self.experiment.models),
                ("--vocabulary", vocabularies, self.experiment.tokenizers),
            )
            for name in names
            if name not in have
        )

    def vocabulary(self, tokenizer: str) -> int | None:
        if tokenizer in self.vocabularies:
            return self.vocabularies[tokenizer]
        kind, options = self.experiment.tokenizers[tokenizer].construction()
        size = self._constructed(tokenizer, kind, options)
        if size is None:
            self.unknown[f"tokenizers.{tokenizer}"] = f"give --vocabulary {tokenizer}=N"
        return size

    def _constructed(self, tokenizer: str, kind: str, options: Any) -> int | None:
        if kind == "substitute":
            return self._taken(options)
        if kind == "train":
            return int(options.vocabulary_size)
        size, add = getattr(options, "size", None), getattr(options, "add", None)
        base = self.vocabulary(options.base) if getattr(options, "base", None) else None
        if isinstance(size, int) or base is None:
            return size if isinstance(size, int) else None
        old, new = base, add
        if kind == "optimise":
            old = number_kept(options.keep, base)
            new = {None: base - old, "kept": 0}.get(size, size)
        elif kind == "extend":
            new = add if add is not None else round((options.add_share or 0) * base)
            if options.words:
                old += 2 * len(read_words(Path(options.words)))
                self.assumed[f"tokenizers.{tokenizer}"] = "counted with two tokens for each word"
        elif kind in ("replace", "adopt"):
            new = 0
        elif kind == "trim":
            old, new = options.keep or base, 0
            if not options.keep:  # how many a share or a script takes is known afterwards
                self._at_most(tokenizer, base, "as it was before")
        if isinstance(new, int):
            return old + new
        donor = self.vocabulary(options.donor) if new == "all" else None
        if donor is None:
            return None
        self._at_most(tokenizer, old + donor, "as if its donor shared no token")
        return old + donor

    def _at_most(self, tokenizer: str, tokens: int, why: str) -> None:
        self.assumed[f"tokenizers.{tokenizer}"] = f"counted {why}: at most {tokens:,} tokens"

    def _taken(self, options: Any) -> int | None:
        if options.hub:
            config = self._hub(options.hub, options.revision)
            return config.get("vocab_size") if config else None
        file = Path(options.path, "tokenizer.json")
        if not file.is_file():
            return None
        read = read_json(file)
        # BPE maps tokens to ids, Unigram gives each a score.
        pieces = [piece if isinstance(piece, str) else piece[0] for piece in read["model"]["vocab"]]
        return len({entry["content"] for entry in read["added_tokens"]}.union(pieces))

    def model(self, model: str) -> Config | None:
        try:
            config = self._model(model)
            if config is not None:
                Outline(config)
                return config
            why = "no config.json is cached, and its sizes are not known"
        except RevocabError as error:
            why = str(error)
        self.unknown[f"models.{model}"] = f"{why}; give --shape {model}=config.json"
        return None

    def _model(self, model: str) -> Config | None:
        entry = self.experiment.models[model]
        if model in self.shapes:
            return read_config(self.shapes[model])
        if entry.pretrain:
            shape, rows = entry.pretrain.architecture, self.vocabulary(entry.tokenizer)
            keys = {"model_type": shape.family, "dtype": "float32"}
            return (rows and {**config_keys(shape, rows), **keys}) or None
        if change := entry.change():
            body = self.referred(change[1].model)
            if body is None:
                return None
            blocks = change[1].blocks_after(body[LAYERS])
            new = range(body[LAYERS], blocks)  # as many as there are; which, decides no size
            return {**body, LAYERS: blocks, **({ADDED_BLOCKS: [*new]} if new else {})}
        if entry.path:
            return read_config(Path(entry.path))
        assert entry.hub is not None
        fetched = Path(self.layout.paths.model(model), "snapshot", "config.json")
        return read_config(fetched) if fetched.is_file() else self._hub(entry.hub, entry.revision)

    def _hub(self, repository: str, revision: str | None) -> Config | None:
        """Return the configuration that the Hub's cache has, or the one that is known."""
        from huggingface_hub import constants

        commit = cached_commit(repository, revision, "model")
        folder = Path(constants.HF_HUB_CACHE) / f"models--{repository.replace('/', '--')}"
        file = folder / "snapshots" / (commit or "none") / "config.json"
        return read_config(file) if file.is_file() else known("models").get(repository)

    def referred(self, reference: ModelReference) -> Config | None:
        if isinstance(reference, str):
            return self.model(reference)
        return self.run(self.layout.runs[reference.run])

    def run(self, run: Run) -> Config | None:
        """Return the configuration of a run's own model: of its origin, with its vocabulary."""
        origin = self.run(self.layout.runs[run.start[0]]) if run.start else self.model(run.source)
        if origin is None or run.keeps_vocabulary:
            return origin
        rows = self.vocabulary(run.target)
        return None if rows is None else {**origin, "vocab_size": rows}


def read_config(place: Path) -> Config:
    """Return a ``config.json``, or that of a folder; of a composite one the text part. Raises
    :class:`RevocabError` where there is none, or it is no mapping.
    """
    file = place / "config.json" if place.is_dir() else place
    if not file.is_file():
        raise RevocabError(f"{file}: no such file; give a config.json, or a folder that has one")
    check_file(file)
    config = read_json(file)
    if not isinstance(config, dict):
        raise RevocabError(f"{file}: expected a mapping, received {type(config).__name__}")
    text = config.get("text_config")
    return text if isinstance(text, dict) else config
