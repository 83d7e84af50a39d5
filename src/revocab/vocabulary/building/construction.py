"""What a way of building a tokenizer is, the registry that finds those in ``constructions/``, and
how a folder is built by any: one interface, one manifest, one way to fail.

Config validation imports this, so nothing here or at the top of a construction's file imports the
tokenizer libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, create_model, model_validator

from revocab.closed import Closed, Id, Job, OfKinds, OneLine
from revocab.command_line import flag_of
from revocab.corpora.read import corpus_manifests
from revocab.errors import RevocabError, all_of, refuse
from revocab.extensions import found_in
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.io import sha256, write_json
from revocab.limits import Bytes, Share, Size
from revocab.output import OutputFolder
from revocab.vocabulary.building.training_text import TrainingText
from revocab.vocabulary.tokenizers.load import load_tokenizer, load_tokenizers, write_tokenizer

#: What a tokenizer may be built of, beside options: the types of these keys in an experiment file,
#: and what they mean.
INPUTS: dict[str, tuple[Any, str]] = {
    "base": (str, "tokenizer that is changed"),
    "corpora": (
        dict[str, Share],
        "text that tokens are learned from or, with a donor, counted in; shares of bytes",
    ),
    "count_corpora": (
        dict[str, Share],
        "text in which the base's tokens are counted; default: corpora",
    ),
    "donor": (
        str,
        "a tokenizer whose most frequent tokens are added; none: they are learned on top of the "
        "base",
    ),
    "chat": (str, "the tokenizer of an instruction-tuned model"),
    "template": (
        OneLine,
        "a chat template: a Jinja file that marks answers, or the name of one of the package",
    ),
    "path": (str, "folder or file"),
    "words": (
        OneLine,
        "file with words that become tokens, one a line; after a tab, where its row starts from:"
        " =TOKEN of the source, or a description",
    ),
}
#: How a job calls the shares of its corpora, which have a folder each.
SHARES = {"corpora": "shares", "count_corpora": "count_shares"}


class ConstructionOptions(Closed):
    """Base of a construction's options.

    What it is built of beside is named by an experiment file and given to a command: corpora with
    their shares of bytes (``mixtures``), other ``tokenizers``, a path (``folders``), a chat
    template, a file or a name (``templates``), and a file with words (``lists``). It cannot do
    without those that it ``needs``.
    """

    mixtures: ClassVar[tuple[str, ...]] = ()
    tokenizers: ClassVar[tuple[str, ...]] = ()
    folders: ClassVar[tuple[str, ...]] = ()
    templates: ClassVar[tuple[str, ...]] = ()
    lists: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def inputs(cls) -> tuple[str, ...]:
        return (*cls.mixtures, *cls.tokenizers, *cls.folders, *cls.templates, *cls.lists)

    def conflict(self, inputs: Mapping[str, Any]) -> str | None:
        """Return why the options do not go with the inputs that are given; None where they do."""
        return None


#: What a corpus' tokens are divided by where corpora are to cost the same.
Parity = Literal["bytes", "documents"]


class ChangeOptions(ConstructionOptions):
    """What every construction that changes a base has."""

    mixtures: ClassVar[tuple[str, ...]] = ("corpora",)
    tokenizers: ClassVar[tuple[str, ...]] = ("base", "donor")
    needs: ClassVar[tuple[str, ...]] = ("base", "corpora")

    limit_bytes: Bytes | None = Field(
        default=None, description="use at most this much text of each mixture"
    )
    donor_top: Size | None = Field(
        default=None,
        description="look only at this many of the donor's tokens, the most frequent ones",
    )
    parity: Parity | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="bytes: each new token is learned from the corpus with the most tokens per byte"
        " so far, so that several languages come to cost the same; documents: the most per"
        " document, for corpora of the same sentences; default: from all text as one",
    )

    def conflict(self, inputs: Mapping[str, Any]) -> str | None:
        if self.parity is not None and "donor" in inputs:
            return f"parity: {self.parity} is of tokens that are learned; leave it or the donor out"
        if self.parity is not None and len(inputs["corpora"]) < 2:
            return f"parity: {self.parity} is of several corpora, received one; give more"
        alone = self.donor_top is not None and "donor" not in inputs
        return "donor_top needs a donor" if alone else None


class DropOptions(ChangeOptions):
    """Those of a construction that drops tokens of the base as well."""

    mixtures: ClassVar[tuple[str, ...]] = ("corpora", "count_corpora")


class ConstructionEntry(ConstructionOptions):
    """What an experiment file says of a tokenizer that is built: options, and inputs by name."""

    def named(self, keys: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        return ((name, value) for name in keys if (value := getattr(self, name)) is not None)

    @model_validator(mode="after")
    def _go_together(self) -> ConstructionEntry:
        if conflict := self.conflict(dict(self.named(self.inputs()))):
            raise ValueError(conflict)
        return self


@dataclass(frozen=True)
class BuildInputs:
    """What a tokenizer is built of, by name."""

    mixtures: dict[str, list[TrainingText]] = field(default_factory=dict)
    tokenizers: dict[str, PreTrainedTokenizerFast] = field(default_factory=dict)
    #: Where the tokenizers were loaded from, and further folders and files.
    places: dict[str, Path] = field(default_factory=dict)

    @property
    def named(self) -> dict[str, Any]:
        return {**self.mixtures, **self.tokenizers, **self.places}

    def recorded(self, job: TokenizerJob, *, nulls: bool = True) -> dict[str, Any]:
        """Return the options as a manifest has them, with the shares and names of the inputs."""
        record: dict[str, Any] = dict.fromkeys((*job.tokenizers, *job.mixtures))
        for name in self.tokenizers:
            record[name] = self.places[name].resolve().name
        for name, mixture in self.mixtures.items():
            record[name] = {part.corpus: part.share for part in mixture}
        record |= job.own_options()
        return {key: value for key, value in record.items() if nulls or value is not None}


@dataclass(frozen=True)
class Built:
    """A tokenizer, what its manifest says of how it came about, and lists too long for that."""

    tokenizer: PreTrainedTokenizerFast
    facts: dict[str, Any]
    #: Written beside the tokenizer as ``changes.json``: tokens added and dropped.
    changes: dict[str, Any] | None = None
    #: Written beside it as ``words.json``: what became of the words of a list.
    words: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class Construction:
    """One way to build a tokenizer: ``build(inputs, options)`` returns a :class:`Built`."""

    name: str
    summary: str
    citation: str
    options: type[ConstructionOptions]
    build: Callable[[BuildInputs, Any], Built]

    @cached_property
    def entry(self) -> type[ConstructionEntry]:
        fields: dict[str, Any] = {}
        for name in self.options.inputs():
            kind, about = INPUTS[name]
            needed = name in self.options.needs
            default = Field(description=about) if needed else Field(None, description=about)
            fields[name] = (kind if needed else kind | None, default)
        bases: Any = (ConstructionEntry, self.options)
        return create_model(
            self.options.__name__, __base__=bases, __doc__=self.options.__doc__, **fields
        )


class TokenizerJob(ConstructionOptions, OfKinds, Job):
    """A construction with its options."""

    named_by: ClassVar[str] = "construction"

    construction: Id
    shares: dict[Id, Share] = Field(
        default_factory=dict,
        exclude_if=lambda shares: not shares,
        description="share of each corpus in the bytes; not needed where there is one",
    )
    count_shares: dict[Id, Share] = Field(
        default_factory=dict,
        exclude_if=lambda shares: not shares,
        description="the same of the corpora in which the base's tokens are counted",
    )

    @classmethod
    def kinds(cls) -> dict[str, Construction]:
        return constructions()


@cache
def constructions() -> dict[str, Construction]:
    from revocab.vocabulary.building import constructions as package

    return found_in(package, "CONSTRUCTION")


#: What became of the words of a list, and where their rows start from.
WORDS = "words.json"
#: What the folder claims to be.
KIND = "tokenizer"
#: Text that shows whether a saved tokenizer is the one that was built.
PROBE = "Perché l'é così? naïve\n\t  12 — ▁ 日本 🙂 <0x0A> fine."


def save_tokenizer(built: Built, construction: str, out: str | Path) -> dict[str, Any]:
    import tokenizers
    import transformers

    tokenizer = built.tokenizer
    with OutputFolder(Path(out), KIND).replaced() as folder:
        write_tokenizer(tokenizer, folder)
        again = load_tokenizer(folder)
        if again.get_vocab() != tokenizer.get_vocab() or again(PROBE) != tokenizer(PROBE):
            raise RevocabError(
                f"{out}: the saved tokenizer differs from the one given (transformers"
                f" {transformers.__version__}); it cannot be used as it is"
            )
        if built.changes is not None:
            write_json(folder / "changes.json", built.changes)
        if built.words is not None:
            write_json(folder / WORDS, {"words": built.words})
        manifest = {
            "vocabulary_size": len(again),
            "construction": construction,
            **built.facts,
            "special_ids": {
                name: getattr(again, f"{name}_token_id") for name in ("bos", "eos", "unk", "pad")
            },
            "sha256": sha256(folder / "tokenizer.json"),
            "versions": {
                "tokenizers": tokenizers.__version__,
                "transformers": transformers.__version__,
            },
        }
        write_json(folder / "manifest.json", manifest)
    return manifest


def build_tokenizer(job: TokenizerJob, inputs: BuildInputs, out: str | Path) -> dict[str, Any]:
    """Build a tokenizer; return the manifest of ``out``.

    Raises :class:`RevocabError`, before anything is written, naming every input that the
    construction lacks or does not take.
    """
    construction = constructions()[job.construction]
    where = f"construction {job.construction!r}"
    problems = [
        f"{flag_of(name)}: {where} takes none; leave it out"
        for name in sorted(inputs.named.keys() - job.inputs())
    ]
    problems += [
        f"{flag_of(name)}: {where} needs it ({INPUTS[name][1]})"
        for name in job.needs
        if name not in inputs.named
    ]
    if not problems and (conflict := job.conflict(inputs.named)):
        problems = [f"{where}: {conflict}"]
    refuse(problems)
    corpora = [part.folder for mixture in inputs.mixtures.values() for part in mixture]
    files = [place for name, place in inputs.places.items() if name not in job.templates]
    OutputFolder(Path(out), KIND, [*corpora, *files])
    return save_tokenizer(construction.build(inputs, job), construction.name, out)


def build_from_folders(
    job: TokenizerJob,
    mixtures: Mapping[str, Mapping[str, Path]],
    places: Mapping[str, Path],
    out: str | Path,
) -> dict[str, Any]:
    """Build a tokenizer from a job and its files; return the manifest.

    ``mixtures`` are folders of corpora by id, ``places`` tokenizers and chat templates, both by
    what they are to the construction. Raises :class:`RevocabError` naming every corpus without a
    share, and every share without a corpus.
    """
    problems: list[str] = []
    texts: dict[str, list[TrainingText]] = {}
    for name, key in SHARES.items():
        corpora, shares = mixtures.get(name, {}), getattr(job, key)
        if len(corpora) == 1:
            shares = shares or dict.fromkeys(corpora, 1.0)
        if without := sorted(corpora.keys() - shares.keys()):
            equal = " ".join(f"{corpus}={1 / len(corpora):.2g}" for corpus in corpora)
            problems.append(
                f"{flag_of(key)}: no share of {', '.join(without)}; several corpora need shares:"
                f" {flag_of(key)} {equal}"
            )
        problems += [
            f"{flag_of(name)}: no folder of {corpus!r}, which has a share; give {corpus}=FOLDER"
            for corpus in sorted(shares.keys() - corpora.keys())
        ]
        if corpora:
            texts[name] = [
                TrainingText(corpus, share, corpora[corpus])
                for corpus, share in shares.items()
                if corpus in corpora
            ]
    folders = {name: places[name] for name in job.tokenizers if name in places}
    calls = [partial(corpus_manifests, corpora) for corpora in mixtures.values()]
    *_, loaded = all_of([*calls, partial(load_tokenizers, folders)], problems)
    return build_tokenizer(job, BuildInputs(texts, loaded, dict(places)), out)
