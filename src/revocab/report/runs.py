"""The runs of an experiment as tables and figures name them: replicates as one, groups, tasks; and
names that readers see, of metrics and runs, and of tables and figures by their number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from revocab.closed import Id
from revocab.errors import RevocabError
from revocab.evaluation.generation.kind import metrics
from revocab.evaluation.metrics import UNKNOWN, families
from revocab.initialise.method import methods
from revocab.report.annotations import Experiment, Run


class RunIndex:
    """An experiment and its runs, by id, group, name and task. It holds of a file that is wrong,
    too: runs are expanded before they are checked.
    """

    def __init__(self, experiment: Experiment, runs: Iterable[Run]):
        self.experiment, self.runs = experiment, list(runs)

    @cached_property
    def shown(self) -> list[Run]:
        """Return the runs as tables and figures show them: replicates as one, where the first
        stands.
        """
        merged: dict[str, Run] = {}
        for training in self.runs:
            run = training
            if run.replicate_of:
                name = run.replicate_of.removeprefix(f"{run.group}-")
                run = replace(run, id=run.replicate_of, name=name, label=name, replicate_of=None)
            merged.setdefault(run.id, run)
        return list(merged.values())

    @property
    def seeded(self) -> bool:
        return any(run.replicate_of for run in self.runs)

    @cached_property
    def _by_id(self) -> dict[str, Run]:
        return {run.id: run for run in (*reversed(self.shown), *reversed(self.runs))}

    @cached_property
    def _replicates(self) -> dict[str, list[Run]]:
        replicates: dict[str, list[Run]] = {}
        for run in self.runs:
            if run.replicate_of:
                replicates.setdefault(run.replicate_of, []).append(run)
        return replicates

    def replicates(self, run: Run) -> list[Run]:
        return self._replicates.get(run.id, [run])

    @property
    def ids(self) -> list[str]:
        return list(dict.fromkeys(run.id for run in (*self.runs, *self.shown)))

    def run(self, identifier: str) -> Run:
        if (run := self._by_id.get(identifier)) is not None:
            return run
        known = ", ".join(run.id for run in self.runs)
        raise RevocabError(f"{self.experiment.experiment}: no run {identifier!r} (known: {known})")

    def group(self, group: str, evaluated: bool = True) -> list[Run]:
        """Return a group's runs in the order of the experiment, base first, replicates as one."""
        return [r for r in self.shown if r.group == group and (r.evaluate or not evaluated)]

    def base(self, group: str) -> Run:
        return next(run for run in self.group(group) if run.base)

    def model_label(self, run: Run) -> str:
        return self.experiment.runs[run.group].label

    @property
    def comet_metrics(self) -> list[str]:
        return list(self.experiment.evaluation.generation.comet_models)

    def choice_tasks(self, language: str) -> list[str]:
        """Return multiple-choice task ids of a language by family, in the paper's order."""
        rank = {family: number for number, family in enumerate(families())}
        named = [(self.family(task), task) for task in choices_in(self.experiment, language)]
        named.sort(key=lambda pair: (rank.get(pair[0], len(rank)), *pair))
        return [task for _, task in named]

    def family(self, task: str) -> str:
        return self.experiment.evaluation.multiple_choice.tasks[task].family

    def tokenizer_pairs(self) -> list[tuple[str, str]]:
        pairs = [(r.source_tokenizer, r.target) for r in self.runs if not r.keeps_vocabulary]
        return list(dict.fromkeys([*pairs, *self.experiment.intersections]))

    def trained_on(self, tokenizer: str) -> list[str]:
        trained = self.experiment.tokenizers[tokenizer].train
        return list(trained.corpora) if trained else []


def task_languages(experiment: Experiment) -> dict[str, set[Id]]:
    evaluation = experiment.evaluation
    choices = {name: {task.language} for name, task in evaluation.multiple_choice.tasks.items()}
    generated = {name: {*task.direction} for name, task in evaluation.generation.tasks.items()}
    return {**choices, **generated}


def group_tasks(experiment: Experiment, group: Id) -> set[str]:
    """Return the tasks in a run group's languages; all tasks, if it names no languages."""
    spoken = experiment.runs[group].languages if group in experiment.runs else None
    tasks = task_languages(experiment)
    return {task for task, used in tasks.items() if spoken is None or used.issubset(spoken)}


def choices_in(
    experiment: Experiment, language: Id, columns: Iterable[Id] | None = None
) -> list[str]:
    return [
        name
        for name, task in experiment.evaluation.multiple_choice.tasks.items()
        if task.language == language and (columns is None or task.family in columns)
    ]


def text_languages(experiment: Experiment) -> list[str]:
    """Return the languages of held-out text that is no conversation, in the file's order."""
    from revocab.experiment.expand import text_corpora  # imports the schema, which imports kinds

    corpora = experiment.corpora
    texts = text_corpora(experiment, experiment.evaluation.heldout)
    return list(dict.fromkeys(corpora[corpus].language for corpus in texts if corpus in corpora))


def metric_label(metric: str) -> str:
    return metrics().get(metric, UNKNOWN).label or metric


def method_label(run: Run) -> str:
    """Return a run's row label: its own for a model shown as it is, else method and variant. A run
    called ``sava-anchors200`` with method ``sava`` is "SAVA (anchors 200)".
    """
    if not run.made:
        return run.label
    known = methods()
    if run.name in known:
        return known[run.name].label
    if not run.name.startswith(f"{run.method}-"):
        return run.name
    variant = re.sub(r"(?<=[a-z])(?=\d)", " ", run.name[len(run.method) + 1 :])
    # Results may be older than a method's name.
    label = known[run.method].label if run.method in known else run.method
    return f"{label} ({variant.replace('-', ' ')})"


def numbered(identifier: str) -> str:
    """Return ``table03`` as "Table 3", ``figure01`` as "Figure 1"; nothing for an id of words."""
    match = re.fullmatch(r"(table|figure)0*(\d+)", identifier)
    return f"{match[1].capitalize()} {match[2]}" if match else ""


def anchor(identifier: str, what: str) -> str:
    """Return where a table or figure stands on the page: one id may name one of each."""
    return identifier if numbered(identifier) else f"{what}-{identifier}"


def headed(identifier: str, title: str) -> str:
    return ": ".join(filter(None, (numbered(identifier), title)))


def in_order(identifiers: Iterable[str]) -> list[str]:
    """Return ids of tables or figures as a page shows them: numbered ones by number, then the
    others in the order given, which is that of the experiment file.
    """
    return sorted(identifiers, key=lambda name: (not numbered(name), numbered(name) and name))
