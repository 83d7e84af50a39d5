"""Recipes as data: budgets in steps, named recipes, stages and the parameters they train."""

from __future__ import annotations

import pytest
import torch
import yaml
from pydantic import ValidationError

from revocab.errors import RevocabError
from revocab.experiment import validate
from revocab.experiment.expand import as_json, stage_mixtures
from revocab.training.data.packing import PackingJob
from revocab.training.named_recipes import FOLDER, laid_over, recipe_names, with_named_recipes
from revocab.training.recipe import PackingOptions, Recipe, TrainingOptions
from revocab.training.run import Settings
from revocab.training.stages import PeakRates, Stage, StagePlan
from revocab.verb import read
from revocab.verbs import find

SHAPE = {"sequence_length": 16, "batch_size": 4, "checkpoint_every": 10}
ADAPTERS = {"name": "a", "steps": 1, "train": "embeddings", "adapter": {"auxiliary": 0.1}}
TWO = [
    {"name": "begin", "train": "embeddings", "share": 0.25, "learning_rate": 2e-3},
    {"name": "end", "share": 0.75, "learning_rate": 1e-3},
]


def recipe(**values):
    return Recipe.model_validate({**SHAPE, **values})


# Budgets ------------------------------------------------------------------------------------------


def test_tokens_and_shares_become_steps():
    found = recipe(tokens=6401, warmup_share=0.1, learning_rate=1e-3)
    assert (found.steps, found.warmup_steps, found.tokens) == (101, 11, None)


def test_stages_take_shares_and_inherit():
    found = recipe(steps=40, warmup_share=0.1, weight_decay=0.2, stages=TWO)
    assert [(s.steps, s.warmup_steps, s.weight_decay) for s in found.stages] == [
        (10, 1, 0.2), (30, 3, 0.2)
    ]  # fmt: skip
    assert (found.stages[0].train, found.stages[1].train) == (["embeddings"], ["all"])
    assert (found.warmup_steps, found.learning_rate) == (0, 2e-3)
    assert Recipe.model_validate(found.model_dump()) == found


def test_stages_in_steps_and_tokens_make_the_total():
    stages = [{"name": "a", "tokens": 65}, {"name": "b", "steps": 7}]
    assert recipe(learning_rate=1e-3, stages=stages).steps == 2 + 7


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"steps": 4, "tokens": 64}, "steps and tokens are both given"),
        ({"steps": 4, "warmup_steps": 1, "warmup_share": 0.1}, "both given"),
        ({"steps": 4, "stages": [{"name": "a", "steps": 5}]}, "5 steps in all, but the recipe"),
        ({"stages": [{"name": "a"}]}, "exactly one of steps, tokens, share"),
        ({"stages": [{"name": "a", "share": 1.0}]}, "a share needs the recipe's own"),
        ({"steps": 4, "stages": [{"name": "a", "share": 0.5}]}, "they must sum to 1"),
        ({"steps": 4, "stages": [{"name": "a", "steps": 2}] * 2}, "give each stage its own"),
        ({"stages": [{"name": "best", "steps": 1}]}, "best names a checkpoint; rename the stage"),
        ({"stages": [{"name": "a", "steps": 1, "train": "("}]}, "not a regular expression"),
        ({"stages": [{"name": "a", "steps": 1, "train": "lora"}]}, "train names 'lora'; give lora"),
        ({"stages": [{"name": "a", "steps": 1, "lora": {"rank": 1, "alpha": 1}}]}, "leaves it out"),
        ({"stages": [{"name": "a", "steps": 1, "colour": 1}]}, "Extra inputs"),
        ({"stages": [{"name": "a", "steps": 1, "adapter": {}}]}, "train is all; give train: emb"),
        (
            {"stages": [{"name": "a", "steps": 1}, {**ADAPTERS, "name": "b"}]},
            "b has adapter, and is not the first stage",
        ),
        (
            {"stages": [{**ADAPTERS, "adapter": {"shared": True}, "groups": {"lm_head": {}}}]},
            "groups gives lm_head rates of their own, and embedding and head share an adapter",
        ),
    ],
)
def test_contradictions_are_named(values, message):
    with pytest.raises(ValidationError, match=message):
        recipe(learning_rate=1e-3, **values)


# Named recipes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", recipe_names())
def test_every_named_recipe_is_whole_and_scales(name):
    values = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
    whole = Recipe.model_validate(values)
    small = Recipe.model_validate(laid_over(values, {**SHAPE, "steps": 30}))
    assert small.steps == 30
    assert len(small.stages or ()) == len(whole.stages or ())


