"""What training costs: arithmetic, share of the hardware's peak, energy, CO2.

Everything here is a measurement or a statement of where a number comes from; it goes into
``timing.json``, never into a manifest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revocab.training.machine.operations import operations

if TYPE_CHECKING:
    import torch

    from revocab.training.run import TrainingMachine
    from revocab.training.stage import Stage
    from revocab.training.stages import ParameterGroup, StagePlan

POWERCAP = Path("/sys/class/powercap")
JOULES_PER_KWH = 3.6e6
#: Side of the square matrices that measure a device's peak, and how often.
CPU_MATRIX, GPU_MATRIX, REPEATS = 768, 8192, 5


# Arithmetic ---------------------------------------------------------------------------------------


def mean_flops_per_token(
    model: Any, groups: list[ParameterGroup], plan: StagePlan, length: int
) -> float:
    total = sum(
        stage.steps * operations(model, groups, number).flops(length)
        for number, stage in enumerate(plan.stages)
    )
    return total / plan.ends[-1]


def adapter_flops(rows: int, source_rows: int, width: int) -> float:
    """Return the floating-point operations of a step of one vocabulary adapter, once for a batch.

    The gradient of A, the product with the source's rows, and the norm of the gradient.
    """
    return 4.0 * rows * source_rows * width + 2.0 * rows * width**2


def teacher_flops(teacher: Any, stage: Stage, length: int) -> float:
    """Return the floating-point operations of a token of the source model in a stage.

    Only its forward pass, without the head.
    """
    if stage.distil is None:
        return 0.0
    head = teacher.get_output_embeddings()
    unused = 0 if head is None else head.weight.numel()
    return operations(teacher).flops(length) - 2.0 * unused


def mean_teacher_flops(
    teacher: Any, plan: StagePlan, length: int, source_share: Callable[[int], float]
) -> float:
    """Return what the source model adds for each packed token, as a mean over all steps.

    ``source_share`` says how many tokens it reads for each of a stage's.
    """
    total = sum(
        stage.steps * teacher_flops(teacher, stage, length) * source_share(number)
        for number, stage in enumerate(plan.stages)
    )
    return total / plan.ends[-1]


def measured_peak(device: torch.device, dtype: torch.dtype) -> tuple[float, str]:
    """Return (operations per second, what was measured): the best of some square products.

    Not a data sheet's number: what this device, at this many threads, does at its best now.
    """
    import torch

    side = CPU_MATRIX if device.type == "cpu" else GPU_MATRIX
    left = torch.ones(side, side, device=device, dtype=dtype)
    best = float("inf")
    for _ in range(REPEATS):
        begin = time.perf_counter()
        product = left @ left
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        best = min(best, time.perf_counter() - begin)
    del product
    name = str(dtype).removeprefix("torch.")
    return 2.0 * side**3 / best, f"measured: best of {REPEATS} {name} products of {side} x {side}"


# Energy -------------------------------------------------------------------------------------------


def rapl_counters(root: Path = POWERCAP) -> dict[Path, int]:
    """Return the readable energy counters of whole CPU packages, in microjoules."""
    counters = {}
    for folder in sorted(root.glob("intel-rapl:*")):
        if folder.name.count(":") > 1:  # a part of a package: it is in the package's number
            continue
        try:
            counters[folder] = int((folder / "energy_uj").read_text())
        except OSError:
            return {}
    return counters


def nvml_joules() -> float | None:
    """Return the energy counter of all visible GPUs since their driver was loaded, if readable."""
    import torch

    if not torch.cuda.is_available():
        return None
    try:
        import pynvml

        pynvml.nvmlInit()
        handles = [
            pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(i).uuid}")
            for i in range(torch.cuda.device_count())
        ]
        return sum(map(pynvml.nvmlDeviceGetTotalEnergyConsumption, handles)) / 1e3
    except Exception:  # no library, no right, or a device without the counter: all mean the same
        return None


@dataclass
class EnergyMeter:
    """Energy from :meth:`start` to :meth:`read`, by the best source this machine has."""

    watts: float | None = None
    root: Path = POWERCAP
    _began: float = field(default=0.0, repr=False)
    _rapl: dict[Path, int] = field(default_factory=dict, repr=False)
    _nvml: float | None = field(default=None, repr=False)

    def start(self) -> None:
        self._began = time.perf_counter()
        self._rapl = rapl_counters(self.root)
        self._nvml = nvml_joules()

    def read(self) -> tuple[float | None, str]:
        """Return (joules, where from); counters see the whole machine, not this process alone."""
        parts, names = [], []
        if self._rapl and (after := rapl_counters(self.root)):
            passed = {folder: after[folder] - begin for folder, begin in self._rapl.items()}
            for folder, microjoules in passed.items():
                if microjoules < 0:  # the counter has wrapped once
                    passed[folder] += int((folder / "max_energy_range_uj").read_text())
            parts.append(sum(passed.values()) / 1e6)
            names.append("RAPL (CPU packages)")
        if self._nvml is not None and (now := nvml_joules()) is not None:
            parts.append(now - self._nvml)
            names.append("NVML (all visible GPUs)")
        if parts:
            return sum(parts), "read: " + " and ".join(names)
        if self.watts is not None:
            seconds = time.perf_counter() - self._began
            return self.watts * seconds, f"stated power of {self.watts:g} W x time"
        return None, "not readable here and no power stated (--watts)"


def costs_of(
    machine: TrainingMachine,
    *,
    flops: float,
    tokens_per_second: float,
    peak: tuple[float, str],
    processes: int,
    energy: tuple[float | None, str],
) -> dict[str, Any]:
    peak_flops, source = (machine.peak_flops, "stated") if machine.peak_flops else peak
    joules, energy_source = energy
    intensity = machine.carbon_intensity
    return {
        "flops_per_token": flops,
        "model_flops_per_second": flops * tokens_per_second,
        "peak_flops_per_second": peak_flops,
        "peak_flops_source": source,
        "model_flops_utilisation": flops * tokens_per_second / (peak_flops * processes),
        "energy_joules": joules,
        "energy_source": energy_source,
        "carbon_intensity_grams_per_kwh": intensity,
        "co2_grams": None
        if joules is None or intensity is None
        else joules / JOULES_PER_KWH * intensity,
    }
