"""Code that changes after the small experiment was built: what runs again, what is kept."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import planning
import pytest
import yaml
from revocab.plan.kept import LASTING
from run_snakemake import copy_checkout, succeed
from snakemake.settings.types import RerunTrigger

from revocab import code_identity
from revocab.chat import template
from revocab.evaluation.multiple_choice import tasks
from revocab.plan import decide

EXPERIMENT = "tests/experiments/small.yaml"
#: As profiles/slurm has them.
KEEPING = RerunTrigger.all() - {RerunTrigger.CODE}
TRAINED = ["adapt_model", "pretrain_stand_in"]
DRAWN = {"make_figures", "build_report", "check_artefacts", "make_tables"}


class Edited(planning.Checkout):
    """A copy of the repository with the small experiment built in it."""

    @property
    def package(self) -> Path:
        """Return the copy of the package."""
        return self.folder / "src/revocab"

    def edit(self, name: str, old: str, new: str) -> None:
        """Change a module, where ``old`` stands."""
        text = (self.package / name).read_text()
        assert old in text
        (self.package / name).write_text(text.replace(old, new, 1))
        code_identity.code_of.cache_clear()
        code_identity.modules.cache_clear()

    def kept(self, **changes) -> planning.Plan:
        """Return what is planned where a change of code alone trains nothing."""
        return self.plan(changes, triggers=KEEPING)


@pytest.fixture
def edited(small, repository, tmp_path, monkeypatch):
    """The small experiment, finished, in a copy of the repository that can be changed."""
    copy_checkout(repository, tmp_path)
    snakemakes = [f".snakemake/{name}" for name in ("metadata", "incomplete")]
    for name in (f"results/{small.name}", f"resources/{small.name}", *snakemakes):
        shutil.copytree(repository / name, tmp_path / name, copy_function=os.link)
    (tmp_path / "tests/experiments").mkdir(parents=True)
    shutil.copy2(repository / EXPERIMENT, tmp_path / EXPERIMENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(code_identity, "__file__", str(tmp_path / "src/revocab/code_identity.py"))
    # The package that plans is the repository's; its templates are those of the copy.
    monkeypatch.setattr(
        tasks, "TEMPLATES", tmp_path / "src/revocab/evaluation/multiple_choice/templates"
    )
    monkeypatch.setattr(template, "FOLDER", tmp_path / "src/revocab/chat/templates")
    values = yaml.safe_load((repository / EXPERIMENT).read_text())
    yield Edited(tmp_path, tmp_path, values)
    code_identity.code_of.cache_clear()
    code_identity.modules.cache_clear()


def test_words_and_colours_train_nothing(edited):
    assert edited.plan().needed == set()
    edited.edit("training/loop/trainer.py", "from __future__", "# A comment.\nfrom __future__")
    edited.edit("io.py", '    """Write ``text`` atomically', '    """Atomically write ``text``')
    assert edited.plan().needed == set()
    method = (edited.package / "initialise/methods/sava.py").read_text()
    colour = next(line for line in method.splitlines() if "colour=" in line)
    edited.edit("initialise/methods/sava.py", colour, '    colour="#123456",')
    edited.edit("report/figure_parts/style.py", '"font.size": 9', '"font.size": 8')
    edited.edit("cli.py", "NO_ROOM = ", "MORE = NO_ROOM = ")
    assert edited.plan().rules() <= DRAWN


def test_code_of_the_training_trains_again(edited):
    edited.edit("training/loop/trainer.py", "from __future__ import annotations", "CHANGED = 1")
    plan = edited.plan()
    assert plan.needed == plan.fed(TRAINED)
    assert {"adapt_model:mistral-sava", "pretrain_stand_in:helper"} <= plan.needed


def test_where_trainings_are_kept_they_are_asked_for_or_accepted(edited, capsys):
    edited.edit("training/loop/trainer.py", "from __future__ import annotations", "CHANGED = 1")
    capsys.readouterr()
    assert edited.kept().needed == set()
    told = capsys.readouterr().err
    assert "  adapt_model mistral-sava, mistral-instruct: training/loop/trainer.py\n" in told
    assert "revocab rerun" in told and "revocab accept" in told
    flags = ["--configfile", EXPERIMENT]
    decide.rerun(["mistral-sava", *flags])
    plan = edited.kept()
    assert plan.needed == plan.fed(["adapt_model:mistral-sava"])
    assert "mistral-sava" not in capsys.readouterr().err
    decide.accept(flags)
    capsys.readouterr()
    assert edited.kept().needed == edited.plan().needed == set()
    assert "training/loop/trainer.py" not in capsys.readouterr().err
    # Another option trains again as ever; and so does code of another day.
    plan = edited.kept(**{"recipes.train.learning_rate": 0.5})
    assert {"adapt_model:mistral-sava", "pretrain_stand_in:mistral"} <= plan.needed
    edited.edit("training/loop/trainer.py", "CHANGED = 1", "CHANGED = 2")
    assert edited.plan().needed == plan.fed(TRAINED)


def test_what_trainings_read_is_kept_with_them_and_the_rest_is_not(edited, capsys):
    """A module of everyone's, whose change would else train again by way of the corpora."""
    edited.edit("io.py", "from __future__ import annotations", "CHANGED = 1")
    everything = edited.plan()
    assert everything.needed >= everything.fed(["prepare_corpus", "build_demoworld"])
    kept = edited.kept()
    assert not kept.rules() & LASTING
    assert {"score_multiple_choice", "make_tables"} <= kept.rules()
    assert "revocab rerun --all" in capsys.readouterr().err
    decide.accept(["--configfile", EXPERIMENT])
    assert edited.plan().needed == edited.kept().needed == set()


def test_the_cluster_keeps_and_says_so_on_the_command_line(edited):
    edited.edit("training/loop/trainer.py", "from __future__ import annotations", "CHANGED = 1")
    call = ["--dry-run", "--configfile", EXPERIMENT, "--profile", "profiles/slurm"]
    said = succeed(edited.folder, *call, PYTHONPATH=str(edited.folder / "src"))
    assert "Nothing to be done" in said
    assert f"revocab accept --configfile {EXPERIMENT}\n" in said
