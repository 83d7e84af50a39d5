"""Held-out losses compared: units by hand, table and figures."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from fake_results import change_experiment, fake_results, write_csv

from revocab.errors import RevocabError
from revocab.experiment import validate
from revocab.experiment.layout import Layout
from revocab.io import write_json
from revocab.report.make_tables import build_table
from revocab.report.results import Results
from revocab.report.results.heldout_losses import heldout_curve, training_progress
from revocab.report.runs import text_languages

#: Bits per byte of the Italian text by step, as measured every second step.
LOSSES = {
    "mistral-random": {0: 3.0, 2: 2.0, 4: 1.6, 6: 1.2, 8: 1.0},
    "mistral-sava": {0: 2.0, 2: 1.5, 4: 1.1, 6: 1.0, 8: 0.9},
}
RUNS = ["mistral-base", *LOSSES]
TABLE = {"kind": "heldout", "title": "Held-out loss", "runs": RUNS}
FIGURE = {
    "kind": "loss", "title": "Held-out loss", "runs": list(LOSSES), "training": False,
    "scale": "log",
}  # fmt: skip
#: 100 bytes of Italian in two corpora; the reference tokenizer has a token for every 4 bytes.
BYTES, TOKENS = {"world-it": 60, "more-it": 40}, {"world-it": 15, "more-it": 10}


@pytest.fixture
def root(tmp_path) -> Path:
    folder = fake_results(tmp_path / "results" / "demo", tables={"t": TABLE}, figures={"f": FIGURE})
    for run, losses in LOSSES.items():
        rows = [
            {"step": step, "corpus": corpus, "language": "it", "loss": 9.9, "tokens": 7,
             # One corpus above and one below, so that their mean by bytes is the loss.
             "bits_per_byte": loss + (0.4 if corpus == "world-it" else -0.6), "bytes": size}
            for step, loss in losses.items() for corpus, size in BYTES.items()
        ]  # fmt: skip
        write_csv(folder / "runs" / run / "heldout.csv", rows)
    corpora = {name: {"bytes": size, "tokens": TOKENS[name]} for name, size in BYTES.items()}
    write_json(folder / "heldout" / "source--64" / "manifest.json", {"corpora": corpora})
    return folder


def numbers(root: Path, **options: object) -> list[list[str]]:
    """Return the table's cells as shown, with other options."""
    change_experiment(root, "tables", "t", value={**TABLE, "languages": ["it"], **options})
    return [
        [cell.text if cell.text is not None else cell.number() for cell in row.cells]
        for row in build_table(Results(root), "t").data_rows()
    ]


def test_loss_in_tokens_of_another_tokenizer_by_hand(root):
    """Two bits per byte of 100 bytes are 200 ln 2 nats, over 25 tokens."""
    results = Results(root)
    run = results.run("mistral-sava")
    assert heldout_curve(results, run, "it") == pytest.approx(LOSSES["mistral-sava"])
    in_tokens = heldout_curve(results, run, "it", "source")
    assert in_tokens[0] == pytest.approx(2.0 * math.log(2) * 100 / 25)
    assert heldout_curve(results, run, "it", "target") == {}  # not counted
    assert heldout_curve(results, run, "en") == {}


def test_answers_in_conversations_are_not_text_of_a_language(root):
    corpus = Results(root).experiment.corpora["world-it"].model_dump(mode="json")
    chat = {**corpus, "messages_field": "messages"}
    change_experiment(root, "corpora", "world-it", value=chat)
    results = Results(root)
    losses = heldout_curve(results, results.run("mistral-sava"), "it")
    assert losses[0] == pytest.approx(LOSSES["mistral-sava"][0] - 0.6)  # of the other corpus
    answers = heldout_curve(results, results.run("mistral-sava"), "it", answers=True)
    assert answers[0] == pytest.approx(LOSSES["mistral-sava"][0] + 0.4)
    assert text_languages(results.experiment) == ["en"]


