"""Prepare a corpus: documents in, a train and a held-out part and their counts out."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import run


def main() -> None:
    """Read the command line and write the corpus folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", required=True, help="id of the corpus")
    parser.add_argument("--language", required=True, help="ISO 639-1 code, such as it")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--file", type=Path, help="local .jsonl, .txt (also .gz, .zst) or .parquet")
    source.add_argument("--hub", help="id of a data set on the Hugging Face Hub (streamed)")
    parser.add_argument("--name", help="configuration of the Hub data set")
    parser.add_argument("--split", default="train", help="split of the Hub data set")
    parser.add_argument("--revision", help="commit, tag or branch of the Hub data set")
    parser.add_argument("--text-field", default="text")
    parser.add_argument("--limit-documents", type=int, help="keep only the first n documents")
    parser.add_argument("--limit-bytes", type=int, help="keep only the first n bytes of text")
    parser.add_argument("--heldout-bytes", type=int, default=0, help="bytes of text to set aside")
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    arguments = parser.parse_args()

    from revocab.corpora.prepare import CorpusOptions, prepare_file, prepare_hub

    options = CorpusOptions(
        corpus=arguments.corpus,
        language=arguments.language,
        text_field=arguments.text_field,
        limit_documents=arguments.limit_documents,
        limit_bytes=arguments.limit_bytes,
        heldout_bytes=arguments.heldout_bytes,
    )
    if arguments.file is not None:
        prepare_file(arguments.file, options, arguments.out)
    else:
        prepare_hub(
            arguments.hub,
            options,
            arguments.out,
            name=arguments.name,
            split=arguments.split,
            revision=arguments.revision,
        )


if __name__ == "__main__":
    run(main)
