"""Fertility in the adapted language falls."""

from __future__ import annotations

from collections.abc import Iterator

from revocab.languages import language_label
from revocab.report.claim import Claim, ClaimKind
from revocab.report.results import Record, Results, number
from revocab.report.results.adapted_language import adapted_language

#: By how much it must fall.
WANTED = 0.2


def reductions(results: Results) -> list[Record]:
    """Return, for every pair of tokenizers that runs or ``intersections`` name, how much fertility
    falls on each corpus from the first tokenizer to the second.
    """
    measured = {
        (row["tokenizer"], row["corpus"]): (number(row["fertility"]), row["language"])
        for row in results.csv("fertility", "fertility.csv")
    }
    rows = []
    for source, target in results.tokenizer_pairs():
        for corpus in results.experiment.fertility.corpora:
            if (source, corpus) in measured and (target, corpus) in measured:
                before, language = measured[source, corpus]
                after = measured[target, corpus][0]
                assert before is not None and after is not None  # measured
                row = {"source": source, "target": target, "corpus": corpus, "language": language}
                rows.append({**row, "before": before, "after": after, "fall": 1 - after / before})
    return rows


def change_in_words(fall: float) -> str:
    return f"falls by {fall:.1%}" if fall >= 0 else f"rises by {-fall:.1%}"


def find(results: Results) -> Iterator[Claim]:
    adapted: dict[tuple[str, str], set[str | None]] = {}
    for run in results.runs:
        if not run.keeps_vocabulary:
            pair = (run.source_tokenizer, run.target)
            adapted.setdefault(pair, set()).add(adapted_language(results, run.group))
    everywhere = set().union(*adapted.values())
    for row in reductions(results):
        if row["language"] in adapted.get((row["source"], row["target"]), everywhere):
            known = f"; {row['target']} was trained on {row['corpus']}, so this flatters it"
            yield Claim(
                f"{language_label(row['language'])} fertility on {row['corpus']} falls by at least "
                f"{WANTED:.0%} from {row['source']} to {row['target']}",
                f"{row['before']:.3f} → {row['after']:.3f}: {change_in_words(row['fall'])}"
                + (known if row["corpus"] in results.trained_on(row["target"]) else ""),
                row["fall"] >= WANTED,
            )


CLAIMS = ClaimKind("fertility", place=1, find=find)
