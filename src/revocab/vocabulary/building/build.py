"""Build a tokenizer folder by any construction: one interface, one manifest, one way to fail."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from revocab.command_line import flag_of
from revocab.errors import RevocabError, refuse
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.io import sha256, write_json
from revocab.output import OutputFolder
from revocab.vocabulary.building.construction import (
    INPUTS,
    SHARES,
    BuildInputs,
    TokenizerJob,
    constructions,
)
from revocab.vocabulary.building.training_text import TrainingText
from revocab.vocabulary.tokenizers.load import load_tokenizer, write_tokenizer

#: What the folder claims to be.
KIND = "tokenizer"
#: Text that shows whether a saved tokenizer is the one that was built.
PROBE = "Perché l'é così? naïve\n\t  12 — ▁ 日本 🙂 <0x0A> fine."


def save_tokenizer(
    tokenizer: PreTrainedTokenizerFast,
    manifest: dict[str, Any],
    out: str | Path,
    changes: dict[str, Any] | None = None,
) -> dict[str, Any]:
    import tokenizers
    import transformers

    with OutputFolder(Path(out), KIND).replaced() as folder:
        write_tokenizer(tokenizer, folder)
        again = load_tokenizer(folder)
        if again.get_vocab() != tokenizer.get_vocab() or again(PROBE) != tokenizer(PROBE):
            raise RevocabError(
                f"{out}: the saved tokenizer differs from the one given (transformers"
                f" {transformers.__version__}); it cannot be used as it is"
            )
        if changes is not None:
            write_json(folder / "changes.json", changes)
        manifest = {
            "vocabulary_size": len(again),
            **manifest,
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
        for name in sorted(inputs.names.difference(job.inputs()))
    ]
    problems += [
        f"{flag_of(name)}: {where} needs it ({INPUTS[name][1]})"
        for name in job.needs
        if name not in inputs.names
    ]
    if not problems and (conflict := job.conflict(inputs.names)):
        problems = [f"{where}: {conflict}"]
    refuse(problems)
    corpora = [part.folder for mixture in inputs.mixtures.values() for part in mixture]
    files = [place for name, place in inputs.places.items() if name not in job.templates]
    OutputFolder(Path(out), KIND, [*corpora, *files])
    built = construction.build(inputs, job)
    manifest = {"construction": construction.name, **built.facts}
    return save_tokenizer(built.tokenizer, manifest, out, built.changes)


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
    refuse(problems)
    loaded = {name: load_tokenizer(places[name]) for name in job.tokenizers if name in places}
    return build_tokenizer(job, BuildInputs(texts, loaded, dict(places)), out)
