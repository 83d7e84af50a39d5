"""Every place of text for every reader of it: the same rows, or an error of the experiment file."""

from __future__ import annotations

import copy
import csv
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args, get_origin

import hub_content
import pytest
import yaml
from pydantic import ValidationError
from toy_models import SOURCE_WORDS, TARGET_WORDS

from revocab.closed import Closed
from revocab.corpora.prepare import CorpusJob, prepare
from revocab.corpora.source import (
    ANY,
    Form,
    HubData,
    Kind,
    Source,
    aligned_rows,
    joined,
    read_rows,
    renamed,
)
from revocab.errors import RevocabError
from revocab.experiment import Experiment, options, validate
from revocab.experiment.layout import Layout
from revocab.io import read_json, read_jsonl, write_jsonl

WORDS = [*SOURCE_WORDS, *TARGET_WORDS]
#: Rows that every reader can use; their Italian is what all of them are asked for.
ROWS = [
    {
        "id": str(number),
        "text": f"nothing {number}",
        "it": " ".join(WORDS[number:] + WORDS[:number]),
        "en": f"the {WORDS[number]}",
        "question": "chi?",
        "choices": ["il gatto", "il cane"],
        "answer": 0,
    }
    for number in range(8)
]
SOURCES = {
    "world": {"world": "parallel.train"},
    "file": {"path": "data/rows.jsonl"},
    "folder": {"path": "data"},
    "pattern": {"pattern": "parts/*.jsonl"},
    "lines": {"lines": {"it": "it.txt", "en": "en.txt"}},
    "hub": {"hub": {"id": "o/pairs", "fields": {"it": "italian.text"}}},
    "joined": {
        "hub": {"id": "o/parts", "names": {"it": "ita", "en": "eng"}, "fields": {"id": "key"}}
    },
}
HUB = ("hub", "joined")
OFFLINE = [name for name in SOURCES if name not in HUB]
TEXT, TASKS = "evaluation.generation.tasks.flores_en_it", "evaluation.multiple_choice.tasks"
#: Where a source stands in an experiment, and the job that reads it.
READERS = {
    "corpus": ("corpora.extra.source", "prepare_corpus"),
    "pool": (f"{TEXT}.pool", "build_prompts"),
    "test": (f"{TEXT}.test", "build_prompts"),
    "parallel": ("fertility.parallel.source", "measure_fertility"),
    "task": (f"{TASKS}.arc_easy_en.data", "build_task"),
}
#: What the harness does not read for a task, and the line that says so.
REFUSED = {
    "folder": ".path: received 'data'; allowed are .jsonl and .jsonl.gz files",
    "pattern": ": received 'pattern:'; allowed here are world, path, hub",
    "lines": ": received 'lines:'; allowed here are world, path, hub",
    "joined": ".hub.names: templates name their fields, received {'it': 'ita', 'en': 'eng'}",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """The same rows on a Hub: in one configuration, and in one per language."""
    root = tmp_path_factory.mktemp("hub")
    pairs = [{**row, "italian": {"text": row["it"]}} for row in ROWS]
    for row in pairs:
        del row["it"]
    hub_content.data_set(root / "datasets/o/pairs/main", {"default": {"train": pairs}})
    parts = {
        name: {"train": [{"key": row["id"], "text": row[language]} for row in rows]}
        for name, language, rows in (("ita", "it", ROWS), ("eng", "en", ROWS[::-1]))
    }
    hub_content.data_set(root / "datasets/o/parts/main", parts)
    return root


@pytest.fixture
def place(tmp_path, monkeypatch, repository) -> Path:
    """A folder with the rows in every form, as the current one."""
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "resources/small/world/parallel.train.jsonl.gz", ROWS)
    write_jsonl(tmp_path / "data/rows.jsonl", ROWS)
    for name, part in (("b", ROWS[5:]), ("a", ROWS[:5])):
        write_jsonl(tmp_path / f"parts/{name}.jsonl", part)
    for language in ("it", "en"):
        lines = "".join(f"{row[language]}\n" for row in ROWS)
        (tmp_path / f"{language}.txt").write_text(lines, encoding="utf-8")
    return tmp_path


