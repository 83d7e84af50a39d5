"""Every wrong option of a table or figure is one line that names its key."""

from __future__ import annotations

import pytest
from test_heldout_kinds import FIGURE as CURVES
from test_heldout_kinds import TABLE as HELDOUT
from test_models_by_language import TABLE as MODELS
from test_run_kinds import TABLES
from test_sweep_kinds import EXAMPLES, SWEEP, with_runs

from revocab.errors import RevocabError
from revocab.experiment import validate

RUNS = TABLES["runs"]


def column(**values: object) -> dict:
    return {"columns": [values]}


#: What is wrong in which table or figure, and how the line about it goes on after its key.
WRONG = [
    (RUNS, {"runs": ["mistral-sawa"]}, ".runs: no run 'mistral-sawa'"),
    (RUNS, {"runs": []}, ".runs: "),
    (RUNS, {"columns": []}, ".columns: "),
    (RUNS, column(), ".columns.0: exactly one of tokens, bytes, heldout"),
    (RUNS, column(tokens={"language": "de"}),
     ".columns.0.tokens.language: no language of a corpus 'de'"),
    (RUNS, column(heldout={"language": "de"}),
     ".columns.0.heldout.language: no language with held-out text 'de'"),
    (RUNS, column(heldout={"language": "it", "step": 1}),
     ".columns.0.heldout.step: held-out loss is measured at no step 1"),
    (RUNS, column(first_step_loss={"per": "word"}),
     ".columns.0.first_step_loss.per: "),
    (RUNS, column(average={}), ".columns.0.average: exactly one of language, named"),
    (RUNS, column(average={"language": "de"}),
     ".columns.0.average.language: no language with tasks 'de'"),
    (RUNS, column(average={"named": ["mmlu"]}), ".columns.0.average.named: no task 'mmlu'"),
    (RUNS, column(average={"language": "it", "step": 3}),
     ".columns.0.average.step: 3 is not a checkpoint of run 'mistral-fvt'"),
    (RUNS, column(fertility={"corpus": "web"}),
     ".columns.0.fertility.corpus: no corpus under fertility.corpora 'web'"),
    (RUNS, {"columns": [{"tokens": {}}, {"tokens": {}}]}, ": columns: two are called 'Tokens (M)'"),
    (RUNS, column(average={"named": []}), ".columns.0.average.named: "),
    (RUNS, column(average={"named": ["mmlu_it", "mmlu_it"]}),
     ".columns.0.average.named: names 'mmlu_it' 2 times"),
    (RUNS, column(average={"named": ["squad_it"], "metrics": {"squad_it": "bleu"}}),
     ".columns.0.average.metrics.squad_it: no metric of its kind 'bleu'"),
    (RUNS, column(average={"named": ["mmlu_it"], "metrics": {"mmlu_it": "acc"}}),
     ".columns.0.average.metrics: no generation task 'mmlu_it'"),
    (MODELS, {"into": "de", "family": None},
     ".blocks: language 'it' has no translation of this table; add one"),
    (MODELS, {"into": "en", "heldout": True, "family": None}, ": into and heldout are given"),
    (MODELS, {"change": "ratio"}, ".change: "),
    (HELDOUT, {"runs": ["mistral-sawa"]}, ".runs: no run 'mistral-sawa'"),
    (HELDOUT, {"runs": []}, ".runs: "),
    (HELDOUT, {"languages": ["de"]}, ".languages: no language with held-out text 'de'"),
    (HELDOUT, {"languages": []}, ".languages: "),
    (HELDOUT, {"steps": [1]}, ".steps: held-out loss is measured at no step 1 of these runs"),
    (HELDOUT, {"steps": ["middle"]}, ".steps: held-out loss is measured at no step 'middle'"),
    (RUNS, column(heldout={"language": "it", "reference": "sourse"}),
     ".columns.0.heldout.reference: no tokenizer 'sourse'"),
    (HELDOUT, {"unit": "bits"}, ".unit: unknown key"),
    (CURVES, {"reference": "mistral-fvt"}, ".reference: no run of the figure 'mistral-fvt'"),
    (CURVES, {"over": "epochs"}, ".over: "),
    (CURVES, {"scale": "root"}, ".scale: "),
    (CURVES, {"languages": ["de"]}, ".languages: no language with held-out text 'de'"),
    (SWEEP, {"group": "mistrall"}, ".group: no run group 'mistrall'"),
    (SWEEP, {"rows": "speed"}, ".rows: no axis of runs of group 'mistral' 'speed'"),
    (SWEEP, {"columns": "rate"}, ".columns: 'rate' is the axis of the rows; name another"),
    (SWEEP, {"value": {}}, ".value: exactly one of tokens, bytes"),
    (SWEEP, {"value": {"heldout": {"language": "de"}}}, ".value.heldout.language: no language"),
    (EXAMPLES, {"task": "squad"}, ".task: no generation task 'squad'"),
    (EXAMPLES, {"task": "mmlu_it"}, ".task: no generation task 'mmlu_it'"),
    (EXAMPLES, {"runs": ["mistral-sawa"]}, ".runs: no run 'mistral-sawa'"),
    (EXAMPLES, {"runs": []}, ".runs: "),
    (EXAMPLES, {"number": 0}, ".number: "),
    (MODELS, {"base": "Bases"}, ": base: no column 'Bases'"),
    (MODELS, {"base": None, "change": "percent"}, ": change needs base"),
    (MODELS, {"blocks": [{"languages": ["it", "it"]}]}, ": blocks: it: name each language"),
    (MODELS, {"metric": "bleu"}, ": metric is that of translations; give into or out_of"),
    (MODELS, {"averages": [3]}, ": averages: 3 languages; blocks have 2"),
    (MODELS, {"columns": {"A": {"it": "mistral-sawa"}}, "base": None},
     ".columns.A.it: no run 'mistral-sawa'"),
    (MODELS, {"columns": {"A": {"itt": "mistral-sava"}}, "base": None},
     ".columns.A: no language of blocks, corpora or tasks 'itt'"),
    (MODELS, {"family": "xnli"},
     ".blocks: language 'en' has no multiple-choice task of this table; add one"),
    (MODELS, {"step": 3}, ".step: 3 is not a checkpoint of run 'mistral-sava'"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "changes", "start"), WRONG)
def test_every_wrong_option_is_one_line(demo, options, changes, start):
    values = with_runs(demo) if options is SWEEP else demo
    sections = ["tables", "figures"] if options is SWEEP else ["tables"]
    for section in ["figures"] if options is CURVES else sections:
        shown = {"tables": {}, "figures": {}, section: {"t": {**options, **changes}}}
        with pytest.raises(RevocabError) as caught:
            validate({**values, **shown})
        found = [one for one in caught.value.problems if one.startswith(f"{section}.t{start}")]
        assert len(found) == 1, caught.value.problems
