"""What half an hour on a GPU says of this tool: training, initialisation, serving.

    python benchmarks/gpu.py --out FOLDER                   # parts of at most 8 minutes, 30 in all
    python benchmarks/gpu.py --out FOLDER --minutes 10      # goes on with what is not measured yet
    python benchmarks/gpu.py --out FOLDER --shape pico      # a minute on two CPU cores

Needs torch, transformers, accelerate, tokenizers, safetensors, pydantic and this source tree. Each
part leaves ``FOLDER/parts/NAME.json``: remove it to measure that part again; one that failed is
tried again by the next call. ``FOLDER/gpu.json`` and ``FOLDER/gpu.md`` are all parts together.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from support import gpu_models, gpu_training, gpu_use  # noqa: E402

from revocab import io  # noqa: E402
from revocab.errors import RevocabError  # noqa: E402

#: Seconds that a part may take, and that a process has to end after SIGTERM.
LIMIT, ENDS = 480, 10
#: Share of a device's peak that is assumed before anything was measured.
ASSUMED = 0.2
#: Exit status of a process that measured a part in vain: the next part gets a clean one.
ANEW = 3
#: Which part is being measured; of one that was killed it stays.
RUNNING = "running.json"
#: Outcomes that are not tried again.
FINISHED = ("measured", "out of memory", "too slow")


@dataclass(frozen=True)
class Part:
    """A measurement, and what it takes: seconds, and operations at a share of the peak."""

    name: str
    kind: str
    #: The shape.
    of: str = ""
    rows_alone: bool = False
    seconds: float = 30.0
    operations: float = 0.0


def parts_of(shapes: list[str]) -> list[Part]:
    """Return all parts, the most important first."""

    def training(shape: str, rows_alone: bool) -> Part:
        size = gpu_models.SHAPES[shape]
        tokens = 2 * (size.steps + gpu_training.WARM_UP) * size.rows * size.length
        name = f"train-{shape}-{'new-rows' if rows_alone else 'all'}"
        seconds, work = 10 + 5e-9 * size.parameters, 6.0 * size.parameters * tokens
        return Part(name, "training", shape, rows_alone, seconds, work)

    def others(kind: str, shapes: list[str]) -> list[Part]:
        return [
            Part(f"{kind}-{shape}", kind, shape, seconds=5 if shape == "pico" else 60)
            for shape in shapes
        ]

    large, small = [s for s in shapes if s in ("7b", "pico")], [s for s in shapes if s != "7b"]
    return [
        Part("device", "device"),
        *(training(shape, False) for shape in small),
        *(training(shape, True) for shape in large),
        *others("initialisation", large),
        *others("serving", shapes),
        *(training(shape, True) for shape in small if shape not in large),
        *(training(shape, False) for shape in large if shape not in small),
    ]


# The process that measures ------------------------------------------------------------------------


def measured(part: Part, peaks: dict[str, Any]) -> dict[str, Any]:
    match part.kind:
        case "device":
            return gpu_models.measure_device()
        case "training":
            return gpu_training.measure_training(part.of, part.rows_alone, peaks)
        case "initialisation":
            return gpu_use.measure_initialisation(part.of)
    return gpu_use.measure_serving(part.of)


def outcome(part: Part, peaks: dict[str, Any]) -> dict[str, Any]:
    """Return a part's status, with its result or the reason why there is none."""
    try:
        result = measured(part, peaks)
    except Exception as error:
        if gpu_training.out_of_memory(error):
            return {"status": "out of memory", "reason": str(error).splitlines()[0]}
        if not isinstance(error, RevocabError):
            traceback.print_exc()
        return {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
    if not result["table"]:
        return {"status": "out of memory", "reason": "whatever the micro batch", **result}
    return {"status": "measured", **result}


def measure_parts(options: argparse.Namespace) -> int:
    """Measure what is not measured yet and fits into the time; return the exit status."""
    from revocab.training.startup import pretend_absent
    from revocab.workflow.gpus import end_with_parent

    end_with_parent()
    pretend_absent("datasets", "pandas", "peft", "scipy", "sklearn")  # slow to import, and not used
    words = ["python", *sys.argv[: sys.argv.index("--until")]]
    about = {**gpu_models.device_record(), "command": shlex.join(words)}
    shapes = options.shape or (["135m", "1b", "7b"] if about["cuda"] else ["pico"])
    say(f"{about['device']}, torch {about['torch']}; shapes {', '.join(shapes)}")
    peaks: dict[str, Any] = {}
    for part in parts_of(shapes):
        file, running = options.out / "parts" / f"{part.name}.json", options.out / RUNNING
        record = io.read_json(file) if file.is_file() else {}
        if record.get("device") != about["device"]:  # another card: measured anew
            record = {}
        if part.kind == "device":
            peaks = record
        if record.get("status") in FINISHED or record.get("call") == options.until:
            continue
        left = options.until - time.time()
        needed = part.seconds + part.operations / (ASSUMED * peaks.get("measured_peak", 1e14))
        if needed > left:
            say(f"{part.name}: about {needed:.0f} s, {max(0.0, left):.0f} s left: left out")
            continue
        say(f"{part.name} (about {needed:.0f} s, {left:.0f} s left)")
        begin = time.time()
        record = {"part": part.name, "kind": part.kind, "of": part.of, "began": begin, **about}
        io.write_json(running, record)
        result = outcome(part, peaks)
        record |= {**result, "part_seconds": time.time() - begin, "call": options.until}
        io.write_json(file, record)
        running.unlink()
        say(f"{part.name}: {record['status']} {record.get('reason', '')}".rstrip())
        if part.kind == "device":
            peaks = record
        if record["status"] != "measured":
            return ANEW
    return 0


# The page -----------------------------------------------------------------------------------------

NOTES = {
    "device": "Operations per second in bfloat16.",
    "training": "Training: random weights and tokens, packed rows, bfloat16. The plain loop has"
    " float32 weights under autocast, full logits, fused AdamW.",
    "initialisation": "Initialisation: one matrix of random values; bytes beside the inputs.",
    "serving": "Scoring and generation before and after a new vocabulary: transformers, bfloat16,"
    " random weights. The head is its product, and in scoring the log-softmax. That the same text"
    " has fewer tokens comes on top.",
}


def cell(key: str, value: Any) -> str:
    """Return a value as it is read: bytes in GiB, shares in per cent."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return {None: "", True: "yes", False: "no"}.get(value, str(value))
    if key.endswith("bytes"):
        return f"{value / 2**30:.2f} GiB"
    if key.startswith("share"):
        return f"{value:.1%}"
    digits = 0 if isinstance(value, int) or value >= 1000 else 3
    return f"{value:.4g}" if value >= 1e9 else f"{value:,.{digits}f}"


def table(rows: list[dict[str, Any]]) -> str:
    keys = list(dict.fromkeys(key for row in rows for key in row))
    lines = [[key.replace("_", " ") for key in keys], ["---"] * len(keys)]
    lines += [[cell(key, row.get(key)) for key in keys] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(records: list[dict[str, Any]]) -> str:
    """Return the records of a folder as tables of Markdown."""
    said = {f"    {r['command']}\n\n{r['device']}, torch {r['torch']}, transformers"
            f" {r['transformers']}, Python {r['python']}"
            + ("" if r["cuda"] else "; seconds are the processor's") for r in records}  # fmt: skip
    lines = ["# Measured by benchmarks/gpu.py", *sorted(said)]
    for kind, note in NOTES.items():
        rows = [
            {"part": record["part"], **row, "device": record["device"]}
            for record in records
            if record["kind"] == kind
            for row in record.get("table", ())
        ]
        lines += [note, table(rows)] if rows else []
    keys = ("part", "status", "reason")
    without = [{key: r[key] for key in keys} for r in records if r["status"] != "measured"]
    lines += ["Not measured:", table(without)] if without else []
    return "\n\n".join(lines) + "\n"


# The process that watches -------------------------------------------------------------------------


def say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


def stop(child: subprocess.Popen[bytes]) -> None:
    """End a process by SIGTERM, else by SIGKILL."""
    child.terminate()
    try:
        child.wait(ENDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def watch(child: subprocess.Popen[bytes], options: argparse.Namespace) -> int:
    """Wait for a measuring process; end it where a part takes too long; note what it left."""
    running, status = options.out / RUNNING, "failed"
    while child.poll() is None:
        time.sleep(0.2)
        with suppress(OSError, RevocabError):  # between two parts there is none
            record = io.read_json(running)
            if time.time() > min(record["began"] + LIMIT, options.until):
                # A whole part's time is a result.
                whole = options.until > record["began"] + LIMIT
                status = "too slow" if whole else "stopped"
                stop(child)
    if not running.exists():
        return child.returncode
    record = io.read_json(running)
    running.unlink()
    seconds = time.time() - record["began"]
    record |= {
        "status": status,
        "reason": f"ended with {child.returncode} after {seconds:.0f} s",
        "call": options.until,
    }
    io.write_json(options.out / "parts" / f"{record['part']}.json", record)
    say(f"{record['part']}: {status}, {record['reason']}")
    return ANEW


def interrupted(*_: Any) -> NoReturn:
    raise KeyboardInterrupt


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the parts and the page")
    parser.add_argument("--minutes", type=float, default=30.0, help="of this call, in all")
    parser.add_argument(
        "--shape", action="append", choices=gpu_models.SHAPES,
        help="one of several; default: all on a GPU, else pico",
    )  # fmt: skip
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)  # of the measuring process
    options = parser.parse_args()
    if options.until:
        return measure_parts(options)
    (options.out / "parts").mkdir(parents=True, exist_ok=True)
    (options.out / RUNNING).unlink(missing_ok=True)
    options.until = time.time() + 60 * options.minutes
    words = [sys.executable, __file__, *sys.argv[1:], "--until", repr(options.until)]
    signal.signal(signal.SIGTERM, interrupted)
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")
    status = ANEW
    while status == ANEW and time.time() < options.until:
        with subprocess.Popen(words, start_new_session=True) as child:
            try:
                status = watch(child, options)
            except KeyboardInterrupt:
                stop(child)
                status = 130
    (options.out / RUNNING).unlink(missing_ok=True)
    records = [io.read_json(file) for file in sorted((options.out / "parts").glob("*.json"))]
    io.write_json(options.out / "gpu.json", {record["part"]: record for record in records})
    io.write_text(options.out / "gpu.md", page(records))
    say(f"{options.out / 'gpu.md'} and gpu.json: {len(records)} parts")
    return 0 if status == ANEW else status


if __name__ == "__main__":
    sys.exit(main())
