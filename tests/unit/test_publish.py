"""A model folder on its way to the Hub: what goes, what stays, what is refused, what arrives."""

from __future__ import annotations

import shutil

import hub_server
import pytest
import yaml
from huggingface_hub import ModelCard, constants
from printed import printed
from wrong_call_inputs import write_value

from revocab.errors import RevocabError
from revocab.io import sha256, write_csv, write_json
from revocab.models.folder import OWN_FILES
from revocab.publishing.contents import CARD
from revocab.publishing.publish import publish
from revocab.training.outputs.card import TRAINING

NAME = "writer/model"
CHANGED_MEANWHILE = "somebody else created or changed it in the meantime; run again"
HEAD = """---
license: mit
language: [it]
base_model: owner/base
base_model_relation: finetune
---
"""
SECRET = "hf_\x0bsecret"
SCORE = {
    "run": "r", "step": 6, "task": "arc_it", "metric": "acc", "value": 0.5, "items": 8, "shots": 0,
    "harness_version": "0.4", "limit": "",
}  # fmt: skip


@pytest.fixture
def root(tmp_path, toys):
    """A Hub with one repository, which holds another model."""
    shutil.copytree(toys / "tied", tmp_path / "hub/models/writer/taken/main")
    return tmp_path / "hub"


@pytest.fixture
def online(hub, monkeypatch):
    monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", "hf_writer")
    return hub


@pytest.fixture
def folder(tmp_path, toys):
    """A model with all that such a folder may hold."""
    folder = tmp_path / "adapted"
    shutil.copytree(toys / "untied", folder)
    (folder / CARD).write_text(f"{HEAD}# A model\n\n![rows](diagnostics.png)\n")
    for name in ("diagnostics.png", "other.png", "LICENSE", "LICENSE.txt", ".env", "train.py"):
        (folder / name).write_text(name)
    for name in OWN_FILES:
        write_json(folder / name, {})
    (folder / ".cache").mkdir()
    (folder / ".cache/token").write_text("secret")
    return folder


def held(hub, name=NAME) -> dict[str, str]:
    repository = hub.repositories["models", name]
    files = repository.commits[repository.refs["main"]]
    return {path: file.sha256 for path, file in files.items()}


def expected(folder) -> dict[str, str]:
    names = {
        CARD, "config.json", "generation_config.json", "diagnostics.png", "LICENSE", "LICENSE.txt",
        "model.safetensors", "token_ids.json", "tokenizer.json", "tokenizer_config.json",
    }  # fmt: skip
    return {name: sha256(folder / name) for name in names if (folder / name).exists()}


def refusal(*words: object) -> list[str]:
    with pytest.raises(RevocabError) as caught:
        publish([*map(str, words)])
    assert all("\n" not in problem for problem in caught.value.problems)
    return caught.value.problems


def test_what_is_published_is_fetched_back_with_the_same_bytes(online, folder, tmp_path):
    said = publish([str(folder), NAME])
    commit = online.repositories["models", NAME].refs["main"]
    assert said.endswith(f"to use it: --source {NAME}@{commit}")
    assert online.repositories["models", NAME].private
    wanted = expected(folder)
    assert held(online) == {**wanted, ".gitattributes": held(online)[".gitattributes"]}
    back = tmp_path / "back/snapshot"
    words = ["fetch_model", "--hub", NAME, "--revision", commit, "--out", str(back)]
    command = ["-m", "revocab", *words]
    done = hub_server.run_against(online, tmp_path / "cache", command, token="hf_writer")
    assert done.returncode == 0, done.stderr
    fetched = {file.name: sha256(file) for file in back.iterdir()}
    arrived = {name: fetched[name] for name in wanted if not name.endswith(".png")}
    assert arrived.items() <= wanted.items()
    assert ModelCard.load(back / CARD).data.base_model == "owner/base"
    # Nobody else sees it.
    done = hub_server.run_against(online, tmp_path / "other", command, token="hf_reader")
    assert done.returncode == 1 and "does not exist on the Hub" in done.stderr


def test_a_dry_run_says_all_and_does_nothing(online, folder):
    said = publish([str(folder), NAME, "--dry-run"]).splitlines()
    assert said[:2] == [f"dry run: {folder} -> {NAME} (private)", "ready to be uploaded"]
    cut, head = said.index("stays here:"), said.index("metadata of the card:")
    listed = [line.split() for line in said[4:cut]]
    assert {name: int(size.replace(",", "")) for size, name in listed} == {
        name: (folder / name).stat().st_size for name in expected(folder)
    }
    stays = {line.strip().partition(":")[0] for line in said[cut + 1 : head]}
    assert stays == {*OWN_FILES, "other.png", ".env", "train.py", ".cache/"}
    assert yaml.safe_load("\n".join(said[head + 1 :]))["base_model_relation"] == "finetune"
    assert ("models", NAME) not in online.repositories
    assert {method for method, path, *_ in online.requests if "validate" not in path} == {"GET"}


