"""Names that readers see, the order of columns, and the metric that stands for each benchmark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from revocab.config.expand import Run

#: Benchmark families in the paper's column order, with the paper's spelling first.
FAMILIES = {
    "hellaswag": "Hellaswag",
    "mmlu": "MMLU",
    "arc_easy": "Arc Easy",
    "piqa": "PIQA",
    "sciq": "SciQ",
    "boolq": "BoolQ",
    "arc_challenge": "Arc Challenge",
    "truthfulqa_mc1": "TruthfulQA MC1",
    "xcopa": "XCOPA",
    "exams": "EXAMS",
    "invalsi": "INVALSI",
    "xnli": "XNLI",
    "belebele": "Belebele",
    "m_mmlu": "Multilingual MMLU",
    "race": "RACE",
    "social_iqa": "SIQA",
    "openbookqa": "OpenBookQA",
    "winogrande": "WinoGrande",
    "crows_pairs": "CrowS-Pairs",
    "commonsense_qa": "CommonsenseQA",
}

#: The metric shown and averaged for each family; any other family shows :data:`DEFAULT_METRIC`.
#: The paper does not say which it reports. ASSUME acc_norm (log-likelihood per character, fair
#: between tokenizers) where the choices are free text of different lengths and lm-eval reports it;
#: acc where they are letters or yes and no. ``collect_scores.py --metric FAMILY=METRIC`` overrides.
METRIC_OF_FAMILY = {
    "hellaswag": "acc_norm",
    "arc_easy": "acc_norm",
    "arc_challenge": "acc_norm",
    "piqa": "acc_norm",
    "sciq": "acc_norm",
    "mmlu": "acc",
    "boolq": "acc",
}
DEFAULT_METRIC = "acc"

#: Accuracy of blind guessing where the items are not at hand to count their choices.
CHANCE_OF_FAMILY = {
    "hellaswag": 0.25, "mmlu": 0.25, "arc_easy": 0.25, "piqa": 0.5, "sciq": 0.25, "boolq": 0.5,
    "arc_challenge": 0.25, "xcopa": 0.5, "exams": 0.25, "xnli": 1 / 3, "belebele": 0.25,
    "m_mmlu": 0.25, "race": 0.25, "social_iqa": 1 / 3, "openbookqa": 0.25, "winogrande": 0.5,
    "commonsense_qa": 0.2,
}  # fmt: skip

METHODS = {
    "random": "Random",
    "random-all": "Random (all rows)",
    "mean": "Mean",
    "fvt": "FVT",
    "clp": "CLP",
    "clp-sparsemax": "CLP+",
    "sava": "SAVA",
    "lapt": "LAPT",
    "omp": "OMP",
}

METRICS = {
    "acc": "acc",
    "acc_norm": "acc_norm",
    "comet22": "COMET-22",
    "xcomet": "xCOMET",
    "chrf++": "chrF++",
    "bleu": "BLEU",
    "rougeL": "ROUGE-L",
    "exact_match": "EM",
    "f1": "F1",
    "copy_ratio": "Copy ratio",
    "copied": "Copied",
}

LANGUAGES = {
    "it": "Italian", "en": "English", "ar": "Arabic", "ru": "Russian", "sw": "Swahili",
    "el": "Greek", "id": "Indonesian", "et": "Estonian", "ht": "Haitian Creole", "ko": "Korean",
    "bg": "Bulgarian", "uk": "Ukrainian", "kk": "Kazakh",
}  # fmt: skip


def family_label(family: str) -> str:
    """Return a family as a column header."""
    return FAMILIES.get(family, family)


def family_rank(family: str) -> tuple[int, str]:
    """Return a sort key: the paper's families in its order, then others by name."""
    order = list(FAMILIES)
    return (order.index(family) if family in order else len(order), family)


def language_label(language: str) -> str:
    """Return a language's English name, or its id."""
    return LANGUAGES.get(language, language)


def method_label(run: Run) -> str:
    """Return a run's row label: the group's label for the base model, else method and variant.

    A run called ``sava-anchors200`` with method ``sava`` is "SAVA (anchors 200)".
    """
    if run.method == "base":
        return run.label
    if run.name in METHODS:
        return METHODS[run.name]
    shown = METHODS.get(run.method, run.method.upper())
    if not run.name.startswith(f"{run.method}-"):
        return run.name if run.name != run.method else shown
    variant = re.sub(r"(?<=[a-z])(?=\d)", " ", run.name[len(run.method) + 1 :])
    return f"{shown} ({variant.replace('-', ' ')})"


def main_metric(family: str, overrides: Mapping[str, str] | None = None) -> str:
    """Return the metric that stands for a family."""
    return {**METRIC_OF_FAMILY, **(overrides or {})}.get(family, DEFAULT_METRIC)


def numbered(identifier: str) -> str:
    """Return ``table03`` as "Table 3", ``figure01`` as "Figure 1"; nothing for an id of words."""
    match = re.fullmatch(r"(table|figure)0*(\d+)", identifier)
    return f"{match[1].capitalize()} {match[2]}" if match else ""


def headed(identifier: str, title: str) -> str:
    """Return the title of a table or figure after its number, where it has one."""
    return ": ".join(filter(None, (numbered(identifier), title)))


def in_order(identifiers: Iterable[str]) -> list[str]:
    """Return ids of tables or figures as a page shows them: numbered ones first."""
    return sorted(identifiers, key=lambda one: (not numbered(one), one))