def test_parallel_text_is_learned_as_alma_does():
    """One epoch of 120,000 directions of pairs, some of them held out, is at most 468 steps."""
    given = Recipe.model_validate(yaml.safe_load((FOLDER / "alma.yaml").read_text()))
    assert (given.batch_size, given.sequence_length, given.learning_rate) == (256, 512, 2e-5)
    assert (given.warmup_steps, given.weight_decay, given.gradient_clip) == (5, 0.01, 1.0)
    assert given.steps <= 120_000 // 256 and given.checkpoint_every == given.steps // 10
    assert given.keep_best and given.one_per_row and given.loss == "answers"


def test_the_papers_recipes_are_those_of_its_experiment(repository):
    ours = yaml.safe_load((FOLDER / "sava.yaml").read_text())
    paper = yaml.safe_load((repository / "config/sava.yaml").read_text())["recipes"]
    # The order of rows is the release's, and says nothing of how one trains.
    ours = {**ours, "shuffle_rows": True}
    assert Recipe.model_validate(ours) == Recipe.model_validate(paper["mistral"])
    llama = {"sequence_length": 8192, "batch_size": 512, "steps": 3000, "checkpoint_every": 300}
    assert Recipe.model_validate({**ours, **llama}) == Recipe.model_validate(paper["llama"])
    text = yaml.safe_load((FOLDER / "sava-constant.yaml").read_text())
    assert Recipe.model_validate(text).schedule == "constant"


def test_an_experiment_takes_a_recipe_by_name(demo):
    plain = validate(demo)
    assert plain.recipes["adapt"].stages is None
    demo["recipes"]["adapt"] = {"like": "gosal", "steps": 128, **SHAPE, "checkpoint_every": 64}
    adapt = validate(demo).recipes["adapt"]
    assert (adapt.steps, [stage.steps for stage in adapt.stages]) == (128, [35, 93])


def test_budgets_of_stages_keep_their_proportions_or_are_changed_one_by_one():
    """15 and 40 B tokens in batches of 960 x 4096: ceil(15e9 / 3,932,160) = 3,815 steps first."""
    values = yaml.safe_load((FOLDER / "gosal.yaml").read_text())

    def steps(changes: dict) -> list[int]:
        recipe = Recipe.model_validate(laid_over(values, changes))
        return [stage.steps for stage in recipe.stages]

    assert steps({}) == [3815, 10173]
    assert steps({"steps": 110}) == [30, 80]
    assert steps({"stages": {"embeddings": {"steps": 7}, "everything": {"tokens": 1}}}) == [7, 1]


def staged_demo(demo, **mixtures):
    """Return the demo's values with Gosal et al.'s recipe, its stages' mixtures given by name."""
    stages = {stage: {"mixture": mixture} for stage, mixture in mixtures.items()}
    changes = {"like": "gosal", **SHAPE, "steps": 128, "checkpoint_every": 64}
    demo["recipes"]["adapt"] = {**changes, "stages": stages}
    return demo


def test_an_experiment_gives_stages_of_a_named_recipe_their_mixtures(demo):
    values = staged_demo(demo, embeddings="adaptation", everything="bilingual")
    experiment = validate(values)
    first, second = experiment.recipes["adapt"].stages
    assert (first.mixture, second.mixture) == ("adaptation", "bilingual")
    assert (first.steps, second.steps, first.train) == (35, 93, ["embeddings"])
    runs = {run["id"]: run for run in as_json(experiment)["runs"]}
    assert runs["mistral-fvt"]["stage_mixtures"] == {
        "embeddings": "adaptation", "everything": "bilingual"
    }  # fmt: skip
    assert "stage_mixtures" not in runs["mistral-base"]


def test_a_stage_without_a_mixture_has_the_groups(demo):
    values = staged_demo(demo, everything="bilingual")
    experiment = validate(values)
    adapt = experiment.recipes["adapt"]
    assert stage_mixtures(adapt, "adaptation") == {
        "embeddings": "adaptation", "everything": "bilingual"
    }  # fmt: skip
    # Both the same: laid out without regard to stages, as if neither were named.
    assert stage_mixtures(adapt, "bilingual") == {}


