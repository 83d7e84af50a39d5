"""The model that a user brings, looked at without its weights; or a stand-in for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.models.hub_or_folder import REPOSITORY, TOKENIZER_PATTERNS, snapshot

#: Tokens of a row: never longer, so that a laptop has room; shorter ones are no text.
LONGEST_ROW, SHORTEST_ROW = 512, 32
#: The stand-in of a user without a model at hand: its shape, and its tokens.
STAND_IN: dict[str, Any] = {
    "architecture": {
        "family": "llama",
        "hidden_size": 128,
        "intermediate_size": 384,
        "layers": 3,
        "heads": 4,
        "kv_heads": 4,
    },
    "context_length": 2048,
}
STAND_IN_TOKENS = 2048


@dataclass(frozen=True)
class Source:
    """What is known of the model before it is adapted."""

    name: str
    tokens: int
    context: int
    width: int
    parameters: int
    #: The type that its weights are stored in, and its configuration, as transformers has it.
    stored: str = "float32"
    config: Any = field(default=None, repr=False, compare=False)
    #: Where an experiment finds it, as the keys ``path`` or ``hub``; None for a stand-in.
    place: dict[str, str] | None = None
    #: With its configuration and tokenizer; None for a stand-in.
    folder: Path | None = None

    @property
    def row(self) -> int:
        """Return the tokens of a row; raise :class:`RevocabError` if there is no room for one."""
        if self.context < SHORTEST_ROW:
            raise RevocabError(
                f"{self.name}: its context has {self.context} tokens, but a row of text needs at"
                f" least {SHORTEST_ROW}; give a model with a longer context"
            )
        return min(LONGEST_ROW, self.context)


def look_at_stand_in() -> Source:
    from revocab.models.parameters import Architecture, config_parameters, model_config

    config = model_config(Architecture(**STAND_IN["architecture"]), STAND_IN_TOKENS)
    parameters, context = config_parameters(config), STAND_IN["context_length"]
    width = config.hidden_size
    return Source("Stand-in", STAND_IN_TOKENS, context, width, parameters, config=config)


def look_at(model: str) -> Source:
    """Return what is known of a model.

    Raises :class:`RevocabError` if there is none, one without weights, one that no causal model
    can be made of, or one without room for a row.
    """
    from revocab.models.folder import ModelFolder

    place, folder = find(model)
    if "path" in place:
        ModelFolder(folder)  # of the Hub's, no weights are here yet
    return describe(folder, place)


def find(model: str) -> tuple[dict[str, str], Path]:
    """Return where an experiment finds a model, and a folder with its configuration and tokenizer.

    Raises :class:`RevocabError` if there is none; of its weights nothing is asked.
    """
    from revocab.models.folder import read_settings

    folder, place = Path(model), {"path": str(Path(model).absolute())}
    if not folder.exists() and REPOSITORY.fullmatch(model):
        from revocab.hub import resolve

        name, _, revision = model.partition("@")
        commit = resolve(name, revision or None, "model")["commit"]
        folder = Path(snapshot(name, commit, "model", patterns=TOKENIZER_PATTERNS))
        place = {"hub": name, "revision": commit}
    if not (folder / "config.json").is_file():
        raise RevocabError(
            f"{model}: no folder with a model's config.json, and no Hub id (owner/name); give one"
        )
    read_settings(folder / "config.json")
    return place, folder


def describe(folder: Path, place: dict[str, str] | None = None) -> Source:
    """Return what configuration and tokenizer tell of a model, which must have room for a row."""
    from transformers import AutoConfig

    from revocab.models.load import loading
    from revocab.models.origin import name_of
    from revocab.models.parameters import config_parameters
    from revocab.vocabulary.tokenizers.load import load_tokenizer

    with loading(folder):
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        parameters = config_parameters(config)
    text = config.get_text_config()
    source = Source(
        name_of(folder),
        len(load_tokenizer(folder)),
        int(getattr(text, "max_position_embeddings", 0)),
        text.hidden_size,
        parameters,
        str(getattr(config, "dtype", None) or "float32").removeprefix("torch."),
        text,
        place,
        folder,
    )
    _ = source.row  # is there room for one?
    return source
