"""Build a tokenizer folder: train, substitute, extend, replace or optimise (docs/tokenizers.md)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from revocab.cli import named, run


def share_of_corpus(text: str) -> tuple[str, float, Path]:
    """Read ``ID=SHARE=FOLDER``."""
    try:
        corpus, share, folder = text.split("=", 2)
        return corpus, float(share), Path(folder)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected ID=SHARE=FOLDER") from None


def build(arguments: argparse.Namespace) -> None:
    """Load what the command line names and write the tokenizer folder."""
    from revocab.errors import RevocabError
    from revocab.initialise.options import parse_options
    from revocab.vocabulary.build import TrainingText, build_tokenizer
    from revocab.vocabulary.construction import BuildInputs, find_construction
    from revocab.vocabulary.load import load_tokenizer

    allowed = find_construction(arguments.construction).options
    mixtures: dict[str, list[TrainingText]] = {}
    for name, parts in (("corpora", arguments.corpus), ("count_corpora", arguments.count_corpus)):
        if parts:
            mixtures[name] = [TrainingText(*part) for part in parts]
    folders = {name: getattr(arguments, name) for name in ("base", "donor")}
    folders = {name: folder for name, folder in folders.items() if folder is not None}
    problems = [
        f"construction {arguments.construction!r} takes no {name}"
        for name in (*mixtures, *folders)
        if name not in (*allowed.mixtures, *allowed.tokenizers)
    ]
    if problems:
        raise RevocabError(problems)
    given: dict[str, Any] = parse_options(arguments.option)
    for name, mixture in mixtures.items():
        given[name] = {part.corpus: part.share for part in mixture}
    for name, folder in folders.items():
        given[name] = folder.resolve().name
    inputs = BuildInputs(
        mixtures,
        {name: load_tokenizer(folder) for name, folder in folders.items()},
        tuple(folders.values()),
    )
    build_tokenizer(arguments.construction, given, inputs, arguments.out)


def main() -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("construction", help="train, substitute, extend, replace or optimise")
    corpora = {"nargs": "+", "action": "extend", "type": share_of_corpus, "default": []}
    parser.add_argument(
        "--corpus",
        metavar="ID=SHARE=FOLDER",
        help="prepared corpora and their shares of the bytes",
        **corpora,
    )
    parser.add_argument(
        "--count-corpus",
        metavar="ID=SHARE=FOLDER",
        help="corpora in which the base's tokens are counted (replace, optimise)",
        **corpora,
    )
    parser.add_argument("--base", type=Path, help="tokenizer folder to start from")
    parser.add_argument("--donor", type=Path, help="tokenizer folder to take new tokens from")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        type=named(),
        metavar="NAME=VALUE",
        help="an option of the construction; a wrong one lists them all",
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    build(parser.parse_args())


if __name__ == "__main__":
    run(main)