@pytest.fixture
def values(repository) -> dict:
    """The small experiment, with a further corpus; every source in question is the file."""
    values = yaml.safe_load((repository / "tests/experiments/small.yaml").read_text())
    values["corpora"]["extra"] = {"language": "it", "text_field": "it"}
    for key, _ in READERS.values():
        values = laid(values, key, SOURCES["file"])
    return values


def laid(values: dict, key: str, source: dict) -> dict:
    """Return an experiment with a source in one place."""
    values = copy.deepcopy(values)
    *parents, last = key.split(".")
    place = values
    for parent in parents:
        place = place[parent]
    place[last] = source
    return values


def call_of(values: dict, reader: str, source: dict, folder: Path, toys: Path) -> tuple:
    """Return the command that reads a source of an experiment, as its rule calls it."""
    key, command = READERS[reader]
    layout = Layout(experiment := validate(laid(values, key, source)))
    if command == "prepare_corpus":
        words, job = ["--files", *layout.corpus_files("extra")], options.corpus(experiment, "extra")
    elif command == "build_prompts":
        task = experiment.evaluation.generation.tasks["flores_en_it"]
        pool, test = map(layout.task_text, (task.pool, task.test))
        words = ["--pool-files", *pool, "--test-files", *test]
        job = options.prompts(experiment, "flores_en_it")
    elif command == "build_task":
        words = ["--data", *layout.task_data("arc_easy_en")]
        job = options.task(experiment, "arc_easy_en")
    else:  # of the tokenizers and corpora, only the text is in question
        words = ["--tokenizers", f"t={toys / 'target-tokenizer'}", "--corpora", "c=corpus-extra"]
        words += ["--parallel-files", *layout.source_files(experiment.fertility.parallel.source)]
        job = options.fertility(experiment)
    out = folder / f"{command}-{reader}"
    words += ["--out", str(out), "--options", job.canonical(), "--job", command]
    return command, words, out


def found_by(reader: str, out: Path):
    """Return what a reader made of the rows."""
    if reader == "corpus":
        return [row["text"] for row in read_jsonl(out / "train.jsonl.gz")]
    if reader == "parallel":
        with (out / "parallel.csv").open(encoding="utf-8") as handle:
            return [(row["language"], row["bytes"]) for row in csv.DictReader(handle)]
    if reader == "task":
        return yaml.safe_load(out.read_text())["doc_to_text"]
    rows = list(read_jsonl(out))
    return [[(one["it"], one["en"]) for one in (row["query"], *row["shots"])] for row in rows]


@pytest.fixture
def expected(job, place, values, toys):
    """Return what a reader makes of the plain file."""
    prepare([place / "data/rows.jsonl"], extra_corpus(), place / "corpus-extra")

    def run(reader: str):
        command, words, out = call_of(values, reader, SOURCES["file"], place / "expected", toys)
        job(command, *words)
        return found_by(reader, out)

    return run


def extra_corpus(**source) -> CorpusJob:
    return CorpusJob(corpus="extra", language="it", text_field="it", source=Form(**source))


# Every form for every reader ---------------------------------------------------------------------


@pytest.mark.parametrize("reader", READERS)
def test_every_local_form_for_every_reader(job, place, values, toys, expected, reader):
    plain = expected(reader)
    for form in OFFLINE:
        if reader == "task" and form in REFUSED:
            with pytest.raises(RevocabError) as caught:
                validate(laid(values, READERS[reader][0], SOURCES[form]))
            (line,) = caught.value.problems
            assert line.startswith(READERS[reader][0] + REFUSED[form]), line
        elif form != "file":
            command, words, out = call_of(values, reader, SOURCES[form], place / form, toys)
            job(command, *words)
            assert found_by(reader, out) == plain, form
    if reader == "corpus":
        assert plain == [row["it"] for row in ROWS]


