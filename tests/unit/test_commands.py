"""Commands and their jobs: names, help, defaults in one place, and what both ways to call make."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from importlib import import_module, metadata
from inspect import get_annotations
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from revocab import __main__ as entry
from revocab.answering.options import AnswerJob, AnswerOptions
from revocab.closed import Job
from revocab.command import Command, read
from revocab.commands.compare_runs import ComparisonJob
from revocab.config import schema
from revocab.config.schema import data, evaluation, experiment, models, runs
from revocab.corpora.options import CorpusJob, CorpusOptions
from revocab.demoworld.build import WorldJob, WorldOptions
from revocab.errors import RevocabError
from revocab.evaluation import options
from revocab.evaluation.embedding_similarity import (
    EmbeddingSimilarityJob,
    EmbeddingSimilarityOptions,
)
from revocab.evaluation.generation.kind import PromptOptions, generation_kinds
from revocab.evaluation.generation.prompts import PromptJob
from revocab.evaluation.multiple_choice.tasks import TaskJob, TaskOptions
from revocab.fertility.measure import FertilityJob, FertilityOptions
from revocab.flags import leaves
from revocab.initialise.options import InitJob, ScaleJob, ScaleOptions
from revocab.initialise.reading.fasttext import AuxiliaryJob, FastTextOptions
from revocab.intersection.intersect import IntersectionJob
from revocab.models.parameters import Architecture, StandInJob
from revocab.training.data.heldout import HeldoutJob
from revocab.training.data.packing import PackingJob
from revocab.training.recipe import ConversationOptions, PackingOptions, Recipe, TrainingOptions
from revocab.training.run import Settings

NAMES = sorted(entry.command_files())
#: A component's options, the job that adds what an experiment knows, and the part of its file.
OPTIONS = [
    (WorldOptions, WorldJob, experiment.Experiment.model_fields["world"].annotation),
    (CorpusOptions, CorpusJob, data.Corpus),
    (AnswerOptions, AnswerJob, data.OwnAnswers),
    (FertilityOptions, FertilityJob, evaluation.Fertility),
    (EmbeddingSimilarityOptions, EmbeddingSimilarityJob, evaluation.Similarity),
    (options.ScoringOptions, options.ScoringJob, evaluation.MultipleChoice),
    (options.GenerationOptions, options.GenerationJob, evaluation.Generation),
    (options.EfficiencyOptions, options.EfficiencyJob, evaluation.Efficiency),
    *(
        (PromptOptions, PromptJob, evaluation.with_sources(one.options))
        for one in generation_kinds().values()
    ),
    (options.SignificanceOptions, ComparisonJob, options.SignificanceOptions),
    (TaskOptions, TaskJob, evaluation.Task),
    (Architecture, StandInJob, models.Pretraining.model_fields["architecture"].annotation),
    (FastTextOptions, AuxiliaryJob, runs.AuxiliaryVectors),
    (ScaleOptions, ScaleJob, runs.Scale),
    (PackingOptions, PackingJob, Recipe),
    (TrainingOptions, Settings, Recipe),
    (ConversationOptions, HeldoutJob, Recipe),
]


def command(name: str) -> Command:
    return import_module(f"revocab.commands.{name}").COMMAND


def inside(annotation: Any) -> set[Any]:
    """Return every type in an annotation, those of models within included."""
    found, waiting = set(), [annotation]
    while waiting:
        one = waiting.pop()
        if get_origin(one) is not None:
            waiting += get_args(one)
        elif isinstance(one, type) and one not in found:
            found.add(one)
            if issubclass(one, BaseModel):
                waiting += [field.annotation for field in one.model_fields.values()]
    return found


# What there is -----------------------------------------------------------------------------------


def test_every_module_has_a_command_and_a_line_of_help():
    assert len(NAMES) > 25
    for name in NAMES:
        assert isinstance(command(name), Command), name
        first = import_module(f"revocab.commands.{name}").__doc__.split("\n")[0]
        assert (
            entry.summary(entry.command_files()[name]) == first
            and first.endswith(".")
            and len(first) > 20
        )
    assert set(entry.VERBS.values()) <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_key_has_a_name_of_its_own(name):
    keys = [key for model in command(name).parts.values() for key, _ in leaves(model)]
    assert len({*keys, "out"}) == len(keys) + 1
    parts = [key for model in command(name).parts.values() for key in model.model_fields]
    assert len(set(parts)) == len(parts), "a part and a key of one name"


@pytest.mark.parametrize("verb", entry.VERBS)
def test_every_flag_of_a_verb_has_a_help(verb):
    parts = command(entry.VERBS[verb]).parts.values()
    assert [key for model in parts for key, field in leaves(model) if not field.description] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_job_holds_no_path_and_inputs_hold_paths_only(name):
    parts = command(name)
    assert issubclass(parts.job, Job)
    assert not {one for one in inside(parts.job) if issubclass(one, Path)}
    for key, field in parts.inputs.model_fields.items():
        assert Path in inside(field.annotation), key
    assert not {one for one in inside(parts.machine) if issubclass(one, Path)}


# Defaults ----------------------------------------------------------------------------------------


def owner(model: type[BaseModel], name: str) -> type:
    """Return the class that says what a field is."""
    return next(one for one in model.__mro__ if name in get_annotations(one))


@pytest.mark.parametrize(
    ("own", "job", "part"), OPTIONS, ids=lambda one: getattr(one, "__name__", "")
)
def test_no_default_is_written_twice(own, job, part):
    """The job and the experiment's part inherit the component's options."""
    members = [one for one in get_args(part) if one is not type(None)]
    part = members[0] if members else part
    assert issubclass(job, own) and issubclass(part, own) and issubclass(job, Job)
    for name, field in own.model_fields.items():
        for user in (job, part):
            if not user.model_fields[name].is_required():
                assert owner(user, name) is owner(own, name), f"{user.__name__}.{name}"
                assert user.model_fields[name].default == field.default


def test_the_table_of_options_lists_every_job_that_has_some():
    """A job without any takes all that it holds from the experiment."""
    listed = {job for _, job, _ in OPTIONS}
    for name in NAMES:
        job = command(name).job
        bases = [
            one for one in job.__mro__[1:] if one.__name__.endswith(("Options", "Architecture"))
        ]
        assert not bases or job in listed, name


def test_what_makes_two_tokens_one_is_bytes_everywhere():
    places = (InitJob, IntersectionJob, ScaleJob, runs.RunGroup)
    assert {one.model_fields["identity"].default for one in places} == {"bytes"}


def test_the_schema_is_what_it_says():
    assert schema.Experiment is experiment.Experiment


# Both ways to call -------------------------------------------------------------------------------


RULE = {
    "inputs": {"models": {"0": "a b/,x"}, "tasks": ["t=1.yaml"]},
    "job": {"run": "r", "limit": 5},
    "machine": {"batch_size": 3},
}
BY_HAND = (
    *("--models", "0=a b/,x", "--tasks", "t=1.yaml", "--run", "r", "--limit", "5"),
    *("--batch-size", "3", "--out", "s.csv"),
)


def rule_words(parts: dict, out: str = "s.csv") -> list[str]:
    words = [word for name, one in parts.items() for word in (f"--{name}", json.dumps(one))]
    return [*words, "--out", out]


def test_a_rule_and_a_person_ask_for_the_same():
    scoring = command("score_multiple_choice")
    asked = read(scoring, "score", rule_words(RULE))
    assert asked == read(scoring, "score", BY_HAND)
    assert asked.inputs.models == {0: Path("a b/,x")} and asked.job.shots == 0
    assert asked.out == Path("s.csv")


@pytest.mark.parametrize(
    ("words", "problems"),
    [
        (
            rule_words({"inputs": {"models": {}, "task": []}, "job": {"run": "r", "shot": 1}}),
            [
                *("inputs.models: ", "inputs.tasks: required", "inputs.task: unknown key"),
                "job.shot: unknown key",
            ],
        ),
        (rule_words({**RULE, "job": {"run": "r", "shot": 1}}), ["job.shot: unknown key"]),
        ([*rule_words(RULE), "--inputs"], ["with --job: give pairs"]),
        ([*rule_words(RULE), "--run", "r"], ["with --job: give pairs of --inputs, --job"]),
        (rule_words(RULE)[:-2], ["with --job: give pairs"]),
        (["--job", '{"run": ', "--out", "o"], ["job: "]),
    ],
)
def test_what_is_wrong_with_a_rules_call_is_said(words, problems):
    with pytest.raises(RevocabError) as caught:
        read(command("score_multiple_choice"), "score", words)
    for problem in problems:
        assert any(line.startswith(problem) for line in caught.value.problems), caught.value


def test_a_step_is_a_whole_number():
    words = ["--models", "last=m", "--tasks", "t.yaml", "--run", "r", "--out", "o"]
    with pytest.raises(RevocabError, match="--models: 'last' is not a whole number"):
        read(command("score_multiple_choice"), "score", words)


# The command itself ------------------------------------------------------------------------------


def test_the_version_is_that_of_the_distribution(capsys):
    for flag in ("--version", "-V"):
        entry.main([flag])
        assert capsys.readouterr().out == f"revocab {metadata.version('revocab')}\n"


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_the_first_page_shows_four_groups_of_at_most_seven_verbs(words, capsys):
    entry.main(words)
    shown = re.findall(r"^(\S.*):$|^  (\S+) ", capsys.readouterr().out, re.MULTILINE)
    assert [group for group, _ in shown if group] == ["start", "ship", "step by step", "experiment"]
    verbs = [verb for _, verb in shown if verb]
    assert verbs == [verb for group in entry.GROUPS.values() for verb in group]
    assert {*verbs} <= {*entry.BEGUN, *entry.VERBS, *entry.PLANNED} and len({*verbs}) == len(verbs)
    assert max(map(len, entry.GROUPS.values())) <= 7


def test_every_step_is_one_word_further(capsys):
    entry.main(["help", "steps"])
    shown = re.findall(r"^  (\S+) +\S", capsys.readouterr().out, re.MULTILINE)
    assert shown == [*entry.VERBS, *(name for name in NAMES if name not in entry.VERBS.values())]


@pytest.mark.parametrize("verb", ["adapt", "init", "run", "plan", "collect_scores"])
def test_help_of_a_verb_is_the_verbs_help(verb, capsys):
    shown = []
    for words in (["help", verb], [verb, "--help"]):
        with suppress(SystemExit):
            entry.main(words)
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] and shown[0].startswith(f"usage: revocab {verb} ")


@pytest.mark.parametrize("name", [*entry.VERBS, *sorted(set(NAMES) - set(entry.VERBS.values()))])
def test_every_verb_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as ended:
        entry.main([name, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f"usage: revocab {name}" in shown and "--out" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scor"], "'scor': no such verb; see revocab --help; did you mean 'score'?"),
        (["__init__"], "'__init__': no such verb"),
        (["../cli"], "'../cli': no such verb"),
        (["score", "--taks", "x"], "--taks: no such flag; see revocab score --help; did you mean"),
        (["score"], "--models: required and not given"),
        (["help", "scor"], "'scor': no such verb"),
        (["score", "--limit", "x"], "--limit"),
        (["score", "--models", "x"], "--models 'x': expected STEP="),
        (["adapt", "--out", "x"], "give either MODEL"),
        (["advise", "--json"], "MODEL comes first"),
        (["compare", "one"], "give two models"),
        (["plan", "--devices", "0"], "--devices"),
        (["plan", "--configfile"], "--configfile"),
    ],
)
def test_a_wrong_call_is_one_clear_line(words, said, capsys):
    with pytest.raises(SystemExit) as ended:
        entry.main(words)
    assert ended.value.code == 2
    shown = capsys.readouterr().err
    assert said in shown and "Traceback" not in shown


def test_help_imports_no_library_that_takes_seconds(repository):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "revocab", "--help"],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(repository / "src")},
    )  # fmt: skip
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "revocab" in imported
    assert not imported & {"torch", "transformers", "pandas", "datasets", "snakemake"}
