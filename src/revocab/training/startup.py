"""Before a training's slow imports: what not to import, and which process of several this is.

``srun --ntasks 8 … train_model.py`` starts a process for each device, on one node or on many, and
sends each of them the signal before the time limit.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

#: Ports of the first process: one of these, by the number of the job and its step.
PORTS = range(20000, 30000)


def pretend_absent(*modules: str) -> None:
    """Make ``import`` behave as if ``modules`` were not installed, unless already imported.

    Nothing is done where transformers is there already: it has looked what is installed.
    For scripts, before their slow imports. Measured on one core: a tokenizer without torch takes
    1.3 s instead of 2.9 s of CPU; a training without datasets (with pandas and pyarrow) and scipy
    4.5 s instead of 5.5 s.
    """
    if "transformers" in sys.modules:
        return
    # Else transformers remarks that it found no PyTorch.
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    for name in modules:
        # None makes an import fail (documented for sys.modules); typeshed has no such value.
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]


def first_host(nodes: str) -> str:
    """Return the first host of a list in Slurm's notation, such as ``gpu[03-05,9],login1``."""
    match = re.match(r"([^,\[]+)(?:\[([^\],-]+)[^\]]*\]([^,\[]*))?", nodes)
    if match is None:
        raise ValueError(f"no list of nodes: {nodes!r}")
    return match[1] + (match[2] or "") + (match[3] or "")


def process_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which torch's processes find each other; none to set if they are
    set, or if this process is not one of several tasks that ``srun`` has started.

    The variables of the allocation (``SLURM_NTASKS``) say nothing of the process: a batch script
    has them, too.
    """
    tasks = int(environment.get("SLURM_STEP_NUM_TASKS", "1"))
    if tasks == 1 or "RANK" in environment:
        return {}
    # On one node whatever name Slurm has for it, which nothing else may know.
    alone = environment.get("SLURM_STEP_NUM_NODES") == "1"
    number = int(environment["SLURM_JOB_ID"]) * 10 + int(environment["SLURM_STEP_ID"])
    return {
        "RANK": environment["SLURM_PROCID"],
        "LOCAL_RANK": environment["SLURM_LOCALID"],
        "WORLD_SIZE": str(tasks),
        "MASTER_ADDR": "localhost" if alone else first_host(environment["SLURM_STEP_NODELIST"]),
        "MASTER_PORT": str(PORTS[number % len(PORTS)]),
    }
