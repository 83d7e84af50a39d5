"""Train a model folder on packed rows by a recipe; resumable; exports and evaluates checkpoints."""

from __future__ import annotations

import argparse
import gc
from dataclasses import fields
from pathlib import Path

from revocab.cli import run

ENGINE = ("fsdp", "activation_checkpointing", "compile")


def arguments() -> argparse.ArgumentParser:
    """Return the command line: inputs, then the recipe's keys, then the machine's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, metavar="DIR")
    parser.add_argument("--packed", type=Path, required=True, metavar="DIR")
    parser.add_argument("--heldout", type=Path, required=True, metavar="DIR")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--batch-size", type=int, required=True, help="sequences per step")
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--checkpoint-every", type=int, required=True, metavar="STEPS")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--warmup-steps", type=int, default=0)
    parser.add_argument("--schedule", choices=("constant", "cosine"), default="cosine")
    parser.add_argument("--final-learning-rate-share", type=float, default=0.1)
    parser.add_argument("--adam-beta1", type=float, default=0.9)
    parser.add_argument("--adam-beta2", type=float, default=0.95)
    parser.add_argument("--adam-epsilon", type=float, default=1e-8)
    parser.add_argument("--weight-decay", type=float, default=0.0, help="as in torch's AdamW")
    parser.add_argument("--gradient-clip", type=float, default=1.0)
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument(
        "--stage", action="append", default=[], metavar="JSON",
        help="a stage of the recipe as the config has it, in order (default: one, all parameters)",
    )  # fmt: skip
    parser.add_argument(
        "--micro-batch", type=int, help="sequences per pass (default: the batch over all processes)"
    )
    parser.add_argument("--fsdp", action="store_true", help="shard over the processes of torchrun")
    parser.add_argument("--activation-checkpointing", action="store_true")
    parser.add_argument("--compile", action="store_true", help="torch.compile")
    parser.add_argument("--tensorboard", action="store_true", help="event files beside the tables")
    parser.add_argument("--peak-flops", type=float, help="of one device (default: measured)")
    parser.add_argument("--watts", type=float, help="power, where no energy counter is readable")
    parser.add_argument("--carbon-intensity", type=float, metavar="G_PER_KWH")
    parser.add_argument("--threads", type=int, help="CPU threads (default: torch's own)")
    return parser


def main() -> None:
    """Parse the command line and train."""
    options = arguments().parse_args()

    from revocab.training.measure import Costs
    from revocab.training.settings import Settings
    from revocab.training.stages import stage_of_text
    from revocab.training.startup import pretend_absent

    options.stages = tuple(map(stage_of_text, options.stage))
    settings = Settings(**{f.name: getattr(options, f.name) for f in fields(Settings)})
    pretend_absent("datasets", "scipy")
    gc.disable()  # imports leave no garbage: collecting it would take half a second

    import psutil

    if options.threads is not None:
        import torch

        torch.set_num_threads(options.threads)

    import revocab.training.trainer  # noqa: F401  (the slow one)
    from revocab.training.train import Run, train

    gc.enable()
    train(
        Run(
            model=options.model,
            packed=options.packed,
            heldout=options.heldout,
            out=options.out,
            settings=settings,
            micro_batch=options.micro_batch,
            costs=Costs(options.peak_flops, options.watts, options.carbon_intensity),
            tensorboard=options.tensorboard,
            engine={name: getattr(options, name) for name in ENGINE},
            started=psutil.Process().create_time(),
        )
    )


if __name__ == "__main__":
    run(main)