def test_a_dry_run_needs_no_token_and_no_network(folder, monkeypatch, tmp_path):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    assert "would be refused: no token for the Hub; set HF_TOKEN" in publish(
        [str(folder), NAME, "--dry-run"]
    )
    assert refusal(folder, NAME) == [
        "no token for the Hub; set HF_TOKEN to one with write access, or run 'hf auth login'"
    ]


def test_a_repository_that_holds_files_needs_to_be_asked_for(online, folder):
    (problem,) = refusal(folder, "writer/taken", "--public")
    before = held(online, "writer/taken")
    assert "config.json" in problem and "give --update" in problem
    publish([str(folder), NAME])
    again = publish([str(folder), NAME])  # nothing differs
    assert "published" in again and len(online.repositories["models", NAME].commits) == 2
    (folder / "LICENSE").write_text("new")
    (problem,) = refusal(folder, NAME)
    assert "LICENSE would be replaced, none would stay" in problem
    publish([str(folder), NAME, "--update"])
    assert held(online)["LICENSE"] == sha256(folder / "LICENSE")
    (folder / "LICENSE.txt").unlink()
    (problem,) = refusal(folder, NAME)
    assert "none would be replaced, LICENSE.txt would stay" in problem
    publish([str(folder), NAME, "--update"])
    assert "LICENSE.txt" in held(online) and before == held(online, "writer/taken")


def test_who_may_see_it_is_never_changed_by_the_way(online, folder):
    publish([str(folder), NAME, "--public"])
    assert not online.repositories["models", NAME].private
    assert refusal(folder, NAME) == [
        f"{NAME} is public on the Hub; publish --public, or change its settings"
    ]
    publish([str(folder), "team/model"])
    (problem,) = refusal(folder, "team/model", "--public")
    assert problem.startswith("team/model is private on the Hub; publish without --public")


def commit_elsewhere(hub) -> None:
    repository = hub.repositories["models", NAME]
    repository.commits["f" * 40] = repository.commits[repository.refs["main"]]
    repository.refs["main"] = "f" * 40


def create_elsewhere(hub) -> None:
    hub.repositories["models", NAME] = hub.repositories["models", "writer/taken"]


def delete_elsewhere(hub) -> None:
    del hub.repositories["models", NAME]


@pytest.mark.parametrize(
    ("meanwhile", "words"),
    [
        (commit_elsewhere, f"{CHANGED_MEANWHILE} (HTTP 412)"),
        (create_elsewhere, f"{CHANGED_MEANWHILE} (HTTP 409)"),
        (delete_elsewhere, "not there, or the token may not see it; check the name, and that"),
    ],
)
def test_what_happens_meanwhile_is_told_and_stays(online, folder, monkeypatch, meanwhile, words):
    if meanwhile is not create_elsewhere:
        publish([str(folder), NAME])
    (folder / "LICENSE").write_text("new")
    validate = ModelCard.validate

    def checked(card, *asked):
        meanwhile(online)
        return validate(card, *asked)

    monkeypatch.setattr(ModelCard, "validate", checked)
    (problem,) = refusal(folder, NAME, "--update")
    assert problem.startswith(f"model '{NAME}': ") and words in problem
    known = online.repositories.get(("models", NAME))
    assert known is None or sha256(folder / "LICENSE") not in held(online).values()


@pytest.mark.parametrize(
    ("token", "name", "words"),
    [
        ("hf_expired", NAME, "the Hub does not accept the token"),
        ("hf_reader", NAME, "an account that may write to 'writer' (HTTP 403)"),
        ("hf_writer", "somebody/model", "an account that may write to 'somebody' (HTTP 403)"),
        (SECRET, NAME, "could not be published"),
    ],
)
def test_a_token_that_may_not_is_told_and_never_shown(
    online, folder, monkeypatch, token, name, words
):
    monkeypatch.setenv("HF_TOKEN", token)
    (problem,) = refusal(folder, name)
    assert problem.startswith(f"model '{name}': ") and words in problem
    assert "secret" not in problem and token not in problem


def test_a_hub_out_of_reach_is_one_line(online, folder, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    (problem,) = refusal(folder, NAME)
    assert problem == f"model '{NAME}': HF_HUB_OFFLINE is set; unset it to publish"
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    (problem,) = refusal(folder, NAME)
    assert "the Hub cannot be reached" in problem
    assert "cannot be reached" in publish([str(folder), NAME, "--dry-run"])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a/b/c", "not a name"),
        ("model", "names no owner"),
        ("a/b--c", "Cannot have --"),
        ("a/.b", ""),
    ],
)
def test_a_wrong_name_is_told(folder, name, words):
    problems = [problem for problem in refusal(folder, name) if problem.startswith(repr(name))]
    assert len(problems) == 1 and words in problems[0]


