"""What a user brings, looked at before anything is done with it: model, texts, machine.

The model is read without its weights, or is a stand-in.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import Path
from timeit import repeat
from typing import Any

from revocab.closed import LANGUAGE, known_language, near
from revocab.corpora.formats import TextDocuments, check_length, reading_of
from revocab.corpora.source import Form, read_rows
from revocab.costs.model import operations
from revocab.errors import RevocabError, all_of
from revocab.languages import codes_by_name
from revocab.models.hub_or_folder import REPOSITORY, TOKENIZER_PATTERNS, snapshot
from revocab.progress import Say, silent

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


def describe(
    folder: Path, place: dict[str, str] | None = None, parameters: int | None = None
) -> Source:
    """Return what configuration and tokenizer tell of a model, which must have room for a row.

    Its parameters are counted by building its shape, which takes torch, unless they are known.
    """
    from transformers import AutoConfig

    from revocab.models.load import loading
    from revocab.models.origin import name_of
    from revocab.models.parameters import config_parameters
    from revocab.models.shape import check_causal
    from revocab.vocabulary.tokenizers.load import load_tokenizer

    with loading(folder):
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        if parameters is None:
            check_causal(config, folder)
            parameters = config_parameters(config)
    text = config.get_text_config()
    context = int(getattr(text, "max_position_embeddings", 0))
    stored = str(getattr(config, "dtype", None) or "float32").removeprefix("torch.")
    source = Source(
        name_of(folder),
        len(load_tokenizer(folder)),
        context,
        text.hidden_size,
        parameters,
        stored,
        text,
        place,
        folder,
    )
    _ = source.row  # is there room for one?
    return source


#: What separates the documents of a text file, where it has any.
EMPTY: TextDocuments = "empty_lines"


@dataclass(frozen=True)
class Text:
    """One language's text: an absolute path, UTF-8 bytes, documents."""

    language: str
    path: Path
    bytes: int
    documents: int
    #: A text file without an empty line, of which each line is a document.
    by_line: bool = False

    def documents_of(self) -> Iterator[str]:
        for row in read_rows(Form(), [self.path], documents="lines" if self.by_line else EMPTY):
            yield text_of(row, self.path)


def measure_texts(texts: Mapping[str, Path], flag: str) -> list[Text]:
    """Return what texts hold, by language.

    Raises :class:`RevocabError` with a line for each text that is missing, empty, no text, or a
    single line, for each name that is no language's code, and where two have the same text.
    """

    def look(language: str, path: Path) -> Text:
        if re.fullmatch(LANGUAGE, language):
            try:
                known_language(language)
            except ValueError as error:
                raise RevocabError(f"{flag} {language}=…: {error}") from None
            return measure(language, path)
        codes, lower = codes_by_name(), language.lower()
        meant = lower if re.fullmatch(LANGUAGE, lower) else codes.get(lower)
        hint = f"; write {flag} {meant}=FILE" if meant else near(language, codes.values())
        raise RevocabError(f"{flag} {language}=…: not a language code (ISO 639, such as it){hint}")

    return all_of((partial(look, *text) for text in texts.items()), shared_text(texts.items()))


def overlaps(text: Mapping[str, Path], keep: Mapping[str, Path], where: str) -> list[str]:
    """Return a problem for each language or file of both; ``where`` is how texts are given."""
    twice = sorted(keep.keys() & text.keys())
    if twice:
        return [f"--keep {name}=…: is also a language of {where}; give each once" for name in twice]
    return shared_text([*text.items(), *keep.items()])


def shared_text(texts: Iterable[tuple[str, Path]]) -> list[str]:
    """Return a problem for each pair of languages that share files."""
    return [
        f"{first} ({language}) and {second} ({other}): contain the same text; give each language"
        " files of its own"
        for (language, first), (other, second) in combinations(texts, 2)
        if first.resolve().is_relative_to(second.resolve())
        or second.resolve().is_relative_to(first.resolve())
    ]


