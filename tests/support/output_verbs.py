"""Every command that writes a folder, with small real inputs: see ``test_outputs.py``."""

from __future__ import annotations

import json
import runpy
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR

import pytest
from fake_results import fake_results
from toy_models import SOURCE_WORDS, TARGET_WORDS

from revocab.__main__ import main
from revocab.io import read_json, write_json, write_jsonl
from revocab.marker import MARKER


@dataclass(frozen=True)
class Verb:
    script: str
    #: All words but the folder; ``{given}`` and ``{made}`` are the folders of inputs and of what
    #: verbs have made.
    arguments: str
    #: What it reads, below the folder of inputs; empty: it reads nothing.
    source: str = "source"
    flag: str = "--out"
    #: Where below the folder that a test names the command writes.
    below: str = ""


#: A model of this shape is small and has room for packed rows and prompts.
SHAPE = (
    "--family mistral --hidden-size 32 --intermediate-size 48 --layers 2 --heads 4 --kv-heads 2"
    " --context-length 64 --seed 1"
)
CORPUS = "--corpora it={made}/prepare_corpus"
VERBS = [
    Verb(
        "build_demoworld",
        "--seed 3 --documents 10 --parallel 20 --questions 20 --items 4", "",
    ),
    Verb(
        "prepare_corpus",
        "--corpus it --language it --files {given}/text/it.jsonl --heldout-bytes 200", "text",
    ),
    Verb(
        "answer_prompts",
        "--model {given}/source --files {given}/chat/it.jsonl --chat-template plain --engine"
        " transformers --device cpu --max-new-tokens 2 --context-length 64",
    ),
    Verb(
        "judge_answers",
        "rule --conversations {made}/answer_prompts/conversations.jsonl.gz --no-ended", "",
    ),
    Verb("build_tokenizer", "substitute --path {given}/source"),
    Verb("build_stand_in", f"--tokenizer {{given}}/source {SHAPE}"),
    Verb("change_model", "blocks --model {given}/source --share 0.5 --quiet"),
    Verb("fetch_model", "--path {given}/source", below="m"),
    Verb("intersect_vocabularies", "--source {given}/source --target {given}/target"),
    Verb("measure_fertility", f"--tokenizers s={{given}}/source {CORPUS} --splitter unicode"),
    Verb(
        "train_auxiliary",
        f"--target-tokenizer {{given}}/target --source-tokenizers {{given}}/source {CORPUS}"
        " --dimension 4 --epochs 1 --min-count 1 --buckets 50",
    ),
    Verb(
        "init_embeddings",
        "fvt --source {given}/source --target-tokenizer {given}/target --seed 4 --quiet",
    ),
    Verb(
        "measure_scale",
        "--source-tokenizer {given}/source --target-tokenizer {given}/target --hidden-size 8"
        ' --helper-hidden-size 8 --seed 1 --methods mean={{"method":"mean"}}',
    ),
    Verb(
        "measure_similarity",
        "--target-tokenizer {given}/source --helper-model {given}/source --first a={given}/source"
        " --last a={given}/source --group g --helper h --anchors 4 --last-step 2 --seed 1",
    ),
    Verb(
        "pack_tokens",
        f"--tokenizer {{given}}/source {CORPUS} --shares it=1.0 --sequence-length 16 --rows 8"
        " --seed 1",
    ),
    Verb("pack_heldout", f"--tokenizer {{given}}/source {CORPUS} --sequence-length 16"),
    Verb(
        "train_model",
        "--model {given}/source --packed {made}/pack_tokens --heldout {made}/pack_heldout"
        " --steps 2 --batch-size 4 --learning-rate 0.01 --checkpoint-every 1 --seed 1",
    ),
    Verb(
        "generate_text",
        "--run r --models 0={given}/source 2={given}/source --prompts q={given}/prompts/q.jsonl"
        " --engine transformers --max-new-tokens 2 --context-length 64 --device cpu",
    ),
    Verb("make_tables", "--results {given}/results", "results"),
    Verb("make_figures", "--results {given}/results", "results"),
    Verb(
        "export_results",
        "--results {given}/results --date x --command y --out {made}/page.md",
        "results", flag="--figures",
    ),
]  # fmt: skip
#: Scripts whose ``--out`` is a file.
FILES = [
    "build_prompts", "build_report", "build_task", "check_artefacts", "collect_scores",
    "compare_runs", "count_parameters", "drop_checkpoints", "measure_adoption",
    "measure_efficiency", "measure_heldout", "score_comet", "score_multiple_choice",
    "write_experiment",
]  # fmt: skip


