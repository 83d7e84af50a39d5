"""Compare the embedding spaces of a group's runs with their helper's and with each other."""

from __future__ import annotations

import argparse
from pathlib import Path

from revocab.cli import named_path, run


def run_models(text: str) -> tuple[str, Path, Path]:
    """Read ``RUN=FIRST=LAST``."""
    parts = text.split("=")
    if len(parts) != 3 or not all(parts):
        raise argparse.ArgumentTypeError(f"{text!r}: expected RUN=FIRSTDIR=LASTDIR")
    return parts[0], Path(parts[1]), Path(parts[2])


def main() -> None:
    """Read the command line, measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--group", required=True)
    parser.add_argument(
        "--helper", type=named_path, metavar="ID=MODELDIR", help="none: compare the runs only"
    )
    parser.add_argument(
        "--run",
        type=run_models,
        action="extend",
        nargs="+",
        default=[],
        metavar="RUN=FIRSTDIR=LASTDIR",
    )
    parser.add_argument("--first-step", type=int, default=0)
    parser.add_argument("--last-step", type=int, required=True)
    parser.add_argument("--target-tokenizer", type=Path, required=True)
    parser.add_argument("--anchors", type=int, default=128, help="of each of the two kinds")
    parser.add_argument("--relative", choices=["dot", "cosine"], default="dot")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()

    from revocab.analyse.similarity import KIND, RunModels, measure, write_similarity
    from revocab.models.provenance import library_versions
    from revocab.output import OutputFolder

    helper = [arguments.helper[1]] if arguments.helper else []
    models = [folder for _, *folders in arguments.run for folder in folders]
    out = OutputFolder(arguments.out, KIND, [arguments.target_tokenizer, *helper, *models])
    rows, anchors = measure(
        arguments.group,
        arguments.helper,
        [RunModels(*one) for one in arguments.run],
        arguments.target_tokenizer,
        steps=(arguments.first_step, arguments.last_step),
        per_kind=arguments.anchors,
        relative=arguments.relative,
        seed=arguments.seed,
    )
    described = {
        "group": arguments.group,
        "helper": arguments.helper[0] if arguments.helper else None,
        "relative": arguments.relative,
        "seed": arguments.seed,
        "anchors_wanted": arguments.anchors,
        "anchors": anchors.found,
        "tokens_compared": len(anchors.token_ids),
        "libraries": library_versions(),
    }
    write_similarity(rows, described, out)


if __name__ == "__main__":
    run(main)
