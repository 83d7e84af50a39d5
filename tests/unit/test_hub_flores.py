"""FLORES in its two homes on the Hub and from its archive: the same pairs, whatever the layout."""

from __future__ import annotations

import hub_content
import hub_server
import pytest
import yaml

from revocab.config.load import overlaid, substitute, without_nulls
from revocab.io import read_json, read_jsonl

ITEMS = 3


@pytest.fixture(scope="module")
def world():
    from revocab.demoworld.stories import build

    return build(hub_content.SEED)


@pytest.fixture(scope="module")
def hub(world, tmp_path_factory):
    root = tmp_path_factory.mktemp("hub")
    hub_content.flores_plus(root, world, ITEMS)
    languages = hub_content.FLORES.items()
    hub_content.flores_200(
        root, {code: hub_content.flores_rows(world, one, ITEMS) for code, one in languages}
    )
    (root / "datasets/openlanguagedata/flores_plus/.gated").touch()
    with hub_server.serve(root) as server:
        yield server


def task(repository, overlay: str | None, data_root: str = "") -> dict:
    """Return the paper's task from English, with an overlay over it."""
    files = ["config/paper.yaml", *([f"config/overlays/{overlay}.yaml"] if overlay else [])]
    found = {}
    for file in files:
        found = overlaid(found, yaml.safe_load((repository / file).read_text(encoding="utf-8")))
    found = found["evaluation"]["generation"]["tasks"]["flores_en_it"]
    return substitute(without_nulls(found), data_root)


def build(hub, repository, tmp_path, given: dict, token: str | None = None):
    """Build the prompts of a task; return the process and where they are."""
    out = tmp_path / "prompts.jsonl"
    command = ["-m", "revocab", "build_prompts", "--task", "f", "--kind", given["kind"]]
    command += ["--direction", *given["direction"], "--shots", "2", "--seed", "1", "--out", out]
    for part in ("pool", "test"):
        for key, value in given[part].get("hub", {}).items():
            pairs = [f"{a}={b}" for a, b in value.items()] if isinstance(value, dict) else [value]
            command += [f"--{part}.hub.{key}", *pairs]
        if lines := given[part].get("lines"):
            command += [f"--{part}.languages", *lines, f"--{part}-files", *lines.values()]
    return hub_server.run_against(hub, tmp_path / "cache", command, token=token), out


def asked(out) -> list[tuple[str, str]]:
    return [(row["query"]["en"], row["references"][0]) for row in read_jsonl(out)]


@pytest.fixture
def pairs(world):
    sides = [dict(hub_content.flores_rows(world, one, ITEMS)["devtest"]) for one in ("en", "it")]
    return [(sides[0][n], sides[1][n]) for n in range(ITEMS)]


def test_flores_plus_is_gated_and_joined_by_id(hub, repository, tmp_path, pairs):
    given = task(repository, None)
    done, out = build(hub, repository, tmp_path, given)
    assert done.returncode == 1 and "'openlanguagedata/flores_plus' is gated" in done.stderr
    done, out = build(hub, repository, tmp_path, given, hub_server.GRANTED)
    assert done.returncode == 0, done.stderr
    assert asked(out) == pairs


def test_flores_200_is_read_from_its_commit_beside_a_loading_script(
    hub, repository, tmp_path, pairs
):
    done, out = build(hub, repository, tmp_path, task(repository, "flores-200"))
    assert done.returncode == 0, done.stderr
    assert asked(out) == pairs
    assert read_json(out.with_suffix(".manifest.json"))["test"]["pinned"] is True


def test_without_that_commit_the_loading_script_is_named(hub, repository, tmp_path):
    given = task(repository, "flores-200")
    del given["pool"]["hub"]["revision"]
    done, _ = build(hub, repository, tmp_path, given)
    assert done.returncode == 1 and "'facebook/flores' is a loading script" in done.stderr


def test_the_archive_is_read_line_by_line(hub, repository, tmp_path, world, pairs):
    for code, language in hub_content.FLORES.items():
        for split, rows in hub_content.flores_rows(world, language, ITEMS).items():
            path = tmp_path / f"flores200_dataset/{split}/{code}.{split}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{text}\n" for _, text in rows), encoding="utf-8")
    given = task(repository, "flores-files", str(tmp_path))
    done, out = build(hub, repository, tmp_path, given)
    assert done.returncode == 0, done.stderr
    assert asked(out) == pairs
