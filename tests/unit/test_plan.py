"""What decides the jobs of every shipped experiment, and where their files lie."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

import pytest
from bilingual_files import make_files
from parallel_files import make_pairs
from real_files import make_real

from revocab.closed import Job
from revocab.experiment import options
from revocab.experiment import read as read_experiment
from revocab.experiment.layout import Layout
from revocab.training.recipe import ANSWERS

REPOSITORY = Path(__file__).resolve().parents[2]
SHIPPED = [
    ("config/demos/demo.yaml",),
    *[
        ("config/demos/demo.yaml", f"config/overlays/{name}.yaml")
        for name in ("evaluation-extra", "constructions", "stage-mixtures")
    ],
    ("config/sava.yaml",),
    *[
        ("config/sava.yaml", f"config/overlays/{name}.yaml")
        for name in (
            "pico-sava", "without-comet", "tasks-gosal", "tasks-itabench", "tasks-vocadt",
            "itabench-first", "flores-200", "sava-released", "sava-seeds",
        )
    ],
    ("config/lep.yaml",),
    *[
        ("config/lep.yaml", f"config/overlays/{name}.yaml")
        for name in ("lep-released", "lep-rates", "lep-seeds", "pico-lep")
    ],
    ("config/vocadt.yaml",),
    *[
        ("config/vocadt.yaml", f"config/overlays/{name}.yaml")
        for name in ("vocadt-released", "vocadt-seeds", "pico-vocadt")
    ],
    ("config/bilingual.yaml",),
    ("config/bilingual.yaml", "config/overlays/pico-bilingual.yaml"),
    ("config/bilingual.yaml", "config/overlays/bilingual-seeds.yaml"),
    ("config/demos/one-gpu.yaml",),
    ("config/demos/bilingual.yaml",),
    ("config/demos/lep.yaml",),
    ("config/demos/vocadt.yaml",),
    ("tests/experiments/small.yaml",),
    ("tests/experiments/small.yaml", "tests/experiments/helper.yaml"),
]  # fmt: skip


def layout_of(*files: str, **values: str) -> Layout:
    """Return the layout of an experiment file with overlays."""
    return Layout(read_experiment(*(REPOSITORY / file for file in files), **values))


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(REPOSITORY)


def named(layout: Layout) -> dict[Callable[..., Job], Iterable[str | tuple[str, ...]]]:
    """Return the ids for which an experiment has jobs, by the function of their options."""
    experiment, evaluation = layout.experiment, layout.experiment.evaluation
    learning = [name for name, one in experiment.recipes.items() if one.loss == ANSWERS]
    evaluated = [run.id for run in layout.evaluated()]
    return {
        options.world: [()] * bool(experiment.world),
        options.corpus: experiment.corpora,
        options.answers: layout.answered,
        options.judge: layout.judged,
        options.tokenizer: experiment.tokenizers,
        options.fertility: [()] * bool(experiment.fertility.tokenizers),
        options.intersection: layout.intersections,
        options.fetch: layout.fetched,
        options.stand_in: layout.stand_ins,
        options.change: layout.changed,
        options.auxiliary: [()] * bool(layout.with_vectors),
        options.init: layout.made,
        options.parameters: [()],
        options.scale: [()] * bool(experiment.scale),
        options.packing: {layout.packing(folder)[1:] for folder in layout.trainings},
        options.heldout_answers: learning,
        options.run_training: layout.trained,
        options.pretraining: layout.stand_ins,
        options.dropping: layout.dropping,
        options.task: evaluation.multiple_choice.tasks,
        options.scoring: evaluated,
        options.prompts: evaluation.generation.tasks,
        options.generation: evaluated,
        options.comet: filter(layout.comet_models, layout.runs),
        options.efficiency: layout.timed,
        options.similarity: experiment.runs,
        options.comparison: {group for group, _ in layout.compared},
        options.record: [()],
    }  # fmt: skip


def jobs_of(layout: Layout) -> dict[tuple[str, ...], Job]:
    """Return the options of every job, by the name of their function and its ids."""
    jobs = {}
    for function, every in named(layout).items():
        of = layout if "layout" in inspect.signature(function).parameters else layout.experiment
        for ids in ((each,) if isinstance(each, str) else each for each in every):
            jobs[function.__name__, *ids] = function(of, *ids)
    return jobs


def files_of(layout: Layout) -> Iterator[str]:
    """Yield the files that a layout names."""
    experiment, evaluation = layout.experiment, layout.experiment.evaluation
    choices, tasks = evaluation.multiple_choice.tasks, evaluation.generation.tasks.values()
    commands = ("collect_scores", "make_tables", "make_figures", "compare_runs", "build_report")
    for files, every in {
        layout.read_by: commands,
        layout.corpus_files: experiment.corpora,
        layout.texts_held_out: experiment.recipes,
        layout.task_data: choices,
        layout.task_template: choices,
        layout.own_templates: choices,
        layout.task_text: [text for task in tasks for text in (task.pool, task.test)],
        layout.tokenizers: [experiment.tokenizers],
        layout.scored_files: layout.runs,
        layout.prompts: layout.runs,
        layout.chat_template_of: layout.runs,
        layout.readers_of_dropped: layout.dropping,
        layout.origin: layout.made,
        layout.new_tokenizer: layout.made,
        layout.new_pairs: layout.made,
        layout.vector_files: layout.made,
    }.items():
        yield from chain.from_iterable(map(files, every))
    for folder in layout.trainings:
        yield from (layout.packed(folder), layout.heldout_of(folder))
    for run in layout.runs:
        models = (*layout.helper(run), *layout.adapted(run))
        yield from (*layout.manifests(run, None), *chain.from_iterable(models))
    yield from layout.drops


def check(layout: Layout) -> dict[tuple[str, ...], Job]:
    """Check every job's options; return them."""
    jobs = jobs_of(layout)
    for name, job in jobs.items():
        canonical = job.canonical()
        assert type(job).model_validate_json(canonical) == job, name
        if name != ("record",):  # of the whole file
            assert not re.search(r'(?<!\\)"[/~]', canonical), name
    return jobs


