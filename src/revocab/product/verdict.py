"""The verdict of `adapt`: better or worse than before, by how much and how surely.

Both models read the held-out text; the interval is :mod:`revocab.product.compare`'s.
"""

from __future__ import annotations

import html
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from revocab.io import read_csv, read_json, read_jsonl, write_json, write_text
from revocab.marker import MARKER
from revocab.output import OutputFolder
from revocab.product.compare import answer, documents_of, loss_difference, with_speeds
from revocab.product.inputs import Text
from revocab.progress import spoken

FILE, MODEL, PAGE = "verdict.json", "model", "adapted.html"
#: An interval has about so many parts of the text, each of so many characters at least.
PARTS, SHORTEST = 20, 150
#: Of each text so much is read at most.
MOST_BYTES = 50_000
#: By how much the mean loss of the last quarter of the steps lies below that of the one before,
#: as a share, where it still falls.
FALLING = 0.005


def judge(
    source: Path, model: Path, new: Sequence[Text], old: Sequence[Text], run: Path, file: Path
) -> dict[str, Any]:
    """Return the verdict on a model made from ``source``, from ``file`` if it is there already.

    ``new`` and ``old`` are held-out texts of the languages that it was to learn and to keep;
    ``run`` is the folder of the training.
    """
    weights = [*sorted(model.glob("*.safetensors")), *sorted(run.glob("losses.csv"))]
    of = {"model": str(model), "files": [[part.name, part.stat().st_mtime_ns] for part in weights]}
    if file.is_file() and (known := read_json(file))["of"] == of:
        return dict(known)
    folders, texts, say = [source, model], [], spoken()
    for text in (*new, *old):
        documents = pieces(text)
        count = len(new) + len(old)
        part = loss_difference(folders, documents, "auto", count, PARTS, say=say)
        if text is new[0] and len(documents) > 1:
            part = with_speeds(part, folders, text, documents, "auto", say=say)
        texts.append({**part, "language": text.language, "is_new": text in new})
    verdict = {"of": of, "texts": texts, "training": training_of(run)}
    write_json(file, verdict)
    return verdict


def pieces(text: Text) -> list[str]:
    """Return a held-out text up to :data:`MOST_BYTES`, its documents cut at line ends or spaces as
    far as there would be too few of them for an interval.
    """
    documents = documents_of(text, MOST_BYTES)
    length = max(SHORTEST, min(MOST_BYTES, sum(map(len, documents))) // PARTS)
    cut: list[str] = []
    size = 0
    for document in documents:
        rest = document
        while rest and size < MOST_BYTES:
            piece = rest
            if len(rest) > 2 * length:
                at = max(rest.rfind("\n", 0, length), rest.rfind(" ", 0, length))
                piece = rest[: at if at > 0 else length]
            rest = rest[len(piece) :].lstrip()
            cut.append(piece)
            size += len(piece.encode())
    return cut


def training_of(run: Path) -> dict[str, Any]:
    """Return the tokens of a training, and whether its loss still fell at the end."""
    rows = read_csv(run / "losses.csv")
    losses = [float(row["loss"]) for row in rows]
    quarter = max(1, len(losses) // 4)
    before, last = fmean(losses[-2 * quarter : -quarter] or losses), fmean(losses[-quarter:])
    return {"tokens": int(rows[-1]["tokens"]), "loss": [before, last],
            "still_falls": last < before * (1 - FALLING)}  # fmt: skip


def lines(verdict: dict[str, Any], words: dict[str, tuple[float, float]], new: int) -> list[str]:
    """Return what the terminal, the page and the card say, the headline first; ``words`` are tokens
    per word by language, before and after, ``new`` the number of new tokens.
    """
    from revocab.report.template import environment

    template = environment(Path(__file__).parent).get_template("verdict.txt.j2")
    rendered = template.render(verdict, answer=answer, words=words, new=new)
    return [*filter(None, rendered.splitlines())]


def write_model(checkpoint: Path, out: Path, lines: Sequence[str]) -> Path:
    """Write the folder of the adapted model: the checkpoint's files, its card with the verdict."""
    folder = OutputFolder(out / MODEL, "adapted model", [checkpoint])
    with folder.replaced() as part:
        for file in sorted(checkpoint.iterdir()):
            if not file.is_file() or file.name in (MARKER, "README.md"):
                continue
            try:
                os.link(file, part / file.name)
            except OSError:  # another file system, or one without links
                shutil.copyfile(file, part / file.name)
        card = (checkpoint / "README.md").read_text(encoding="utf-8")
        before, mark, after = card.partition("\n# ")
        title, _, rest = after.partition("\n")
        listed = "\n".join(f"- {line}" for line in lines[1:])
        top = f"\n**{lines[0]}**\n\n{listed}\n"
        write_text(
            part / "README.md", f"{before}{mark}{title}\n{top}{rest}" if mark else top + card
        )
    return out / MODEL


def write_page(results: Path, lines: Sequence[str]) -> Path:
    """Write the report with the verdict on top, beside the report, whose files it shows."""
    page = (results / "report.html").read_text(encoding="utf-8")
    rest = "".join(f"<li>{html.escape(line)}</li>" for line in lines[1:])
    top = f"<p><strong>{html.escape(lines[0])}</strong></p><ul>{rest}</ul>"
    write_text(results / PAGE, page.replace("</h1>", f"</h1>\n  {top}", 1))
    return results / PAGE


def held_out(language: str, file: Path) -> Text:
    sizes = [len(str(row["text"]).encode()) for row in read_jsonl(file)]
    return Text(language, file, sum(sizes), len(sizes))


def tokens_per_word(results: Path, languages: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return tokens per word of held-out text by language, before and after."""
    rows = read_csv(results / "fertility/fertility.csv")
    found = {(row["tokenizer"], row["corpus"]): float(row["fertility"]) for row in rows}
    return {name: (found["source", name], found["target", name]) for name in languages}
