"""What decides the jobs of every shipped experiment, and where their files lie."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from user_files import make_instructions, make_pairs, make_real

from revocab.closed import Job
from revocab.experiment import options
from revocab.experiment import read as read_experiment
from revocab.experiment.layout import Layout
from revocab.training.recipe import ANSWERS

REPOSITORY = Path(__file__).resolve().parents[2]


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
        options.adoption: layout.adopting,
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
    assert own - tried == {"nothing", "present", "heldout", "training", "asking"}


@pytest.mark.parametrize(
    ("files", "make"),
    [
        (("config/bilingual.yaml", "config/overlays/bilingual-own.yaml"), make_instructions),
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
