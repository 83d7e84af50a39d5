"""From the grid of an experiment to its runs: one :class:`Run` per model trained or scored.

Runs are expanded before they are checked: what is missing or not there is None, or left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from typing import Any

from revocab.closed import BEST, EVERY, RunStep, Step
from revocab.experiment.schema import Experiment, Recipe, RunGroup, RunMethod
from revocab.experiment.schema.runs import Chat
from revocab.initialise.method import Method, methods

#: Name of the run that is a group's source model itself.
BASE = "base"

#: Keys under which a run names another run.
PARENTS = ("start", "donor")
Pair = tuple[str, str]

#: Fields of a run that ``experiment.json`` leaves out where they say nothing.
QUIET = (
    "stage_mixtures", "base", "made", "start", "donor", "stage_ends", "scores_of", "axes",
    "replicate_of", "vectors",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Run:
    """One initialised model, trained or not, or a model that is scored as it is.

    ``base`` and ``trains`` are two properties: a base model is no run's result, and neither is a
    reference; of the runs that are ``made``, some are not trained.
    """

    id: str
    group: str
    name: str
    label: str
    method: str
    options: dict[str, Any] = field(default_factory=dict, hash=False)
    #: The model of the group, or the reference.
    source: str
    source_tokenizer: str
    #: Tokenizer in use: the group's target, or the source's own where the vocabulary is kept.
    target: str
    helper: str | None = None
    mixture: str | None = None
    recipe: str | None = None
    identity: str
    seed: int
    #: 0 (initialised) and every checkpoint, ascending.
    steps: list[int] = field(default_factory=lambda: [0], hash=False)
    evaluate: bool = True
    trains: bool = False
    #: Whether tokens are compared in fastText vectors, which are trained for the target tokenizer.
    auxiliary: bool = False
    #: Whether they are compared in the experiment's file of vectors.
    vectors: bool = False
    #: Mixture of every stage, where stages have their own.
    stage_mixtures: dict[str, str] = field(default_factory=dict, hash=False)
    #: Whether it is its group's source model, which the others are compared with.
    base: bool = False
    #: Whether a method made it; else it is scored as it is.
    made: bool = True
    #: Run and step that it begins from in place of the source model.
    start: tuple[str, Step] | None = field(default=None, hash=False)
    #: Run and step that its method reads beside.
    donor: tuple[str, Step] | None = field(default=None, hash=False)
    #: Steps that end stages, by the stage's name.
    stage_ends: dict[str, int] = field(default_factory=dict, hash=False)
    #: The run whose scores are this one's as well, being the same model.
    scores_of: str | None = None
    #: Where it stands in a sweep: by axis, the name of its value there.
    axes: dict[str, str] = field(default_factory=dict, hash=False)
    #: The id of the runs that differ from it in their seed alone, taken together.
    replicate_of: str | None = None

    @property
    def key(self) -> str:
        return f"runs.{self.group}.methods.{self.name}"

    @property
    def keeps_vocabulary(self) -> bool:
        return self.target == self.source_tokenizer

    def learns_rows_of(self, tokenizer: str | None) -> bool:
        return self.trains and not self.keeps_vocabulary and self.target == tokenizer

    @property
    def scored_id(self) -> str:
        return self.scores_of or self.id

    def select(self, wanted: Iterable[Step] | None = None) -> list[int]:
        return selected(self.steps, self.stage_ends, wanted)


def run_id(group: str, name: str) -> str:
    return f"{group}-{name}"


def selected(
    steps: list[int], stage_ends: Mapping[str, int], wanted: Iterable[Step] | None
) -> list[int]:
    """Return those of a run's ``steps`` that ``wanted`` names, ascending.

    A step is named by its number, as the ``first`` or ``last`` checkpoint, or by the stage that it
    ends; None or ``all``: every checkpoint. A run that is not trained has step 0 alone.
    """
    if len(steps) == 1:
        return list(steps)
    if wanted is None or EVERY in (wanted := list(wanted)):
        return steps[1:]
    names: dict[Step, int] = {"first": steps[1], "last": steps[-1]}
    names.update(stage_ends)
    chosen: set[Step] = {names.get(step, step) for step in wanted}
    return [step for step in steps if step in chosen]


def stage_mixtures(recipe: Recipe, mixture: str) -> dict[str, str]:
    """Return the mixture of every stage by its name; nothing where all stages have ``mixture``.

    ``mixture`` is that of stages which name none. Rows with one mixture throughout are laid out
    without regard to stages.
    """
    named = {stage.name: stage.mixture or mixture for stage in recipe.stages or ()}
    return named if set(named.values()) - {mixture} else {}


def as_it_is(
    experiment: Experiment, group_id: str, name: str, label: str, model: str, method: str
) -> Run:
    tokenizer: Any = tokenizer_of(experiment, model)
    return Run(
        id=run_id(group_id, name),
        group=group_id,
        name=name,
        label=label,
        method=method,
        source=model,
        source_tokenizer=tokenizer,
        target=tokenizer,
        identity=experiment.runs[group_id].identity,
        seed=experiment.seed,
        base=name == BASE,
        made=False,
    )


def tokenizer_of(experiment: Experiment, model: str | None) -> str | None:
    entry = experiment.models.get(model or "")
    return entry.tokenizer if entry else None


class Expansion:
    """What of an experiment's runs others build on: their tokenizers and their checkpoints."""

    def __init__(self, experiment: Experiment):
        self.experiment = experiment
        self.entries: dict[str, tuple[RunGroup, str]] = {}
        self.unchanged: dict[str, str] = {}
        for group_id, group in experiment.runs.items():
            self.entries |= {run_id(group_id, name): (group, name) for name in group.methods}
            self.unchanged[run_id(group_id, BASE)] = group.source
            for name, reference in group.references.items():
                self.unchanged[run_id(group_id, name)] = reference.model

    def tokenizer_before(self, run: str, *seen: str) -> str | None:
        """Return the tokenizer of what a run begins with: its source model, or another run.

        None where that cannot be told: a run ``seen`` on the way is met again.
        """
        if run not in self.entries:
            return tokenizer_of(self.experiment, self.unchanged.get(run))
        group, name = self.entries[run]
        start = group.methods[name].start
        if start is None:
            return tokenizer_of(self.experiment, group.source)
        if run in seen:
            return None
        if start.run in self.entries:
            parent, parent_name = self.entries[start.run]
            if not method_of(parent, parent_name).keeps_vocabulary:
                return parent.setting(parent_name, "target")
        return self.tokenizer_before(start.run, *seen, run)

    def checkpoint(self, named: RunStep | None) -> tuple[str, Step] | None:
        if named is None:
            return None
        recipe = None
        if named.run in self.entries:
            group, name = self.entries[named.run]
            recipe = self.experiment.recipes.get(group.setting(name, "recipe"))
        steps = [] if named.step == BEST else selected(*steps_of(recipe), [named.step])
        return named.run, steps[0] if steps else named.step

    def made_run(self, group_id: str, group: RunGroup, name: str) -> Run:
        entry, identifier = group.methods[name], run_id(group_id, name)
        method = method_of(group, name)
        needed = method.needs(entry)
        before: Any = self.tokenizer_before(identifier)
        mixture, recipe_id = group.setting(name, "mixture"), group.setting(name, "recipe")
        recipe = self.experiment.recipes.get(recipe_id)
        steps, stage_ends = steps_of(recipe)
        return Run(
            id=identifier,
            group=group_id,
            name=name,
            label=name,
            method=method.name,
            options=entry.options,
            source=group.source,
            source_tokenizer=before,
            target=before if method.keeps_vocabulary else group.setting(name, "target"),
            helper=group.setting(name, "helper") if needed == "helper" else None,
            auxiliary=needed == "fasttext",
            vectors=needed == "file",
            mixture=mixture if recipe_id else None,
            stage_mixtures=stage_mixtures(recipe, mixture) if recipe else {},
            recipe=recipe_id,
            identity=group.identity,
            seed=self.experiment.seed if entry.seed is None else entry.seed,
            steps=steps,
            evaluate=entry.evaluate,
            trains=recipe_id is not None,
            stage_ends=stage_ends,
            axes=entry.axes or {},
            replicate_of=run_id(group_id, entry.replicate_of) if entry.replicate_of else None,
            start=self.checkpoint(entry.start),
            donor=self.checkpoint(entry.donor),
        )

    def group_runs(self, group_id: str, group: RunGroup) -> Iterator[Run]:
        yield as_it_is(self.experiment, group_id, BASE, group.label, group.source, BASE)
        for name, reference in group.references.items():
            shown = reference.label, reference.model
            yield as_it_is(self.experiment, group_id, name, *shown, "reference")
        for name in group.methods:
            yield self.made_run(group_id, group, name)