def test_a_run_that_keeps_its_vocabulary_has_no_new_rows_to_train(demo):
    """All other runs of the recipe have some, whatever made them."""
    values = staged_demo(demo, embeddings="adaptation")
    values["recipes"]["adapt"]["stages"]["embeddings"]["train"] = "new_rows"
    with pytest.raises(RevocabError) as caught:
        validate(values)
    runs = {line.partition(".recipe: ")[0] for line in caught.value.problems}
    assert all("trains new_rows, but method 'lapt' makes none" in p for p in caught.value.problems)
    assert "runs.mistral.methods.lapt" in runs and len(runs) == len(caught.value.problems)


def test_stages_are_changed_by_name_only_where_they_are_named(demo):
    values = staged_demo(demo, embedings="adaptation")
    with pytest.raises(RevocabError, match="no stage 'embedings'"):
        validate(values)
    del values["recipes"]["adapt"]["like"]
    with pytest.raises(RevocabError, match=r"recipes\.adapt\.stages: stages by name change those"):
        validate(values)


def test_a_recipe_like_another_of_the_file_and_one_of_its_own_name(demo):
    """A recipe's own name is that of the package; other names are those of the file first."""
    demo["recipes"]["gosal"] = {"like": "gosal", **SHAPE, "steps": 110, "checkpoint_every": 55}
    stages = {"everything": {"learning_rate": 1e-3}}
    demo["recipes"]["last"] = {"like": "faster", "adam_beta2": 0.9}
    demo["recipes"]["faster"] = {"like": "gosal", "stages": stages}
    recipes = validate(demo).recipes
    assert [stage.steps for stage in recipes["faster"].stages] == [30, 80]
    assert recipes["faster"].stages[1].learning_rate == 1e-3
    assert recipes["last"] == recipes["faster"].model_copy(update={"adam_beta2": 0.9})


WRONG_LIKE = {
    "a circle": (
        {"a": {"like": "b"}, "b": {"like": "c"}, "c": {"like": "a"}}, ["recipes.c.like"]
    ),
    "itself, and no such": ({"a": {"like": "a"}}, ["recipes.a.like"]),
    "like a wrong one": (
        {"a": {"like": "b"}, "b": {"like": "sava", "steps": 0}}, ["recipes.b.steps"]
    ),
    "like no mapping": ({"a": {"like": "b"}, "b": [1]}, ["recipes.b"]),
    "no name": ({"a": {"like": [1]}}, ["recipes.a.like"]),
    "the old key": ({"a": {"from": "sava"}}, ["recipes.a.from"]),
    "a stage of another": (
        {"a": {"like": "b", "stages": {"third": {}}}, "b": {"like": "gosal"}}, ["recipes.a.stages"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_LIKE)
def test_a_recipe_that_is_like_no_other_is_one_line(demo, case):
    recipes, keys = WRONG_LIKE[case]
    demo["recipes"] |= recipes
    with pytest.raises(RevocabError) as caught:
        validate(demo)
    assert [line.partition(": ")[0] for line in caught.value.problems] == keys


def test_a_mixture_by_size_needs_room(demo):
    demo["mixtures"]["adaptation"] = {"world-it": "size", "world-en": 0.25}
    assert validate(demo).mixtures["adaptation"]["world-it"] == "size"
    demo["mixtures"]["adaptation"]["world-en"] = 1.0
    with pytest.raises(RevocabError, match="leaves nothing for the corpora with share 'size'"):
        validate(demo)


# Stages -------------------------------------------------------------------------------------------


def test_schedules_start_anew_in_each_stage():
    first = Stage(
        name="a", steps=10, learning_rate=1e-3, warmup_steps=2, final_learning_rate_share=0.1
    )
    second = Stage(name="b", steps=20, learning_rate=5e-4, schedule="constant", warmup_steps=4)
    plan = StagePlan([first, second])
    rates = (PeakRates(1e-3, 0.0), PeakRates(5e-4, 0.1))
    for step in range(10):
        assert plan.learning_rate(rates, step) == pytest.approx(1e-3 * first.factor(step))
    assert [plan.learning_rate(rates, step) for step in (10, 12, 14, 29)] == pytest.approx(
        [0, 2.5e-4, 5e-4, 5e-4]
    )
    assert [plan.learning_rate((None, rates[1]), step) for step in (5, 29)] == [0.0, 5e-4]
    assert [plan.index(step) for step in (0, 9, 10, 29, 30)] == [0, 0, 1, 1, 1]


def pico(tied):
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=30, hidden_size=16, intermediate_size=16, num_hidden_layers=2,
            num_attention_heads=2, tie_word_embeddings=tied,
        )
    )  # fmt: skip


