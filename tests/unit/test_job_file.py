"""What a command was asked for lies in the folder that it wrote, and in no checkpoint or copy."""

from __future__ import annotations

import json

from revocab.__main__ import main
from revocab.corpora.prepare import CorpusJob, prepare
from revocab.io import read_json, write_jsonl


def test_every_folder_keeps_its_job(tmp_path):
    write_jsonl(tmp_path / "a.jsonl", [{"text": "uno"}, {"text": "due"}])
    words = ["--corpus", "c", "--language", "it", "--files", str(tmp_path / "a.jsonl")]
    main(["prepare", *words, "--out", str(tmp_path / "by-hand")])
    kept = read_json(tmp_path / "by-hand" / "job.json")
    assert kept["command"] == "prepare_corpus" and str(tmp_path) not in json.dumps(kept)
    job = CorpusJob.model_validate(kept["job"])
    assert job == CorpusJob(corpus="c", language="it")
    # The file is all that it takes to ask for the same again.
    again = ["--job", job.canonical(), "--inputs", json.dumps({"files": [words[-1]]})]
    main(["prepare", *again, "--out", str(tmp_path / "by-hand")])
    assert read_json(tmp_path / "by-hand" / "job.json") == kept
    # A call from Python was asked for nothing.
    prepare([tmp_path / "a.jsonl"], job, tmp_path / "called")
    assert not (tmp_path / "called" / "job.json").exists()


def test_a_copied_model_does_not_bring_the_job_of_another_command(toys, tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for path in (toys / "tied").iterdir():
        (source / path.name).write_bytes(path.read_bytes())
    (source / "job.json").write_text('{"command": "train_model"}')
    main(["fetch_model", "--path", str(source), "--out", str(tmp_path / "model" / "snapshot")])
    kept = read_json(tmp_path / "model" / "snapshot" / "job.json")
    assert kept == {"command": "fetch_model", "job": {"hub": None, "revision": None}}
