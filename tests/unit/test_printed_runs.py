"""Commands by hand that the docs print, run as they stand on toys that have the names there.

Only what costs hours is smaller (:data:`LESS`). The quick start and the line of the README that
adapts a reader's own model are run in ``test_quickstart.py`` and ``test_adapt.py``.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from printed import printed
from toy_models import SOURCE_WORDS, TARGET_WORDS, build_model, build_tokenizer

from revocab import __main__ as entry
from revocab.io import read_json, read_jsonl, write_json, write_jsonl

REPOSITORY = Path(__file__).resolve().parents[2]
#: Words in place of others, so that toys can do it in seconds, or so that one name of a sentence
#: stands for one thing.
LESS = {
    "add=24000": "add=8",
    "add=4096": "add=8",
    "adapted/checkpoints/step-050000": "adapted/checkpoints/step-000004",
    "256": "16",
    "512": "256",
    "96": "4",
    "a=FOLDER": "a=MISTRAL",
    "b=FOLDER": "b=TARGET",
    "it=FOLDER": "it=CORPUS",
    "--coverage": "--keep",
    "0.9999": "280",
    "checks={language: it}": "checks={words_at_most: 5000}",
}
#: Flags that a line has not, by page and verb: what a named recipe says, and a toy's template.
ALSO = {
    (
        "docs/papers.md",
        "train",
    ): "--steps 4 --batch-size 2 --checkpoint-every 4 --precision float32",
    ("docs/training.md", "train"): "--precision float32",
    ("docs/training.md", "judge"): "--option ended=false",
    ("docs/evaluation.md", "measure_efficiency"): "--prompts 2 --repeats 1",
}
#: What the page says comes before a line, by page and verb.
FIRST = {
    ("docs/papers.md", "train"): (
        "pack --recipe lep --tokenizer extended --corpora ru=CORPUS --steps 4 --batch-size 2"
        " --sequence-length 32 --repeat-corpora --seed 17 --out PACKED",
        "pack_heldout --tokenizer extended --corpora ru=CORPUS --sequence-length 32 --out HELDOUT",
    )
}
#: Lines that need what a toy is not: a model of the Hub, the judgement of a large model, tokens in
#: other scripts.
LEFT = ("it,en", "darumeru_parus", "llm", "OWNER/NAME", "riddle", "riddles.yaml")
#: Pages whose lines are run, and what they make.
PAGES = {
    "docs/papers.md": ("carried/model.safetensors",),
    "docs/methods.md": ("adapted/model.safetensors",),
    "docs/tokenizers.md": ("NEW/tokenizer.json", "FOLDER/manifest.json"),
    "docs/training.md": ("tuned/checkpoints/step-000020/model.safetensors",),
    "docs/evaluation.md": ("base.json",),
}
MODELS = ("INSTRUCT", "MODEL", "CHAT", "ADAPTED", "DIR")


def lines(page: str) -> list[list[str]]:
    """Return the words of a page's commands that name all that they read.

    Those on real text, or on results of an experiment, name folders that are not here.
    """
    return [
        list(line.words)
        for line in printed(REPOSITORY)
        if line.page == page and line.program == "revocab" and "--out" in line.words
        if not line.is_part and not {*LEFT} & {*line.words}
        if not any(
            place in word for word in line.words for place in ("shared/", "work/", "results/")
        )
    ]


@pytest.fixture(scope="module")
def named(tmp_path_factory) -> Path:
    """Everything that the pages read, under its name there; the world by its page's command."""
    folder = tmp_path_factory.mktemp("named")
    source = build_tokenizer(SOURCE_WORDS, 30, folder / "SOURCE")
    target = build_tokenizer(TARGET_WORDS, 45, folder / "TARGET")
    model = build_model(source, folder / "BASE", seed=1, layers=4)
    config = read_json(model / "config.json")
    write_json(model / "config.json", {**config, "max_position_embeddings": 2048})
    chat = REPOSITORY / "src/revocab/chat/templates/plain.jinja"
    shutil.copy(chat, model / "chat_template.jinja")
    for name in MODELS:
        shutil.copytree(model, folder / name)
    build_model(source, folder / "meta-llama/Llama-2-7b-hf", layers=4)
    build_model(target, folder / "HELPER", seed=3, hidden_size=24, tied=True)
    for name in ("MISTRAL", "TOKENIZER"):
        shutil.copytree(source, folder / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        (world,) = (line for line in lines("docs/experiments.md") if line[0] == "build_demoworld")
        entry.main(world)
        corpus = "--files world/documents.it.jsonl.gz --limit-bytes 60000 --heldout-bytes 6000"
        entry.main(f"prepare --corpus it --language it {corpus} --out CORPUS".split())
    write_texts(folder)
    return folder


def write_texts(folder: Path) -> None:
    rows = list(read_jsonl(folder / "world/parallel.train.jsonl.gz"))
    for language in ("en", "it"):
        text = "".join(f"{row[language]}\n" for row in rows[:20])
        (folder / f"{language.upper()}.txt").write_text(text, encoding="utf-8")
    asked = [[{"role": "user", "content": row["it"]}] for row in rows]
    write_jsonl(folder / "questions.jsonl", ({"messages": one} for one in asked[:4]))
    answers = [{"role": "assistant", "content": row["en"]} for row in rows]
    chats = [
        {"messages": [*question, answer], "number": number}
        for number in range(20)
        for question, answer in zip(asked, answers[number:] + answers[:number], strict=True)
    ]
    write_jsonl(folder / "chat.jsonl", chats)
    with gzip.open(folder / "eng_Latn-swh_Latn.tsv.gz", "wt", encoding="utf-8") as file:
        for number in range(2000):
            row = rows[number % len(rows)]
            file.write(f"{row['en']} {number}\t{row['it']} {number}\t1.{number:04}\n")
    shutil.copy(folder / "world/documents.it.jsonl.gz", folder / "heldout.jsonl.gz")


def call(words: list[str]) -> None:
    """Run a command: a training in a process of its own, in which no other library is loaded."""
    if words[0] != "train":
        entry.main(words)
        return
    done = subprocess.run(
        [sys.executable, "-m", "revocab", *words], capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run_in_its_order(page, named, tmp_path, monkeypatch):
    for place in named.iterdir():
        if place.is_dir():
            (tmp_path / place.name).symlink_to(place)
        else:  # a file that is a link out of its folder is refused
            shutil.copy(place, tmp_path / place.name)
    monkeypatch.chdir(tmp_path)
    for words in lines(page):
        step = page, words[0]
        shutil.rmtree("FOLDER", ignore_errors=True)  # stands for any
        for before in FIRST.get(step, ()):
            entry.main(before.split())
        also = ALSO.get(step, "").split()
        call([*(LESS.get(word, word) for word in words), *also])
        out = tmp_path / words[words.index("--out") + 1]
        assert out.exists() and not out.is_symlink(), words
    assert all((tmp_path / file).is_file() for file in PAGES[page])
