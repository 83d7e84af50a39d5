"""``revocab new``: what it writes is valid, planned and as asked."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from revocab.__main__ import main
from revocab.errors import RevocabError
from revocab.evaluation.multiple_choice.tasks import load_template
from revocab.experiment import read, validate
from revocab.experiment.load import laid_over, overlaid
from revocab.initialise.method import methods
from revocab.workflow.new import PAPERS, new


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, toys):
    (tmp_path / "it.txt").write_text("il gatto è a casa\n\n" * 4000)
    (tmp_path / "en.txt").write_text("the cat is at home\n\n" * 1000)
    (tmp_path / "model").symlink_to(toys / "untied")
    monkeypatch.chdir(tmp_path)
    return tmp_path


ANSWERS = ["--model", "model", "--text", "it=it.txt", "en=en.txt", "--vocabulary", "2000"]


def test_a_new_experiment_is_valid_and_as_asked():
    said = new(["mine.yaml", *ANSWERS])
    assert said.endswith("revocab run mine.yaml")
    experiment = read("mine.yaml")
    assert experiment.experiment == "mine"
    assert experiment.title == "model adapted to Italian, English"
    assert experiment.models["source"].path == experiment.tokenizers["source"].path == "model"
    assert experiment.tokenizers["target"].extend.size == 2000
    # 72,000 and 18,000 bytes, of which 5 % are held out
    assert experiment.mixtures["adaptation"] == {"it": 0.8, "en": 0.2}
    assert [one.heldout_bytes for one in experiment.corpora.values()] == [3600, 900]
    assert experiment.recipes["adapt"].steps == 43 // 2 * 2  # 90,000 / 4 / (8 * 64)


@pytest.mark.parametrize("method", ["fvt", "random", "asymmetric"])
def test_starts_are_planned_with_seeds_beside_the_old_vocabulary(method):
    said = new(["st.yaml", *ANSWERS, "--template", "starts", "--method", method])
    assert said.endswith("revocab run st.yaml")
    experiment = read("st.yaml")
    starts = {method, "fvt", "mean", "random", "unchanged", f"{method}-rows-first"}
    runs = [f"adapted-{name}-seed{seed}" for name in starts for seed in (1, 2, 3)]
    assert {run for run in experiment.expanded if "seed" in run} == {*runs}
    assert experiment.expanded["adapted-unchanged-seed1"].method == "lapt"
    assert experiment.tables.keys() == {"ranking-it", "ranking-en", "tokenizers"}
    assert experiment.recipes["adapt"].heldout_every * 4 == experiment.recipes["adapt"].steps


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_laid_over_a_paper_is_planned(paper, repository, tmp_path, monkeypatch):
    monkeypatch.chdir(repository)
    file = tmp_path / "mine.yaml"
    said = new([str(file), "--template", "papers", "--paper", paper])
    assert said.endswith(f"revocab run {PAPERS[paper]} {file}")
    own, theirs = read(PAPERS[paper], file), read(PAPERS[paper])
    assert own.experiment == "mine" and own.evaluation.multiple_choice.limit == 100
    assert own.runs == theirs.runs and own.recipes == theirs.recipes
    # What stands behind # is valid, too.
    lines = file.read_text(encoding="utf-8").splitlines()
    more = "\n".join(line[2:] for line in lines if re.match(r"# \w+: \{", line))
    changed = overlaid(laid_over([PAPERS[paper], file]), yaml.safe_load(more))
    changed["models"] = laid_over([PAPERS[paper]])["models"]  # OWNER/NAME is a reader's
    assert 2.0e-5 in {recipe.learning_rate for recipe in validate(changed).recipes.values()}


def test_a_paper_takes_no_model_and_is_run_in_a_clone(tmp_path):
    with pytest.raises(RevocabError, match="--model: "):
        new(["a.yaml", "--template", "papers", "--model", "model"])
    for words in (["--template", "papers"], [*ANSWERS, "--paper", "lep"]):
        with pytest.raises(RevocabError, match="--paper: "):
            new(["a.yaml", *words])
    assert not Path("a.yaml").exists()


def test_a_text_without_empty_lines_is_read_line_by_line(folder):
    (folder / "it.txt").write_text("il gatto è a casa\n" * 6000)
    new(["mine.yaml", "--model", "model", "--text", "it=it.txt", "--vocabulary", "2000"])
    assert read("mine.yaml").corpora["it"].text_documents == "lines"


def test_a_model_of_the_hub_is_named_by_its_revision():
    new(["a.yaml", "--model", "me/small@v1", *ANSWERS[2:]])
    assert yaml.safe_load(Path("a.yaml").read_text())["models"]["source"] == {
        "tokenizer": "source", "hub": "me/small", "revision": "v1"
    }  # fmt: skip


@pytest.mark.parametrize("name", [n for n, m in methods().items() if not m.needs_helper])
def test_a_method_is_accepted_or_refused_by_the_key_that_it_needs(name, folder):
    try:
        new(["a.yaml", *ANSWERS, "--method", name])
    except RevocabError as error:
        assert "runs.adapted" in error.problems[0]
        assert all("adapted" in problem for problem in error.problems)
        assert not (folder / "a.yaml").exists()
    else:
        assert f"adapted-{name}" in read("a.yaml").expanded


def test_all_that_is_wrong_is_named_at_once(folder, capsys):
    with pytest.raises(SystemExit):
        main(shlex.split("new a.yaml --model gone --text it=no.txt en=en.txt --vocabulary 2000"))
    said = capsys.readouterr().err
    assert "no.txt: no such file" in said and "--model gone: no such folder" in said
    with pytest.raises(RevocabError, match="--vocabulary: required"):
        new(["--model", "model", "--text", "it=it.txt"])
    assert not [*folder.glob("*.yaml")]


def test_a_file_that_is_there_is_kept(folder):
    (folder / "mine.yaml").write_text("mine")
    with pytest.raises(RevocabError, match="already exists"):
        new(["mine.yaml", *ANSWERS])
    assert (folder / "mine.yaml").read_text() == "mine"


def test_whoever_sits_at_a_terminal_is_asked(monkeypatch):
    answers = iter(["model", "it=it.txt", "900"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda question: next(answers))
    new(["mine.yaml"])
    assert read("mine.yaml").tokenizers["target"].extend.size == 900


def test_a_new_prompt_is_a_template():
    new(["riddle.yaml", "--task"])
    assert load_template("riddle.yaml")["doc_to_text"] == "<<question>>: {{question}}\n<<answer>>:"
