"""Train a story undisturbed; then again, SIGKILL at seeded moments.

    python kill_repeatedly.py FOLDER KILLS SEED STORY

The story ``stages`` trains vocabulary adapters, embeddings, LoRA with new rows, then all;
``answers`` calibrates on those of conversations: embeddings and head, and LoRA in the first and the
last layer.

Every start is a process of its own: what survives a kill is what stands on disk. They are forked
from one that has imported the libraries and nothing more, which saves seconds for each. After the
second kill the newest state is damaged, too. Prints one JSON line: the steps of the kills.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
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
#: Modules that write a story's inputs.
MODULES = {"answers": "chat_toys"}
LIBRARIES = ["torch", "accelerate", "peft", "revocab.training.train", "training_pico"]


def start(folder: Path, name: str, story: str) -> BaseProcess:
    """Train ``folder/name`` in a new process."""
    context = multiprocessing.get_context("fork")
    process = context.Process(target=train_one, args=(folder, name, story))
    process.start()
    return process


def finish(folder: Path, name: str, story: str) -> None:
    """Train ``folder/name`` undisturbed to its end."""
    process = start(folder, name, story)
    process.join()
    if process.exitcode:
        raise SystemExit(f"{name}: a start that nobody killed failed")


def train_one(folder: Path, name: str, story: str) -> None:
    """Train in this process; the inputs are written by the first run."""
    import torch

    torch.set_num_threads(1)
    from revocab.training.train import train

    toys = importlib.import_module(MODULES.get(story, "training_pico"))
    if name == "reference":
        toys.write_inputs(folder / "inputs")
    changes = {"steps": STEPS, "checkpoint_every": EVERY, "heldout_every": HELDOUT_EVERY}
    changes |= {"loss": "answers"} if story == "answers" else {}
    run = importlib.import_module("training_pico").run_of(
        folder / "inputs", folder / name, **changes, stages=stages(story)
    )
    train(run)


def stages(story: str) -> list[Stage]:
    """Return the stages of a story."""
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


def kill_at(process: BaseProcess, out: Path, step: int, delay: float) -> None:
    """Kill ``process`` a moment after it has made ``step`` steps."""
    wait_until(lambda: steps_made(out) >= step, process)
    time.sleep(delay)
    process.kill()
    process.join()
    if process.exitcode != -signal.SIGKILL:
        raise SystemExit(f"the run ended by itself before step {step}")


def damage_newest(out: Path) -> None:
    """Change one bit of the newest whole state's optimizer."""
    from revocab.training import resume_state

    newest = next(one for one in resume_state.states(out / "state") if resume_state.is_whole(one))
    content = bytearray((newest / "optimizer.pt").read_bytes())
    content[len(content) // 2] ^= 1
    (newest / "optimizer.pt").write_bytes(content)


def main() -> None:
    """Run the story."""
    folder, kills, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    story = sys.argv[4]
    for library in LIBRARIES:
        importlib.import_module(library)
    finish(folder, "reference", story)
    out = folder / "killed"
    moments = random.Random(seed)
    steps = sorted(moments.sample(range(2, STEPS - 10), kills))
    steps[1] = max(steps[1], 2 * EVERY + 1)  # two states, one to damage
    for number, step in enumerate(sorted(steps)):
        kill_at(start(folder, "killed", story), out, step, moments.uniform(0, 0.02))
        if number == 1:
            damage_newest(out)
    finish(folder, "killed", story)
    print(json.dumps(steps))


if __name__ == "__main__":
    main()
