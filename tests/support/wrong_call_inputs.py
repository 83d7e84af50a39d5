"""The files that careless and hostile calls of :mod:`wrong_calls` name."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path

from toy_models import SOURCE_WORDS, TARGET_WORDS, build_model, build_tokenizer

from revocab import __main__ as entry
from revocab.io import read_json, write_json, write_jsonl


def write_inputs(folder: Path, repository: Path) -> None:
    build_model(build_tokenizer(SOURCE_WORDS, 30, folder / "tokenizer"), folder / "toy")
    build_tokenizer(TARGET_WORDS, 45, folder / "target")
    (folder / "bare").mkdir()
    for name in ("config.json", "model.safetensors"):
        os.link(folder / "toy" / name, folder / "bare" / name)
    build_model(folder / "target", folder / "other")
    for name in ("broken", "large", "zero", "quantised", "nan", "part"):
        shutil.copytree(folder / "toy", folder / name)
    (folder / "broken/tokenizer.json").write_text("{")
    more = ["abcdefgh", "zzzzzz", *TARGET_WORDS * 3]
    build_tokenizer(more, 80, folder / "more")
    shutil.copytree(folder / "more", folder / "large", dirs_exist_ok=True)
    write_value(folder / "zero/model.safetensors", "model.embed_tokens.weight", 0)
    write_value(folder / "nan/model.safetensors", "model.embed_tokens.weight", float("nan"))
    write_value(folder / "part/model.safetensors", "model.norm.weight", None)
    (folder / "shapeless").mkdir()
    write_json(folder / "shapeless/config.json", {"model_type": "llama", "vocab_size": 9})
    config = folder / "quantised/config.json"
    write_json(config, {**read_json(config), "quantization_config": {"load_in_4bit": True}})
    write_texts(folder)
    shutil.copy(repository / "tests/experiments/small.yaml", folder / "small")
    query = {"id": "q", "context": "il gatto", "question": "chi?", "answers": ["il cane"]}
    row = {"id": "q", "direction": ["it"], "shots": [], "query": query, "references": ["il cane"]}
    write_jsonl(folder / "prompts.jsonl", [{**row, "kind": "question_answering"}])
    write_jsonl(folder / "kinds.jsonl", [{**row, "kind": "nokind"}])
    words = (TARGET_WORDS * 3)[:30]
    texts = [{"text": f"{' '.join(words[n:])} {n}"} for n in range(30)]
    write_jsonl(folder / "whole.jsonl", texts)
    items = [{"context": "il", "question": "chi?", "choices": ["a", "b"], "answer": 0}]
    write_jsonl(folder / "items.jsonl", items * 4)
    length = f"--corpora it={folder}/whole --tokenizer {folder}/toy --sequence-length 16"
    task = f"--task t --template hellaswag_it --language it --data {folder}/items.jsonl"
    for words in (
        f"prepare --corpus it --language it --files {folder}/few.txt --out {folder}/corpus",
        f"prepare --corpus it --language it --files {folder}/whole.jsonl --out {folder}/whole"
        " --heldout-bytes 300",
        f"pack {length} --seed 1 --rows 8 --out {folder}/packed",
        f"pack_heldout {length} --out {folder}/heldout",
        f"task {task} --out {folder}/task.yaml",
    ):
        entry.main(words.split())
    task = (folder / "task.yaml").read_text()
    lines = [line for line in task.splitlines() if not line.startswith("doc_to_choice")]
    (folder / "part.yaml").write_text("\n".join(lines))


def write_texts(folder: Path) -> None:
    (folder / "few.txt").write_text("uno due\n\ntre quattro\n")
    (folder / "lines.txt").write_text("".join(f"La frase {n} dice una cosa.\n" for n in range(300)))
    (folder / "empty.txt").write_text("")
    english = "th of the many that he and she had for the house.\n"
    (folder / "english.txt").write_text("".join(f"It is the {n}{english}" for n in range(3000)))
    (folder / "binary.txt").write_bytes(b"a\n\0\n" * 40_000)
    (folder / "latin.txt").write_bytes("perché".encode("latin-1"))
    (folder / "deep.jsonl").write_text('{"text": ' + "[" * 10**5 + "]" * 10**5 + "}\n")
    (folder / "digits.jsonl").write_text('{"text": "a"}\n{"text": "b", "n": ' + "1" * 10**4 + "}\n")
    with gzip.open(folder / "line.jsonl.gz", "wt") as handle:
        handle.write('{"text": "' + "a" * 3 * 10**5 + '"}\n')
    whole = (folder / "line.jsonl.gz").read_bytes()
    (folder / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    for name in ("mixed", "linked"):
        (folder / name).mkdir()
    for name in ("a.txt", "README.md", "LICENSE", ".hidden", "notes.pdf", "table.csv"):
        (folder / "mixed" / name).write_text("uno\n")
    (folder / "linked/a.txt").symlink_to("../few.txt")
    (folder / "loop").mkdir()
    (folder / "loop/loop").symlink_to(".")
    (folder / "bad.jinja").write_text("{% for m in messages %}\n{{ m \n")
    said = [{"role": "user", "content": "chi?"}, {"role": "assistant", "content": "io"}]
    (folder / "chat.jsonl").write_text(json.dumps({"messages": said}) + "\n")


def write_value(file: Path, name: str, value: float | None) -> None:
    """Fill a tensor with a value, or take it away."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(file)
    if value is None:
        del tensors[name]
    else:
        tensors[name].fill_(value)
    save_file(tensors, file, {"format": "pt"})
