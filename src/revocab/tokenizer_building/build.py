"""Build a tokenizer folder by any construction: one interface, one manifest, one way to fail."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from revocab.errors import RevocabError, refuse
from revocab.heavy_types import PreTrainedTokenizerFast
from revocab.io import sha256, write_json
from revocab.output import OutputFolder
from revocab.tokenizer_building.construction import (
    BuildInputs,
    Construction,
    ConstructionOptions,
    TokenizerJob,
    find_construction,
)
from revocab.tokenizer_building.training_text import TrainingText
from revocab.tokenizers.load import load_tokenizer, write_tokenizer
from revocab.verb import flag_of

#: What the folder claims to be.
KIND = "tokenizer"
#: Text that shows whether a saved tokenizer is the one that was built.
PROBE = "Perché l'é così? naïve\n\t  12 — ▁ 日本 🙂 <0x0A> fine."


def check_construction_options(
    construction: Construction, options: dict[str, Any]
) -> ConstructionOptions:
    """Return a construction's options; raise :class:`RevocabError` naming each that is wrong."""
    try:
        return construction.options(**options)
    except ValidationError as error:
        known = ", ".join(construction.options.model_fields)
        problems = []
        for problem in error.errors():
            option = ".".join(map(str, problem["loc"]))
            received = f", option {option} = {problem['input']!r}" if option else ""
            message = problem["msg"].removeprefix("Value error, ")
            problems.append(
                f"construction {construction.name!r}{received}: {message.lower()};"
                f" options are: {known}"
            )
        raise RevocabError(problems) from None


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


def build_tokenizer(
    name: str, raw_options: dict[str, Any], inputs: BuildInputs, out: str | Path
) -> dict[str, Any]:
    """Build by the construction ``name`` with options ``given``; return the manifest of ``out``.

    ``inputs`` holds the corpora and tokenizers that the options name. Raises :class:`RevocabError`
    before anything is written.
    """
    construction = find_construction(name)
    options = check_construction_options(construction, raw_options)
    own = [Path(path) for _, path in options.named(options.folders)]
    OutputFolder(Path(out), KIND, [*inputs.folders, *own])
    built = construction.build(inputs, options)
    manifest = {"construction": name, **built.facts}
    return save_tokenizer(built.tokenizer, manifest, out, built.changes)


def build_from_folders(
    job: TokenizerJob,
    mixtures: Mapping[str, Mapping[str, Path]],
    folders: Mapping[str, Path],
    out: str | Path,
) -> dict[str, Any]:
    """Build a tokenizer from a job and the folders behind its options; return the manifest.

    ``mixtures`` are corpora by id, by option; ``folders`` tokenizers and chat templates, by option.
    Raises :class:`RevocabError` naming every one that the construction does not take or lacks.
    """
    allowed = find_construction(job.construction).options
    taken = (*allowed.mixtures, *allowed.tokenizers, *allowed.folders, *allowed.templates)
    problems = [
        f"construction {job.construction!r} takes no {name}"
        for name in (*mixtures, *folders)
        if name not in taken
    ]
    options = dict(job.option)
    texts: dict[str, list[TrainingText]] = {}
    for name, corpora in mixtures.items():
        shares = options.setdefault(
            name, {corpus: 1.0 for corpus in corpora} if len(corpora) == 1 else {}
        )
        if without := sorted(corpora.keys() - shares.keys()):
            equal = ", ".join(f"{corpus}: {1 / len(corpora):.2g}" for corpus in corpora)
            problems.append(
                f"--option {name}: no share of {', '.join(without)}; several corpora need shares:"
                f" --option '{name}={{{equal}}}'"
            )
        problems += [
            f"{flag_of(name)}: no folder of {corpus!r}, which has a share; give {corpus}=FOLDER"
            for corpus in sorted(shares.keys() - corpora.keys())
        ]
        texts[name] = [
            TrainingText(corpus, share, corpora[corpus])
            for corpus, share in shares.items()
            if corpus in corpora
        ]
    refuse(problems)
    for name in (*allowed.folders, *allowed.templates):
        if name in folders:
            options[name] = str(folders[name])
    built_from = {name: folders[name] for name in allowed.tokenizers if name in folders}
    for name, folder in built_from.items():
        options.setdefault(name, folder.resolve().name)
    loaded = {name: load_tokenizer(folder) for name, folder in built_from.items()}
    inputs = BuildInputs(texts, loaded, tuple(built_from.values()))
    return build_tokenizer(job.construction, options, inputs, out)
