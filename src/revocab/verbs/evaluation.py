"""Evaluation: tasks, prompts, scores, generated text, losses, speed and similarity."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import Field

from revocab.closed import Folder, Id, Job
from revocab.evaluation.embedding_similarity import EmbeddingSimilarityJob
from revocab.evaluation.generation.prompts import PromptJob
from revocab.evaluation.inference.chat_prompts import chat_template_input, template_text
from revocab.evaluation.multiple_choice.tasks import TaskJob
from revocab.evaluation.options import (
    AdoptionJob,
    CometHardware,
    CometJob,
    EfficiencyJob,
    Generating,
    GenerationHardware,
    GenerationJob,
    Hardware,
    Scoring,
    ScoringHardware,
    ScoringJob,
)
from revocab.limits import Count
from revocab.models.hub_or_folder import model_field, tokenizer_field
from revocab.verb import verb

ENGINES, KINDS = "evaluation/inference/engines", "evaluation/generation/kinds"


@verb(out="YAML file to write", writes="file")
def build_task(
    *,
    templates: Path | None = Field(
        default=None, description="folder of your own templates, searched before the package's"
    ),
    data: Path | None = Field(default=None, description="local file of rows, .jsonl or .jsonl.gz"),
    options: TaskJob,
    out: Path,
) -> None:
    """Write one multiple-choice task as a file that lm-evaluation-harness reads."""
    from revocab.evaluation.multiple_choice.tasks import (
        at_commit,
        check_items,
        find_template,
        task_config,
        write_task,
    )
    from revocab.output import check_files

    template = find_template(options.template, templates) if options.template else None
    check_files(out, inputs=[template, data])
    config = at_commit(task_config(options, templates, data))
    if options.items and not options.harness:  # the harness's are counted where they are scored
        check_items(options.task, config, options.items)
    write_task(out, config)


@verb(out="JSONL file to write", writes="file", finds=(KINDS,))
def build_prompts(
    *,
    pool_files: list[Path] = Field(
        default_factory=list, description="files of the rows that shots are drawn from"
    ),
    test_files: list[Path] = Field(
        default_factory=list, description="files of the rows that become queries"
    ),
    options: PromptJob,
    out: Path,
) -> None:
    """Write the few-shot prompts of one generation task, and a manifest of their sources."""
    from revocab.corpora.source import origin
    from revocab.evaluation.generation import prompts
    from revocab.io import sha256, write_json, write_jsonl
    from revocab.output import check_files

    described = out.with_suffix(".manifest.json")
    check_files(out, described, inputs=[*pool_files, *test_files])
    rows = prompts.build_prompts(options, pool_files, test_files)
    write_jsonl(out, rows)
    pool, test = origin(options.pool, pool_files), origin(options.test, test_files)
    manifest = {"task": options.task, "rows": len(rows), "pool": pool, "test": test}
    write_json(described, {**manifest, "sha256": sha256(out)})


@verb(out="CSV file to write", writes="file", finds=(ENGINES,))
def score_multiple_choice(
    *,
    models: dict[int, Path] = model_field("model folders, by step", min_length=1),
    tasks: list[Path] = Field(
        min_length=1,
        description="task files written by 'revocab task', or templates with their own data, "
        "such as itabench_boolq",
    ),
    chat_template: Path | None = chat_template_input(),
    options: ScoringJob,
    machine: ScoringHardware,
    out: Path,
) -> None:
    """Score checkpoints of one run on multiple-choice tasks with lm-evaluation-harness."""
    from revocab.evaluation.multiple_choice.scoring import score_checkpoints
    from revocab.evaluation.multiple_choice.tasks import task_files

    scoring = Scoring(
        **options.model_dump(exclude={"run"}),
        **machine.model_dump(),
        chat_template=template_text(chat_template, options.chat),
    )
    with TemporaryDirectory() as folder:
        score_checkpoints(options.run, models, task_files(tasks, Path(folder)), out, scoring)


@verb(finds=(KINDS, ENGINES))
def generate_text(
    *,
    models: dict[int, Path] = model_field("model folders, by step", min_length=1),
    prompts: dict[Id, Path] = Field(
        min_length=1, description="files written by build_prompts, by task"
    ),
    chat_template: Path | None = chat_template_input(),
    options: GenerationJob,
    machine: GenerationHardware,
    out: Path,
) -> None:
    """Generate text with checkpoints of one run on stored prompts, and score the outputs."""
    from revocab.evaluation.generation.generate import generate_checkpoints

    generating = Generating(
        **options.model_dump(exclude={"run"}),
        **machine.model_dump(),
        chat_template=template_text(chat_template, options.chat),
    )
    generate_checkpoints(options.run, models, prompts, out, generating)


@verb(out="CSV file to write", writes="file", finds=(KINDS,))
def score_comet(
    *,
    generation: Folder = Field(description="folder written by generate"),
    prompts: dict[Id, Path] = Field(
        min_length=1, description="files written by build_prompts, by task"
    ),
    options: CometJob,
    machine: CometHardware,
    out: Path,
) -> None:
    """Score the translations of one run with COMET-22 and xCOMET, in their own environment."""
    from revocab.evaluation.generation.comet import score_run

    score_run(options.run, generation, prompts, options.models, out, machine)


@verb(out="CSV file to write", writes="file")
def measure_heldout(
    *,
    models: dict[int, Path] = model_field("model folders, by step", min_length=1),
    heldout: Folder = Field(description="folder written by pack_heldout"),
    options: Job,
    device: str = Field(default="auto", description="auto, cpu, cuda, ..."),
    gpus: Count = Field(default=1, description="GPUs among which a model is divided"),
    out: Path,
) -> None:
    """Measure the held-out loss of models that are not trained here."""
    from revocab.training.heldout_loss import measure_heldout

    measure_heldout(models, heldout, out, device, gpus)


@verb(out="JSON file to write", writes="file", finds=(ENGINES,))
def measure_efficiency(
    *,
    model: Path = model_field("model folder"),
    text: Path = Field(description="documents, .jsonl or .jsonl.gz"),
    options: EfficiencyJob,
    machine: Hardware,
    out: Path,
) -> None:
    """Measure speed and memory of one checkpoint on text of a language."""
    from revocab.evaluation.efficiency import measure_efficiency

    measure_efficiency(model, text, options, machine, out)


@verb(out="JSON file to write", writes="file")
def measure_adoption(
    *,
    tokenizer: Folder = tokenizer_field("tokenizer folder of the model before"),
    models: dict[int, Path] = model_field("model folders, by step", min_length=1),
    prepared: Folder = Field(description="folder written by prepare, whose held-out text is read"),
    options: AdoptionJob,
    machine: Hardware,
    out: Path,
) -> None:
    """Measure whether checkpoints of one run write the tokens that the model before lacks."""
    from revocab.evaluation.adoption import measure_adoption

    measure_adoption(tokenizer, models, prepared, options, machine, out)


@verb()
def measure_similarity(
    *,
    target_tokenizer: Folder = tokenizer_field("tokenizer folder of all models"),
    first: dict[Id, Path] = Field(description="model folders before training, by run"),
    last: dict[Id, Path] = Field(description="model folders after training, by run"),
    helper_model: Path | None = model_field(
        "helper model folder; default: compare runs only", default=None
    ),
    helper_pairs: Folder | None = Field(
        default=None,
        description="folder written by intersect for the helper's tokenizer and "
        "the target's; default: computed",
    ),
    options: EmbeddingSimilarityJob,
    out: Path,
) -> None:
    """Measure how similar the embeddings of runs are to the helper's and to each other."""
    from revocab.evaluation.embedding_similarity import RunModels, measure_to

    runs = [RunModels(run, folder, last[run]) for run, folder in first.items()]
    measure_to(out, options, runs, target_tokenizer, helper_model, helper_pairs)
