# Input and params functions of report.smk.


def score_files():
    """Return every file that scores are collected from."""
    return [
        *[f"{RESULTS}/similarity/{group}/manifest.json" for group in EXPERIMENT.runs],
        *[run_manifest(run) for run in RUNS.values()],
        *[f"{RESULTS}/runs/{run.id}/multiple_choice.csv" for run in evaluated()],
        *[f"{RESULTS}/runs/{run.id}/generation/manifest.json" for run in evaluated()],
        *(
            [f"{RESULTS}/runs/{run.id}/generation/comet.csv" for run in evaluated()]
            if scores_with_comet()
            else []
        ),
    ]


def table_inputs():
    """Return what tables show beside scores: text, sizes, differences between runs, and costs."""
    groups = {t.group: None for t in EXPERIMENT.tables.values() if t.kind == "significance"}
    return [
        f"{RESULTS}/fertility/manifest.json",
        f"{RESULTS}/parameters.csv",
        *[f"{RESULTS}/prompts/{task}.jsonl" for task in GENERATION.tasks],
        *[f"{RESULTS}/significance/{group}/significance.csv" for group in groups],
        *[f"{RESULTS}/efficiency/{run.id}.json" for run in efficiency_runs()],
    ]


def world_files():
    """Return what blind guessers score on the generated world, where there is one."""
    return [f"{RESOURCES}/world/baselines.json"] if EXPERIMENT.world else []


def report_inputs():
    """Return what the page shows beside tables and figures."""
    return [
        *[f"{RESULTS}/intersections/{pair}/manifest.json" for pair in intersection_pairs()],
        *([f"{RESULTS}/scale/manifest.json"] if EXPERIMENT.scale else []),
        *world_files(),
    ]