def test_counts_of_another_text_are_not_taken(root):
    other = {"corpora": {"world-it": {"bytes": 61, "tokens": 15}}}
    write_json(root / "heldout" / "source--64" / "manifest.json", other)
    assert heldout_curve(Results(root), Results(root).run("mistral-sava"), "it", "source") == {}


def test_the_correction_of_gosal_et_al_by_hand(root):
    """A cuts a text into 50 tokens, B into 20, with 4.5 nats each: 1.8 in the unit of A."""
    bits = 20 * 4.5 / math.log(2) / 100
    row = {"step": 0, "corpus": "text", "language": "it", "loss": 4.5, "bits_per_byte": bits}
    write_csv(root / "runs/mistral-sava/heldout.csv", [{**row, "tokens": 20, "bytes": 100}])
    counted = {"corpora": {"text": {"bytes": 100, "tokens": 50}}}
    write_json(root / "heldout" / "source--64" / "manifest.json", counted)
    results = Results(root)
    run = results.run("mistral-sava")
    assert heldout_curve(results, run, "it", "source") == pytest.approx({0: 1.8})


def test_the_table_by_hand(root):
    shown = numbers(root, steps=[0, 6])
    assert [row[0] for row in shown] == ["Mistral stand-in", "Random", "SAVA"]
    assert shown[1][1:] == ["3.000", "1.200"]
    assert shown[2][1:] == ["2.000", "1.000"]
    table = build_table(Results(root), "t")
    assert [cell.mark for cell in table.rows[1].cells[1:]] == ["second", "second"]
    assert table.rows[0].cells[1].mark is None  # the base model is not ranked
    assert table.rows[2].cells[1].provenance == "runs/mistral-sava/heldout.csv"


def test_an_experiment_without_heldout_text_is_told(demo):
    demo["evaluation"]["heldout"] = []
    with pytest.raises(RevocabError) as caught:
        validate({**demo, "tables": {"t": TABLE}})
    line = "tables.t: shows held-out loss, and evaluation.heldout names no corpus; name one"
    assert line in caught.value.problems


def test_steps_between_checkpoints_are_known_to_the_file(demo):
    demo["recipes"]["adapt"]["heldout_every"] = 16
    experiment = validate({**demo, "tables": {"t": {**TABLE, "steps": [0, 16, "last"]}}})
    assert experiment.recipes["adapt"].heldout_steps[:3] == [0, 16, 32]


def test_the_reference_tokenizers_counts_are_made_first(demo):
    column = {"heldout": {"language": "it", "reference": "source"}}
    runs = {"kind": "runs", "title": "T", "runs": ["mistral-sava"], "columns": [column]}
    tables = {"t": runs}
    layout = Layout(validate({**demo, "tables": tables, "figures": {}}))
    length = demo["recipes"]["adapt"]["sequence_length"]
    file = f"results/demo/heldout/source--{length}/manifest.json"
    assert layout.read_by_tables == [file]


def test_bytes_seen_by_hand(root):
    """100 tokens of 4 bytes each, then 100 of 2 bytes: a stage with another mixture."""
    rows = [
        {"step": step, "tokens": 100 * step, "loss": 2.0, "learning_rate": 0, "gradient_norm": 1,
         "bits_per_byte": 2.0 / (size * math.log(2))}
        for step, size in ((1, 4), (2, 2))
    ]  # fmt: skip
    write_csv(root / "runs/mistral-sava/losses.csv", rows)
    results = Results(root)
    run = results.run("mistral-sava")
    assert training_progress(results, run, "bytes") == pytest.approx({0: 0, 1: 4e-4, 2: 6e-4})
    assert training_progress(results, run, "steps") == {0: 0, 1: 1, 2: 2}


def test_curves_hold_every_measured_step(root):
    results = Results(root)
    options = results.experiment.figures["f"].model_copy(update={"languages": ["it"]})
    ((panel,),) = options.rows(results, [results.run(run) for run in RUNS])
    assert list(panel.curves) == list(LOSSES)  # the base model is a level
    losses = {step: loss for step, loss, _ in panel.curves["mistral-sava"]}
    assert losses == pytest.approx(LOSSES["mistral-sava"])