def places(annotation: Any, key: str = "") -> Iterator[str]:
    """Yield every key of the schema that takes a source; ``*`` is an id."""
    if isinstance(annotation, type) and issubclass(annotation, Source):
        yield key
    elif isinstance(annotation, type) and issubclass(annotation, Closed):
        for name, field in annotation.model_fields.items():
            yield from places(field.annotation, f"{key}.{name}".lstrip("."))
    else:
        of = f"{key}.*" if get_origin(annotation) is dict else key
        for one in get_args(annotation):
            yield from places(one, of)


def test_the_tables_have_every_place_and_every_form():
    """A new place of a source, or a new form of it, is missed here first."""
    asked = {key for key, _ in READERS.values()}
    known = {*places(Experiment)}  # once for all kinds of tasks
    assert len(known) == len(asked)
    assert all(any(fnmatchcase(key, one) for one in known) for key in asked)
    assert {Source(**given).kind for given in SOURCES.values()} == {*ANY} == {*get_args(Kind)}


def test_both_forms_of_the_hub_for_every_reader(job, hub, place, values, toys, expected):
    plain = {reader: expected(reader) for reader in READERS}
    for form in HUB:
        for reader in READERS:
            if reader != "task" or form not in REFUSED:
                folder = place / form
                source = SOURCES[form] if reader != "task" else {"hub": {"id": "o/pairs"}}
                command, words, out = call_of(values, reader, source, folder, toys)
                job(command, *words)
                assert found_by(reader, out) == plain[reader], (reader, form)
    source = read_json(place / "joined/prepare_corpus-corpus/manifest.json")["source"]
    assert source["names"] == {"it": "ita", "en": "eng"} and len(source["commit"]) == 40
    task = yaml.safe_load((place / "hub/build_task-task").read_text())
    assert task["dataset_path"] == "o/pairs"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ({"hub": {"id": "o/d", "names": {"it": "ita", "en": "eng"}}}, REFUSED["joined"]),
        ({"hub": {"id": "o/d", "fields": {"text": "body"}}}, ".hub.fields: templates name their"),
        ({"hub": {"id": "o/d", "files": "a/*.jsonl"}}, ".hub.files: received 'a/*.jsonl': lm-"),
        ({"path": "data/rows.parquet"}, ".path: received 'data/rows.parquet'; allowed are .jsonl"),
    ],
)
def test_what_the_harness_cannot_read_is_an_error_of_the_file(place, values, source, line):
    (place / "data/rows.parquet").touch()
    key = READERS["task"][0]
    with pytest.raises(RevocabError) as caught:
        validate(laid(values, key, source))
    (found,) = caught.value.problems
    assert found.startswith(key + line), found


@pytest.mark.parametrize("reader", ["corpus", "task"])
@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({}, "must be given, received none"),
        ({"path": "x", "world": "w"}, "must be given, received world, path"),
        ({"files": "x"}, "files: unknown key (allowed: h"),
        ({"lines": {}}, "lines: "),
        ({"world": "parallel.trian"}, "did you mean 'parallel.train'?"),
        ({"path": "absent.jsonl"}, "'absent.jsonl' does not exist; check the path or data_root"),
        (
            {"lines": {"it": "absent.txt", "en": "absent.txt"}},
            "lines.en: 'absent.txt' does not exist",
        ),
        ({"pattern": "absent/*.jsonl"}, "'absent/*.jsonl'"),
        ({"path": "{data_root}/a.jsonl"}, "data_root: this experiment reads files under"),
        ({"pattern": "{data_root}/*.jsonl"}, "data_root: this experiment reads files under"),
        ({"hub": {"id": "o/d", "name": "a", "names": {"it": "a", "en": "b"}}}, "give one"),
        ({"hub": {"id": "o/d", "names": {"it": "a"}}}, "names: "),
    ],
    ids=lambda one: next(iter(one), "nothing") if isinstance(one, dict) else "",
)
def test_a_wrong_source_is_an_error_of_the_file(place, values, reader, source, said):
    key = READERS[reader][0]
    with pytest.raises(RevocabError) as caught:
        validate(laid(values, key, source))
    said = REFUSED["pattern"] if reader == "task" and "pattern" in source else said
    assert any(said in line for line in caught.value.problems), caught.value
    assert all(line.startswith((key, "data_root")) for line in caught.value.problems)