def test_a_folder_that_is_no_sound_model_is_refused(online, folder, tmp_path):
    (folder / CARD).unlink()
    (problem,) = refusal(folder, NAME)
    assert "no README.md, which is the page on the Hub" in problem
    (folder / CARD).write_text("---\nlicense: [\n---\n")
    assert "its head cannot be read" in refusal(folder, NAME)[0]
    (folder / CARD).write_text(f"{HEAD}text")
    write_json(tmp_path / "lora/adapter_config.json", {})
    (problem, *_) = refusal(tmp_path / "lora", NAME)
    assert "a LoRA adapter of None (adapter_config.json), not a model" in problem
    assert "nowhere: no such folder" in refusal(tmp_path / "nowhere", NAME)[0]
    write_value(folder / "model.safetensors", "model.embed_tokens.weight", float("nan"))
    (problem,) = refusal(folder, NAME)
    assert "model.embed_tokens.weight" in problem
    (folder / CARD).unlink()
    assert ["no README.md" in problem for problem in refusal(folder, NAME)] == [False, True]
    assert ("models", NAME) not in online.repositories


def test_a_link_out_of_the_folder_is_not_followed(online, folder, tmp_path):
    (tmp_path / "private").write_text("secret")
    (folder / "NOTICE").symlink_to(tmp_path / "private")
    assert any("NOTICE: a link out of its folder" in problem for problem in refusal(folder, NAME))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("base_model_relation: child", "must be one of ('adapter', 'finetune'"),
        ("language: italiano", "must be ISO 639 codes, not 'italiano'"),
    ],
)
def test_a_card_that_the_hub_refuses_makes_no_repository(online, folder, wrong, words):
    (folder / CARD).write_text(f"---\nlicense: mit\n{wrong}\n---\n# A model\n")
    (problem,) = refusal(folder, NAME)
    assert problem.startswith("README.md: the Hub cannot read its head (") and words in problem
    assert ("models", NAME) not in online.repositories


def trained(folder) -> None:
    write_json(folder / "provenance.json", {"history": [{"what": TRAINING, "step": 6}]})


def test_scores_of_a_run_stand_in_the_card_and_for_a_benchmark(online, folder, tmp_path):
    trained(folder)
    table = tmp_path / "multiple_choice.csv"
    write_csv(table, [*SCORE], [SCORE, {**SCORE, "step": 0, "value": 0.25}])
    benchmark = "arc_it:acc=owner/benchmark:arc"
    said = publish([str(folder), NAME, "--scores", str(table), "--benchmarks", benchmark])
    assert HEAD in (folder / CARD).read_text()  # as it was
    repository = online.repositories["models", NAME]
    files = repository.commits[repository.refs["main"]]
    head = ModelCard(files[CARD].data.decode()).data
    (result,) = head.eval_results
    assert (result.dataset_name, result.metric_type, result.metric_value) == ("arc_it", "acc", 0.5)
    assert head.license == "mit" and "model-index:" in said
    assert yaml.safe_load(files[".eval_results/arc_it-acc.yaml"].data) == [
        {
            "dataset": {"id": "owner/benchmark", "task_id": "arc"}, "value": 0.5,
            "notes": "0 shots, 8 items, lm-evaluation-harness 0.4",
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words", "problem"),
    [
        ({"step": 3}, [], "has steps 3, but the model is of step 6"),
        ({"limit": 8}, ["--benchmarks", "arc_it:acc=a/b:c"], "covers only 8 items"),
        ({}, ["--benchmarks", "arc_en:acc=a/b:c"], "no such score; known: arc_it:acc"),
        ({}, ["--benchmarks", "arc_it:acc=a:c"], "expected OWNER/DATASET:TASK_ID"),
    ],
)
def test_scores_that_are_not_the_models_are_refused(folder, tmp_path, change, words, problem):
    trained(folder)
    write_csv(tmp_path / "s.csv", [*SCORE], [{**SCORE, **change}])
    problems = refusal(folder, NAME, "--scores", tmp_path / "s.csv", *words, "--dry-run")
    assert len(problems) == 1 and problem in problems[0]


def test_the_commands_of_the_page_run_as_printed(online, folder, repository, monkeypatch):
    from revocab import __main__ as entry

    monkeypatch.chdir(folder.parent)
    trained(folder)
    write_csv("multiple_choice.csv", [*SCORE], [SCORE])
    lines = [
        line for line in printed(repository)
        if line.page == "docs/ship.md" and line.block and line.words[0] == "publish"
    ]  # fmt: skip
    for line in lines:
        entry.main([word.replace("OWNER/", "writer/") for word in line.words])
    assert len(lines) >= 3 and "README.md" in held(online, "writer/adapted-it")
