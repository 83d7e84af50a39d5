# Input and params functions of report.smk.


def all_results():
    """Return every file that tables and figures are made from."""
    return [
        f"{RESULTS}/fertility/manifest.json",
        f"{RESULTS}/parameters.csv",
        *[f"{RESULTS}/intersections/{pair}/manifest.json" for pair in intersection_pairs()],
        *[f"{RESULTS}/similarity/{group}/manifest.json" for group in EXPERIMENT.runs],
        *[f"{RESULTS}/prompts/{task}.jsonl" for task in GENERATION.tasks],
        *[run_manifest(run) for run in RUNS.values()],
        *[f"{RESULTS}/runs/{run.id}/multiple_choice.csv" for run in evaluated()],
        *[f"{RESULTS}/runs/{run.id}/generation/manifest.json" for run in evaluated()],
        *(
            [f"{RESULTS}/runs/{run.id}/generation/comet.csv" for run in evaluated()]
            if scores_with_comet()
            else []
        ),
        *([f"{RESULTS}/scale/manifest.json"] if EXPERIMENT.scale else []),
        *([f"{RESOURCES}/world/baselines.json"] if EXPERIMENT.world else []),
    ]


def table_inputs():
    """Return what tables show beside scores: differences between runs, and costs."""
    groups = {t.group: None for t in EXPERIMENT.tables.values() if t.kind == "significance"}
    return [
        *[f"{RESULTS}/significance/{group}/significance.csv" for group in groups],
        *[f"{RESULTS}/efficiency/{run.id}.json" for run in efficiency_runs()],
    ]
