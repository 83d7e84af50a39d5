"""``benchmarks/gpu.py`` at its smallest, with nothing installed but what it says that it needs."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from functools import partial
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NEEDED = ("torch", "transformers", "accelerate", "tokenizers", "safetensors", "pydantic")
#: Makes all that is not needed fail to import, in each process that Python starts.
CUSTOMIZE = "import os, sys\nsys.modules.update(dict.fromkeys(os.environ['ABSENT'].split()))\n"
METHODS = ["sava lstsq", "clp", "projection"]


def needed() -> set[str]:
    """Return the distributions that are installed with those that the script needs."""
    found, waiting = set(), [*NEEDED]
    while waiting:
        name = canonicalize_name(waiting.pop())
        try:
            requirements = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # of another system
            continue
        if name not in found:
            found.add(name)
            parsed = map(Requirement, requirements)
            waiting += [r.name for r in parsed if not r.marker or r.marker.evaluate({"extra": ""})]
    return found


@pytest.fixture(scope="module")
def call(repository, tmp_path_factory):
    """Run the script without a GPU and without what it does not need; return its folder."""
    root, allowed = tmp_path_factory.mktemp("gpu"), needed()
    (root / "sitecustomize.py").write_text(CUSTOMIZE)
    absent = [
        module
        for module, packages in metadata.packages_distributions().items()
        if module != "revocab" and not allowed & {*map(canonicalize_name, packages)}
    ]
    assert {"snakemake", "pandas", "datasets", "lm_eval", "peft", "scipy"} <= {*absent}
    environment = {
        **os.environ, "ABSENT": " ".join(absent), "PYTHONPATH": str(root),
        "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "",
    }  # fmt: skip
    script = [sys.executable, str(repository / "benchmarks/gpu.py"), "--out", "found"]

    def called(*words):
        subprocess.run([*script, *words], cwd=root, env=environment, check=True)
        return root / "found"

    return called


@pytest.fixture(scope="module")
def found(call):
    return call("--shape", "pico")


@pytest.fixture
def script(repository, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    import gpu

    return gpu


@pytest.mark.long
def test_every_part_is_measured(found):
    parts = json.loads((found / "gpu.json").read_text())
    assert {name: part["status"] for name, part in parts.items()} == {
        name: "measured"
        for name in ("device", "train-pico-all", "train-pico-new-rows", "initialisation-pico",
                     "serving-pico")
    }  # fmt: skip
    assert all({"device", "torch", "python", "command"} <= part.keys() for part in parts.values())
    for name in ("train-pico-all", "train-pico-new-rows"):
        ours, plain = parts[name]["table"]
        assert ours["loss"] == pytest.approx(plain["loss"], rel=2e-3), "both train the same"
        assert ours["ratio_to_plain"] == ours["tokens_per_second"] / plain["tokens_per_second"]
        assert min(ours["peak_bytes"], plain["peak_bytes"]) > 2**20
    assert [row["method"] for row in parts["initialisation-pico"]["table"]] == METHODS
    served = parts["serving-pico"]["table"]
    assert [row["vocabulary"] for row in served] == [512, 512, 256, 256]
    assert all(0 < row["share_of_head"] < 1 for row in served)
    tables = [line for line in (found / "gpu.md").read_text().splitlines() if line[:1] == "|"]
    assert len(tables) == 4 * 2 + 1 + 4 + len(METHODS) + 4


@pytest.mark.long
def test_a_call_measures_what_is_not_measured_yet(call, found):
    parts = found / "parts"
    before = {file.name: file.read_bytes() for file in parts.iterdir()}
    (parts / "initialisation-pico.json").unlink()
    call("--shape", "pico")
    after = {file.name: file.read_bytes() for file in parts.iterdir()}
    changed = {name for name in after if before.get(name) != after[name]}
    assert changed == {"initialisation-pico.json"}
    assert json.loads(after["initialisation-pico.json"])["status"] == "measured"


@pytest.mark.parametrize(
    ("kind", "began", "left", "ending", "expected"),
    [
        ("training", -500, 60, None, "too slow"),
        ("training", -500, -50, None, "stopped"),
        ("training", 0, 60, 9, "failed"),
    ],
    ids=["its minutes are over", "the call's are", "it died"],
)
def test_a_part_that_does_not_end_is_ended_and_recorded(
    script, tmp_path, kind, began, left, ending, expected
):
    record = {"part": "some", "kind": kind, "began": time.time() + began}
    (tmp_path / script.RUNNING).write_text(json.dumps(record))
    options = argparse.Namespace(out=tmp_path, until=time.time() + left)
    code = "import time; time.sleep(60)" if ending is None else f"raise SystemExit({ending})"
    with subprocess.Popen([sys.executable, "-c", code]) as child:
        assert script.watch(child, options) == script.ANEW
    written = json.loads((tmp_path / "parts/some.json").read_text())
    assert (written["status"], written["call"]) == (expected, options.until)
    assert not (tmp_path / script.RUNNING).exists()


@pytest.mark.parametrize(("most", "found"), [(8, (8, False)), (2, (2, False)), (0, None)])
def test_a_size_that_has_no_memory_gives_way_to_the_next(script, most, found):
    import torch

    def train(tokens, recomputed, rows, micro):
        if micro > most:
            raise torch.OutOfMemoryError("out of memory")
        return {"seconds": 1.0, "micro_batch": micro}

    tokens = torch.zeros(24, 4).numpy()
    sizes = [{"micro": micro} for micro in (8, 4, 2, 1)]
    result = script.gpu_training.first_that_fits(partial(train, rows=8), tokens, sizes)
    assert (result and (result["micro_batch"], result["activations_again"])) == found
    assert result is None or result["tokens_per_second"] == 8 * 4


@pytest.mark.parametrize(
    ("name", "flops"),
    [
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA H100 PCIe", 756e12),
        ("NVIDIA GeForce RTX 4090", 165.2e12),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None),
        ("some other", None),
    ],
)
def test_a_device_is_known_by_the_name_that_cuda_gives_it(script, name, flops):
    sheet = script.gpu_models.data_sheet(name)
    assert (sheet and sheet["peak"]) == flops
