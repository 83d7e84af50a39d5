"""Write docs/papers: each paper's settings beside ours, from config/*/settings.yaml."""

from __future__ import annotations

from pathlib import Path

from revocab.cli import run

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Write the page of every settings file."""
    from revocab.io import write_text
    from revocab.report.paper_settings import Compared

    for file in sorted(ROOT.glob("config/*/settings.yaml")):
        compared = Compared(file, ROOT)
        write_text(ROOT / f"docs/papers/{compared.settings.page}.md", compared.page)


if __name__ == "__main__":
    run(main)