# By hand -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "source"),
    [
        ([], {}),
        (["it.txt", "en.txt"], {}),
        (["it.txt"], {"languages": ("it", "en")}),
        (["data/rows.jsonl"], {"hub": {"id": "o/d"}}),
        ([], {"kind": "pattern"}),
    ],
    ids=["no file", "two files", "a language without a file", "files and a Hub", "no match"],
)
def test_files_that_do_not_go_with_a_source_are_said(place, files, source):
    with pytest.raises(RevocabError, match=r"\bfiles?\b"):
        prepare([Path(file) for file in files], extra_corpus(**source), place / "out")
    assert not (place / "out").exists()


def test_the_kind_of_a_form_comes_from_what_is_given():
    assert Form().kind == "path"
    assert Form(languages=("it",)).kind == "lines"
    assert Form(hub=HubData(id="o/d")).kind == "hub"
    for given in SOURCES.values():
        source = Source(**given)
        assert Form.model_validate_json(source.form.model_dump_json()) == source.form
        assert source.form.kind == source.kind
    with pytest.raises(ValidationError):
        Form(kind="folder")


# Rows -------------------------------------------------------------------------------------------


def test_a_pattern_names_files_in_order(place):
    assert Source(pattern="parts/*.jsonl").files("w") == ["parts/a.jsonl", "parts/b.jsonl"]
    assert Source(pattern=f"{place}/**/a.jsonl").files("w") == [f"{place}/parts/a.jsonl"]
    with pytest.raises(RevocabError, match=r"'\*\.csv': no file matches"):
        Source(pattern="*.csv").files("w")


def test_aligned_text_files(place):
    """Of which one begins with a byte-order mark."""
    (place / "it.txt").write_text("uno\u2028ancora\ndue\n", encoding="utf-8-sig")
    (place / "en.txt").write_text("one\r\ntwo", encoding="utf-8")
    form = Source(lines={"it": "it.txt", "en": "en.txt"}).form
    assert list(read_rows(form, [Path("it.txt"), Path("en.txt")])) == [
        {"id": "0", "it": "uno\u2028ancora", "en": "one"},
        {"id": "1", "it": "due", "en": "two"},
    ]
    (place / "en.txt").write_text("one\n", encoding="utf-8")
    with pytest.raises(RevocabError, match=r"it\.txt: 2, .*en\.txt: 1"):
        list(aligned_rows({"it": Path("it.txt"), "en": Path("en.txt")}))


@pytest.mark.parametrize(
    ("italian", "english", "said"),
    [
        ([1, 1], [1], "o/d, it: 'id' is not unique"),
        ([1, 2], [1, 3], r"o/d: 2 values of 'id' are in it or in en only \(2, 3\)"),
    ],
)
def test_configurations_that_cannot_be_joined(italian, english, said):
    rows = [[{"id": number, "text": "a"} for number in ids] for ids in (italian, english)]
    with pytest.raises(RevocabError, match=said):
        list(joined(dict(zip(("it", "en"), rows, strict=True)), "o/d"))


def test_configurations_are_joined_by_their_key_in_the_order_of_the_first():
    italian = [{"id": 2, "text": "due"}, {"id": 1, "text": "uno"}]
    english = [{"id": 1, "text": "one"}, {"id": 2, "text": "two"}]
    assert list(joined({"it": italian, "en": english}, "o/d")) == [
        {"id": "2", "it": "due", "en": "two"},
        {"id": "1", "it": "uno", "en": "one"},
    ]


def test_a_path_of_fields_goes_through_lists():
    row = {"outputs": [{"segment": "a"}, {"segment": "b"}], "inputs": {"text": ["c"]}, "ita": "d"}
    fields = {"answers": "outputs.segment", "text": "inputs.text", "it": "ita"}
    found = renamed(row, fields, "o/d")
    assert [found[key] for key in fields] == [["a", "b"], ["c"], "d"]
    for missing in ("outputs.start", "inputs.start"):
        with pytest.raises(RevocabError, match=rf"o/d: no field '{missing}' \(a row has: inputs"):
            renamed(row, {"answers": missing}, "o/d")
