"""docs/symptoms.md: every command, on a small model with the fault, prints what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from printed import BLOCK
from symptom_folders import write_folders

from revocab import __main__ as entry

pytestmark = pytest.mark.long

PAGE = (Path(__file__).parents[2] / "docs/symptoms.md").read_text(encoding="utf-8")
#: Blocks of each section, by its heading.
SECTIONS = {
    section.partition("\n")[0].lstrip("# "): [block.groups() for block in BLOCK.finditer(section)]
    for section in re.split(r"^(?=#+ )", PAGE, flags=re.M)
    if section.strip()
}
#: Run in processes of their own: they change this one, or are no verbs.
OTHERS = ("revocab train ", "torchrun ", "wc ", "grep ")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone")
#: A value that is measured: its last digits depend on the machine.
MEASURED = re.compile(r"-?\d[\d,]*\.\d+")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Where the page's commands run."""
    folder = tmp_path_factory.mktemp("symptoms")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_folders(folder)
    return folder


def run(line: str) -> str:
    """Return what a line prints; of a check that finds an error, too."""
    program, *words = shlex.split(line)
    if line.startswith(OTHERS):
        begin = {"torchrun": TORCHRUN, "revocab": (sys.executable, "-m", "revocab")}
        command = [*begin.get(program, (program,)), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.stdout or not done.returncode, done.stderr[-4000:]
        return done.stdout
    assert program == "revocab"
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
        entry.main(words)
    return printed.getvalue()


def evaluated(code: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "docs/symptoms.md", "exec"), {})
    return printed.getvalue()


def alike(line: str, other: str) -> bool:
    """Tell whether lines are the same but for the last digits of what is measured."""
    values, others = (
        [float(value.replace(",", "")) for value in MEASURED.findall(text)]
        for text in (line, other)
    )
    same = MEASURED.sub("N", line) == MEASURED.sub("N", other)
    return same and values == pytest.approx(others, rel=0.01)


def assert_as_printed(shown: str, printed: str) -> None:
    """Compare a page's lines with those that were printed; ``…`` stands for any number of them."""
    lines = [line for line in printed.splitlines() if line.strip()]
    place, gap = 0, False
    for line in filter(str.strip, shown.splitlines()):
        if line == "…":
            gap = True
            continue
        fits = [n for n in range(place, len(lines)) if alike(line, lines[n])]
        assert fits and (gap or fits[0] == place), f"{line!r} is not in\n{printed}"
        place, gap = fits[0] + 1, False
    assert gap or place == len(lines), f"{lines[place:]} not on the page"


@pytest.mark.parametrize("heading", SECTIONS)
def test_a_symptoms_commands_print_what_the_page_shows(folder, heading, monkeypatch):
    monkeypatch.chdir(folder)
    *blocks, (kind, shown) = SECTIONS[heading]
    assert kind == "text" and blocks
    printed = [
        evaluated(text) if language == "python" else "".join(map(run, text.splitlines()))
        for language, text in blocks
    ]
    assert_as_printed(shown, "".join(printed))
