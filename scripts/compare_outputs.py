"""Compare the texts that two engines generated for the same prompts; differences are listed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from revocab.cli import run
from revocab.errors import RevocabError


def main() -> None:
    """Compare two folders, print each difference as a JSON line and the share of equal outputs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=Path, help="folder of generate_text")
    parser.add_argument("second", type=Path, help="the same folder from the other engine")
    parser.add_argument(
        "--at-least", type=float, default=0.0, help="fail below this share of equal outputs"
    )
    options = parser.parse_args()

    from revocab.evaluation.generation.engine_agreement import compare_outputs

    found = compare_outputs(options.first, options.second)
    for one in found.differences:
        print(json.dumps(one, ensure_ascii=False))
    print(f"{found.equal} of {found.rows} outputs equal ({100 * found.share:.1f} %)")
    if found.share < options.at_least:
        raise RevocabError(
            f"{options.first} and {options.second}: {found.share:.4f} of the outputs are equal, "
            f"--at-least {options.at_least:g} wanted; look at the differences above, or lower it"
        )


if __name__ == "__main__":
    run(main)
