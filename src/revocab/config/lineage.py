"""What runs are made of: the runs they start from or borrow from, and whose tokenizer they have.

Everything here holds of files that are wrong, too: what is not there is None or left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from revocab.closed import BEST, RunStep, Step
from revocab.config.schema import Experiment, RunGroup, RunMethod
from revocab.initialise.method import Method, methods

#: Name of the run that is a group's source model itself.
BASE = "base"
#: Keys under which a run names another run.
PARENTS = ("start", "donor")


def run_id(group: str, name: str) -> str:
    """Return the id of a run: its group's and its own (``check_names`` keeps ids apart)."""
    return f"{group}-{name}"


def method_runs(experiment: Experiment) -> dict[str, tuple[RunGroup, str]]:
    """Return the group and name of every run that a method makes, by the run's id."""
    return {
        run_id(group_id, name): (group, name)
        for group_id, group in experiment.runs.items()
        for name in group.methods
    }


def scored_as_they_are(experiment: Experiment) -> dict[str, str]:
    """Return the models of base models and references by the id of their run."""
    found = {}
    for group_id, group in experiment.runs.items():
        found[run_id(group_id, BASE)] = group.source
        found |= {run_id(group_id, name): one.model for name, one in group.references.items()}
    return found


def run_ids(experiment: Experiment) -> list[str]:
    """Return the ids of all runs, base models and references included."""
    return [*scored_as_they_are(experiment), *method_runs(experiment)]


def group_of(experiment: Experiment, run: str) -> str | None:
    """Return the group of a run, None if there is no such run."""
    for name, group in experiment.runs.items():
        names = (BASE, *group.references, *group.methods, *shown_names(group))
        if run in {run_id(name, one) for one in names}:
            return name
    return None


def shown_names(group: RunGroup) -> list[str]:
    """Return the names of a group's runs as tables show them: of replicates, that of all."""
    return list(dict.fromkeys(one.replicate_of or name for name, one in group.methods.items()))


def shown_ids(experiment: Experiment) -> list[str]:
    """Return the ids of all runs, and those under which replicates are shown as one."""
    shown = [run_id(key, name) for key, one in experiment.runs.items() for name in shown_names(one)]
    return list(dict.fromkeys([*run_ids(experiment), *shown]))


def single_runs(experiment: Experiment, runs: Iterable[str]) -> list[str]:
    """Return runs; in place of one that stands for its replicates, these."""
    replicates: dict[str, list[str]] = {}
    for key, group in experiment.runs.items():
        for name, one in group.methods.items():
            if one.replicate_of:
                replicates.setdefault(run_id(key, one.replicate_of), []).append(run_id(key, name))
    return [one for run in runs for one in replicates.get(run, [run])]


def parents(entry: RunMethod) -> Iterator[tuple[str, RunStep]]:
    """Yield the other runs that a run reads, with the key that names each."""
    for key in PARENTS:
        named = getattr(entry, key)
        if named is not None:
            yield key, named


def first_cycle(children: Mapping[str, Collection[str]], name: str) -> list[str]:
    """Return the way from ``name`` back to itself, [] if there is none."""
    waiting = [[name]]
    seen: set[str] = set()
    while waiting:
        path = waiting.pop()
        for other in children.get(path[-1], ()):
            if other == name:
                return [*path, other]
            if other not in seen:
                seen.add(other)
                waiting.append([*path, other])
    return []


def parent_runs(experiment: Experiment) -> dict[str, list[str]]:
    """Return the runs that each run reads, by the run's id."""
    return {
        run: [named.run for _, named in parents(group.methods[name])]
        for run, (group, name) in method_runs(experiment).items()
    }


def method_of(group: RunGroup, name: str) -> Method:
    """Return the method of a group's run."""
    return methods()[group.methods[name].method]


def tokenizer_before(experiment: Experiment, run: str, *seen: str) -> str | None:
    """Return the tokenizer of what a run begins with: its source model, or the run it starts from.

    None where that cannot be told: a run ``seen`` on the way is met again.
    """
    made = method_runs(experiment)
    if run not in made:
        return _tokenizer_of(experiment, scored_as_they_are(experiment).get(run))
    group, name = made[run]
    start = group.methods[name].start
    if start is None:
        return _tokenizer_of(experiment, group.source)
    return None if run in seen else tokenizer_after(experiment, start.run, *seen, run)


def tokenizer_after(experiment: Experiment, run: str, *seen: str) -> str | None:
    """Return the tokenizer that a run ends with; see :func:`tokenizer_before`."""
    made = method_runs(experiment)
    if run in made:
        group, name = made[run]
        method = method_of(group, name)
        if not method.keeps_vocabulary:
            return group.setting(name, "target")
    return tokenizer_before(experiment, run, *seen)


def _tokenizer_of(experiment: Experiment, model: str | None) -> str | None:
    found = None if model is None else experiment.models.get(model)
    return found.tokenizer if found else None


def learns_new_rows(group: RunGroup) -> bool:
    """Return whether a run of a group is trained with rows of the group's new vocabulary."""
    for name in group.methods:
        method = method_of(group, name)
        trained = group.setting(name, "recipe") is not None
        if (
            trained
            and not method.keeps_vocabulary
            and group.setting(name, "target") == group.target
        ):
            return True
    return False


def run_steps(experiment: Experiment, run: str) -> tuple[list[int], dict[str, int]]:
    """Return the steps of a run, 0 included, and those that end a stage, by its name."""
    made = method_runs(experiment)
    if run in made:
        group, name = made[run]
        recipe = experiment.recipes.get(group.setting(name, "recipe"))
        if recipe is not None:
            return [0, *recipe.checkpoint_steps], recipe.stage_ends
    return [0], {}


def trainings(experiment: Experiment) -> Iterator[tuple[str, str, str]]:
    """Yield key, mixture and recipe of everything that is trained, as the file names them."""
    for name, model in experiment.models.items():
        if model.pretrain:
            yield f"models.{name}.pretrain", model.pretrain.mixture, model.pretrain.recipe
    for group_id, group in experiment.runs.items():
        for name in group.methods:
            mixture, recipe = (group.setting(name, key) for key in ("mixture", "recipe"))
            if mixture and recipe:
                yield f"runs.{group_id}.methods.{name}", mixture, recipe


def keeps_best(experiment: Experiment, run: str) -> bool:
    """Return whether the training of a run keeps its best checkpoint under that name."""
    made = method_runs(experiment)
    if run not in made:
        return False
    group, name = made[run]
    recipe = experiment.recipes.get(group.setting(name, "recipe"))
    return recipe is not None and recipe.keep_best


def checkpoint_of(experiment: Experiment, named: RunStep) -> Step:
    """Return the checkpoint of a run that another run or model is made of: its number, or best."""
    if named.step == BEST:
        return BEST
    (step,) = selected(*run_steps(experiment, named.run), [named.step])
    return step


def selected(
    steps: list[int], stage_ends: Mapping[str, int], wanted: Iterable[Step] | None
) -> list[int]:
    """Return those of a run's ``steps`` that ``wanted`` names, ascending.

    A step is named by its number, as the ``first`` or ``last`` checkpoint, or by the stage that it
    ends; None: every checkpoint. A run that is not trained has step 0, whatever is wanted.
    """
    if len(steps) == 1:
        return list(steps)
    if wanted is None:
        return steps[1:]
    names: dict[Step, int] = {"first": steps[1], "last": steps[-1]}
    names.update(stage_ends)
    chosen: set[Step] = {names.get(step, step) for step in wanted}
    return [step for step in steps if step in chosen]
