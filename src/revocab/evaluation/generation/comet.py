"""COMET-22 and xCOMET of outputs that are already written, with unbabel-comet's own models.

Runs in an environment of its own (``make comet``): unbabel-comet needs another transformers and
numpy than the rest. It reads prompts and outputs, and writes ``comet.csv`` and, for comparing runs
item by item, ``comet_items.jsonl.gz``. Scores are those of the model times 100.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from revocab.device import choose_device
from revocab.errors import RevocabError
from revocab.evaluation.generation.kind import find_kind
from revocab.evaluation.metrics import Row
from revocab.evaluation.options import CometHardware
from revocab.evaluation.records import Records, version
from revocab.evaluation.resampling import SCORE_COLUMNS, mean_items, score_columns
from revocab.io import read_jsonl, sha256, write_csv, write_jsonl
from revocab.output import check_files

COLUMNS = (
    *SCORE_COLUMNS, "engine", "limit", "reason", "model", "model_revision", "comet_version",
)  # fmt: skip


@dataclass
class Comet:
    """A COMET model, loaded when first used: a checkpoint file, a folder that holds one, or a Hub
    id (``ID`` or ``ID@REVISION``).
    """

    name: str
    hardware: CometHardware = field(default_factory=CometHardware)
    _model: Any = field(default=None, repr=False)

    @property
    def local(self) -> bool:
        return Path(self.name).exists()

    def checkpoint(self) -> Path:
        """Return the checkpoint file; that of a Hub id is downloaded, at its current commit.

        Raises :class:`RevocabError` for a folder without checkpoints or a model that cannot be had.
        """
        path = Path(self.name)
        if path.is_file():
            return path
        if not path.is_dir():
            if path.is_absolute() or self.name.startswith(".") or path.suffix == ".ckpt":
                problem = "no such COMET checkpoint; give a .ckpt file or a Hub id"
                raise RevocabError(f"{path}: {problem}")
            from huggingface_hub import snapshot_download

            from revocab.hub import explain

            origin, wanted = self._origin(), ["hparams.yaml", "checkpoints/*"]
            hub, commit = origin["hub"], origin["commit"]
            try:  # comet's own function hides why it failed
                path = Path(snapshot_download(hub, revision=commit, allow_patterns=wanted))
            except Exception as error:  # the connection, the disk
                raise RevocabError(explain(error, hub, "model")) from error
        files = sorted(path.rglob("*.ckpt"))
        if len(files) != 1:
            listed = ", ".join(map(str, files)) or "none"
            raise RevocabError(f"{path}: expected one *.ckpt file below it, found {listed}")
        return files[0]

    def revision(self) -> str:
        """Return the commit of a model of the Hub, nothing for a local one."""
        return "" if self.local else self._origin()["commit"]

    def state(self) -> list[Any]:
        if not self.local:
            return [self.name, self.revision()]
        status = self.checkpoint().stat()
        return [self.name, status.st_size, status.st_mtime_ns]

    def _origin(self) -> dict[str, Any]:
        from revocab.hub import resolve

        repository, _, revision = self.name.partition("@")
        return resolve(repository, revision or None, "model")

    def score(self, samples: Sequence[dict[str, str]]) -> list[float]:
        if self._model is None:
            from comet import load_from_checkpoint

            self._model = load_from_checkpoint(str(self.checkpoint()), local_files_only=self.local)
        kind, _, number = choose_device(self.hardware.device).partition(":")
        gpus = {"gpus": 0 if kind == "cpu" else 1} | ({"devices": [int(number)]} if number else {})
        prediction = self._model.predict(
            list(samples), batch_size=self.hardware.batch_size, progress_bar=False,
            num_workers=0, **gpus,
        )  # fmt: skip
        return [float(score) for score in prediction.scores]


def samples(prompts: Sequence[Row], outputs: Sequence[Row], where: str) -> list[dict[str, str]]:
    """Return source, output and reference of each item; raise :class:`RevocabError` if the outputs
    are not those of the prompts.
    """
    if [row["id"] for row in prompts] != [row["id"] for row in outputs]:
        raise RevocabError(f"{where}: its items do not match the prompts; generate again")
    texts_of = find_kind(prompts[0]["kind"]).texts_of
    sources = [texts_of(prompt["query"], prompt["direction"])[0] for prompt in prompts]
    return [
        {"src": text, "mt": row["output"], "ref": row["references"][0]}
        for text, row in zip(sources, outputs, strict=True)
    ]


def score_run(
    run: str,
    folder: Path,
    prompts: Mapping[str, Path],
    models: Mapping[str, str],
    out: Path,
    hardware: CometHardware | None = None,
) -> None:
    """Score every output of ``folder`` (``step-NNNNNN/<task>.jsonl``) with every (metric, model).

    Only tasks of kinds that COMET applies to are scored. Finished parts stay on record, so that a
    killed run continues and a further task or checkpoint costs itself alone. Writes ``out`` and its
    item file, ``out`` last.
    """
    items = out.with_name(f"{out.stem}_items.jsonl.gz")
    check_files(out, items, inputs=[*prompts.values(), *map(Path, models.values())])
    library = comet_version()
    loaded = [(metric, Comet(name, hardware or CometHardware())) for metric, name in models.items()]
    rows, item_rows = [], []
    records = Records(out.with_name(f".{out.name}.records"))
    for name, path in prompts.items():
        queries = list(read_jsonl(path))
        if not find_kind(queries[0]["kind"]).comet:
            continue
        for outputs in sorted(folder.glob(f"step-*/{name}.jsonl")):
            step = int(outputs.parent.name.removeprefix("step-"))
            pairs = samples(queries, list(read_jsonl(outputs)), str(outputs))
            for metric, model in loaded:
                parts: dict[str, Any] = {
                    "prompts": sha256(path),
                    "outputs": sha256(outputs),
                    "metric": metric,
                    "model": model.state(),
                    "version": library,
                }
                values = records.read(parts)
                if values is None:
                    values = [100 * value for value in model.score(pairs)]
                    records.write(parts, values)
                keys = {"run": run, "step": step, "task": name, "metric": metric}
                score = {
                    **score_columns(mean_items(values)),
                    "items": len(values),
                    # A path of one machine stays out of results; a Hub id is the model's name.
                    "model": Path(model.name).name if model.local else model.name.split("@")[0],
                    "model_revision": model.revision(),
                    "comet_version": library,
                }
                rows.append({**keys, **score})
                item_rows.append({**keys, "parts": [len(values)], "by_part": False})
                item_rows[-1]["values"] = values
    if not rows:
        raise RevocabError(f"{folder}: no outputs of a task that COMET scores; generate first")
    write_jsonl(items, item_rows)
    write_csv(out, COLUMNS, rows)


def comet_version() -> str:
    """Return the version of unbabel-comet; raise :class:`RevocabError` where there is none."""
    if (installed := version("unbabel-comet")) is None:
        raise RevocabError(
            "unbabel-comet is not installed in this environment; run 'make comet' (it makes "
            ".venv-comet, which the rule then finds), name another with REVOCAB_COMET_PYTHON, or "
            "leave out evaluation.generation.comet_model and xcomet_model"
        )
    return installed