def test_every_function_is_tried():
    tried = {function.__name__ for function in named(layout_of("config/demos/demo.yaml"))}
    functions = inspect.getmembers(options, inspect.isfunction)
    own = {name for name, one in functions if one.__module__ == options.__name__}
    assert own - tried == {"nothing", "heldout", "scores", "training", "asking"}


@pytest.mark.parametrize(
    "files", SHIPPED, ids=lambda names: "+".join(Path(one).stem for one in names)
)
def test_the_jobs_of_a_shipped_experiment(files):
    layout = layout_of(*files)
    assert len({name for name, *_ in check(layout)}) >= 14
    ours = (f"{layout.paths.results}/", f"{layout.paths.resources}/")
    elsewhere = {file for file in files_of(layout) if not file.startswith(ours)}
    assert [file for file in elsewhere if not (REPOSITORY / file).exists()] == []


@pytest.mark.shared_data
@pytest.mark.parametrize(
    "files",
    [
        ("config/demos/local-data.yaml",),
        ("config/demos/local-data.yaml", "config/overlays/tasks-local.yaml"),
        ("config/demos/bilingual-local.yaml",),
        ("config/demos/vocadt-local.yaml",),
    ],
)
def test_every_job_on_the_data_folder(shared_folder, files):
    """Its inputs lie anywhere, and no job says where."""
    check(layout_of(*files, data_root=str(shared_folder)))


@pytest.mark.parametrize(
    ("files", "make"),
    [
        (("config/bilingual.yaml", "config/overlays/bilingual-own.yaml"), make_files),
        (("config/vocadt.yaml", "config/overlays/nllb-files.yaml"), make_pairs),
        (("config/demos/real.yaml",), make_real),
    ],
    ids=["bilingual-own", "nllb-files", "real"],
)
def test_every_job_with_files_of_a_user(tmp_path, files, make):
    """What a user brings: conversations, pairs, or models and texts."""
    check(layout_of(*files, data_root=str(make(tmp_path / "given"))))


def test_equal_experiments_have_equal_jobs_and_labels_and_titles_are_in_none():
    first, second, other = (layout_of("config/demos/demo.yaml", **values)
                            for values in ({}, {}, {"title": "Another"}))  # fmt: skip
    for group in other.experiment.runs.values():
        object.__setattr__(group, "label", "Another")
    assert jobs_of(first) == jobs_of(second)
    without = [{name: job for name, job in jobs_of(one).items() if name != ("record",)}
               for one in (first, other)]  # fmt: skip
    assert without[0] == without[1]
