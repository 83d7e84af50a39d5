"""How training is started on the machine that a profile describes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from revocab.errors import RevocabError
from revocab.extensions import own_or_shipped

#: Seconds between the signal that stops torchrun and SIGKILL for its processes: long enough to save
#: a state, and less than the five minutes before the time limit at which profiles/slurm sends it.
SHUTDOWN_SECONDS = 270


def nodes_and_tasks(resources: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many nodes a training has, and how many processes on each: one for each GPU.

    ``gpu`` counts those of all nodes, as Snakemake's executor asks Slurm for them. Raises
    :class:`RevocabError` where the nodes would have different numbers.
    """
    nodes, gpus = resources.get("nodes") or 1, resources.get("gpu") or 0
    if gpus % nodes:
        raise RevocabError(
            f"adapt_model: gpu: {gpus} with nodes: {nodes}; gpu counts all nodes together:"
            f" give a multiple of {nodes}, such as {gpus * nodes} for {gpus} on each"
        )
    return nodes, max(1, gpus // nodes)


def layout(resources: Mapping[str, Any], batch_size: int = 0) -> tuple[int, int]:
    """Return on how many nodes a training runs, and with how many processes on each.

    As many as divide its batch evenly; 0: any number does. Raises as :func:`nodes_and_tasks`.
    """
    nodes, tasks = nodes_and_tasks(resources)
    choices = [
        (used, each)
        for used in range(nodes, 0, -1)
        for each in range(tasks, 0, -1)
        if batch_size % (used * each) == 0
    ]
    return max(choices, key=lambda choice: (choice[0] * choice[1], choice[1]))


def starter(resources: Mapping[str, Any], batch_size: int = 0) -> list[str]:
    """Return the words before Python: none, or ``srun``'s where the profile gives several nodes.

    It starts a process for each GPU of each node, within the allocation of the job; they find each
    other by :mod:`revocab.training.startup`. ``threads`` are the CPUs of each, which
    ``srun`` does not take over from the job.
    """
    if nodes_and_tasks(resources)[0] == 1:
        return []
    nodes, tasks = layout(resources, batch_size)
    where = ["--nodes", str(nodes), "--ntasks-per-node", str(tasks)]
    cpus = ["--cpus-per-task", str(resources["threads"])] if "threads" in resources else []
    return ["srun", "--overlap", "--kill-on-bad-exit=1", *where, *cpus]


def launcher(resources: Mapping[str, Any], batch_size: int = 0) -> list[str]:
    """Return the words between Python and the script: none, torchrun's where the profile gives
    more than one GPU of one node, or accelerate's where it names a file of ``profiles/accelerate``.
    """
    if starter(resources):
        return []
    processes, profile = gpus_used(resources, batch_size), resources.get("accelerate")
    if profile:
        file = str(own_or_shipped(Path(f"profiles/accelerate/{profile}.yaml")))
        count = ["--num_processes", str(processes)] if processes else []
        return ["-m", "accelerate.commands.launch", "--config_file", file, *count]
    if processes > 1:
        shutdown = ["--shutdown-timeout", str(SHUTDOWN_SECONDS)]
        # standalone: on a free port, so that trainings beside each other do not meet.
        started = ["--standalone", "--nproc-per-node", str(processes)]
        return ["-m", "torch.distributed.run", *started, *shutdown]
    return []


def gpus_used(resources: Mapping[str, Any], batch_size: int) -> int:
    """Return how many GPUs of one node a training uses: none where the profile gives none."""
    return layout(resources, batch_size)[1] if resources.get("gpu") else 0
