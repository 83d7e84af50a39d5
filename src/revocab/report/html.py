"""The report: one page with every table, figure and fact, readable offline from a single file."""

from __future__ import annotations

import base64
from importlib import metadata
from pathlib import Path
from typing import Any

from revocab.io import write_text
from revocab.output import check_files
from revocab.report import facts, guessers, initialisation, notes
from revocab.report.names import in_order, numbered
from revocab.report.render import to_html
from revocab.report.results import Results
from revocab.report.tables import ENDINGS, build_table

TEMPLATES = Path(__file__).parent / "templates"
#: Whose versions change numbers.
LIBRARIES = (
    "revocab", "torch", "transformers", "tokenizers", "datasets", "accelerate", "lm-eval",
    "sacrebleu", "rouge-score", "numpy", "pyarrow", "matplotlib", "snakemake", "vllm",
)  # fmt: skip


def versions() -> list[tuple[str, str]]:
    """Return the installed libraries that numbers depend on, with their versions."""
    found = []
    for name in LIBRARIES:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return found


def data_uri(path: Path) -> str | None:
    """Return an SVG file as a data URI, or None if there is none.

    As an image and not inline: ids inside one SVG would clash with those of the next.
    """
    if not path.is_file():
        return None
    return "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode("ascii")


def table_parts(results: Results) -> list[dict[str, Any]]:
    """Return what the page needs of every configured table."""
    parts = []
    for identifier in in_order(results.experiment["tables"]):
        table = build_table(results, identifier)
        parts.append(
            {
                "id": identifier,
                "number": numbered(identifier),
                "title": table.shown_title(),
                "short": table.title,
                "html": to_html(table),
                "notes": table.notes,
                "files": [f"tables/{identifier}.{ending}" for ending in ENDINGS],
            }
        )
    return parts


def figure_parts(results: Results) -> list[dict[str, Any]]:
    """Return what the page needs of every configured figure."""
    figures = results.experiment["figures"]
    return [
        {
            "id": identifier,
            "number": numbered(identifier),
            "title": entry["title"],
            "short": entry["title"],
            "caption": caption(results, entry),
            "image": data_uri(results.root / "figures" / f"{identifier}.svg"),
            "files": [f"figures/{identifier}.{ending}" for ending in ("svg", "png")],
        }
        for identifier, entry in ((one, figures[one]) for one in in_order(figures))
    ]


def caption(results: Results, entry: dict[str, Any]) -> str:
    """Return the sentences under a figure."""
    printed = " Open diamonds: the paper's printed averages." if results.paper else ""
    sentences = {
        "fertility": "Tokens per word of each document, smoothed; bars mark the mean over "
        "documents. Lower is better. Up to half a per cent of documents lie outside the range.",
        "token_counts": "Left: tokens for the same sentences in each language. Right: characters "
        "per token of every corpus measured.",
        "average_score": "Unweighted mean over tasks at every checkpoint; bars are one standard "
        f"error of the mean, items taken as independent. Dashed: the base model.{printed}",
        "loss": "Above: training loss at every step (faint) and smoothed. Loss per token cannot be "
        "compared between tokenizers; loss per byte can. Below: text held out from training, at "
        "initialisation and at every checkpoint. Dashed: the base model before any training.",
        "similarity": "Mean cosine of relative representations of the input embeddings after "
        "training, runs with the target vocabulary.",
    }
    limited = notes.limited(results, entry)
    marks = [f"{limited[0].upper()}{limited[1:]}."] if limited else []
    return " ".join([sentences[entry["kind"]], *marks, *notes.synthetic(results)])


def limitations(results: Results) -> list[str]:
    """Return what these numbers cannot say, as far as the configuration shows it."""
    setting = results.experiment["evaluation"]
    items = list(notes.synthetic(results))
    built = [one for one, model in results.experiment["models"].items() if model["pretrain"]]
    if built:
        items.append(
            f"The models {', '.join(built)} are small stand-ins pretrained here: scores compare "
            "methods and do not transfer to models of billions of parameters."
        )
    if setting["multiple_choice"]["limit"]:
        limit = setting["multiple_choice"]["limit"]
        items.append(f"Multiple-choice tasks use their first {limit} items only: see the errors.")
    limits = {t: one["limit"] for t, one in setting["generation"]["tasks"].items() if one["limit"]}
    if limits:
        listed = ", ".join(f"{task} {limit}" for task, limit in limits.items())
        items.append(f"Generation uses a part of its queries: {listed}.")
    if not setting["generation"]["comet_model"]:
        items.append("COMET-22 is not configured; chrF++ and BLEU stand beside its empty column.")
    items.append(
        "One seed per run: the standard errors are over items, not over training runs. Small "
        "differences between methods may be chance."
    )
    items.append(
        "Equal tokens are not equal text: runs with different tokenizers see different amounts of "
        "text in the same number of steps. Bits per byte compares them."
    )
    return items


def page(results: Results, resources: Path | None = None) -> str:
    """Return the report as one HTML page without any outside reference but to its own folder."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    baselines = (resources or results.resources) / "world" / "baselines.json"
    extra = [
        ("heldout", "Held-out text", "Bits per byte of held-out text; lower is better.",
         facts.heldout_table(results)),
        ("vocabularies", "Vocabulary intersections", "Tokens that two vocabularies share.",
         facts.intersection_table(results)),
        ("initialisation", "New rows", initialisation.NOTE, initialisation.table(results)),
        ("scale", "Initialisation at full size", "Each method on a matrix of a real model's shape "
         "with random values.", facts.scale_table(results)),
        ("guessers", "Blind guessers", "Accuracy in per cent, on the synthetic items, of guessers "
         "that see only the length or the position of choices: near chance.",
         guessers.table(baselines)),
        ("timings", "Training and its cost", "Tokens seen, time and memory of every training on "
         "the machine that made this report.", facts.training_table(results)),
    ]  # fmt: skip
    return environment.get_template("report.html.j2").render(
        experiment=results.experiment,
        synthetic=notes.synthetic(results),
        has_paper=bool(results.paper),
        facts=facts.all_facts(results),
        tables=table_parts(results),
        figures=figure_parts(results),
        extra=[
            {"id": name, "title": title, "note": note, "header": header, "rows": rows}
            for name, title, note, (header, rows) in extra
            if rows
        ],
        warnings={"initialisation": initialisation.warnings(results)},
        limitations=limitations(results),
        versions=versions(),
        checks=results.json("checks.json"),
        runs=results.runs,
        score_count=len(results.scores.rows),
    )


def build_report(
    root: str | Path,
    out: str | Path,
    experiment: str | Path | None = None,
    resources: str | Path | None = None,
) -> None:
    """Write the report of a results folder to ``out``."""
    results = Results(root, experiment)
    check_files(out, inputs=results.inputs)
    write_text(out, page(results, Path(resources) if resources else None))