def method_of(group: RunGroup, name: str) -> Method:
    return methods()[group.methods[name].method]


def steps_of(recipe: Recipe | None) -> tuple[list[int], dict[str, int]]:
    """Return the steps of a training, 0 included, and those that end a stage, by its name."""
    return ([0, *recipe.checkpoint_steps], recipe.stage_ends) if recipe else ([0], {})


def expand(experiment: Experiment) -> list[Run]:
    """Return every run of an experiment, which may be wrong yet.

    A model that several groups show as it is, is scored for the first of them that asks it so.
    """
    runs: list[Run] = []
    first: dict[tuple[str, Chat | None, int | None], str] = {}
    expansion = Expansion(experiment)
    for group_id, group in experiment.runs.items():
        for run in expansion.group_runs(group_id, group):
            same = run.id if run.made else first.setdefault((run.source, *group.asking), run.id)
            runs.append(run if same == run.id else replace(run, scores_of=same))
    return runs


def as_json(experiment: Experiment) -> dict[str, Any]:
    usual = {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(Run)
        if field.name in QUIET
    }
    runs = [
        {
            # As JSON gives them back: a job read from its text is equal to it.
            key: list(value) if isinstance(value, tuple) else value
            for key, value in asdict(run).items()
            if key not in usual or value != usual[key]
        }
        for run in experiment.expanded.values()
    ]
    return {"experiment": experiment.model_dump(mode="json"), "runs": runs}


