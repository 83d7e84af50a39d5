"""Fetch a model: a pinned snapshot of a Hub repository, or a copy of a local folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import run


def main() -> None:
    """Read the command line and fill the snapshot folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--hub", metavar="ID", help="Hub repository")
    place.add_argument("--path", type=Path, metavar="DIR", help="local model folder")
    parser.add_argument("--revision", help="Hub branch, tag or commit")
    parser.add_argument(
        "--out", type=Path, required=True, help="DIR/snapshot; DIR/manifest.json is written last"
    )
    arguments = parser.parse_args()

    from revocab.models.fetch import fetch_model

    fetch_model(arguments.out, hub=arguments.hub, revision=arguments.revision, path=arguments.path)


if __name__ == "__main__":
    run(main)
