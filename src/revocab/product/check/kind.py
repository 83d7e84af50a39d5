"""A folder that is looked at, a kind of fault, and how kinds look at a folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable
from collections.abc import Set as AbstractSet
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, get_args

from revocab import yaml_file
from revocab.errors import RevocabError, missing_library
from revocab.extensions import found_in
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.models.findings import Finding, Severity, some_tokens
from revocab.models.folder import ModelFolder, Which, check_model_folder, read_settings, text_part
from revocab.models.load import ADAPTER, loading, quiet
from revocab.vocabulary.tokenizers.canonical import (
    Reason,
    canonical_vocabulary,
    special_and_added,
    unreachable,
)
from revocab.vocabulary.tokenizers.load import load_tokenizer

SEVERITIES = get_args(Severity)
GENERATION = "generation_config.json"
TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"


@dataclass(frozen=True)
class Subject:
    """A model folder; what cannot be read of it raises :class:`RevocabError` where it is asked for.

    Raises :class:`RevocabError` for what is neither a model nor an adapter.
    """

    path: Path
    #: Files that were read, which may have tens of megabytes.
    read: dict[str, dict[str, Any]] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.has(ADAPTER):
            check_model_folder(self.path)

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def settings(self, name: str) -> dict[str, Any]:
        """Return a JSON file's object; an empty one where there is no such file."""
        if name not in self.read:
            self.read[name] = read_settings(self.path / name) if self.has(name) else {}
        return self.read[name]

    @cached_property
    def model(self) -> ModelFolder:
        return ModelFolder(self.path)

    @cached_property
    def config(self) -> dict[str, Any]:
        return self.settings("config.json")

    @cached_property
    def text_config(self) -> dict[str, Any]:
        return text_part(self.config)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Return what transformers takes the configuration for, defaults of its type included."""
        from transformers import AutoConfig

        with quiet(), loading(self.path, Exception):
            config = AutoConfig.from_pretrained(
                self.path, trust_remote_code=False, local_files_only=True
            )
        return config.get_text_config().to_dict()

    @cached_property
    def matrices(self) -> dict[Which, str]:
        """Return the stored names of embedding and head; none of an architecture without them."""
        _ = self.model.tensors  # raises where they cannot be read
        try:
            with quiet(), loading(self.path, Exception):
                return self.model.vocabulary_names
        except RevocabError:
            return {}

    @cached_property
    def rows(self) -> int:
        """Return the rows of the stored embedding or, where there is none, those that are said."""
        if self.matrices:
            return self.model.tensors[self.matrices["input"]][1][0]
        size = self.text_config.get("vocab_size")
        return size if isinstance(size, int) else len(self.tokens)

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerFast:
        with quiet():
            return load_tokenizer(self.path, tell=False)  # a finding says it

    @cached_property
    def tokens(self) -> list[str]:
        """Return the tokens by id, an empty text where an id has none."""
        vocabulary = self.tokenizer.get_vocab()
        tokens = [""] * (max(vocabulary.values(), default=-1) + 1)
        for token, number in vocabulary.items():
            tokens[number] = token
        return tokens

    def listed(self, ids: Collection[int]) -> str:
        return some_tokens(ids, self.tokens)

    @cached_property
    def special(self) -> set[int]:
        """Return the ids of special and added tokens, which no text is cut into by itself."""
        return special_and_added(self.tokenizer)

    @cached_property
    def unreachable(self) -> dict[int, Reason]:
        """Return the tokens that no text reaches; none where the family of tokens is unknown."""
        try:
            return unreachable(self.tokenizer, canonical_vocabulary(self.tokenizer))
        except RevocabError:
            return {}

    def row_label(self, tensor: str, row: int) -> str:
        named = tensor in self.matrices.values() and row < len(self.tokens)
        return f"{row} {self.tokens[row]!r}" if named else str(row)


@dataclass
class Mended:
    """What is other in a copy of a folder; fixes of findings fill it."""

    subject: Subject
    edited: dict[str, dict[str, Any]] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)

    def edit(self, name: str) -> dict[str, Any]:
        return self.edited.setdefault(name, deepcopy(self.subject.settings(name)))

    def edit_text_config(self) -> dict[str, Any]:
        config = self.edit("config.json")
        nested = self.subject.text_config is not self.subject.config
        return config["text_config"] if nested else config

    def remove(self, *names: str) -> None:
        self.removed |= {*names}


@dataclass(frozen=True)
class Kind:
    """Functions that look at one side of a folder; what one cannot read is a finding, too."""

    name: str
    checks: tuple[Callable[[Subject], Iterable[Finding]], ...]
    #: Takes no longer than loading a tokenizer: ``init``, ``change`` and ``train`` run it as well.
    quick: bool = False
    #: A file without which there is nothing to look at.
    file: str | None = None


@cache
def faults() -> dict[str, dict[str, str]]:
    """Return what is said of each fault, by its code and, behind a slash, its variant."""
    says: dict[str, dict[str, str]] = yaml_file.read(Path(__file__).with_name("faults.yaml"))[0]
    return says


def fault(
    key: str,
    fix: Callable[[Mended], object] | None = None,
    /,
    severity: Severity | None = None,
    **facts: object,
) -> Finding:
    """Return a finding in the words of ``faults.yaml``, with these facts in them."""
    says: Any = faults()[key]
    what, effect, mend = (says[part].format(**facts) for part in ("what", "effect", "mend"))
    code, _, _ = key.partition("/")
    return Finding(code, severity or says["severity"], what, effect, mend, fix)


@cache
def kinds() -> dict[str, Kind]:
    from revocab.product.check import kinds as package

    return found_in(package, "KIND")


def look_at(folder: Path, only: Iterable[Kind] | None = None) -> list[Finding]:
    """Return what is wrong with a model folder, errors first, by all kinds or by those of ``only``.

    Raises :class:`RevocabError` for what is no model folder at all.
    """
    subject = Subject(folder)
    findings: dict[str, Finding] = {}
    for kind in kinds().values() if only is None else only:
        present = kind.file is None or subject.has(kind.file)
        for check in kind.checks if present else ():
            try:
                fresh = list(check(subject))
            except RevocabError as error:
                fresh = [*map(partial(unreadable, folder), error.problems)]
            except ModuleNotFoundError as error:  # tokenizer and settings are looked at without it
                if (library := missing_library(error)) is None:
                    raise
                fresh = [fault("not-looked-at", library=library)]
            for finding in fresh:
                known = findings.setdefault(finding.what, finding)
                if known.fix is None and finding.fix is not None:
                    findings[finding.what] = finding
    alone = [finding for finding in findings.values() if finding.code == "adapter"]
    ranked = sorted(alone or findings.values(), key=attrgetter("code", "what"))
    return sorted(ranked, key=lambda finding: SEVERITIES.index(finding.severity))


def tell(folder: Path, known: AbstractSet[str] = frozenset()) -> set[str]:
    """Warn of what the quick kinds find, but for what is ``known``; return all of it."""
    try:
        findings = look_at(folder, [kind for kind in kinds().values() if kind.quick])
    except RevocabError:
        return set()
    problems = [item for item in findings if item.severity != "note" and item.code != "unreadable"]
    for finding in problems:
        if finding.what not in known:
            print(f"warning: {finding.line(folder)}", file=sys.stderr)
    return {finding.what for finding in problems}


def unreadable(
    folder: Path, problem: str, fix: Callable[[object], object] | None = None
) -> Finding:
    """Return the finding that a refusal is: a line of a :class:`RevocabError`."""
    what, _, mend = problem.removeprefix(f"{folder}: ").removeprefix(f"{folder}/").partition("; ")
    effect = "nothing can be loaded or computed with it"
    return Finding("unreadable", "error", what, effect, mend or "fetch it again", fix)
