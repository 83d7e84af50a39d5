"""Print the log-likelihoods that an engine gives to all choices of task files, as JSON.

Run in the environment of the engine: ``python loglikelihoods.py ENGINE MODEL TASK…``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def likelihoods(engine: str, model: str | Path, *tasks: str | Path) -> dict[str, list]:
    """Evaluate the tasks one after another, as the script of the rule does."""
    from revocab.evaluation.multiple_choice.scoring import Scorer
    from revocab.evaluation.options import Scoring

    scorer = Scorer([Path(task) for task in tasks], Scoring(engine=engine, device="cpu"))
    loaded = scorer.load(Path(model))
    found = {}
    for name in scorer.paths:
        scorer.score(loaded, name)
        instances = [one for task in scorer.tasks[name]["tasks"].values() for one in task.instances]
        found[name] = [one.resps[0] for one in instances]
    return found


if __name__ == "__main__":
    print(json.dumps(likelihoods(*sys.argv[1:])))
