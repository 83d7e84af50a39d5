"""What a probe recommends, by hand; and its experiment file."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import stdev

import pytest
import yaml

from revocab.adapting.choices import choose
from revocab.adapting.experiment_file import Asked
from revocab.adapting.probe import ProbeOptions
from revocab.adapting.probe_file import POINTS, Start, probe_text, rounded, starts
from revocab.adapting.probe_findings import (
    RECORD,
    Judgement,
    Probe,
    judge,
    read_probe,
    recommendation,
    sentences,
)
from revocab.adapting.source import look_at_stand_in
from revocab.adapting.texts import measure
from revocab.config import validate
from revocab.errors import RevocabError
from revocab.io import write_json

UNCHANGED = {1: 2.000, 2: 2.010, 3: 2.020}
STARTS = {"fvt": ("fvt", "together"), "random": ("random", "together")}


def beside(*differences: float) -> dict[int, float]:
    """Return the losses that differ by so much from those of UNCHANGED, seed by seed."""
    return {seed: UNCHANGED[seed] + each for seed, each in enumerate(differences, 1)}


def probe_of(judgement: Judgement, seeds: int = 3) -> Probe:
    return Probe(
        model="toy", place={"path": "/toy"}, languages=["sw"], vocabulary=640, saved=0.4, steps=64,
        tokens=32_768, seeds=seeds, judgement=judgement,
    )  # fmt: skip


CLEAR = judge(
    UNCHANGED, {"fvt": beside(-0.100, -0.101, -0.099), "random": beside(-0.05, -0.052, -0.048)},
    STARTS,
)  # fmt: skip
TIE = judge(
    UNCHANGED, {"fvt": beside(-0.100, -0.104, -0.096), "random": beside(-0.103, -0.100, -0.106)},
    STARTS,
)  # fmt: skip
WORSE = judge(
    UNCHANGED, {"fvt": beside(0.100, 0.101, 0.099), "random": beside(0.200, 0.203, 0.197)}, STARTS
)


def test_a_clear_winner_is_recommended_with_its_interval():
    assert (CLEAR.verdict, CLEAR.recommended) == ("adapt", "fvt")
    fvt, random = CLEAR.ranked
    gain = fvt.minus_unchanged
    assert gain is not None and gain.side == "below" and gain.value == pytest.approx(-0.1)
    # Two starts: each interval has 97.5 %, of which Student's t with 2 degrees is 6.2053.
    reach = 6.2053 * stdev([0.100, 0.101, 0.099]) / math.sqrt(3)
    assert (gain.low, gain.high) == pytest.approx((-0.1 - reach, -0.1 + reach), abs=1e-6)
    assert fvt.minus_best is None and fvt.may_be_best and not random.may_be_best
    assert random.minus_best is not None and random.minus_best.value == pytest.approx(0.05)
    said = recommendation(probe_of(CLEAR))
    assert said.startswith("adapt with fvt: 0.100 ± 0.004 bits per byte below the old vocabulary")
    assert "40% fewer tokens" in said
    assert "not the best, beyond chance: random" in [*sentences(probe_of(CLEAR))]


def test_of_a_tie_the_first_named_is_recommended():
    assert [entry.name for entry in TIE.ranked] == ["random", "fvt"]
    assert all(entry.may_be_best for entry in TIE.ranked)
    assert (TIE.verdict, TIE.recommended) == ("adapt", "fvt")
    told = "\n".join(sentences(probe_of(TIE)))
    assert "which of random, fvt is the best; fvt is named first, so it is taken" in told


def test_where_the_old_vocabulary_wins_nothing_is_recommended():
    assert (WORSE.verdict, WORSE.recommended) == ("keep", None)
    said = recommendation(probe_of(WORSE))
    assert said.startswith("do not adapt at this budget: after 32,768 tokens")
    assert "fvt, the best, ends 0.100 ± 0.004 bits per byte above the old" in said
    assert "ends above the old vocabulary beyond chance: fvt, random" in [
        *sentences(probe_of(WORSE))
    ]


def test_a_start_that_the_old_vocabulary_beats_is_not_taken_for_one_that_it_may_not_beat():
    # fvt is above it beyond chance; random may be, and its seeds differ too much to tell either.
    judgement = judge(
        UNCHANGED, {"fvt": beside(0.010, 0.0101, 0.0099), "random": beside(-0.2, 0.01, 0.2)}, STARTS
    )
    assert (judgement.verdict, judgement.recommended) == ("unclear", "random")
    assert "within chance" in recommendation(probe_of(judgement))
    # Where neither is above it, one that is below it goes before one of which that cannot be told.
    judgement = judge(
        UNCHANGED, {"fvt": beside(-0.2, 0.01, 0.2), "random": beside(-0.1, -0.101, -0.099)}, STARTS
    )
    assert (judgement.verdict, judgement.recommended) == ("adapt", "random")


@pytest.mark.parametrize(("seeds", "interval"), [(1, False), (2, True)])
def test_few_seeds_tell_nothing(seeds, interval):
    losses = {
        name: {seed: by_seed[seed] for seed in range(1, seeds + 1)}
        for name, by_seed in (("fvt", beside(-0.1, -0.1)), ("random", beside(0.3, 0.4)))
    }
    judgement = judge(UNCHANGED, losses, STARTS)
    assert (judgement.verdict, judgement.recommended) == ("unclear", "fvt")
    assert all(entry.may_be_best for entry in judgement.ranked)
    gain = judgement.ranked[0].minus_unchanged
    assert gain is not None and gain.side is None and (gain.low is not None) == interval
    told = "\n".join(sentences(probe_of(judgement, seeds)))
    assert f"with {seeds} of at least 3 seeds nothing is" in told
    assert ("(no interval)" in told) != interval


def test_a_start_that_blew_up_is_last_and_said():
    judgement = judge(UNCHANGED, {"fvt": beside(-0.1, -0.1, -0.1), "random": {}}, STARTS)
    assert [entry.name for entry in judgement.ranked] == ["fvt", "random"]
    assert judgement.recommended == "fvt" and judgement.ranked[1].loss is None
    assert "training blew up: random" in "\n".join(sentences(probe_of(judgement)))
    nothing = judge(UNCHANGED, {"fvt": {}, "random": {}}, STARTS)
    assert nothing.recommended is None
    assert "every training blew up" in recommendation(probe_of(nothing))
    alone = judge({}, {"fvt": beside(-0.1, -0.1, -0.1), "random": {}}, STARTS)
    assert "the old vocabulary has no loss" in recommendation(probe_of(alone))


def test_the_record_is_read_as_written_and_no_other(tmp_path):
    with pytest.raises(RevocabError, match=r"has no probe\.json"):
        read_probe(tmp_path)
    written = probe_of(CLEAR)
    write_json(tmp_path / RECORD, written.model_dump(mode="json"))
    assert read_probe(tmp_path) == written
    write_json(tmp_path / RECORD, {"model": "toy", "more": 1})
    with pytest.raises(RevocabError) as caught:
        read_probe(tmp_path)
    assert all("probe.json: " in problem for problem in caught.value.problems)


def test_all_methods_go_one_way_and_the_first_method_all_ways():
    assert starts(["fvt", "mean"], ["together", "rows-first"]) == [
        Start("fvt", "fvt", "together"),
        Start("mean", "mean", "together"),
        Start("fvt-rows-first", "fvt", "rows-first"),
    ]
    assert starts(["mean", "mean"], ["rows-first"]) == [
        Start("mean-rows-first", "mean", "rows-first")
    ]


@pytest.mark.parametrize("seeds", [1, 3])
def test_the_file_is_a_valid_experiment(tmp_path, seeds):
    for name in ("sw", "en"):
        (tmp_path / f"{name}.txt").write_text("a b\n" * 20_000, encoding="utf-8")
    texts = [measure(name, tmp_path / f"{name}.txt") for name in ("sw", "en")]
    place, source = look_at_stand_in()
    options = ProbeOptions(ways=["together", "rows-first", "embeddings-first"])
    choices = rounded(choose(source, texts[:1], texts[1:], tokens=10_000))
    assert choices.steps % POINTS == 0
    asked = Asked("revocab probe --demo", "Stand-in", place, "fvt", choices, experiment="probe")
    experiment = validate(
        yaml.safe_load(probe_text(asked, starts(options.methods, options.ways), seeds))
    )
    trained = [run for run in experiment.expanded.values() if run.trains]
    assert len(trained) == 7 * seeds
    assert {run.steps[-1] for run in trained} == {choices.steps}
    assert [*experiment.tables] == ["ranking-sw", "ranking-en", "orders", "tokenizers"]
    stages = experiment.recipes["probe-rows-first"].stages
    assert [stage.steps for stage in stages] == [round(0.2 * choices.steps), choices.steps - round(
        0.2 * choices.steps
    )]  # fmt: skip


def test_what_is_wrong_is_said_before_anything_is_written(tmp_path):
    from revocab.adapting.probe import probe

    for words, problem in (
        (["--methods", "fvt"], "MODEL comes first|give either MODEL"),
        ([str(tmp_path / "gone"), "--text", "it=gone.txt"], "no folder with a model"),
        (["m", "--text", "it=a", "--ways", "sideways"], "sideways|ways"),
        (["m", "--text", "it=a", "--seeds", "0"], "seeds"),
    ):
        with pytest.raises(RevocabError, match=problem):
            probe([*words, "--out", str(tmp_path / "new")])
    assert not Path(tmp_path / "new").exists()
