"""The command lines that README and docs print, and what each is: a program and its words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

#: What a line begins with that is taken for a command.
PROGRAMS = ("revocab", "snakemake", "make", "python")
#: Pages about other people's programs.
OTHERS = ("docs/papers/", "docs/decisions/")
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.M | re.S)
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
#: Before the program: a prompt, variables, a scheduler or a container with its flags.
BEFORE = re.compile(
    r"(\$ )?(time )?([A-Z_]+=\S+ )*((salloc|srun|sbatch|apptainer exec) .*?(?=revocab run))?"
)
#: What ends the words of a program.
ENDS = ("&", "|", "||", ">", "2>", ";")


@dataclass(frozen=True)
class Printed:
    """A command line of a page; ``block``: in a block of code, not in a sentence."""

    page: str
    program: str
    words: tuple[str, ...]
    block: bool

    def __str__(self) -> str:
        return f"{self.page}: {self.program} {shlex.join(self.words)}"

    @property
    def is_part(self) -> bool:
        """Tell whether words are left out, or come from a variable of the shell."""
        return any("…" in word or "$" in word for word in self.words)


def pages(repository: Path) -> list[Path]:
    found = [*repository.glob("*.md"), *(repository / "docs").rglob("*.md")]
    return [
        page
        for page in sorted(found)
        if page.name != "CHANGELOG.md" and not str(page.relative_to(repository)).startswith(OTHERS)
    ]


def printed(repository: Path) -> Iterator[Printed]:
    """Yield the command lines of all pages, in their order."""
    for page in pages(repository):
        name, text = str(page.relative_to(repository)), page.read_text(encoding="utf-8")
        for block in BLOCK.finditer(text):
            if block[1] in ("", "sh"):
                yield from commands(name, block[2].replace("\\\n", " ").splitlines(), block=True)
        rest = BLOCK.sub("", text)
        yield from commands(name, (part.replace("\n", " ") for part in INLINE.findall(rest)))


def commands(page: str, lines: Iterator[str] | list[str], block: bool = False) -> Iterator[Printed]:
    for line in lines:
        for command in line.split(" && "):
            first, _, rest = BEFORE.sub("", command.strip(), count=1).partition(" ")
            first = first.rpartition("/")[2]
            if first not in PROGRAMS or not (rest or block):
                continue
            words = shlex.split(rest, comments=True)
            end = next((place for place, word in enumerate(words) if word in ENDS), len(words))
            words = words[:end]
            if words[:2] == ["-m", "revocab"]:
                first, words = "revocab", words[2:]
            yield Printed(page, first, tuple(words), block)
