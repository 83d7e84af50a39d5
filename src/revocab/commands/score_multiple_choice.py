"""Score checkpoints of one run on multiple-choice tasks with lm-evaluation-harness."""

from __future__ import annotations

from pathlib import Path

from revocab.closed import Closed
from revocab.command import Command
from revocab.evaluation.inference.chat_prompts import chat_template_input, template_text
from revocab.evaluation.multiple_choice.named_tasks import tasks_field
from revocab.evaluation.options import Scoring, ScoringHardware, ScoringJob
from revocab.models.hub_or_folder import model_field


class Inputs(Closed):
    models: dict[int, Path] = model_field("model folders, by step", min_length=1)
    tasks: list[Path] = tasks_field(
        "task files written by 'revocab task', or templates with their own data, "
        "such as itabench_boolq",
        min_length=1,
    )
    chat_template: Path | None = chat_template_input()


def run(inputs: Inputs, job: ScoringJob, machine: ScoringHardware, out: Path) -> None:
    from revocab.evaluation.multiple_choice.scoring import score_checkpoints

    options = Scoring(
        **job.model_dump(exclude={"run"}),
        **machine.model_dump(),
        chat_template=template_text(inputs.chat_template, job.chat),
    )
    score_checkpoints(job.run, inputs.models, inputs.tasks, out, options)


COMMAND = Command(
    run, out="CSV file to write", writes="file", finds=("evaluation/inference/engines",)
)
