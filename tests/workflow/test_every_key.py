"""Every key of an experiment, changed alone, plans the jobs that it feeds and no others."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import planning
import pytest
from other_values import Changes, OtherValues, places

from revocab.errors import RevocabError
from revocab.experiment import validate
from revocab.experiment.schema import Experiment
from revocab.initialise.method import methods

#: Planned whenever anything in the file changes: the record of it, which the report reads.
RECORD = {"write_experiment"}
#: What nothing decides beside what it reads.
REPORT = {"build_report", "check_artefacts", "collect_scores", "make_tables", "make_figures"}
#: Keys that only the report reads.
ONLY_SHOWN = {
    "title", "paper_values", "runs.*.label", "runs.*.paper_steps.*", "runs.*.methods.*.axes.*",
    "runs.*.methods.*.replicate_of", "runs.*.references.*.label", "runs.*.references.*.paper_step",
    "evaluation.multiple_choice.tasks.*.family", "evaluation.multiple_choice.templates",
    "evaluation.generation.tasks.*.score",
}  # fmt: skip
#: Keys that no other value is found for, and why.
WITHOUT = {
    "experiment": "another experiment: test_another_id_is_another_experiment",
    "extensions": "refused unless set before Python starts: test_extensions",
    **{
        f"evaluation.multiple_choice.tasks.*.data.{key}": "refused: test_source"
        for key in ("lines.*", "pattern", "hub.fields.*", "hub.names.*", "hub.files")
    },
}
PACKED = "pack_tokens pack_heldout pack_heldout_answers"
RUN = (
    f"fetch_model train_auxiliary intersect_vocabularies init_embeddings {PACKED} adapt_model"
    " score_multiple_choice generate_text score_comet measure_efficiency measure_adoption"
    " measure_heldout measure_similarity answer_prompts judge_answers prepare_corpus change_model"
)
STEPS = (
    "steps", "tokens", "checkpoint_every", "loss", "stages.*.steps", "stages.*.tokens",
    "stages.*.share",
)  # fmt: skip
#: The rules that read the keys that begin so; the longest beginning counts.
FEEDS = {
    "paper_values": "collect_scores",
    "data_root": "prepare_corpus",
    "seed": "build_stand_in pack_tokens train_auxiliary init_embeddings build_prompts"
    " measure_similarity measure_scale compare_runs adapt_model pretrain_stand_in",
    "world": "build_demoworld",
    "corpora": "prepare_corpus answer_prompts judge_answers",
    "corpora.*.language": "prepare_corpus measure_efficiency init_embeddings",
    "tokenizers": "build_tokenizer",
    "roles": "intersect_vocabularies",
    "mixtures": "pack_tokens",
    "recipes": f"{PACKED} adapt_model pretrain_stand_in",
    # How many steps there are, and after which the model is scored.
    **dict.fromkeys(map("recipes.*.{}".format, STEPS), f"{RUN} pretrain_stand_in collect_scores"),
    "recipes.*.keep": "drop_checkpoints check_artefacts",
    "recipes.*.keep_best": "adapt_model pretrain_stand_in",
    "models": "fetch_model change_model build_stand_in",
    "models.*.tokenizer": f"{RUN} build_stand_in pretrain_stand_in build_report",
    "models.*.pretrain": f"build_stand_in pretrain_stand_in {PACKED}",
    "runs": f"{RUN} compare_runs {' '.join(REPORT)}",
    "auxiliary": "train_auxiliary",
    "auxiliary.vectors": "init_embeddings",
    "evaluation.heldout": f"{PACKED} measure_heldout",
    "evaluation.multiple_choice": f"build_task score_multiple_choice {PACKED}",
    "evaluation.generation": "build_prompts generate_text score_comet measure_efficiency",
    "evaluation.significance": "compare_runs",
    "evaluation.efficiency": "measure_efficiency",
    "evaluation.adoption": "measure_adoption",
    "fertility": "measure_fertility",
    "parameters": "count_parameters",
    "intersections": "intersect_vocabularies build_report",
    "scale": "measure_scale intersect_vocabularies build_report",
    "similarity": "measure_similarity",
}
#: Options of methods; one stands for all, as they are read in one place.
OPTIONS = {
    f"{place}.methods.*.{option}"
    for method in methods().values()
    for option in method.options.model_fields
    for place in ("runs.*", "scale")
} - {"runs.*.methods.*.anchors"}
#: But those of tables and figures, which make the report again and as a rule nothing else.
KEYS = sorted(
    key
    for key in {key for key, _ in places(Experiment, None)} - WITHOUT.keys() - OPTIONS
    if not key.startswith(("tables", "figures"))
)


def rules_of(jobs: set[str]) -> set[str]:
    return {job.partition(":")[0] for job in jobs}


class Effects:
    """The first other value of a key that concerns a job, and what is planned for it."""

    def __init__(self, finished: planning.Finished):
        self.finished, self.before = finished, finished.plan()
        self.others = OtherValues(finished.values, validate(finished.values))

    def of(self, key: str) -> tuple[Changes, planning.Plan, set[str]]:
        """Return the changes, the plan, and the jobs that are changed or gone but for the record.

        Raises :class:`AssertionError` where no value concerns a job.
        """
        for changes in self.others.changes(key):
            try:
                validate(planning.changed(self.finished.values, changes))
            except RevocabError:
                continue
            plan = self.finished.plan(changes)
            gone = self.before.jobs.keys() - plan.jobs.keys()
            concerned = (plan.changed_since(self.before) | gone) - RECORD
            if concerned or key in ONLY_SHOWN:
                return changes, plan, concerned
        raise AssertionError(f"no other value of {key} concerns a job")


@pytest.fixture(scope="module")
def effects(finished) -> Iterator[Effects]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REVOCAB_VLLM_PYTHON", sys.executable)
        patch.chdir(finished.folder)
        yield Effects(finished)


def test_nothing_changed_plans_nothing(finished):
    assert finished.plan().needed == set()


@pytest.mark.long  # a plan for each value that is tried: five minutes of CPU time
@pytest.mark.parametrize("key", KEYS)
def test_a_changed_key_runs_what_reads_it_and_nothing_else(effects, key):
    changes, plan, concerned = effects.of(key)
    allowed = max((one for one in FEEDS if key.startswith(one)), key=len, default=None)
    assert rules_of(concerned) <= {*FEEDS.get(allowed, "").split()}, changes
    assert plan.needed == plan.fed(plan.changed_since(effects.before)), changes


PAGE = {
    *("write_experiment", "collect_scores", "compare_runs"),
    *("make_tables", "make_figures", "check_artefacts", "build_report"),
}
SCORING = {
    *("score_multiple_choice", "generate_text", "score_comet"),
    *("measure_efficiency", "measure_adoption"),
}
TRAINING = {"adapt_model", "measure_similarity", *SCORING, *PAGE}
#: What is made of trained runs, and what begins with them.
BUILT_ON = {
    *("init_embeddings", "change_model", "measure_heldout"),
    *("answer_prompts", "judge_answers", "prepare_corpus", "measure_fertility"),
}
COMET = {f"evaluation.generation.{key}": None for key in ("comet_model", "xcomet_model")}


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        ({"mixtures.adaptation": {"it": 0.6, "en": 0.4}}, {"pack_tokens", *TRAINING, *BUILT_ON}),
        ({"recipes.adapt.learning_rate": 0.1}, {*TRAINING, *BUILT_ON} - {"change_model"}),
        ({"title": "Another"}, PAGE),
        ({"scale.hidden_size": 64}, {"measure_scale", *PAGE}),
        ({"tables.choices.title": "Another"}, PAGE),
        ({"figures.scores.title": "Another"}, PAGE),
        ({"fertility.splitter": "unicode"}, {"measure_fertility", *PAGE}),
        ({"evaluation.significance.resamples": 500}, {"compare_runs", *PAGE}),
        ({"evaluation.efficiency.repeats": 5}, {"measure_efficiency", *PAGE}),
        ({"runs.main.label": "Another"}, PAGE),
        ({"evaluation.generation.comet_model": "o/other"}, {"score_comet", *PAGE}),
        (COMET, PAGE),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_the_rules_that_a_change_plans(finished, changes, rules):
    """By name, whatever the rules say of one another."""
    assert finished.plan(changes).rules() == rules


def test_a_learning_rate_trains_the_runs_that_use_it(finished):
    """The recipe of one group of runs, and what begins with them; no other group is trained."""
    plan = finished.plan({"recipes.adapt.learning_rate": 0.1})
    models = {job for job in plan.jobs if job.startswith(("adapt_", "pretrain_", "init_", "pack_"))}
    mine = {job for job in models if job.startswith("adapt_model:main-")}
    begun = {"init_embeddings:main-again", "init_embeddings:main-carried"}
    assert plan.needed & models == mine | begun
    assert mine and any(job.startswith("adapt_model:second-") for job in models - mine)


def test_another_id_is_another_experiment(finished):
    plan = finished.plan({"experiment": "another"})
    assert plan.needed == set(plan.jobs)


MACHINES = {
    "threads": {"overwrite_threads": {"adapt_model": 8, "build_tokenizer": 4}, "cores": 16},
    "training": {
        "default_resources": {
            "micro_batch": 2, "fsdp": 1, "activation_checkpointing": 1, "compile": 1,
            "tensorboard": 1, "state_minutes": 5, "stop_at_rise": 2,
        },
        "overwrite_resources": {"adapt_model": {"gpu": 4}, "pretrain_stand_in": {"gpu": 4}},
    },
    "launcher": {
        "overwrite_resources": {"adapt_model": {"accelerate": "fsdp-one-node", "gpu": 8}}
    },
    "nodes": {"overwrite_resources": {"adapt_model": {"nodes": 2, "gpu": 4}}},
}  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES)
def test_another_machine_plans_nothing(finished, machine):
    assert finished.plan(**MACHINES[machine]).needed == set()


def test_a_moved_environment_plans_nothing(finished, monkeypatch, tmp_path):
    interpreter = tmp_path / "bin" / "python"
    interpreter.parent.mkdir()
    interpreter.touch()
    monkeypatch.setattr(sys, "executable", str(interpreter))
    monkeypatch.setenv("REVOCAB_COMET_PYTHON", str(interpreter))
    plan = finished.plan()
    assert plan.needed == set()
    assert str(interpreter) in plan.jobs["collect_scores"].shellcmd
    assert str(interpreter) in plan.jobs["score_comet:main-sava"].shellcmd
