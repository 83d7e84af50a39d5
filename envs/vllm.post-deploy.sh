#!/usr/bin/env bash
# Run by Snakemake in the repository root, inside the environment made from vllm.yaml.
set -euo pipefail
if command -v nvidia-smi > /dev/null; then
    python -m pip install --quiet vllm==0.32.0 sacrebleu==2.6.0 rouge_score==0.1.2 \
        lm_eval==0.4.13 datasets==5.2.0 accelerate==1.15.0
else
    python -m pip install --quiet --no-deps --retries 1 \
        --extra-index-url https://download.pytorch.org/whl/cpu torch==2.13.0+cpu
    python -m pip install --quiet --no-deps -r requirements-vllm.lock
fi
python -m pip install --quiet --no-deps --no-build-isolation -e .
