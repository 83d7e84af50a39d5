"""Train undisturbed; then again, stopped by SIGTERM, SIGUSR1 and SIGKILL in a seeded order, each at
a seeded moment: some time after a step, in the middle of another or of what stands between them.

    python stop_by_signals.py FOLDER SEED

Nothing is exported before the end: what a stopped training goes on from was saved by a signal or by
time. After SIGUSR1 the training is killed once the state is there. Prints one JSON line: the
signals, with the steps at which they were sent.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import random
import signal
import sys
import time
from multiprocessing.process import BaseProcess
from pathlib import Path

from kill_repeatedly import LIBRARIES
from waiting import steps_made, wait_until

STEPS = 60
#: Signal, and the minutes between states of the start that gets it: SIGKILL alone saves nothing.
STOPS = (
    (signal.SIGTERM, None), (signal.SIGKILL, 1e-9), (signal.SIGUSR1, None), (signal.SIGTERM, 1e-9),
    (signal.SIGKILL, 1e-9), (signal.SIGUSR1, 1e-9),
)  # fmt: skip
#: Seconds after a step, at most: about three steps, each with a state.
DELAY = 0.02


def start(folder: Path, name: str, minutes: float | None) -> BaseProcess:
    """Train ``folder/name`` in a new process, which writes the loss table anew."""
    (folder / name / "losses.csv").unlink(missing_ok=True)
    process = multiprocessing.get_context("fork").Process(
        target=train_one, args=(folder, name, minutes)
    )
    process.start()
    return process


def train_one(folder: Path, name: str, minutes: float | None) -> None:
    """Train in this process, as a command does."""
    import torch
    import training_pico

    from revocab.cli import legible
    from revocab.training.train import train

    torch.set_num_threads(1)
    given = {"steps": STEPS, "checkpoint_every": STEPS, "heldout_every": 9}
    run = training_pico.run_of(folder / "inputs", folder / name, **given)
    with legible():
        train(training_pico.changed(run, state_minutes=minutes))


def newest(out: Path) -> int:
    """Return the step of the newest whole state; 0: none."""
    from revocab.training import resume_state

    whole = [one for one in resume_state.states(out / "state") if resume_state.is_whole(one)]
    return resume_state.step_of(whole[0]) if whole else 0


def stop(process: BaseProcess, out: Path, step: int, delay: float, number: signal.Signals) -> int:
    """Send a signal ``delay`` seconds after ``step`` steps; return how many there were by then."""
    wait_until(lambda: steps_made(out) >= step, process)
    time.sleep(delay)
    sent_at = steps_made(out)
    os.kill(process.pid, number)
    if number == signal.SIGUSR1:
        wait_until(lambda: newest(out) >= sent_at, process)
        process.kill()
    process.join()
    expected = 1 if number == signal.SIGTERM else -signal.SIGKILL
    if process.exitcode != expected or newest(out) < (1 if number == signal.SIGKILL else sent_at):
        raise SystemExit(f"{number.name} at step {sent_at}: {process.exitcode}, {newest(out)}")
    return sent_at


def main() -> None:
    """Run the story."""
    folder, moments = Path(sys.argv[1]), random.Random(int(sys.argv[2]))
    for library in LIBRARIES:
        if library != "peft":  # no stage has an adapter
            importlib.import_module(library)
    import training_pico

    training_pico.write_inputs(folder / "inputs")
    start(folder, "reference", None).join()
    steps = sorted(moments.sample(range(2, STEPS - 15, 4), len(STOPS)))
    stops = []
    for step, (number, minutes) in zip(steps, moments.sample(STOPS, len(STOPS)), strict=True):
        later = max(step, newest(folder / "stopped") + 2)
        process = start(folder, "stopped", minutes)
        delay = moments.uniform(0, DELAY)
        sent_at = stop(process, folder / "stopped", later, delay, number)
        stops.append({"signal": number.name, "step": sent_at})
    process = start(folder, "stopped", None)
    process.join()
    if process.exitcode:
        raise SystemExit("the last start failed")
    print(json.dumps(stops))


if __name__ == "__main__":
    main()