# --- what runs are made of: also of a file that is wrong -----------------------------------------


def parents(entry: RunMethod) -> Iterator[tuple[str, RunStep]]:
    for key in PARENTS:
        named = getattr(entry, key)
        if named is not None:
            yield key, named


def learns_new_rows(group: RunGroup) -> bool:
    return any(
        group.setting(name, "recipe") is not None
        and not method_of(group, name).keeps_vocabulary
        and group.setting(name, "target") == group.target
        for name in group.methods
    )


def trainings(experiment: Experiment) -> Iterator[tuple[str, str, str]]:
    """Yield key, mixture and recipe of everything that is trained, as the file names them."""
    for name, model in experiment.models.items():
        if model.pretrain:
            yield f"models.{name}.pretrain", model.pretrain.mixture, model.pretrain.recipe
    for run in experiment.expanded.values():
        if run.mixture and run.recipe:
            yield run.key, run.mixture, run.recipe


def text_corpora(experiment: Experiment, corpora: Iterable[str]) -> list[str]:
    return [corpus for corpus in corpora if not holds_conversations(experiment, corpus)]


def holds_conversations(experiment: Experiment, corpus: str) -> bool:
    """Return whether a corpus keeps messages; one that is not there does not."""
    entry = experiment.corpora.get(corpus)
    return entry is not None and entry.holds_conversations


# --- pairs of tokenizers whose tokens are compared ------------------------------------------------


def helper_pair(experiment: Experiment, helper: str | None, target: str | None) -> Pair | None:
    """Return a helper's tokenizer and the target; None where they are one, or one is missing."""
    tokenizer = tokenizer_of(experiment, helper)
    if tokenizer is None or target is None or tokenizer == target:
        return None
    return tokenizer, target


def needed_pairs(experiment: Experiment, runs: Collection[Run]) -> Iterator[tuple[Pair, str]]:
    """Yield each pair that runs, their helpers and their groups' helpers need, with its group.

    The first of a pair is a source's or a helper's tokenizer, the second a target.
    """
    for run in runs:
        if not run.keeps_vocabulary and run.source_tokenizer and run.target:
            yield (run.source_tokenizer, run.target), run.group
    helped: list[tuple[str | None, str | None, str]]
    helped = [(run.helper, run.target, run.group) for run in runs]
    helped += [(group.helper, group.target, name) for name, group in experiment.runs.items()]
    for helper, target, group in helped:
        if pair := helper_pair(experiment, helper, target):
            yield pair, group


def compared_pairs(experiment: Experiment, runs: Collection[Run]) -> dict[Pair, str]:
    identities: dict[Pair, str] = {}
    for pair, group in needed_pairs(experiment, runs):
        identities.setdefault(pair, experiment.runs[group].identity)
    return identities
