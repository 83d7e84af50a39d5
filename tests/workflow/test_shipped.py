"""Every shipped experiment, alone and with every overlay, plans the right jobs."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from planning import all_jobs, config_of, workflow_of
from run_snakemake import copy_checkout, dry_run
from user_files import make_instructions, make_pairs, make_real

#: The number of jobs of some rules, by the files of one call.
SHIPPED = {
    ("demos/demo",): {
        "pretrain_stand_in": 5, "init_embeddings": 14 + 9, "adapt_model": 14 + 9, "pack_tokens": 8,
        "score_multiple_choice": 11, "generate_text": 11, "build_task": 12, "build_prompts": 3,
        "make_tables": 1, "make_figures": 1,
    },
    ("demos/demo", "evaluation-extra"): {
        "build_prompts": 4, "compare_runs": 1, "measure_efficiency": 2, "measure_adoption": 5,
    },
    ("demos/demo", "constructions"): {"build_tokenizer": 8},
    ("demos/demo", "stage-mixtures"): {"adapt_model": 14 + 9},
    ("sava",): {
        "fetch_model": 5, "pretrain_stand_in": 0, "adapt_model": 10 + 3,
        "score_multiple_choice": 6 + 4, "intersect_vocabularies": 2, "prepare_corpus": 4,
        "measure_similarity": 2, "compare_runs": 2, "measure_efficiency": 4,
    },
    # Starts with three seeds: losses only.
    ("sava", "sava-seeds"): {"adapt_model": 13 + 3 * 5, "score_multiple_choice": 6 + 4},
    ("lep", "lep-seeds"): {"adapt_model": 21 + 3 * 4, "build_tokenizer": 23},
    ("vocadt", "vocadt-seeds"): {
        "adapt_model": 7 + 2 * (3 * 3 + 10) + 3 * 5, "score_multiple_choice": 22,
    },
    ("bilingual", "bilingual-seeds"): {"adapt_model": 36 + 3 * 5, "score_multiple_choice": 18},
    ("sava", "pico-sava"): {"adapt_model": 13, "score_comet": 10},
    ("sava", "sava-released"): {
        "fetch_model": 2 + 8, "adapt_model": 0, "pack_tokens": 0, "score_multiple_choice": 2 + 8,
        "generate_text": 2 + 8, "measure_fertility": 1, "intersect_vocabularies": 2,
        "measure_similarity": 0, "build_task": 12, "build_prompts": 3,
    },
    ("sava", "pico-sava", "sava-released"): {"fetch_model": 10, "score_multiple_choice": 10},
    # Overlays that touch different sections, at once.
    ("sava", "without-comet", "tasks-gosal", "tasks-itabench", "flores-200"): {
        "adapt_model": 13, "score_comet": 0, "build_task": 12 + 7 + 6, "build_prompts": 3,
    },
    ("sava", "itabench-first", "tasks-vocadt"): {"build_task": 12 + 27},
    # Seven vocabularies, and a donor for two of them; three maps, an untrained control and a tuned
    # model or more for each.
    ("lep",): {
        "fetch_model": 4 + 4 + 1, "build_tokenizer": 4 + 7 + 1 + 7 + 4,
        "intersect_vocabularies": 7 + 7,
        "init_embeddings": 7 + 3 * (3 + 4) + (3 + 4) + 14, "adapt_model": 7 + 2 * (1 + 2) * 2 + 2,
        "pack_tokens": 7 + 2 * (1 + 2) * 2 + 2, "answer_prompts": 1, "judge_answers": 1,
        "score_multiple_choice": 2 + 7 + 2 + 21 + 7 + 14 + 4,
        "generate_text": 2 + 7 + 2 + 21 + 7 + 14 + 4, "build_task": 9, "build_prompts": 12,
        "compare_runs": 4, "measure_efficiency": 8,
    },
    ("lep", "lep-released"): {
        "fetch_model": 3, "adapt_model": 0, "init_embeddings": 0, "score_multiple_choice": 3,
        "generate_text": 3, "build_task": 9, "build_prompts": 12, "prepare_corpus": 2,
    },
    ("lep", "lep-rates"): {"adapt_model": 4 * 7, "pack_tokens": 7, "generate_text": 0},
    ("demos/lep",): {
        "pretrain_stand_in": 1, "build_tokenizer": 10, "adapt_model": 1 + 4 + 3 + 2,
        "measure_heldout": 16 + 9, "score_multiple_choice": 1 + 1 + 16 + 2 + 1 + 4,
    },
    ("demos/vocadt",): {
        "pretrain_stand_in": 1, "adapt_model": 5, "init_embeddings": 7, "measure_heldout": 2,
    },
    # Three groups and eleven languages; six trainings of adapters, one of rows. For Table 2, on
    # text and on pairs: three models of each group, one of each language.
    ("vocadt",): {
        "fetch_model": 1, "build_tokenizer": 1 + 3 + 11,
        "init_embeddings": 5 + 3 + 2 + 11 + 3 * (3 * 3 + 10),
        "adapt_model": 7 + 2 * (3 * 3 + 10), "pack_tokens": 35, "train_auxiliary": 3 + 11,
        "prepare_corpus": 11 + 10, "score_multiple_choice": 1 + 5 + 3 + 2 + 11,
        "generate_text": 1 + 5 + 3 + 2 + 10 + 3 * 3 + 10 + 1, "build_task": 24,
        "score_comet": 1 + 5 + 3 + 2 + 10 + 3 * 3 + 10 + 1, "build_prompts": 2 * 20,
        "pack_heldout_answers": 14,
        "compare_runs": 3, "measure_efficiency": 2,
    },
    ("vocadt", "vocadt-released"): {
        "fetch_model": 4, "adapt_model": 0, "init_embeddings": 0, "train_auxiliary": 0,
        "score_multiple_choice": 4, "generate_text": 4, "score_comet": 4, "build_task": 24,
        "build_prompts": 20, "intersect_vocabularies": 3,
    },
    ("demos/one-gpu",): {"fetch_model": 2, "adapt_model": 5, "intersect_vocabularies": 1},
    ("demos/real",): {"build_tokenizer": 4, "adapt_model": 27, "pretrain_stand_in": 0},
    ("demos/real", "real-gpu"): {"pack_tokens": 3, "adapt_model": 27 + 4},
    ("demos/local-data",): {"pretrain_stand_in": 2, "measure_scale": 1, "adapt_model": 8 + 9},
    ("demos/local-data", "tasks-local"): {"build_prompts": 3 + 4, "measure_scale": 1},
    ("demos/bilingual",): {
        "pretrain_stand_in": 2, "build_tokenizer": 4, "change_model": 1, "adapt_model": 15,
        "pack_tokens": 11, "score_multiple_choice": 4, "generate_text": 0,
    },
    # Claims over three seeds: two initialisations and the mean, two mixtures, stages, two tunings.
    ("demos/bilingual-local",): {
        "pretrain_stand_in": 2, "change_model": 1, "adapt_model": 3 + 9 + 6 + 4 + 3 + 1 + 6,
        "score_multiple_choice": 0, "build_tokenizer": 4,
    },
    # Six rates; in three groups three trainings of three seeds, two methods untrained, one control.
    ("demos/vocadt-local",): {
        "pretrain_stand_in": 1, "build_tokenizer": 4, "init_embeddings": 6 + 3 * (9 + 2 + 1),
        "adapt_model": 6 + 3 * (9 + 1), "measure_heldout": 6, "score_multiple_choice": 0,
    },
    ("bilingual",): {
        "fetch_model": 7, "change_model": 3, "adapt_model": 36, "score_multiple_choice": 18,
        "build_tokenizer": 7, "train_auxiliary": 1, "build_task": 19, "generate_text": 0,
        "compare_runs": 3, "measure_efficiency": 3,
    },
}  # fmt: skip
for overlay in ("pico-bilingual", "bilingual-own"):
    SHIPPED["bilingual", overlay] = SHIPPED["bilingual",]
# One or two of each kind (tests/workflow/test_hub_papers.py says that none is left out).
SHIPPED["lep", "pico-lep"] = {
    "fetch_model": 9, "build_tokenizer": 18, "adapt_model": 9, "init_embeddings": 15,
    "score_multiple_choice": 23, "generate_text": 23, "build_task": 9, "build_prompts": 12,
    "answer_prompts": 1, "judge_answers": 1, "compare_runs": 4, "measure_efficiency": 8,
}  # fmt: skip
SHIPPED["vocadt", "nllb-files"] = SHIPPED["vocadt",]
SHIPPED["vocadt", "pico-vocadt"] = {
    "fetch_model": 1, "build_tokenizer": 15, "adapt_model": 15, "init_embeddings": 24,
    "pack_tokens": 8, "train_auxiliary": 5, "score_multiple_choice": 13, "generate_text": 17,
    "score_comet": 17, "build_task": 24, "build_prompts": 28, "compare_runs": 3,
    "measure_efficiency": 2,
}  # fmt: skip
#: The files of papers: each plans from a fresh clone, without arguments.
PAPERS = ("sava", "lep", "vocadt", "bilingual")


def test_every_file_is_planned(repository):
    files = [
        file
        for folder in ("", "demos/", "overlays/")
        for file in repository.glob(f"config/{folder}*.yaml")
    ]
    planned = {file for names in SHIPPED for file in files_of(names)}
    planned.add("config/overlays/flores-files.yaml")
    assert {str(file.relative_to(repository)) for file in files} == planned


def test_flores_from_its_archive(repository, tmp_path):
    for split, ending in (("dev", "dev"), ("devtest", "devtest")):
        for code in ("eng_Latn", "ita_Latn"):
            file = tmp_path / "flores200_dataset" / split / f"{code}.{ending}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("One sentence.\n")
    files = ["config/sava.yaml", "config/overlays/flores-files.yaml"]
    jobs = all_jobs(repository, *files, data_root=str(tmp_path))
    assert jobs["build_prompts"] == 3


def files_of(names):
    """Return the files of one call."""
    first, *overlays = names
    return [f"config/{first}.yaml", *(f"config/overlays/{name}.yaml" for name in overlays)]


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_plans_from_a_fresh_clone_without_arguments(repository, paper):
    """What its jobs read is made by jobs, lies in the package or on the Hub."""
    assert (paper,) not in OWN
    planned = plan(repository, (paper,))
    shipped = (f"config/published/{paper}/", "src/revocab/")
    read = {file for file in planned.inputs if not file.startswith(shipped)}
    assert planned.outputs and read <= planned.outputs


@pytest.mark.parametrize("paper", PAPERS)
def test_the_pico_overlay_leaves_no_rule_out(repository, paper):
    small, large = plan(repository, (paper, f"pico-{paper}")), plan(repository, (paper,))
    assert small.jobs.keys() == large.jobs.keys()


class Planned(NamedTuple):
    """The jobs of each rule that make everything anew, and their files."""

    jobs: Counter[str]
    inputs: set[str]
    outputs: set[str]


@cache
def plan(repository: Path, names: tuple[str, ...]) -> Planned:
    """Plan a call that needs no files of a user; each is planned once."""
    with workflow_of(
        repository, config_of(repository, *files_of(names)), forceall=True
    ) as workflow:
        jobs = [*workflow.dag.needrun_jobs()]
    inputs, outputs = ({str(file) for job in jobs for file in getattr(job, kind)}
                       for kind in ("input", "output"))  # fmt: skip
    return Planned(Counter(job.rule.name for job in jobs), inputs, outputs)


def check(names, jobs):
    """Compare the numbers of jobs that Snakemake plans with the table."""
    expected = SHIPPED[names]
    assert {rule: jobs.get(rule, 0) for rule in expected} == expected
    assert jobs["build_report"] == 1


#: Files that a user completes: with the data folder, or with files of their own.
LOCAL = ("demos/local-data", "demos/bilingual-local", "demos/vocadt-local")
OWN = {
    ("bilingual", "bilingual-own"): make_instructions,
    **dict.fromkeys([("demos/real",), ("demos/real", "real-gpu")], make_real),
    ("vocadt", "nllb-files"): make_pairs,
}

#: Plans of seconds, of what smaller ones have: seeds.
LARGE = {("vocadt", "vocadt-seeds"), ("lep", "lep-seeds"), ("vocadt", "nllb-files")}


def named(local: bool):
    """Return the calls that need the data folder, or those that need nothing, as parameters."""
    found = [
        pytest.param(names, marks=[pytest.mark.long] if names in LARGE else [])
        for names in SHIPPED
        if (names[0] in LOCAL) is local and names not in OWN
    ]
    return pytest.mark.parametrize("names", found, ids="+".join)


@named(local=False)
def test_plan(repository, names):
    check(names, plan(repository, names).jobs)


@pytest.mark.shared_data
@named(local=True)
def test_plan_on_the_data_folder(repository, names, shared_folder):
    check(names, all_jobs(repository, *files_of(names), data_root=str(shared_folder)))


@pytest.mark.parametrize(
    "names",
    [pytest.param(names, marks=[pytest.mark.long] if names in LARGE else []) for names in OWN],
    ids="+".join,
)
def test_plan_with_files_of_a_user(repository, tmp_path, names):
    root = OWN[names](tmp_path / "given")
    check(names, all_jobs(repository, *files_of(names), data_root=str(root)))


@pytest.mark.long  # as the profiles below: processes of Snakemake's own
def test_a_call_without_an_experiment_plans_the_demo_and_writes_nothing(
    repository, tmp_path, monkeypatch
):
    copy_checkout(repository, tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "src"))

    def tree():
        files = (file.relative_to(tmp_path) for file in tmp_path.rglob("*"))
        return {file for file in files if not {".snakemake", "__pycache__"} & {*file.parts}}

    before, jobs = tree(), dry_run(tmp_path)
    assert {rule: jobs[rule] for rule in SHIPPED["demos/demo",]} == SHIPPED["demos/demo",]
    assert tree() == before


@pytest.mark.long
@pytest.mark.parametrize("profile", ["slurm", "one-gpu", "one-node"])
def test_a_profile_plans(repository, profile):
    names = ("demos/one-gpu",)
    call = ("--cores", "8", "--profile", f"profiles/{profile}", "--configfile", *files_of(names))
    check(names, dry_run(repository, *call))
