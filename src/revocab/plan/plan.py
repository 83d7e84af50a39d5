"""The plan of one experiment: its runs, its paths, and one function per rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, cached_property
from inspect import signature
from pathlib import Path
from typing import Any

from revocab.closed import Step as StepName
from revocab.config.check_tasks import heldout_texts
from revocab.config.expand import Run
from revocab.config.layout import Layout
from revocab.config.lineage import checkpoint_of
from revocab.config.pairs import helper_pair
from revocab.config.paths import MANIFEST
from revocab.config.schema import Experiment, Source
from revocab.config.schema.evaluation import TaskText
from revocab.errors import RevocabError
from revocab.evaluation.probes.kind import ITEMS
from revocab.models.change import ModelReference
from revocab.plan.step import Artefact, Step
from revocab.report.asked import asked_scores


class Plan(Layout):
    """What an experiment computes. It composes names, writes nothing and reads no result."""

    def __init__(self, experiment: Experiment):
        super().__init__(experiment)
        self._jobs: dict[str, Step] = {}

    def step(self, rule: str, **wildcards: str) -> Step:
        """Return the job of a rule for its wildcards.

        Raises :class:`RevocabError` for an unknown rule.
        """
        rules = steps()
        if rule not in rules:
            raise RevocabError(f"rule {rule!r}: not known (known: {', '.join(sorted(rules))})")
        ids = signature(rules[rule]).bind(self, **wildcards).args[1:]
        return self._job("--".join([rule, *ids]))

    def argument(self, job: str, name: str) -> str:
        """Return one text of a job (``RULE--ID--ID``): its ``inputs`` or its ``job``, as JSON."""
        return self._job(job).texts()[name]

    def _job(self, name: str) -> Step:
        if name not in self._jobs:
            rule, *ids = name.split("--")
            step = steps()[rule](self, *ids)
            self._jobs[name] = replace(step, prefix=self.paths.argument(name))
        return self._jobs[name]

    # --- things that many jobs read -------------------------------------------------------------

    def folder(self, path: str, *files: str) -> Artefact:
        """Return a folder that is whole once some of its files (its manifest) are there."""
        return Artefact(path, tuple(f"{path}/{file}" for file in files or (MANIFEST,)))

    def corpus(self, corpus: str, part: str = "train") -> Artefact:
        """Return a prepared corpus, read for one of its parts."""
        return self.folder(self.paths.corpus(corpus), f"{part}.jsonl.gz")

    def corpora(self, corpora: Any, part: str = "train") -> dict[str, Artefact]:
        """Return prepared corpora by id, each once."""
        return {corpus: self.corpus(corpus, part) for corpus in dict.fromkeys(corpora)}

    def tokenizer(self, tokenizer: str) -> Artefact:
        """Return a tokenizer folder."""
        return self.folder(self.paths.tokenizer(tokenizer))

    def source(self, source: Source) -> list[Artefact]:
        """Return the files behind a source of text, none for the Hub."""
        return [Artefact.file(path) for path in source.files(self.paths.world)]

    def heldout_text(self, corpus: str) -> Artefact:
        """Return the file of what a corpus holds out."""
        return Artefact.file(f"{self.paths.corpus(corpus)}/heldout.jsonl.gz")

    def task_text(self, text: TaskText) -> list[Artefact]:
        """Return the files behind the texts of a generation task, none for the Hub."""
        return [self.heldout_text(text.heldout)] if text.heldout else self.source(text)

    def probe(self, task: str) -> Artefact:
        """Return the items of a task that are made from held-out text."""
        return Artefact.file(f"{self.paths.probe(task)}/{ITEMS}")

    @property
    def held_out(self) -> dict[str, Artefact]:
        """Return, by id, the corpora whose held-out text no training may read."""
        evaluation = self.experiment.evaluation
        tasks = evaluation.multiple_choice.tasks.values()
        asked = [corpus for task in tasks if task.probe for corpus in task.probe.corpora]
        asked += [corpus for _, corpus, _ in heldout_texts(self.experiment)]
        return self.corpora([*evaluation.heldout, *asked], "heldout")

    def results(self, part: str, *files: str) -> dict[str, Artefact]:
        """Return finished results and what a part of the report reads of the experiment."""
        folder, settings = self.paths.results, self.paths.settings(part)
        found = Artefact(folder, tuple(f"{folder}/{file}" for file in files))
        return {"results": found, "experiment": Artefact.file(settings)}

    def model(self, model: str) -> Artefact:
        """Return a model: a snapshot, the last checkpoint of its pretraining, or a changed one."""
        folder, given = self.paths.model(model), self.experiment.models[model]
        if given.pretrain:
            steps = self.experiment.recipes[given.pretrain.recipe].steps
            path = self.paths.checkpoint(folder, steps)
        else:
            path = folder if given.change() else f"{folder}/snapshot"
        return Artefact(path, (f"{folder}/{MANIFEST}",))

    def helper_pairs(self, helper: str | None, target: str) -> Artefact | None:
        """Return which tokens a helper and a target share; None where they have one tokenizer."""
        pair = helper_pair(self.experiment, helper, target)
        return self.folder(self.paths.intersection(*pair)) if pair else None

    def checkpoint(self, run: Run, step: StepName) -> Artefact:
        """Return the model of a run at a step, or its best; 0 is the one before training."""
        if not run.made:
            return self.model(run.source)
        folder = self.paths.run(run.id)
        if step == 0:
            return self.folder(f"{folder}/init")
        return Artefact(self.paths.checkpoint(folder, step), (f"{folder}/{MANIFEST}",))

    def origin(self, run: Run) -> Artefact:
        """Return the model that a method changes: another run's checkpoint, or the source model."""
        return self.other(run.start) if run.start else self.model(run.source)

    def root(self, run: str) -> Artefact:
        """Return the model that a run descends from, through any runs that it started from."""
        found = self.runs[run]
        while found.start:
            found = self.runs[found.start[0]]
        return self.model(found.source)

    def other(self, named: tuple[str, StepName]) -> Artefact:
        """Return the model of the run at the step that ``named`` gives."""
        run, step = named
        return self.checkpoint(self.runs[run], step)

    def referred(self, reference: ModelReference) -> Artefact:
        """Return what a model is made of: another model, or a run's checkpoint."""
        if isinstance(reference, str):
            return self.model(reference)
        return self.other((reference.run, checkpoint_of(self.experiment, reference)))

    def checkpoints(self, run: Run, steps: list[int]) -> dict[int, Artefact]:
        """Return a run's models by step."""
        return {step: self.checkpoint(run, step) for step in steps}

    @cached_property
    def _asked(self) -> dict[str, set[str]]:
        return asked_scores(self.experiment)

    def asked(self, run: Run, tasks: Iterable[str]) -> list[str]:
        """Return those of ``tasks`` that are shown of a run, or of one that has its scores."""
        groups = {one.group for one in self.runs.values() if one.scored_id == run.id}
        shown = set().union(*(self._asked.get(group, ()) for group in groups))
        return [task for task in tasks if task in shown]

    def choice_tasks(self, run: Run) -> list[str]:
        """Return the multiple-choice tasks on which a run is scored."""
        return self.asked(run, self.experiment.evaluation.multiple_choice.tasks)

    def generation_tasks(self, run: Run) -> list[str]:
        """Return the generative tasks on which a run is scored."""
        return self.asked(run, self.experiment.evaluation.generation.tasks)

    @cached_property
    def measured(self) -> list[Run]:
        """Return the runs whose held-out loss no training measures.

        A base model's stands where a run that keeps its vocabulary began, or where its own
        pretraining ended.
        """
        if not self.experiment.evaluation.heldout:
            return []
        begun = {
            run.group
            for run in self.runs.values()
            if run.trains and run.keeps_vocabulary and not run.start
        }
        return [
            run
            for run in self.runs.values()
            if not run.trains
            and run.scored_id == run.id
            and not (run.base and (run.group in begun or run.source in self.stand_ins))
            and self.heldout_length(run)
        ]

    # --- sets of things, for targets and wildcards ----------------------------------------------

    @property
    def answered(self) -> list[str]:
        """Return the corpora whose conversations a model answers here."""
        return [name for name, one in self.experiment.corpora.items() if one.answers]

    @property
    def judged(self) -> list[str]:
        """Return those of them whose answers are judged."""
        corpora = self.experiment.corpora.items()
        return [name for name, one in corpora if one.answers and one.answers.judge]

    @property
    def probes(self) -> list[str]:
        """Return the tasks whose items are made from held-out text."""
        tasks = self.experiment.evaluation.multiple_choice.tasks
        return [name for name, task in tasks.items() if task.probe]

    @property
    def trained(self) -> list[str]:
        """Return the ids of the runs that are trained."""
        return [run.id for run in self.runs.values() if run.trains]

    @cached_property
    def trainings(self) -> list[tuple[str, str, str]]:
        """Return tokenizer, mixture and recipe of every training: of runs, and of stand-ins."""
        runs = [(one.target, one.mixture, one.recipe) for one in self.runs.values()]
        models = [(one.tokenizer, one.pretrain) for one in self.experiment.models.values()]
        here = [(tokenizer, one.mixture, one.recipe) for tokenizer, one in models if one]
        trained = [(a, b, c) for a, b, c in runs if b is not None and c is not None]
        return list(dict.fromkeys([*trained, *here]))

    @property
    def made(self) -> list[str]:
        """Return the ids of the runs that a method makes."""
        return [run.id for run in self.runs.values() if run.made]

    @property
    def stand_ins(self) -> list[str]:
        """Return the models that are pretrained here."""
        return [name for name, model in self.experiment.models.items() if model.pretrain]

    @property
    def fetched(self) -> list[str]:
        """Return the models that come from the Hub or a folder."""
        return [name for name, model in self.experiment.models.items() if model.hub or model.path]

    @property
    def changed(self) -> list[str]:
        """Return the models that are made of others here."""
        return [name for name, model in self.experiment.models.items() if model.change()]

    @property
    def published(self) -> tuple[str, ...]:
        """Return the files of published values, none where the experiment names no folder."""
        folder = self.experiment.paper_values
        return tuple(sorted(map(str, Path(folder).glob("*.csv")))) if folder else ()


@cache
def steps() -> dict[str, Callable[..., Step]]:
    """Return the functions that plan the jobs of the rules, by the rule's name."""
    from revocab.plan import data, evaluation, models, report, training

    modules = (data, models, training, evaluation, report)
    return {
        name: one
        for module in modules
        for name, one in vars(module).items()
        if getattr(one, "__annotations__", {}).get("return") == "Step" and name[0] != "_"
    }