@pytest.mark.parametrize("tied", [False, True])
def test_groups_by_name_by_pattern_and_by_matrix(tied):
    stages = [
        Stage(name="a", steps=1, learning_rate=1e-3, train=("embeddings",)),
        Stage(
            name="b", steps=1, learning_rate=1e-4, weight_decay=0.1,
            groups={"embeddings": {"learning_rate": 1e-5}, "norms": {"weight_decay": 0.0}},
        ),
        Stage(name="c", steps=1, learning_rate=1e-4, train=(r"layers\.1\.mlp",)),
    ]  # fmt: skip
    groups = StagePlan(stages).groups(pico(tied))
    assert sum(len(group.names) for group in groups) == len(list(pico(tied).parameters()))
    by_name = {name: group.rates for group in groups for name in group.names}
    matrices = ["model.embed_tokens.weight", *([] if tied else ["lm_head.weight"])]
    for name in matrices:
        assert by_name[name] == (PeakRates(1e-3, 0.0), PeakRates(1e-5, 0.1), None)
    assert by_name["model.norm.weight"] == (None, PeakRates(1e-4, 0.0), None)
    assert by_name["model.layers.1.mlp.up_proj.weight"] == (
        None, PeakRates(1e-4, 0.1), PeakRates(1e-4, 0.0)
    )  # fmt: skip


def test_a_pattern_that_fits_nothing():
    stage = Stage(name="a", steps=1, learning_rate=1e-3, train=("embedings",))
    with pytest.raises(RevocabError, match="stage a: 'embedings' fits no parameter"):
        StagePlan([stage]).groups(pico(False))


def test_stages_and_a_warmup_that_do_not_fit_the_run():
    run = {"steps": 3, "batch_size": 1, "learning_rate": 1, "checkpoint_every": 1, "seed": 1}
    with pytest.raises(ValidationError, match="2 steps in all, but steps is 3"):
        Settings(**run, stages=[Stage(name="a", steps=2, learning_rate=0.1)])
    with pytest.raises(ValidationError, match="warmup_steps: 4; give 0 to 3"):
        Settings(**run, warmup_steps=4)


# By hand -----------------------------------------------------------------------------------------

PACKING = "--tokenizer t --corpora a=b --out o --seed 1"
TRAINING = "--model m --packed p --heldout h --out o --seed 1"


def by_hand(command: str, words: str):
    """Return the job that a person asks for."""
    return read(find(command), "revocab", words.split()).arguments.options


@pytest.mark.parametrize("name", recipe_names())
def test_a_named_recipe_by_hand_is_that_of_an_experiment(name):
    """The jobs of packing, held-out text and training: what a rule would pass."""
    values, _ = with_named_recipes({"recipes": {"one": {"like": name}}})
    recipe = Recipe.model_validate(values["recipes"]["one"])
    training = by_hand("train_model", f"{TRAINING} --recipe {name}")
    options = recipe.model_dump(include=set(TrainingOptions.model_fields))
    assert training == Settings(**options, seed=1)
    packing = by_hand("pack_tokens", f"{PACKING} --recipe {name}")
    options = recipe.model_dump(include=set(PackingOptions.model_fields))
    assert packing == PackingJob(**options, rows=recipe.steps * recipe.batch_size, seed=1)
    words = f"--tokenizer t --corpora a=b --out o --recipe {name}"
    assert by_hand("pack_heldout", words).sequence_length == recipe.sequence_length


def test_flags_change_a_named_recipe():
    job = by_hand("train_model", f"{TRAINING} --recipe gosal --steps 100 --checkpoint-every 10")
    assert [stage.steps for stage in job.stages] == [27, 73] and job.batch_size == 960
    job = by_hand("pack_tokens", f"{PACKING} --recipe sava --rows 8 --stages a=3 b=5")
    assert (job.rows, job.stages, job.sequence_length) == (8, {"a": 3, "b": 5}, 2048)
    job = by_hand("train_model", f"{TRAINING} --recipe sava --warmup-steps 3")
    assert job.warmup_steps == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--recipe lepp", "--recipe: no recipe 'lepp' (known: alma, "),
        ("--recipe lep --steps 5 --tokens 5", "--recipe lep: steps and tokens are both given"),
        ("--recipe lep --steps 5 --learning-rate 0", "--learning-rate: "),
    ],
)
def test_a_named_recipe_that_cannot_be(words, said):
    with pytest.raises(RevocabError) as caught:
        by_hand("train_model", f"{TRAINING} {words}")
    assert any(one.startswith(said) for one in caught.value.problems), caught.value
