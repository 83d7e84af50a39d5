"""Write one Markdown page with an experiment's facts, tables and figures, for docs/."""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path

from revocab.cli import run
from revocab.errors import RevocabError


def export_results(
    results: Path,
    out: Path,
    figures: Path,
    experiment: Path | None = None,
    without: tuple[str, ...] = (),
    **told: str,
) -> None:
    """Write the page to ``out`` and copy the figures (SVG) into the folder ``figures``.

    Tables in ``without`` are left out by name: the prompts of real data quote that data. Raises
    :class:`RevocabError` if configured figures have not been drawn.
    """
    from revocab.io import write_text
    from revocab.output import OutputFolder, check_files
    from revocab.report.page import parts_of
    from revocab.report.results import Results
    from revocab.report.template import environment

    read = Results(results, experiment)
    check_files(out, inputs=read.inputs)
    output = OutputFolder(figures, "exported figures", around=[read.root])
    sources = {name: read.root / "figures" / f"{name}.svg" for name in read.experiment.figures}
    missing = [str(path) for path in sources.values() if not path.is_file()]
    if missing:
        raise RevocabError(f"{name}: missing; run revocab make_figures" for name in missing)
    paths = {
        name: Path(os.path.relpath(figures / source.name, out.parent)).as_posix()
        for name, source in sources.items()
    }
    with output.replaced() as copies:
        for source in sources.values():
            shutil.copyfile(source, copies / source.name)
    template = environment(Path(__file__).parent).get_template("results.md.j2")
    write_text(out, template.render(parts_of(read), paths=paths, without=without, **told))


def main() -> None:
    """Read the command line, write the page and copy the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="results folder to read")
    parser.add_argument("--experiment", type=Path, help="default: experiment.json in --results")
    parser.add_argument("--out", type=Path, required=True, help="Markdown page to write")
    parser.add_argument("--date", required=True, help="when the run was made")
    parser.add_argument("--command", required=True, help="the command that made it")
    parser.add_argument("--figures", type=Path, required=True, help="folder for the figures")
    parser.add_argument(
        "--without", action="append", default=[], metavar="TABLE", help="a table to leave out"
    )
    export_results(**vars(parser.parse_args()))


if __name__ == "__main__":
    run(main)
