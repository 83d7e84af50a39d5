"""Tables that are no scores of checkpoints: parameters, fertility, similarity and prompts."""

from __future__ import annotations

from typing import Any

from revocab.report import notes
from revocab.report.layout import Cell, Line, Table, mark_best, text
from revocab.report.names import language_label, method_label
from revocab.report.results import Results, number


def parameters_table(results: Results, identifier: str, entry: dict[str, Any]) -> Table:
    """Return Table 1: vocabulary size and parameter count, counted on the meta device."""
    counts = {(r["label"], int(r["vocabulary_size"])): r for r in results.csv("parameters.csv")}
    lines = []
    for one in results.experiment["parameters"]:
        found = counts.get((one["label"], one["vocabulary_size"]))
        printed = results.paper.parameters(one["label"])
        shown = human(int(found["parameters"])) if found else "–"
        if printed:
            shown += f" ({printed})"
        exact = f"{int(found['parameters']):,}" if found else "–"
        lines.append(
            Line(
                [
                    text(one["label"]),
                    text(str(one["vocabulary_size"])),
                    text(shown, "parameters.csv"),
                    text(exact, "parameters.csv"),
                ]
            )
        )
    return Table(
        identifier,
        entry["kind"],
        entry["title"],
        ["Model", "Vocabulary", "Parameters", "Exactly"],
        lines,
        [
            "Counted from the architectures alone, without weights. a.w.: adapted with.",
            *notes.published(results),
        ],
    )


def human(count: int) -> str:
    """Return a parameter count as papers print it, such as ``7.24B`` or ``8.1M``."""
    if count >= 1e9:
        return f"{count / 1e9:.2f}B"
    return f"{count / 1e6:.1f}M" if count >= 1e6 else f"{count / 1e3:.0f}K"


def fertility_table(results: Results, identifier: str, entry: dict[str, Any]) -> Table:
    """Return Table 2: mean tokens per word, tokenizers by corpora."""
    setting = results.experiment["fertility"]
    rows = {(r["tokenizer"], r["corpus"]): r for r in results.csv("fertility", "fertility.csv")}
    corpora = results.experiment["corpora"]
    lines = []
    for tokenizer in setting["tokenizers"]:
        cells = []
        for corpus in setting["corpora"]:
            row = rows.get((tokenizer, corpus))
            cells.append(
                Cell(
                    number(row["fertility"]) if row else None,
                    published=results.paper.fertility(tokenizer, corpus),
                    provenance="fertility/fertility.csv",
                )
            )
        lines.append(Line([text(tokenizer), *cells]))
    return Table(
        identifier,
        entry["kind"],
        entry["title"],
        ["Tokenizer", *setting["corpora"]],
        lines,
        [
            fertility_note(rows),
            *trained_on_note(results),
            *notes.published(results),
            *notes.synthetic(results),
        ],
        over=["", *[language_label(corpora[one]["language"]) for one in setting["corpora"]]],
    )


def fertility_note(rows: dict[Any, dict[str, str]]) -> str:
    """Return how fertility was measured, and on how much text."""
    note = "Mean over documents of tokens per word; lower is better."
    splitters = sorted({row["splitter"] for row in rows.values()})
    if splitters:
        note += f" Words split by {', '.join(splitters)}."
    sizes = {r["corpus"]: (int(r["documents"]), int(r["bytes"])) for r in rows.values()}
    parts = [
        f"{corpus} {n:,} documents, {size / 1e6:.1f} MB" for corpus, (n, size) in sizes.items()
    ]
    return f"{note} Text measured: {'; '.join(parts)}." if parts else note


def trained_on_note(results: Results) -> list[str]:
    """Return which tokenizers were trained here on a corpus that they are measured on."""
    setting = results.experiment["fertility"]
    parts = []
    for tokenizer in setting["tokenizers"]:
        train = results.experiment["tokenizers"][tokenizer]["train"] or {"corpora": {}}
        seen = [corpus for corpus in setting["corpora"] if corpus in train["corpora"]]
        if seen:
            parts.append(f"{tokenizer} on {', '.join(seen)}")
    if not parts:
        return []
    return [f"Trained on text that is measured here, which flatters them: {'; '.join(parts)}."]