def write_inputs(given: Path, toys: Path) -> None:
    """Write what the verbs read, all of it as a user would have it: without any claim."""
    shutil.copytree(toys / "untied", given / "source")
    (given / "source" / MARKER).unlink()
    shutil.copytree(toys / "target-tokenizer", given / "target")
    words = [*SOURCE_WORDS, *TARGET_WORDS]
    texts = [" ".join(words[n:] + words[:n]) for n in range(20)]
    write_jsonl(given / "text/it.jsonl", [{"text": text} for text in texts])
    asked = [{"role": "user", "content": "chi?"}]
    write_jsonl(given / "chat/it.jsonl", [{"messages": asked}])
    (given / "text/it.yaml").write_text("task: x\n")
    query = {"id": "q", "context": "il gatto", "question": "chi?", "answers": ["il cane"]}
    row = {"id": "q", "kind": "question_answering", "direction": ["it"], "shots": []}
    prompt = {**row, "query": query, "references": ["il cane"], "prompt": "…"}
    write_jsonl(given / "prompts/q.jsonl", [prompt])
    results = fake_results(given / "results")
    content = read_json(results / "experiment.json")
    for name, kept in (("tables", "table01"), ("figures", "figure06")):
        content["experiment"][name] = {kept: content["experiment"][name][kept]}
    write_json(results / "experiment.json", content)
    (results / "figures").mkdir()
    (results / "figures/figure06.svg").write_text("<svg/>")


def run_words(script: str, *arguments: object) -> None:
    path = Path(__file__).resolve().parents[2] / f"scripts/{script}.py"
    if not path.is_file():
        main([script, *map(str, arguments)])
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(path), *map(str, arguments)])
        runpy.run_path(str(path), run_name="__main__")


def call(verb: Verb, given: Path, made: Path, out: Path | str, *more: object) -> int:
    place = Path(out, verb.below) if verb.below else out
    arguments = [*verb.arguments.format(given=given, made=made).split(), verb.flag, place, *more]
    try:
        run_words(verb.script, *arguments)
    except SystemExit as ended:
        return ended.code
    return 0


def tree(folder: Path) -> dict[str, bytes | str | None]:
    """Return everything below a folder: bytes of files, targets of links, None for folders."""

    def content(path: Path) -> bytes | str | None:
        if path.is_symlink():
            return str(path.readlink())
        return path.read_bytes() if path.is_file() else None

    return {str(path.relative_to(folder)): content(path) for path in sorted(folder.rglob("*"))}


def stamps(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return number, size and time of everything below a folder: what is written changes one.

    Of folders the number alone: what was written in one and taken away again is no trace.
    """
    found = {str(path): path.lstat() for path in folder.rglob("*")}
    return {
        name: (at.st_ino,) if S_ISDIR(at.st_mode) else (at.st_ino, at.st_size, at.st_mtime_ns)
        for name, at in found.items()
    }


def architectures(given: Path) -> str:
    shape = {"hidden_size": 8, "intermediate_size": 8, "layers": 1, "heads": 1, "kv_heads": 1}
    entry = {"label": "x", "vocabulary_size": 9, "architecture": {"family": "llama", **shape}}
    return json.dumps(entry)
