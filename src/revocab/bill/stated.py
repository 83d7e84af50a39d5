"""What a paper states of its costs, as data with the place, beside what is counted here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field

from revocab import yaml_file
from revocab.bill.amounts import Amount, short
from revocab.closed import Closed, OneLine, checked
from revocab.errors import RevocabError, refuse

#: Beside a paper's other values (``paper_values``).
FILE = "costs.yaml"


class Statement(Closed):
    """A cost that a paper states; without a ``value``, it does not state it."""

    what: OneLine = Field(description="name of the number in a bill, such as device hours")
    value: Annotated[float, Field(gt=0)] | None = None
    unit: OneLine
    where: OneLine
    note: OneLine | None = None


class Statements(Closed):
    """The file of a paper's costs."""

    costs: list[Statement]


@dataclass(frozen=True)
class Compared:
    """A statement with what is counted; None where the bill has no such number."""

    statement: Statement
    counted: float | None

    @property
    def difference(self) -> float | None:
        """By how much ours is more, as a share of theirs."""
        stated = self.statement.value
        return None if stated is None or self.counted is None else self.counted / stated - 1

    def told(self) -> str:
        stated = self.statement
        theirs = "not stated" if stated.value is None else short(stated.value, stated.unit)
        ours = "no" if self.counted is None else short(self.counted, stated.unit)
        apart = "" if self.difference is None else f" ({self.difference:+.0%})"
        note = f"; {stated.note}" if stated.note else ""
        return f"{stated.what}: {theirs} ({stated.where}); counted: {ours}{apart}{note}"


def stated_by(folder: str | None) -> list[Statement]:
    """Return what the paper of a folder states; nothing where there is no such file."""
    file = Path(folder or "", FILE)
    if folder is None or not file.is_file():
        return []
    try:
        value, problems = yaml_file.read(file)
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise RevocabError(f"{file}: not valid YAML ({' '.join(str(error).split())})") from None
    refuse(problems)
    return checked(Statements, value, f"{file}: ").costs


def compared(folder: str | None, counted: Mapping[str, Amount]) -> Iterator[Compared]:
    for statement in stated_by(folder):
        amount = counted.get(statement.what)
        yield Compared(statement, amount.value if amount else None)