def similarity_table(results: Results, identifier: str, entry: dict[str, Any]) -> Table:
    """Return Table 7: similarity to the helper at the beginning and end of training."""
    values = {
        (row["group"], row["run"], row["step"]): row
        for row in results.similarities
        if row["kind"] == "helper"
    }
    by_name: dict[str, dict[str, Any]] = {}
    for group in entry["groups"]:
        for run in results.group(group):
            if run.trains and run.target != run.source_tokenizer:
                by_name.setdefault(run.name, {})[group] = run
    lines = []
    for runs in by_name.values():
        cells = []
        for group in entry["groups"]:
            run = runs.get(group)
            for step in (run.steps[0], run.steps[-1]) if run else ():
                row = values.get((group, run.id, step))
                model = results.model_label(run)
                cells.append(
                    Cell(
                        row["similarity"] if row else None,
                        published=results.paper.similarity(model, step, run.name),
                        scale=100,
                        provenance=row["provenance"] if row else None,
                    )
                )
            if run is None:
                cells += [text("–"), text("–")]
        lines.append(Line([text(method_label(next(iter(runs.values())))), *cells]))
    mark_best(lines)
    header, over = ["Model"], [""]
    for group in entry["groups"]:
        steps = sorted({run.steps[-1] for run in results.group(group) if run.trains})
        header += ["@0", f"@{steps[0]}" if len(steps) == 1 else "@last"]
        over += [results.experiment["runs"][group]["label"]] * 2
    return Table(
        identifier,
        entry["kind"],
        entry["title"],
        header,
        lines,
        [
            similarity_note(results, entry["groups"]),
            "Best in bold, second underlined.",
            *notes.published(results),
            *notes.synthetic(results),
        ],
        over=over,
    )


def similarity_note(results: Results, groups: list[str]) -> str:
    """Return how similarity was measured, and to which helper."""
    setting = results.experiment["similarity"]
    helpers = sorted({results.experiment["runs"][group]["helper"] or "none" for group in groups})
    kind = "dot products with" if setting["relative"] == "dot" else "cosines to"
    return (
        f"Mean cosine × 100 between relative representations of the input embeddings ({kind} "
        f"{setting['anchors']} word-start and {setting['anchors']} continuation anchors). "
        f"Helper: {', '.join(helpers)}. Runs that keep the source vocabulary have no such value."
    )


def prompts_table(results: Results, identifier: str, entry: dict[str, Any]) -> Table:
    """Return Tables 8 and 9: the prompt of one query, shown with one of its shots."""
    from revocab.evaluation.prompts import render
    from revocab.io import read_jsonl

    lines = []
    for task in entry["tasks"]:
        path = f"prompts/{task}.jsonl"
        setting = results.experiment["evaluation"]["generation"]["tasks"][task]
        row = next(iter(read_jsonl(results.root / path)), None) if results.has(path) else None
        direction = "-".join(language.upper() for language in setting["direction"])
        lines.append(
            Line(
                [
                    text(task),
                    text(direction),
                    text(str(setting["shots"])),
                    text(render(row, min(1, len(row["shots"]))) if row else "–", path),
                    text(row["references"][0] if row else "–", path),
                ]
            )
        )
    return Table(
        identifier,
        entry["kind"],
        entry["title"],
        ["Task", "Languages", "Shots", "Prompt (one shot shown)", "Reference"],
        lines,
        [
            "The first query of each task; evaluation uses the number of shots given, separated by "
            "blank lines. Shots are drawn per query with a fixed seed, equal for every checkpoint.",
            *notes.synthetic(results),
        ],
        texts=True,
    )
