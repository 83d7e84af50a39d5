"""Models of random weights, made on the device at the shapes of real ones, and the device itself.

Weights are drawn in bfloat16; a training holds them in float32, as it does a model folder's.
"""

from __future__ import annotations

import gc
import re
import time
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """A model's sizes, and what is done with it on a GPU."""

    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    vocabulary: int
    tied: bool
    #: Rows of a step, and its timed steps.
    rows: int
    steps: int
    #: Of serving: the vocabulary before, and the new one.
    served: tuple[int, int]
    #: Of serving: texts at once, tokens of each that are read, tokens that are written.
    texts: int
    read: int = 1024
    written: int = 128
    #: Tokens of a packed row.
    length: int = 2048
    #: Of initialisation: the helper's width, and tokens without a row.
    helper: int = 2560
    new: int = 32_768

    @property
    def parameters(self) -> int:
        heads = self.hidden * self.hidden // self.heads * (2 * self.heads + 2 * self.kv_heads)
        layers = self.layers * (heads + 3 * self.hidden * self.inner + 2 * self.hidden)
        return layers + self.hidden * (1 + self.vocabulary * (1 if self.tied else 2))


#: Side of the square matrices that measure a device's peak, and how often.
CPU_MATRIX, GPU_MATRIX, REPEATS = 768, 8192, 5

SHAPES = {
    # SmolLM2-135M, Llama 3.2 1B, Mistral 7B (served as if it had Mistral Nemo's vocabulary)
    "135m": Shape(576, 1536, 30, 9, 3, 49_152, True, 64, 20, (49_152, 16_384), 16),
    "1b": Shape(2048, 8192, 16, 32, 8, 128_256, True, 32, 10, (128_256, 32_768), 8),
    "7b": Shape(4096, 14_336, 32, 32, 8, 32_000, False, 16, 6, (131_072, 32_768), 8),
    # The demo's models
    "demo": Shape(
        128, 384, 4, 4, 2, 1024, False, 8, 4, (1024, 768), 4,
        read=256, written=32, length=256, helper=128, new=1024,
    ),
    "pico": Shape(
        64, 128, 2, 4, 2, 512, True, 4, 3, (512, 256), 2,
        read=32, written=8, length=64, helper=48, new=256,
    ),
}  # fmt: skip


def device():
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def trained_in():
    """Return the precision of trainings: bfloat16, unless only slow products of it are here."""
    from revocab.product.inputs import has_amx

    return "bfloat16" if device().type == "cuda" or has_amx() else "float32"


def now():
    """Return seconds, once the device has done its work: of a CPU those that this process had."""
    import torch

    if device().type == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def release():
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def random_model(shape, dtype, vocabulary=None):
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig

    config = LlamaConfig(
        vocab_size=vocabulary or shape.vocabulary,
        hidden_size=shape.hidden,
        intermediate_size=shape.inner,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        max_position_embeddings=2 * shape.length,
        tie_word_embeddings=shape.tied,
        bos_token_id=None,
        eos_token_id=None,
    )
    torch.manual_seed(0)
    with torch.device(device()):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    return model.to(dtype)


@contextmanager
def peak_memory():
    """Yield a list of the peak in bytes: of a GPU's allocations, or of the whole process."""
    import psutil
    import torch

    from revocab.initialise.cost_at_scale import watched_memory

    if device().type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        peak = [0]
        yield peak
        peak[0] = torch.cuda.max_memory_allocated()
        return
    start = psutil.Process().memory_info().rss
    with watched_memory() as peak:
        yield peak
    peak[0] += start


# Device -------------------------------------------------------------------------------------------


def device_record():
    """Return what a record says of the place where it was measured."""
    import platform

    import torch
    import transformers

    cuda = torch.cuda.is_available()
    return {
        "device": torch.cuda.get_device_name() if cuda else platform.machine() + " CPU",
        "memory_bytes": torch.cuda.get_device_properties(0).total_memory if cuda else None,
        "cuda": torch.version.cuda if cuda else None,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": platform.python_version(),
    }


def data_sheet(name):
    """Return the entry of the package's list of devices for a name as CUDA says it, or None."""
    from revocab.costs.devices import known

    words = set(re.split(r"[^a-z0-9]+", name.lower()))
    fitting = [key for key in known("devices") if {*key.split("-")} <= words]
    if "mig" in words or not fitting:
        return None
    return known("devices")[max(fitting, key=len)]


def measured_peak(place, dtype):
    """Return (operations per second, what was measured): the best of some square products.

    Not a data sheet's number: what this device, at this many threads, does at its best now.
    """
    import torch

    side = CPU_MATRIX if place.type == "cpu" else GPU_MATRIX
    left = torch.ones(side, side, device=place, dtype=dtype)
    best = float("inf")
    for _ in range(REPEATS):
        begin = time.perf_counter()
        product = left @ left
        now()  # the device has done its work
        best = min(best, time.perf_counter() - begin)
    del product
    name = str(dtype).removeprefix("torch.")
    return 2.0 * side**3 / best, f"measured: best of {REPEATS} {name} products of {side} x {side}"


def measure_device():
    import torch

    place = device()
    measured_peak(place, torch.bfloat16)  # warms up
    peak, how = measured_peak(place, torch.bfloat16)
    sheet = data_sheet(device_record()["device"]) or {"peak": None, "source": "not known"}
    found = {"measured_peak": peak, "data_sheet_peak": sheet["peak"]}
    return {**found, "table": [{**found, "how": f"{how}; {sheet['source']}"}]}
