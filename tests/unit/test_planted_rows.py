"""Rows planted in a helper, at pico size: which methods can pass them on, and which cannot."""

from __future__ import annotations

import gzip
import json
import runpy
from types import SimpleNamespace

import pytest
import torch
from jobs import job_of
from method_inputs import new_rows, random_inputs
from toy_models import TARGET_WORDS, build_model, build_tokenizer

from revocab.initialise.options import ChosenMethod, find_method

#: Methods whose new rows are convex combinations of source rows, whatever the helper holds.
CONVEX: dict[str, dict[str, str]] = {
    **{name: {} for name in ("focus", "fvt", "fvt-released", "mean", "similarity", "wechsel")},
    "clp": {"weights": "sparsemax"},
}


@pytest.mark.parametrize("name", CONVEX)
def test_a_convex_method_makes_no_row_that_wins(name):
    """At no state is its logit above the best of the source's, whatever the helper's row is."""
    inputs = random_inputs()
    inputs.helper_VD.mul_(1000)
    rows_ND = new_rows(name, inputs, **CONVEX[name])
    states_ND = torch.randn(500, 8, generator=torch.Generator().manual_seed(0))
    best_N = (states_ND @ inputs.source_VD.T).max(dim=1).values
    assert ((states_ND @ rows_ND.T).max(dim=1).values <= best_N + 1e-4).all()


@pytest.fixture(scope="module")
def benchmark(repository):
    return SimpleNamespace(**runpy.run_path(str(repository / "benchmarks/planted_rows.py")))


def case_of(benchmark, name):
    """Heads that a map relates, but for what matters in the source alone: the first of the helper's
    dimensions, in which its rows and states hardly differ.
    """
    inputs = random_inputs(overlap=60, missing=10)
    generator = torch.Generator().manual_seed(5)
    inputs.helper_VD[:, 0] *= 0.2
    relation_XD = torch.linalg.qr(torch.randn(8, 6, generator=generator)).Q.T
    shared_KX = inputs.helper_VD[inputs.overlap_target_N]
    inputs.source_VD[inputs.overlap_source_N] = shared_KX @ relation_XD
    models = []
    leans = relation_XD[0], torch.tensor([0.0, 1, 1, 1, 1, 1])
    for head_VX, lean_X in zip((inputs.source_VD, inputs.helper_VD), leans, strict=True):
        noise_NX = 0.3 * torch.randn(2048, len(lean_X), generator=generator)
        models.append(benchmark.Model(head_VX, *(3 * lean_X + noise_NX).split([512, 512, 1024])))
    method, given = benchmark.METHODS[name]
    options = job_of(ChosenMethod, method=method, **given)
    case = benchmark.Case(*models, inputs, find_method(method), options)
    return case, int(inputs.missing_N[0])


@pytest.mark.parametrize("name", ["clp", "projection", "sava"])
def test_a_row_that_is_inert_in_the_helper_wins_in_the_source(benchmark, name):
    case, token = case_of(benchmark, name)
    row = benchmark.plant(case, token, 20)
    measured = benchmark.measure(case, token, row)
    assert measured["wins in helper"] == 0 and measured["wins in source"] > 0.1
    assert measured["wins in source"] > measured["most wins of a sound row"]
    norm = case.guide_VX.norm(dim=1).mean()
    torch.testing.assert_close(row.norm(), norm)


@pytest.mark.parametrize("name", ["focus", "wechsel"])
def test_no_row_wins_by_a_convex_method(benchmark, name):
    case, token = case_of(benchmark, name)
    row = benchmark.plant(case, token, 5)
    assert benchmark.measure(case, token, row)["wins in source"] == 0


@pytest.mark.parametrize(
    ("detector", "seen"), [("distance", "distance"), ("wins", "wins at random tokens")]
)
def test_an_attacker_who_knows_a_detector_is_seen_less(benchmark, detector, seen):
    case, token = case_of(benchmark, "clp")
    plain = benchmark.plant(case, token, 20)
    hiding = benchmark.plant(case, token, 20, benchmark.hidden(case, detector))
    before, after = (benchmark.measure(case, token, row)[seen] for row in (plain, hiding))
    assert after < before


def test_distances_are_of_the_farthest_source_row(benchmark):
    source_VD = torch.tensor([[4.0, 0.0], [-4.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    measured = benchmark.distances(torch.tensor([[4.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), source_VD)
    torch.testing.assert_close(measured, torch.tensor([1.0, 2.0, 0.0]))


def test_the_benchmark_runs_from_two_folders_to_a_training(
    benchmark, toys, tmp_path, monkeypatch, capsys
):
    build_model(build_tokenizer(TARGET_WORDS, 45, tmp_path / "tokenizer"), tmp_path / "helper")
    with gzip.open(tmp_path / "text.jsonl.gz", "wt") as lines:
        lines.write(json.dumps({"text": " ".join(TARGET_WORDS * 200)}) + "\n")
    words = ["--source", toys / "untied", "--helper", tmp_path / "helper", "--seeds", 1]
    words += ["--attack-text", tmp_path / "text.jsonl.gz", "--text", tmp_path / "text.jsonl.gz"]
    words += ["--methods", "projection", "--steps", 1, "--train", 2]
    monkeypatch.setattr("sys.argv", ["planted_rows.py", *map(str, words)])
    threads = torch.get_num_threads()
    benchmark.main()
    torch.set_num_threads(threads)
    measured, written = (json.loads(line) for line in capsys.readouterr().out.splitlines()[-2:])
    assert measured["method"] == "projection" and 0 <= measured["wins in source"] <= 1
    assert [*written["emitted after steps"]] == ["0", "1", "2"]
