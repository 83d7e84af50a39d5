"""Items whose best choices tie within rounding get the harness's own scores; others do not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from evaluation_toys import IT_ROWS, TWIN_ROWS, plant_twins, write_model, write_task

from revocab.evaluation.inference import shared_contexts
from revocab.evaluation.inference.shared_contexts import UNITS, batch_mates, near_ties, undecided
from revocab.evaluation.multiple_choice.scoring import Scorer
from revocab.evaluation.options import Scoring

EPS = 2.0**-23
BATCH_SIZE = 8


@pytest.fixture(scope="module")
def workplace(tmp_path_factory, repository):
    """A model with twin tokens; a task of near ties and one of decided items."""
    folder = tmp_path_factory.mktemp("ties")
    model = plant_twins(write_model(folder / "model", seed=3))
    ties = write_task(folder, repository, "ties", TWIN_ROWS, "arc_easy_it")
    far = write_task(folder, repository, "far", IT_ROWS, "arc_easy_it")
    return model, ties, far


def score(model, tasks, *, share_contexts):
    """Return the loaded model and by task the log-likelihoods and the items' scores."""
    scorer = Scorer(tasks, Scoring(batch_size=BATCH_SIZE, device="cpu"))
    loaded, found = scorer.load(model), {}
    loaded.shares_contexts &= share_contexts
    for name in scorer.paths:
        scorer.score(loaded, name)
        (task,) = scorer.tasks[name]["tasks"].values()
        found[name] = (
            [one.resps[0] for one in task.instances],
            [(one["acc"], one["acc_norm"]) for one, *_ in task.item_scores],
        )
    return loaded, found


def test_far_items_of_a_task_with_near_ties_keep_the_shared_scores(
    workplace, repository, tmp_path, monkeypatch
):
    model = workplace[0]
    mixed = write_task(tmp_path, repository, "mixed", [*TWIN_ROWS, *IT_ROWS], "arc_easy_it")
    _, plain = score(model, [mixed], share_contexts=False)
    settled, ours = score(model, [mixed], share_contexts=True)
    assert settled.rescored == len(TWIN_ROWS)
    monkeypatch.setattr(shared_contexts, "near_ties", lambda *_: [])
    _, shared = score(model, [mixed], share_contexts=True)
    near = sum(len(row["choices"]) for row in TWIN_ROWS)
    scores = [of["mixed"][0] for of in (ours, plain, shared)]
    assert scores[0] == scores[1][:near] + scores[2][near:]
    assert scores[1][near:] != scores[2][near:]  # else either would do


def test_batches_that_are_too_large_are_cut(workplace, monkeypatch):
    model, ties, _ = workplace
    monkeypatch.setattr(shared_contexts, "LOGITS", 1)
    sizes = []
    whole = shared_contexts.HFLM._model_call
    monkeypatch.setattr(
        shared_contexts.HFLM,
        "_model_call",
        lambda self, tokens, **rest: sizes.append(len(tokens)) or whole(self, tokens, **rest),
    )
    settled, _ = score(model, [ties], share_contexts=True)
    assert settled.rescored == len(TWIN_ROWS)
    assert set(sizes) == {1} and settled.batch_size == BATCH_SIZE


def test_a_batch_holds_as_many_rows_as_its_mask_may(monkeypatch):
    """Of ten tokens each: a hundred entries of the mask a row."""
    monkeypatch.setattr(shared_contexts, "MASK_ENTRIES", 300)
    rows = [shared_contexts.SharedContext([0] * 10, [(number, [1])]) for number in range(7)]
    limits = SimpleNamespace(batch_size=100, batch_tokens=100)
    batches = shared_contexts.SharedContextLM._batches(limits, rows)
    assert [len(batch) for batch in batches] == [3, 3, 1]
    limits.batch_tokens = 29
    assert [*map(len, shared_contexts.SharedContextLM._batches(limits, rows))] == [2, 2, 2, 1]
    limits.batch_size, limits.batch_tokens = 4, 1000
    rows[0].requests *= 4  # a batch by itself
    assert [*map(len, shared_contexts.SharedContextLM._batches(limits, rows))] == [1, 3, 3]


def test_batches_are_those_of_the_harness(workplace):
    """Any request, scored again with its batch, has the bits it has among all."""
    model, ties, far = workplace
    scorer = Scorer([ties, far], Scoring(batch_size=4, device="cpu"))
    lm = scorer.load(model)
    lm.shares_contexts = False
    requests = []
    for loaded in scorer.tasks.values():
        for task in loaded["tasks"].values():
            task.build_all_requests()
            requests += [(one.args, *lm._encode_pair(*one.args)) for one in task.instances]
    whole = lm._loglikelihood_tokens(requests, disable_tqdm=True)
    for i in range(0, len(requests), 5):
        mates = batch_mates(requests, [i], 4)
        assert i in mates and len(mates) < len(requests)
        again = lm._loglikelihood_tokens([requests[j] for j in mates], disable_tqdm=True)
        assert again == [whole[j] for j in mates]


def item(scores, tokens=1, lengths=None, texts=None, doc=0):
    """Return instances, requests and answers of one item."""
    instances, requests = [], []
    for i in range(len(scores)):
        one = SimpleNamespace(task_name="t", doc_id=doc, args=("c", texts[i] if texts else str(i)))
        if lengths:
            one.choice_length = lengths[i]
        instances.append(one)
        requests.append((one.args, [1], [2] * tokens))
    return instances, requests, [(score, False) for score in scores]


@pytest.mark.parametrize(
    ("scores", "options", "near"),
    [
        ([-10.0, -10.0 - 10 * UNITS * EPS], {}, True),
        ([-10.0, -10.0 - 40 * UNITS * EPS], {}, False),
        ([-1e-3, -2e-3], {}, False),
        # Nearly certain tokens: their number counts, not their log-likelihood.
        ([-1e-6, -2e-6], {"tokens": 3}, True),
        ([-5.0, -9.0, -9.0], {}, False),  # a tie below the best decides nothing
        ([-5.0, -5.0, -9.0], {"texts": ["a", "a", "b"]}, False),  # one text twice is no tie
        ([-5.0, -5.0, -5.0], {"texts": ["a", "a", "b"]}, True),
        ([-10.0, -20.0], {"lengths": [5, 10]}, True),  # per character
        ([-10.0, -20.0], {"lengths": [5, 11]}, False),
        ([-10.0, -20.0], {"lengths": [5, 0]}, False),
        ([-10.0], {}, False),
        ([-10.0, -20.0, -1.0, -1.0], {"lengths": [5, 11, None, None]}, False),  # mutual information
    ],
)
def test_which_items_are_near(scores, options, near):
    assert near_ties(*item(scores, **options), EPS) == ([list(range(len(scores)))] if near else [])


def test_items_of_one_call_are_told_apart():
    parts = [item([-5.0, -5.0], doc=0), item([-5.0, -7.0], doc=1), item([-3.0, -3.0], doc=2)]
    joined = [[one for part in column for one in part] for column in zip(*parts, strict=True)]
    assert near_ties(*joined, EPS) == [[0, 1], [4, 5]]


def test_errors_of_both_choices_add_up():
    assert undecided([(1.0, 0.1), (0.85, 0.06)])
    assert not undecided([(1.0, 0.1), (0.85, 0.04)])
    assert undecided([(1.0, 0.1), (0.99, 0.0), (0.0, 0.1)])
