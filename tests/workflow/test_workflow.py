"""The DAG: every experiment plans the right jobs, mistakes end early, files are formatted."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
import yaml
from run_snakemake import BIN, copy_checkout, dry_run, snakemake, succeed


def test_fasttext_vectors_are_trained_once_for_a_target(repository, tmp_path):
    values = yaml.safe_load((repository / "config/demo.yaml").read_text())
    values["auxiliary"] = {"corpora": ["world-it", "world-en"], "min_count": 3}
    for group in ("mistral", "llama"):
        values["runs"][group]["methods"]["focus"] = {"auxiliary": "fasttext"}
    values["runs"]["mistral"]["methods"]["wechsel"] = {"auxiliary": "fasttext"}
    (tmp_path / "fasttext.yaml").write_text(yaml.safe_dump(values))
    jobs = dry_run(repository, "--configfile", str(tmp_path / "fasttext.yaml"))
    assert jobs["train_auxiliary"] == 1
    assert jobs["init_embeddings"] == 13 + 9 + 3


def test_tokenizers_are_built_after_their_bases(repository):
    target = "results/demo-constructions/tokenizers/extended-large/manifest.json"
    files = ("config/demo.yaml", "config/overlays/constructions.yaml")
    jobs = dry_run(repository, "--configfile", *files, "--", target)
    assert jobs == {"build_demoworld": 1, "prepare_corpus": 2, "build_tokenizer": 3}


def arguments_of(script, output):
    """Return the arguments of the only command of a script in a dry run, JSON as values."""
    (line,) = re.findall(rf"scripts/{script}.py .*", output)
    words = shlex.split(line.partition(" 2> ")[0])[1:]
    given = dict(zip(words[::2], words[1::2], strict=True))
    return {flag[2:]: json.loads(text) for flag, text in given.items() if flag != "--out"}


def test_stages_draw_from_mixtures_of_their_own(repository):
    target = "results/demo-stages/packed/target--adaptation--adapt/manifest.json"
    files = ("config/demo.yaml", "config/overlays/stage-mixtures.yaml")
    dry = ("--dry-run", "--forceall", "--printshellcmds", "--configfile", *files)
    dry += ("--default-resources", "shard_bytes=1000", "--")
    done = snakemake(repository, *dry, target)
    assert done.returncode == 0, done.stdout + done.stderr
    packing = arguments_of("pack_tokens", done.stdout)
    corpora = "resources/demo-stages/corpora"
    assert packing["inputs"]["corpora"] == {
        name: f"{corpora}/{name}" for name in ("world-it", "world-en")
    }
    job = packing["job"]
    assert job["shares"] == {"world-it": [0.9, 0.5], "world-en": [0.1, 0.5]}
    assert job["stages"] == {"embeddings": 192, "everything": 576}
    assert (job["sequence_length"], job["rows"]) == (256, 768)
    assert packing["machine"] == {"shard_bytes": 1000}
    done = snakemake(repository, *dry, target.replace("--adapt/", "--pretrain/"))
    assert arguments_of("pack_tokens", done.stdout)["job"]["stages"] == {}


def test_wrong_config_ends_with_every_problem(repository, tmp_path):
    values = yaml.safe_load((repository / "config/demo.yaml").read_text())
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


def test_missing_data_root_is_one_clear_line(repository):
    done = snakemake(repository, "--dry-run", "--configfile", "config/local-data.yaml")
    assert done.returncode == 1
    assert "--config data_root=FOLDER" in done.stderr


def test_what_a_module_does_reruns_its_stage_and_its_words_do_not(repository, tmp_path):
    """What the modules behind a rule do is a param of it (proved on the cheapest rule)."""
    copy_checkout(repository, tmp_path)
    target = "results/demo/parameters.csv"

    def run(*arguments):
        given = ("--cores", "1", *arguments, target)
        return succeed(tmp_path, *given, PYTHONPATH=str(tmp_path / "src"))

    def tree():
        found = (file.relative_to(tmp_path) for file in tmp_path.rglob("*"))
        return {file for file in found if not {".snakemake", "__pycache__"} & {*file.parts}}

    before = tree()
    run("--dry-run")
    assert tree() == before
    run()
    module = tmp_path / "src/revocab/models/parameters.py"
    os.utime(module)
    assert "Nothing to be done" in run("--dry-run")
    text = module.read_text()
    module.write_text(f"# changed\n{text}".replace('    """Count ', '    """Changed: count '))
    assert "Nothing to be done" in run("--dry-run")
    module.write_text(f"{text}\nCHANGED = 1\n")
    assert "count_parameters" in run("--dry-run")


@pytest.mark.parametrize(
    "command",
    [
        ["snakemake", "--lint"],
        ["snakefmt", "--check", "Snakefile", "workflow"],
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
    ],
    ids=["snakemake-lint", "snakefmt", "ruff-check", "ruff-format"],
)
def test_style(repository, command):
    check_style(repository, *command)


def test_types(repository):
    check_style(repository, "mypy")


def check_style(repository, program, *arguments):
    done = subprocess.run(
        [BIN / program, *arguments],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_script_explains_itself_without_heavy_imports(repository):
    """``--help`` works, and importing no torch keeps it instant."""
    scripts = sorted((repository / "scripts").glob("*.py"))
    assert scripts
    for script in scripts:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", script, "--help"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, script
        imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
        assert not imported & {"torch", "transformers", "lm_eval", "vllm"}, script


def test_vllm_runs_in_its_own_environment(repository, tmp_path):
    overlay = tmp_path / "vllm.yaml"
    both = "{generation: {engine: vllm}, multiple_choice: {engine: vllm}}"
    overlay.write_text(f"evaluation: {both}")
    extra = "config/overlays/evaluation-extra.yaml"
    call = ["--dry-run", "--forceall", "--printshellcmds", "--configfile", "config/demo.yaml"]
    interpreter = tmp_path / "python"
    interpreter.touch()
    done = snakemake(repository, *call, extra, overlay, REVOCAB_VLLM_PYTHON=str(interpreter))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if "scripts/" in line and "--out" in line]
    mine = [line for line in lines if str(interpreter) in line]
    assert all('"engine":"vllm"' in line for line in mine)
    scripts = ("generate_text", "score_multiple_choice", "measure_efficiency")
    theirs = [line for line in lines if any(f"scripts/{name}.py" in line for name in scripts)]
    assert mine == theirs and {name for name in scripts if any(name in one for one in mine)} == {
        *scripts
    }
    done = snakemake(repository, *call, overlay, REVOCAB_VLLM_PYTHON="nowhere")
    assert done.returncode != 0 and "REVOCAB_VLLM_PYTHON: 'nowhere'" in done.stderr
    assert "Traceback" not in done.stderr
