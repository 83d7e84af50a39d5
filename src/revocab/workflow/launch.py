"""How the training of a rule is started, from what a profile says of the machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Seconds between the signal that stops torchrun and SIGKILL for its processes: long enough to save
#: a state, and less than the five minutes before the time limit at which profiles/slurm sends it.
SHUTDOWN_SECONDS = 270


def nodes_and_tasks(resources: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many nodes a training has, and how many processes on each: one for each GPU."""
    return resources.get("nodes") or 1, max(1, resources.get("gpu") or 0)


def starter(resources: Mapping[str, Any]) -> list[str]:
    """Return the words before Python: none, or ``srun``'s where the profile gives several nodes.

    It starts a process for each GPU of each node, within the allocation of the job; they find each
    other by :mod:`revocab.training.machine.slurm_tasks`.
    """
    nodes, tasks = nodes_and_tasks(resources)
    if nodes == 1:
        return []
    where = ["--nodes", str(nodes), "--ntasks-per-node", str(tasks)]
    return ["srun", "--overlap", "--kill-on-bad-exit=1", *where]


def launcher(resources: Mapping[str, Any]) -> list[str]:
    """Return the words between Python and the script: none, torchrun's where the profile gives
    more than one GPU of one node, or accelerate's where it names a file of ``config/accelerate``.
    """
    if starter(resources):
        return []
    gpus, profile = resources.get("gpu", 0), resources.get("accelerate")
    if profile:
        file = f"config/accelerate/{profile}.yaml"
        processes = ["--num_processes", str(gpus)] if gpus else []
        return ["-m", "accelerate.commands.launch", "--config_file", file, *processes]
    if gpus > 1:
        shutdown = ["--shutdown-timeout", str(SHUTDOWN_SECONDS)]
        return ["-m", "torch.distributed.run", "--nproc-per-node", str(gpus), *shutdown]
    return []