def measure(language: str, path: Path) -> Text:
    """Return the size of a text; raise :class:`RevocabError` for what cannot be trained on."""
    size = documents = lines = 0
    for row in read_rows(Form(), [path]):
        text = text_of(row, path)
        size += len(text.encode())
        documents += 1
        lines += text.count("\n") + 1
    if not size:
        raise RevocabError(f"{path}: no text in it; give a file or folder with text")
    by_line = documents == 1 and lines > 1 and reading_of([path], "auto") is not None
    if documents == 1 and not by_line:
        raise RevocabError(
            f"{path}: one document of {size:,} bytes in a single line or row, and a part of a text"
            " is held out; put an empty line between documents, or a line end after each"
        )
    return Text(language, path.absolute(), size, lines if by_line else documents, by_line)


def text_of(row: Mapping[str, Any], path: Path) -> str:
    """Return the text of a row; raise :class:`RevocabError` where there is none, or binary data."""
    text = row.get("text")
    if not isinstance(text, str):
        raise RevocabError(
            f"{path}: a row without text under 'text' (it has: {', '.join(sorted(row))}); rename"
            " the field"
        )
    check_length(len(text), str(path))
    if "\0" in text:
        raise RevocabError(f"{path}: holds NUL characters, so it is not text; give UTF-8 text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RevocabError(
            f"{path}: a lone surrogate at character {error.start} is not text; repair the source"
        ) from None
    return text


#: Layers that are timed: the others are like them, and random ones of a 7B model need 6 GB.
LAYERS = 2
#: So often each is timed, and the best counts.
REPEATS = 4
#: The optimizer's share of a training step's time.
OPTIMIZER_SHARE = 0.2


def precision_for(source: Source) -> str:
    """Return bfloat16 where the model is stored in it and the device has products of it.

    On a CPU these are AMX's: without them bfloat16 is slower than float32. So it is on a GPU that
    only emulates them (a T4).
    """
    import torch

    if source.stored != "bfloat16":
        return "float32"
    if torch.cuda.is_available():
        native = torch.cuda.is_bf16_supported(including_emulation=False)
        return "bfloat16" if native else "float32"
    return "bfloat16" if has_amx() else "float32"


def has_amx() -> bool:
    file = Path("/proc/cpuinfo")
    return file.is_file() and "amx_bf16" in file.read_text("utf-8", errors="replace").split()


def training_speed(source: Source, precision: str, cores: int | None) -> float:
    """Return the training tokens per second of this machine, from a step of two layers timed here;
    the optimizer takes about a fifth of the time.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(cores or os.cpu_count() or 1)
    try:
        flops, _ = measure_speed(source.config, source.row, silent, precision)
    finally:
        torch.set_num_threads(threads)
    return (1 - OPTIMIZER_SHARE) * flops / (6 * source.parameters)


def measure_speed(
    config: Any, length: int, say: Say, precision: str = "float32"
) -> tuple[float, float]:
    """Return operations a second of a training's step, and bytes a second of writing a token.

    Random float32 weights of the model's own shapes; a step has its forward pass in ``precision``
    and no update by the optimizer.
    """
    import torch
    from transformers import AutoModelForCausalLM

    from revocab.device import choose_device
    from revocab.training.stages import Stage, StagePlan

    device = choose_device("auto")
    layers = min(LAYERS, config.num_hidden_layers)
    keys = {"num_hidden_layers": layers, "layer_types": None}
    short = type(config).from_dict({**config.to_dict(), **keys})
    say(f"timing a step of {layers} layers on {device}")
    model = AutoModelForCausalLM.from_config(short, dtype=torch.float32).to(device)
    ids = torch.randint(config.vocab_size, (1, length), device=device)
    plan = StagePlan([Stage(name="all", steps=1, learning_rate=1e-3)])
    flops = length * operations(model, plan.groups(model)).flops(length)

    def train() -> None:
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
            loss = model(ids, labels=ids, use_cache=False).loss
        loss.backward()
        model.zero_grad(set_to_none=True)

    def write() -> None:
        with torch.no_grad():
            model(ids[:, :1], use_cache=False)

    def seconds(step: Callable[[], None]) -> float:
        def finished() -> None:
            step()
            if device != "cpu":
                torch.cuda.synchronize()

        return min(repeat(finished, number=1, repeat=REPEATS))

    return flops / seconds(train), 4 * operations(model).forward / seconds(write)
