"""Train a two-stage recipe undisturbed, then again with SIGKILL at seeded random moments.

    python kill_repeatedly.py FOLDER KILLS SEED

Every start is a process of its own: what survives a kill is what stands on disk. After the second
kill the newest state is damaged, too. Prints one JSON line: the steps at which the kills came.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

STEPS, BORDER, EVERY = 60, 25, 7


def rows(out: Path) -> int:
    """Return the number of steps in the loss table."""
    file = out / "losses.csv"
    return max(0, file.read_bytes().count(b"\n") - 1) if file.exists() else 0


def start(folder: Path, name: str) -> subprocess.Popen:
    """Train ``folder/name`` in a new process."""
    return subprocess.Popen([sys.executable, __file__, str(folder), name])


def train_one(folder: Path, name: str) -> None:
    """Train in this process; the inputs are written by the first run."""
    import torch

    torch.set_num_threads(1)
    from training_pico import run_of, write_inputs

    from revocab.training.stages import Stage
    from revocab.training.train import train

    if name == "reference":
        write_inputs(folder / "inputs")
    stages = (
        Stage("embeddings", BORDER, 1e-2, train=("embeddings",), weight_decay=0.3, warmup_steps=2),
        Stage("everything", STEPS - BORDER, 5e-3, weight_decay=0.1, warmup_steps=3),
    )
    changes = {"steps": STEPS, "checkpoint_every": EVERY, "stages": stages}
    train(run_of(folder / "inputs", folder / name, **changes))


def kill_at(process: subprocess.Popen, out: Path, step: int, delay: float) -> None:
    """Kill ``process`` a moment after it has made ``step`` steps."""
    deadline = time.monotonic() + 300
    while rows(out) < step and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    if process.wait() != -signal.SIGKILL:
        raise SystemExit(f"the run ended by itself before step {step}")


def damage_newest(out: Path) -> None:
    """Change one bit of the newest whole state's optimizer."""
    from revocab.training import state

    newest = next(one for one in state.states(out / "state") if state.is_whole(one))
    content = bytearray((newest / "optimizer.pt").read_bytes())
    content[len(content) // 2] ^= 1
    (newest / "optimizer.pt").write_bytes(content)


def main() -> None:
    """Run the story."""
    folder, kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    if start(folder, "reference").wait():
        raise SystemExit("the undisturbed run failed")
    out = folder / "killed"
    moments = random.Random(seed)
    steps = sorted(moments.sample(range(2, STEPS - 2), kills))
    steps[1] = max(steps[1], 2 * EVERY + 1)  # two states, one to damage
    for number, step in enumerate(sorted(steps)):
        kill_at(start(folder, "killed"), out, step, moments.uniform(0, 0.02))
        if number == 1:
            damage_newest(out)
    if start(folder, "killed").wait():
        raise SystemExit("the last start failed")
    print(json.dumps(steps))


if __name__ == "__main__":
    if sys.argv[2:] in (["reference"], ["killed"]):
        train_one(Path(sys.argv[1]), sys.argv[2])
    else:
        main()
