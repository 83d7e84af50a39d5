"""Links in what strangers send: every reader of a user's files refuses those that lead out of the
folder that is named, before it reads them, and follows those within it.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from one_group import changed
from refusals import problems

from revocab import extensions, yaml_file
from revocab.corpora.formats import data_files
from revocab.corpora.source import aligned_rows
from revocab.costs.sizes import read_config
from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice.task_file import read_task
from revocab.evaluation.multiple_choice.tasks import load_template
from revocab.initialise.reading.token_vectors import _read
from revocab.io import read_jsonl, text_lines
from revocab.links import check_documents
from revocab.models.folder import read_settings
from revocab.product.verify.verify import VerifyOptions, check_files
from revocab.report.published import PaperValues
from revocab.training.chat.template import read_template
from revocab.vocabulary.tokenizers.load import load_tokenizer
from revocab.vocabulary.tokenizers.tiktoken import load_tiktoken


def template(folder: Path) -> object:
    (folder / "t.yaml").write_text("include: a.yaml\n")
    return load_template(folder / "t.yaml")


def vectors(folder: Path) -> object:
    return _read(folder / "a.vec", set())


#: Files that are read, by a reader of the folder in which they lie.
READERS = {
    "texts": ("a.jsonl", data_files),
    "texts in a folder": ("deeper/a.txt", data_files),
    "a text": ("a.txt", lambda folder: data_files(folder / "a.txt")),
    "aligned lines": ("a.txt", lambda folder: [*aligned_rows({"it": folder / "a.txt"})]),
    "lines": ("a.txt", lambda folder: text_lines(folder / "a.txt")),
    "rows": ("a.jsonl.gz", lambda folder: [*read_jsonl(folder / "a.jsonl.gz")]),
    "an experiment": ("a.yaml", lambda folder: yaml_file.read(folder / "a.yaml")),
    "a task": ("a.yaml", lambda folder: read_task(folder / "a.yaml")),
    "what a template includes": ("a.yaml", template),
    "a chat template": ("a.jinja", lambda folder: read_template(folder / "a.jinja")),
    "values of a paper": ("a.csv", PaperValues),
    "vectors": ("a.vec", vectors),
    "a shape": ("config.json", read_config),
    "a model's settings": ("config.json", lambda folder: read_settings(folder / "config.json")),
    "a tokenizer": ("tokenizer.json", load_tokenizer),
    "settings of a tokenizer": ("tokenizer_config.json", load_tokenizer),
    "a template of several": ("additional_chat_templates/rag.jinja", check_documents),
    "ranks": ("a.tiktoken", lambda folder: load_tiktoken(folder / "a.tiktoken")),
    "a GGUF": ("a.gguf", lambda folder: check_files(VerifyOptions(gguf=folder / "a.gguf"))),
}  # fmt: skip


@pytest.mark.parametrize("case", READERS)
def test_a_link_out_of_the_folder_is_not_read(tmp_path, case):
    name, read = READERS[case]
    (tmp_path / "private").write_text("secret\n")
    link = tmp_path / "named" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(os.path.relpath(tmp_path / "private", link.parent))
    with pytest.raises(RevocabError, match=f"{link.name}: a link out of its folder"):
        read(tmp_path / "named")


def test_links_within_the_folder_and_a_folder_that_is_a_link_are_followed(tmp_path):
    texts = tmp_path / "real" / "more"
    texts.mkdir(parents=True)
    (texts / "a.txt").write_text("uno\n")
    (texts.parent / "b.txt").symlink_to("more/a.txt")
    (texts.parent / "again").symlink_to("more")
    (tmp_path / "named").symlink_to(texts.parent)
    found = [file.relative_to(tmp_path / "named") for file in data_files(tmp_path / "named")]
    assert found == [Path("b.txt"), Path("more/a.txt")]
    (texts / "out").symlink_to("/etc")
    with pytest.raises(RevocabError, match="more/out: a link out of its folder, to /etc"):
        data_files(tmp_path / "named")


def test_files_in_the_cache_of_the_hub_are_read(tmp_path):
    repository = tmp_path / "datasets--o--d"
    snapshot = repository / "snapshots" / ("ab" * 20) / "data"
    for folder in (repository / "blobs", snapshot):
        folder.mkdir(parents=True)
    (repository / "blobs" / "cd").write_text("uno\n")
    (snapshot / "a.txt").symlink_to("../../../blobs/cd")
    assert data_files(snapshot.parent) == data_files(snapshot / "a.txt") == [snapshot / "a.txt"]


#: Links on the way to a module of one's own, and where they stand.
WAYS = ("mine", "mine/initialise", "mine/initialise/methods", "mine/initialise/methods/own.py")


@pytest.mark.parametrize("way", WAYS)
def test_no_python_of_another_folder_is_run(tmp_path, monkeypatch, way):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "mine/initialise/methods").mkdir(parents=True)
    (elsewhere / "mine/initialise/methods/own.py").write_text("raise SystemExit('it ran')\n")
    work = tmp_path / "work"
    (work / way).parent.mkdir(parents=True)
    (work / way).symlink_to(elsewhere / way)
    monkeypatch.chdir(work)
    monkeypatch.delenv(extensions.VARIABLE, raising=False)
    extensions.use("mine")
    if way == "mine":
        lines = problems(changed({"extensions": "mine"}))
        assert any(line.startswith("extensions: received 'mine'") for line in lines)
        assert extensions.own_folder() is None
        return
    package = SimpleNamespace(
        __file__=str(extensions.PACKAGE / "initialise/methods/__init__.py"),
        __name__="revocab.initialise.methods", __path__=[],
    )  # fmt: skip
    with pytest.raises(RevocabError, match="a link out of mine"):
        extensions.found_in(package, "METHOD")


def test_a_folder_that_changes_while_it_is_listed_is_one_line(tmp_path, monkeypatch):
    def listed(self, pattern):
        yield tmp_path / "a.txt"
        raise FileNotFoundError(2, "No such file or directory", str(tmp_path / "gone"))

    monkeypatch.setattr(Path, "rglob", listed)
    with pytest.raises(RevocabError, match=r"gone: gone while .* was listed"):
        data_files(tmp_path)
