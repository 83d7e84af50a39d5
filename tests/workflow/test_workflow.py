"""The DAG: every experiment plans the right jobs, mistakes end early, files are formatted."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml
from planning import all_jobs, call_of, config_of, workflow_of
from run_snakemake import BIN, snakemake
from snakemake.settings.types import DAGSettings

from revocab.experiment import read


def test_fasttext_vectors_are_trained_once_for_a_target(repository, tmp_path):
    values = yaml.safe_load((repository / "config/demos/demo.yaml").read_text())
    values["auxiliary"] = {"corpora": ["world-it", "world-en"], "min_count": 3}
    for group in ("mistral", "llama"):
        values["runs"][group]["methods"]["focus"] = {"auxiliary": "fasttext"}
    values["runs"]["mistral"]["methods"]["wechsel"] = {"auxiliary": "fasttext"}
    (tmp_path / "fasttext.yaml").write_text(yaml.safe_dump(values))
    jobs = all_jobs(repository, tmp_path / "fasttext.yaml")
    assert jobs["train_auxiliary"] == 1
    demo = all_jobs(repository, "config/demos/demo.yaml")
    assert jobs["init_embeddings"] == demo["init_embeddings"] + 3  # focus twice, wechsel


def test_tokenizers_are_built_after_their_bases(repository):
    target = "results/demo-constructions/tokenizers/extended-large/manifest.json"
    files = ("config/demos/demo.yaml", "config/overlays/constructions.yaml")
    jobs = all_jobs(repository, *files, targets=[target])
    assert jobs == {"build_demoworld": 1, "prepare_corpus": 2, "build_tokenizer": 3}


def test_stages_draw_from_mixtures_of_their_own(repository):
    target = "results/demo-stages/packed/target--adaptation--{}/manifest.json"
    files = ("config/demos/demo.yaml", "config/overlays/stage-mixtures.yaml")
    settings = DAGSettings(targets={*map(target.format, ("adapt", "pretrain"))})
    config, given = config_of(repository, *files), {"settings": settings, "forceall": True}
    with workflow_of(repository, config, **given) as workflow:
        found = [
            call_of(job).arguments for job in workflow.dag.jobs if job.rule.name == "pack_tokens"
        ]
    plain, packing = sorted(found, key=lambda call: len(call.options.stages))
    corpora, job = Path("resources/demo-stages/corpora"), packing.options
    assert packing.corpora == {name: corpora / name for name in ("world-it", "world-en")}
    assert job.shares == {"world-it": [0.9, 0.5], "world-en": [0.1, 0.5]}
    recipe = read(repository / "config/demos/demo.yaml").recipes["adapt"]
    rows = recipe.steps * recipe.batch_size
    assert job.stages == {"embeddings": rows // 4, "everything": rows * 3 // 4}
    assert (job.sequence_length, job.rows) == (recipe.sequence_length, rows)
    assert plain.options.stages == {}


@pytest.mark.long  # Snakemake itself; in this process: test_wrong_files.py
def test_wrong_config_ends_with_every_problem(repository, tmp_path):
    values = yaml.safe_load((repository / "config/demos/demo.yaml").read_text())
    values["colour"] = "red"
    values["mixtures"]["adaptation"]["world-it"] = 0.7
    values["models"]["llama"]["pretrain"]["mixture"] = "nope"
    (tmp_path / "wrong.yaml").write_text(yaml.safe_dump(values))
    done = snakemake(repository, "--dry-run", "--configfile", str(tmp_path / "wrong.yaml"))
    assert done.returncode == 1
    assert "error: 3 problems" in done.stderr
    for start in ("colour:", "mixtures.adaptation:", "models.llama.pretrain.mixture:"):
        assert start in done.stderr
    assert "Traceback" not in done.stderr


LONG = pytest.mark.long  # with `make lint`, and in CI: half a minute, and seven seconds


@pytest.mark.parametrize(
    "command",
    [
        "snakefmt --check Snakefile workflow",
        "ruff check .",
        "ruff format --check .",
        pytest.param("mypy", marks=LONG),
        pytest.param("snakemake --lint", marks=LONG),
    ],
)
def test_style(repository, command):
    program, *words = command.split()
    call = [BIN / program, *words]
    done = subprocess.run(call, cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
