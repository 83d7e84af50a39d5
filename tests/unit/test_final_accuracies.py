"""The order of methods over seeds as a claim."""

from __future__ import annotations

import pytest

from revocab.report.claims import shipped


class Seeds:
    """Results of three runs with three seeds each, as the claim reads them."""

    def __init__(self, losses):
        self.losses = losses  # bits per byte at step 16 by name and seed
        self.experiment = type("E", (), {"runs": {"g": type("G", (), {"label": "Toy"})}})

    def run(self, name, seed):
        values = {
            "name": name, "id": f"{name}-{seed}", "seed": seed, "trains": True, "made": True,
            "method": name, "group": "g", "replicate_of": f"g-{name}",
        }  # fmt: skip
        return type("R", (), values)

    def group(self, group, evaluated=True):
        assert not evaluated
        return [self.run(name, None) for name in self.losses]

    def replicates(self, run):
        return [self.run(run.name, seed) for seed in sorted(self.losses[run.name], reverse=True)]

    def curve(self, run, language):
        assert language == "it"
        return {0: 9.0, 16: self.losses[run.name][run.seed], 32: 1.0}


CLEAR = {
    "random": {1: 1.40, 2: 1.41, 3: 1.39},
    "fvt": {1: 1.30, 2: 1.31, 3: 1.295},
    "sava": {1: 1.20, 2: 1.21, 3: 1.20},
}


@pytest.fixture(autouse=True)
def italian(monkeypatch):
    monkeypatch.setattr(shipped, "adapted_language", lambda results, group: "it")
    monkeypatch.setattr(shipped, "heldout_curve", Seeds.curve)


def test_an_order_that_every_seed_shows_holds():
    """FVT - SAVA: 0.10, 0.10, 0.095; mean 0.0983, t(2) 4.303, sd 0.0029: 0.0912 to 0.1055."""
    (claim,) = shipped.early_order(Seeds(CLEAR))
    assert claim.holds is True
    assert claim.statement.startswith("Toy: held-out Italian bits per byte at step 16, SAVA < FVT")
    assert "3 seeds: SAVA 1.2033 ± 0.0058; " in claim.numbers
    assert "FVT − SAVA 0.0983, 95 % interval 0.0912 to 0.1055" in claim.numbers


@pytest.mark.parametrize(
    ("changed", "holds"),
    [
        ({"fvt": {1: 1.30, 2: 1.15, 3: 1.31}}, None),  # one seed the other way
        ({"fvt": {1: 1.10, 2: 1.11, 3: 1.10}}, False),  # all the other way
    ],
)
def test_an_order_that_seeds_do_not_show(changed, holds):
    (claim,) = shipped.early_order(Seeds({**CLEAR, **changed}))
    assert claim.holds is holds


def test_two_seeds_claim_nothing():
    few = {name: {1: of[1], 2: of[2]} for name, of in CLEAR.items()}
    assert list(shipped.early_order(Seeds(few))) == []
    assert list(shipped.early_order(Seeds({"sava": CLEAR["sava"]}))) == []
