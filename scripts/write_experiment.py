"""Write the validated experiment and its runs, as Snakemake passes them, to experiment.json."""

import argparse
import json
from pathlib import Path

from revocab.cli import run
from revocab.io import write_json
from revocab.output import check_files


def main() -> None:
    """Parse the command line and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", required=True, type=json.loads, help="the experiment as JSON")
    parser.add_argument("--out", required=True, type=Path)
    arguments = parser.parse_args()
    check_files(arguments.out)
    write_json(arguments.out, arguments.values)


if __name__ == "__main__":
    run(main)
