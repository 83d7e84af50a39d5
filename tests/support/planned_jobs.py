"""The jobs of an experiment: all that its file allows."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.config.reads import READ
from revocab.plan import Plan
from revocab.plan.evaluation import comet_models, timed_runs
from revocab.plan.training import packing

Wildcards = dict[str, str]


def possible_jobs(plan: Plan) -> Iterator[tuple[str, Wildcards]]:
    """Yield every rule with the wildcards of its jobs, whether anything reads them or not."""
    experiment, evaluation = plan.experiment, plan.experiment.evaluation
    once = ["write_experiment", "collect_scores"]
    once += ["measure_fertility"] * bool(experiment.fertility.tokenizers)
    once += ["count_parameters"] * bool(experiment.parameters)
    once += ["make_tables", "make_figures", "check_artefacts", "build_report"]
    once += ["build_demoworld"] * bool(experiment.world) + ["measure_scale"] * bool(
        experiment.scale
    )
    runs = [plan.runs[name] for name in plan.trained]
    scored = [run.id for run in plan.evaluated()]
    significance = [one.group for one in experiment.tables.values() if one.kind == "significance"]
    recipes = experiment.recipes
    on_text = [one for one in plan.trainings if recipes[one[2]].loss != "answers"]
    measured = {(tokenizer, recipes[recipe].sequence_length) for tokenizer, _, recipe in on_text}
    measured |= {(run.target, plan.heldout_length(run)) for run in plan.measured}
    names = {
        **{rule: [{}] for rule in once},
        "prepare_corpus": [{"corpus": one} for one in experiment.corpora],
        "answer_prompts": [{"corpus": one} for one in plan.answered],
        "judge_answers": [{"corpus": one} for one in plan.judged],
        "build_tokenizer": [{"tokenizer": one} for one in experiment.tokenizers],
        "intersect_vocabularies": [{"source": a, "target": b} for a, b in plan.intersections],
        "fetch_model": [{"model": one} for one in plan.fetched],
        "change_model": [{"model": one} for one in plan.changed],
        "build_stand_in": [{"model": one} for one in plan.stand_ins],
        "pretrain_stand_in": [{"model": one} for one in plan.stand_ins],
        "train_auxiliary": [{"target": run.target} for run in plan.runs.values() if run.auxiliary],
        "init_embeddings": [{"run": one} for one in plan.made],
        "adapt_model": [{"run": run.id} for run in runs],
        "pack_tokens": [
            {"tokenizer": one[0], "mixture": mixture, "recipe": recipe}
            for one in plan.trainings
            for mixture, recipe in [packing(plan, *one)]
        ],
        "pack_heldout": [{"tokenizer": a, "length": str(b)} for a, b in sorted(measured)],
        "pack_heldout_answers": [
            {"tokenizer": one[0], "recipe": packing(plan, *one)[1]}
            for one in plan.trainings
            if one not in on_text
        ],
        "measure_heldout": [{"run": run.id} for run in plan.measured],
        "build_probe": [{"task": one} for one in plan.probes],
        "build_task": [{"task": one} for one in evaluation.multiple_choice.tasks],
        "score_multiple_choice": [
            {"run": one} for one in scored if plan.choice_tasks(plan.runs[one])
        ],
        "build_prompts": [{"task": one} for one in evaluation.generation.tasks],
        "generate_text": [
            {"run": one} for one in scored if plan.generation_tasks(plan.runs[one])
        ],
        "score_comet": [{"run": one} for one in scored if comet_models(plan, plan.runs[one])],
        "measure_efficiency": [{"run": run.id} for run in timed_runs(plan)],
        "measure_similarity": [
            {"group": one}
            for one, of in experiment.runs.items()
            if any(run.learns_rows_of(of.target) for run in plan.evaluated(one))
            and any(shown.kind == "similarity" for shown in experiment.tables.values())
        ],
        "compare_runs": [{"group": one} for one in significance],
        "write_settings": [{"part": one} for one in READ],
    }  # fmt: skip
    for rule, cases in names.items():
        for one in cases:
            yield rule, one
