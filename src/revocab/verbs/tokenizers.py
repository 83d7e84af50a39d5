"""Tokenizers: building them, what two of them share, and how many tokens they need."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from revocab.closed import Folder, Id
from revocab.initialise.reading.fasttext import AuxiliaryJob
from revocab.models.hub_or_folder import tokenizer_field
from revocab.training.chat.template import chat_template_field
from revocab.verb import verb
from revocab.vocabulary.building.construction import TokenizerJob
from revocab.vocabulary.fertility import FertilityJob
from revocab.vocabulary.intersection import IntersectionJob


@verb(finds=("vocabulary/building/constructions",))
def build_tokenizer(
    *,
    corpora: dict[Id, Folder] = Field(default_factory=dict, description="prepared corpora, by id"),
    count_corpora: dict[Id, Folder] = Field(
        default_factory=dict,
        description="prepared corpora in which the base's tokens are counted, by id",
    ),
    path: Path | None = tokenizer_field("tokenizer folder to use unchanged", default=None),
    base: Folder | None = tokenizer_field("tokenizer folder to start from", default=None),
    donor: Folder | None = tokenizer_field("tokenizer folder to take tokens from", default=None),
    chat: Folder | None = tokenizer_field(
        "tokenizer folder of an instruction-tuned model, for its chat tokens", default=None
    ),
    template: Path | None = chat_template_field(),
    words: Path | None = Field(
        default=None,
        description="file with words that become tokens, one a line; after a tab, where its row"
        " starts from: =TOKEN of the source, or a description",
    ),
    options: TokenizerJob,
    out: Path,
) -> str:
    """Build a tokenizer: train a new one, or change or combine others (docs/tokenizers.md)."""
    from revocab.vocabulary.building.construction import build_from_folders

    mixtures = {"corpora": corpora, "count_corpora": count_corpora}
    folders = {"path": path, "base": base, "donor": donor, "chat": chat, "template": template}
    folders["words"] = words
    manifest = build_from_folders(
        options,
        {name: texts for name, texts in mixtures.items() if texts},
        {name: folder for name, folder in folders.items() if folder is not None},
        out,
    )
    added = f", {manifest['added']:,} of them new" if "added" in manifest else ""
    if counts := manifest.get("words"):
        added += (
            f"; words: {counts['added']:,} added, {counts['exists']:,} were tokens,"
            f" {counts['impossible']:,} cannot be (see {out}/words.json)"
        )
    return (
        f"{out}: {manifest['vocabulary_size']:,} tokens{added}\n"
        f"next: revocab intersect --source OLD --target {out} says what two tokenizers share"
    )


@verb()
def intersect_vocabularies(
    *,
    source: Folder = tokenizer_field("source tokenizer folder, or .tiktoken file"),
    target: Folder = tokenizer_field("target tokenizer folder, or .tiktoken file"),
    options: IntersectionJob,
    out: Path,
) -> str:
    """Find the tokens that two vocabularies share, by what they stand for."""
    from revocab.vocabulary.intersection import intersect_folders

    report = intersect_folders(source, target, options, out).report
    return (
        f"{out}/report.md: {report['overlap']:,} of the target's {report['target_size']:,} tokens"
        f" take a row of the source; {report['missing']:,} are new\n"
        f"next: revocab init METHOD --source MODEL --target-tokenizer {target} makes their rows"
    )


@verb()
def measure_fertility(
    *,
    tokenizers: dict[Id, Folder] = tokenizer_field("tokenizer folders, by id", min_length=1),
    corpora: dict[Id, Folder] = Field(min_length=1, description="prepared corpora, by id"),
    parallel_files: list[Path] = Field(
        default_factory=list, description="files with the same text in several languages"
    ),
    options: FertilityJob,
    out: Path,
) -> str:
    """Measure tokenizers on corpora: tokens per word, words split, unknown and byte tokens."""
    from revocab.vocabulary.fertility import fertility_of_folders

    rows = fertility_of_folders(tokenizers, corpora, out, options, parallel_files)
    measured = "; ".join(
        f"{row['tokenizer']} on {row['corpus']} {row['fertility']:.3f}" for row in rows
    )
    return (
        f"{out}/fertility.csv: tokens per word: {measured}\n"
        f"{out}/floors.csv: the fewest that any vocabulary can have\n"
        "next: revocab intersect --source OLD --target NEW says what two tokenizers share"
    )


@verb()
def train_auxiliary(
    *,
    target_tokenizer: Folder = tokenizer_field("tokenizer folder"),
    source_tokenizers: list[Folder] = tokenizer_field(
        "tokenizer folders whose tokens get vectors by their n-grams", min_length=1
    ),
    corpora: dict[Id, Folder] = Field(min_length=1, description="prepared corpora, by id"),
    options: AuxiliaryJob,
    out: Path,
) -> None:
    """Train fastText vectors for a target vocabulary, and derive those of source vocabularies."""
    from revocab.initialise.reading.fasttext import train_auxiliary

    train_auxiliary(target_tokenizer, source_tokenizers, corpora, out, options)
