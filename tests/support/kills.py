"""Train a story undisturbed; then again, killed and stopped at seeded moments.

    python kills.py FOLDER SEED STORY [KILLS]

``stages`` trains vocabulary adapters, embeddings, LoRA with new rows, then all; ``answers``
calibrates on those of conversations: embeddings and head, and LoRA in the first and the last layer.
Both are killed with SIGKILL so many times, and after the second the newest state is damaged.

``signals`` is stopped by SIGTERM, SIGUSR1 and SIGKILL in a seeded order, and nothing is exported
before the end: what it goes on from was saved by a signal or by time. After SIGUSR1 it is killed
once the state is there.

Every start is a process of its own: what survives a kill is what stands on disk. They are forked
from one that has imported the libraries and nothing more, which saves seconds for each. Prints one
JSON line: the steps at which the training was ended, with the signals.
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
from typing import TYPE_CHECKING

from waiting import steps_made, wait_until

if TYPE_CHECKING:
    from revocab.training.stages import Stage

STEPS, BORDERS, EVERY, HELDOUT_EVERY = 60, (16, 25, 45), 7, 3
LIBRARIES = ["torch", "accelerate", "peft", "revocab.training.train", "training_pico"]
#: Signal, and the minutes between states of the start that gets it: SIGKILL alone saves nothing.
STOPS = (
    (signal.SIGTERM, None), (signal.SIGKILL, 1e-9), (signal.SIGUSR1, None), (signal.SIGTERM, 1e-9),
    (signal.SIGKILL, 1e-9), (signal.SIGUSR1, 1e-9),
)  # fmt: skip
#: Seconds after a step, at most: about three steps, each with a state.
DELAY = 0.02


def start(folder: Path, name: str, story: str, minutes: float | None = None) -> BaseProcess:
    process = multiprocessing.get_context("fork").Process(
        target=train_one, args=(folder, name, story, minutes)
    )
    process.start()
    return process


def finish(folder: Path, name: str, story: str) -> None:
    process = start(folder, name, story)
    process.join()
    if process.exitcode:
        raise SystemExit(f"{name}: a start that nobody killed failed")


def train_one(folder: Path, name: str, story: str, minutes: float | None) -> None:
    """Train in this process, as a command does; the inputs are written by the first run."""
    import torch
    import training_pico

    from revocab.cli import legible
    from revocab.training.train import train

    torch.set_num_threads(1)
    toys = importlib.import_module("chat_toys") if story == "answers" else training_pico
    if name == "reference":
        toys.write_inputs(folder / "inputs")
    options = {"steps": STEPS, "checkpoint_every": EVERY, "heldout_every": HELDOUT_EVERY}
    if story == "signals":
        options |= {"checkpoint_every": STEPS, "heldout_every": 9}
    else:
        options |= {"stages": stages(story)} | ({"loss": "answers"} if story == "answers" else {})
    run = training_pico.run_of(folder / "inputs", folder / name, **options)
    with legible():
        train(training_pico.changed(run, state_minutes=minutes) if story == "signals" else run)


def stages(story: str) -> list[Stage]:
    from revocab.training.stages import Stage

    lora = {"rank": 2, "alpha": 4}
    if story == "answers":
        ends = {"lora": {**lora, "layers": [0, -1]}, "train": ("lora", "embeddings")}
        return [Stage(name="answers", steps=STEPS, learning_rate=5e-3, **ends)]
    own = {
        "adapters": {"learning_rate": 3e-3, "train": "embeddings", "weight_decay": 0.3,
                     "adapter": {"auxiliary": 0.5}},
        "embeddings": {"learning_rate": 1e-2, "train": "embeddings", "weight_decay": 0.3,
                       "warmup_steps": 2},
        "adapter": {"learning_rate": 5e-3, "train": ("lora", "new_rows"), "lora": lora},
        "everything": {"learning_rate": 5e-3, "weight_decay": 0.1, "warmup_steps": 3},
    }  # fmt: skip
    ends = [0, *BORDERS, STEPS]
    return [
        Stage(name=name, steps=end - begin, **values)
        for (name, values), begin, end in zip(own.items(), ends, ends[1:], strict=False)
    ]


def newest(out: Path) -> tuple[int, Path | None]:
    from revocab.training import resume_state

    whole = [each for each in resume_state.states(out / "state") if resume_state.is_whole(each)]
    return (resume_state.step_of(whole[0]), whole[0]) if whole else (0, None)


def stop(process: BaseProcess, out: Path, step: int, delay: float, number: signal.Signals) -> int:
    """Send a signal ``delay`` seconds after ``step`` steps; return how many there were by then."""
    wait_until(lambda: steps_made(out) >= step, process)
    time.sleep(delay)
    sent_at = steps_made(out)
    os.kill(process.pid, number)
    if number == signal.SIGUSR1:
        wait_until(lambda: newest(out)[0] >= sent_at, process)
        process.kill()
    process.join()
    if process.exitcode != (1 if number == signal.SIGTERM else -signal.SIGKILL):
        raise SystemExit(f"{number.name} at step {sent_at}: ended with {process.exitcode}")
    return sent_at


def kill(folder: Path, story: str, moments: random.Random, kills: int) -> list[int]:
    """Kill a training so many times; damage one bit of the newest optimizer after the second."""
    out = folder / "killed"
    steps = sorted(moments.sample(range(2, STEPS - 10), kills))
    steps[1] = max(steps[1], 2 * EVERY + 1)  # two states, one to damage
    steps.sort()
    for number, step in enumerate(steps):
        process = start(folder, "killed", story)
        stop(process, out, step, moments.uniform(0, DELAY), signal.SIGKILL)
        if number == 1:
            file = newest(out)[1] / "optimizer.pt"
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 1
            file.write_bytes(content)
    return steps


def signal_all(folder: Path, moments: random.Random) -> list[dict[str, object]]:
    out, stops = folder / "stopped", []
    steps = sorted(moments.sample(range(2, STEPS - 15, 4), len(STOPS)))
    for step, (number, minutes) in zip(steps, moments.sample(STOPS, len(STOPS)), strict=True):
        later = max(step, newest(out)[0] + 2)
        (out / "losses.csv").unlink(missing_ok=True)  # each start writes the table anew
        process = start(folder, "stopped", "signals", minutes)
        sent_at = stop(process, out, later, moments.uniform(0, DELAY), number)
        if newest(out)[0] < (1 if number == signal.SIGKILL else sent_at):
            raise SystemExit(f"{number.name} at step {sent_at}: the newest state is {newest(out)}")
        stops.append({"signal": number.name, "step": sent_at})
    (out / "losses.csv").unlink()
    return stops


def main() -> None:
    folder, seed, story, *kills = sys.argv[1:]
    moments = random.Random(int(seed))
    for library in LIBRARIES:
        if library != "peft" or story != "signals":  # no stage of that has an adapter
            importlib.import_module(library)
    finish(Path(folder), "reference", story)
    if story == "signals":
        ends: list = signal_all(Path(folder), moments)
        finish(Path(folder), "stopped", story)
    else:
        ends = kill(Path(folder), story, moments, int(*kills))
        finish(Path(folder), "killed", story)
    print(json.dumps(ends))


if __name__ == "__main__":
    main()
