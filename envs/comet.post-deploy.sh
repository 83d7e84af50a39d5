#!/usr/bin/env bash
# Run by Snakemake in the repository root, inside the environment made from comet.yaml.
set -euo pipefail
python -m pip install --quiet -r requirements-comet.lock
python -m pip install --quiet --no-deps --no-build-isolation -e .
