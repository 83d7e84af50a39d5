"""What lies on the disk when an experiment is done, by stage, and the most at once.

Weights and packed rows follow from sizes alone. The constants are for what is small
beside them, and were measured on the demo (docs/costs.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from revocab.bill.amounts import Amount, Factor
from revocab.bill.inference import queries
from revocab.bill.outline import Outline
from revocab.bill.sizes import Config, Sizes
from revocab.bill.trainings import Training, tokens_held_out
from revocab.commands.drop_checkpoints import dropped_steps
from revocab.config.expand import Run
from revocab.corpora.source import Source
from revocab.plan.plan import Plan
from revocab.rule import JOIN
from revocab.training.recipe import ANSWERS

#: Vocabularies up to this size are packed in two bytes a token, larger ones in four.
SHORT_IDS = 65_536
#: Bytes of a tokenizer.json for each token.
TOKENIZER = 56
#: Compressed bytes of a generated document, and of a pair, question or item.
WORLD_DOCUMENT, WORLD_ROW = 90, 30
#: Bytes of a document from elsewhere (assumed), and what gzip leaves of text.
DOCUMENT, GZIPPED = 4000, 0.4
#: Documents of a corpus whose size no file tells (assumed).
DOCUMENTS = 1_000_000
#: Tokens are held out in four bytes, and windows are filled by half.
HELDOUT = 8
#: Bytes of a start's figures and report, of card and settings beside weights, of a line of losses.
DIAGNOSTICS, CARD, LOSS_LINE = 210_000, 15_000, 87
#: Bytes of a task's record at a checkpoint, of an answer, of a figure (page included), of a table,
#: and of a job's log and record.
TASK, ANSWER, FIGURE, TABLE, JOB = 5_500, 1_050, 340_000, 15_000, 3_100

MOST, LEAST = "disk at its peak", "disk at its peak, at least"
#: Stages that are there before anything is trained.
FIRST = ("text", "tokenizers", "models")


def disk_of(plan: Plan, sizes: Sizes, trainings: Sequence[Training]) -> list[Amount]:
    """Return the bytes of each stage, in the order of the workflow, without resume states."""
    stages: dict[str, list[list[Factor]]] = {
        "text": [*text(plan, sizes)],
        "tokenizers": [*tokenizers(plan, sizes)],
        "packed rows": [row for ids in packings(plan) for row in rows_of(plan, sizes, *ids)],
        "models": [*models(plan, sizes)],
        "starts of runs": [part for run in plan.runs.values() for part in start_of(sizes, run)],
        "checkpoints": [*checkpoints(plan, trainings)],
        "scores": [*scores(plan, sizes)],
        "figures, tables, logs": [
            [(len(plan.experiment.figures), "figures"), (FIGURE, "B")],
            [(len(plan.experiment.tables), "tables"), (TABLE, "B")],
            [(len(plan.jobs), "jobs"), (JOB, "B")],
        ],
    }
    return [Amount(name, "B", products) for name, products in stages.items()]


def text(plan: Plan, sizes: Sizes) -> Iterator[list[Factor]]:
    world = plan.experiment.world
    if world:
        yield [(2 * world.documents, "documents"), (WORLD_DOCUMENT, "B")]
        rows = 2 * (world.parallel + world.questions) + 12 * world.items
        yield [(rows, "pairs, questions, items"), (WORLD_ROW, "B")]
    for name, corpus in plan.experiment.corpora.items():
        compressed: Factor = (GZIPPED, "gzipped")
        if corpus.limit_bytes:
            yield [(corpus.limit_bytes, f"B of {name}"), compressed]
        elif corpus.source.kind == "world" and world:
            documents = min(world.documents, corpus.limit_documents or world.documents)
            yield [(documents, f"documents of {name}"), (WORLD_DOCUMENT, "B")]
        elif corpus.limit_documents:
            yield [(corpus.limit_documents, f"documents of {name}"), (DOCUMENT, "B"), compressed]
        elif (size := size_on_disk(corpus.source.files(plan.paths.world))) is not None:
            yield [(size, f"B of {name}"), compressed]
        else:
            key = f"corpora.{name}.limit_bytes or limit_documents"
            number = known_documents(corpus.source, sizes, key)
            if number is None:
                number = DOCUMENTS
                sizes.assumed[f"{number:,} documents of corpora.{name}"] = f"give {key}"
            yield [(number, f"documents of {name}"), (DOCUMENT, "B"), compressed]


def known_documents(source: Source, sizes: Sizes, key: str) -> int | None:
    hub = source.hub
    if hub is None:
        return None
    part = hub.name or hub.files
    return sizes.known_number("documents", f"{hub.id} {part}" if part else hub.id, key)


def size_on_disk(files: Sequence[str]) -> int | None:
    if not files or not all(Path(file).is_file() for file in files):
        return None
    return sum(Path(file).stat().st_size for file in files)


def tokenizers(plan: Plan, sizes: Sizes) -> Iterator[list[Factor]]:
    for name in plan.experiment.tokenizers:
        if rows := sizes.vocabulary(name):
            yield [(rows, f"tokens of {name}"), (TOKENIZER, "B")]


def packings(plan: Plan) -> Iterable[tuple[str, str, str]]:
    return dict.fromkeys(
        (tokenizer, *plan.packing(tokenizer, *rest)) for tokenizer, *rest in plan.trainings
    )


def rows_of(
    plan: Plan, sizes: Sizes, tokenizer: str, mixture: str, recipe: str
) -> Iterator[list[Factor]]:
    entry, rows = plan.experiment.recipes[recipe], sizes.vocabulary(tokenizer)
    if rows is not None:
        width = 2 if rows <= SHORT_IDS else 4
        # Of conversations, where each begins and what is learned are packed as well.
        each = width + 2 if entry.loss == ANSWERS else width
        yield [(entry.steps * entry.batch_size, f"rows of {mixture}"),
               (entry.sequence_length, "tokens"), (each, "B")]  # fmt: skip
        yield [(tokens_held_out(plan), "tokens held out"), (HELDOUT, "B")]


def models(plan: Plan, sizes: Sizes) -> Iterator[list[Factor]]:
    for name, entry in plan.experiment.models.items():
        if entry.path:
            continue  # its weights are linked
        if config := sizes.model(name):
            yield from folder(config, f"of {name}")  # of a stand-in: before it is trained


def start_of(sizes: Sizes, run: Run) -> Iterator[list[Factor]]:
    if run.made and (config := sizes.run(run)):
        yield from folder(config, f"of {run.id}")
        if not run.keeps_vocabulary:
            yield [(DIAGNOSTICS, "B of diagnostics")]


def folder(config: Config, what: str) -> Iterator[list[Factor]]:
    outline = Outline(config)
    weights = sum(weight.numel() for weight in outline.parameters())
    yield [(weights, f"weights {what}"), (outline.itemsize, "B")]
    yield [(config["vocab_size"], "tokens"), (TOKENIZER, "B")]
    yield [(CARD, "B beside")]


def checkpoints(plan: Plan, trainings: Sequence[Training]) -> Iterator[list[Factor]]:
    for training in trainings:
        number = training.checkpoints - dropped(plan, training)
        yield [(number, f"checkpoints of {training.name}"), (checkpoint_bytes(training), "B")]
        yield [training.steps, (LOSS_LINE, "B of losses")]


def checkpoint_bytes(training: Training) -> float:
    weights = training.amounts["checkpoints"].value / training.checkpoints
    return weights + training.vocabulary * TOKENIZER + CARD


def dropped(plan: Plan, training: Training) -> int:
    run = plan.runs.get(training.name)
    return len(dropped_steps(plan, run)) if run else 0


def scores(plan: Plan, sizes: Sizes) -> Iterator[list[Factor]]:
    evaluation = plan.experiment.evaluation
    for run in plan.evaluated():
        scored = len(run.select(evaluation.multiple_choice.steps))
        tasks = plan.choice_tasks(run)
        yield [(scored, f"checkpoints of {run.id}"), (len(tasks), "tasks"), (TASK, "B")]
        answered = len(run.select(evaluation.generation.steps))
        asked = sum(queries(plan, sizes, task) for task in plan.generation_tasks(run))
        yield [(answered, f"checkpoints of {run.id}"), (asked, "answers"), (ANSWER, "B")]


def peaks_of(
    plan: Plan, sizes: Sizes, stages: Sequence[Amount], trainings: Sequence[Training]
) -> list[Amount]:
    """Return the most that lies on the disk at once, and the least that it can be held to.

    The scheduler runs jobs in any order in which each has what it reads. So at the peak of a
    training all may be there that does not stand on it, and what it stands on is. Scores are not
    counted beside a training, as trainings go first; when all are done, what ``keep`` removes may
    be the last to go.
    """
    first: list[list[Factor]] = [
        [(stage.value, f"B of {stage.name}")] for stage in stages if stage.name in FIRST
    ]
    end = [[(stage.value, f"B of {stage.name}")] for stage in stages]
    removed = sum(dropped(plan, training) * checkpoint_bytes(training) for training in trainings)
    most = [Amount(MOST, "B", [*end, [(removed, "B that keep removes")]])]
    least = [Amount(LEAST, "B", end)]
    pieces = dict(pieces_of(plan, sizes, trainings))
    for training in trainings:
        job, before = training.job, plan.waits_for(training.job)
        each, last = checkpoint_bytes(training), training.checkpoints
        peak = max(number * each + training.states(number) for number in (last - 1, last))
        own: list[Factor] = [(peak, f"B of {training.name} and its states")]
        beside = {
            piece: size
            for piece, size in pieces.items()
            if piece != job and job not in plan.waits_for(piece)
        }
        needed = sum(size for piece, size in beside.items() if piece in before)
        for amounts, name, size in (
            (most, MOST, sum(beside.values())), (least, LEAST, needed),
        ):  # fmt: skip
            amounts.append(Amount(name, "B", [*first, own, [(size, "B of other jobs")]]))
    return [max(amounts, key=lambda amount: amount.value) for amounts in (most, least)]


def pieces_of(
    plan: Plan, sizes: Sizes, trainings: Sequence[Training]
) -> Iterator[tuple[str, float]]:
    """Yield jobs, and what each leaves until the end, or until ``keep`` removes it."""
    for ids in packings(plan):
        packed = Amount("", "B", [*rows_of(plan, sizes, *ids)])
        yield (JOIN.join(["pack_tokens", *ids]), packed.value)
    for run in plan.runs.values():
        if run.made:
            start = Amount("", "B", [*start_of(sizes, run)])
            yield (JOIN.join(["init_embeddings", run.id]), start.value)
    for training in trainings:
        yield (training.job, training.checkpoints * checkpoint_bytes(training))
