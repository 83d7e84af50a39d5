"""A real Slurm on this machine, without accounting, for the time of a ``with`` block.

Needs Debian's ``slurm-wlm`` and ``munge``, and root, who may be any user of a job.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol")
#: More than there is: what a profile asks for is granted (config_overrides).
CONFIG = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
JobRequeue=0
KillWait=2
GresTypes=gpu
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


#: A node. All are this machine, with GPUs that are empty files.
NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} Gres=gpu:{gpus} CPUs=64"
    " RealMemory=1000000 State=UNKNOWN"
)
GPUS = 4


def why_not() -> str | None:
    """Return why Slurm cannot be started here; None where it can."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"no {', '.join(missing)} (apt-get install slurm-wlm munge)"
    return None if os.geteuid() == 0 else "only root can start a Slurm of its own"


def free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    found = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return found


@contextmanager
def slurm(folder: Path, nodes: int = 1) -> Iterator[dict[str, str]]:
    """Yield the environment by which commands reach a Slurm that keeps its files in ``folder``.

    The first node is called as this machine is: processes of others look for it by its name.
    """
    for name in ("state", "bin"):
        (folder / name).mkdir(parents=True)
    for number in range(GPUS):
        (folder / f"gpu{number}").touch()
    (folder / "gres.conf").write_text(f"Name=gpu File={folder}/gpu[0-{GPUS - 1}]\n")
    config = folder / "slurm.conf"
    host = socket.gethostname().partition(".")[0]
    port, *ports = free_ports(1 + nodes)
    names = [host, *(f"{host}-{number}" for number in range(2, nodes + 1))]
    shape = {"host": host, "gpus": GPUS}
    lines = [
        NODE.format(name=name, port=one, **shape) for name, one in zip(names, ports, strict=True)
    ]
    config.write_text(CONFIG.format(folder=folder, host=host, port=port, nodes="\n".join(lines)))
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    environment = {"SLURM_CONF": str(config), "PATH": f"{folder}/bin:{os.environ['PATH']}"}
    # Snakemake's executor starts srun in the job without the variables of Slurm.
    wrapper = folder / "bin/srun"
    wrapper.write_text(f'#!/bin/sh\nSLURM_CONF={config} exec {shutil.which("srun")} "$@"\n')
    wrapper.chmod(0o755)
    places = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log"}
    munged = ["munged", "--foreground", "--force", f"--seed-file={folder}/munge.seed"]
    munged += [f"--{flag}={folder}/munge.{ending}" for flag, ending in places.items()]
    daemons = [["slurmd", "-D", "-N", name] for name in names]
    running = []
    with (folder / "output").open("w") as output:
        try:
            for command in (munged, ["slurmctld", "-D"], *daemons):
                running.append(
                    subprocess.Popen(
                        command, env={**os.environ, **environment}, stdout=output, stderr=output
                    )
                )
                time.sleep(0.5)
            wait_for_nodes(environment, running)
            yield environment
        finally:
            call(environment, "scancel", "--user=root", "--signal=KILL", check=False)
            for process in reversed(running):
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def call(environment: dict[str, str], *words: str, check: bool = True) -> str:
    done = subprocess.run(
        words, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, f"{words}: {done.stderr}"
    return done.stdout


def wait_for_nodes(environment: dict[str, str], processes: list[subprocess.Popen]) -> None:
    while call(environment, "sinfo", "--noheader", "--format=%T", check=False).split() != ["idle"]:
        for process in processes:
            assert process.poll() is None, f"{process.args} has ended: no node takes jobs"
        time.sleep(0.3)
