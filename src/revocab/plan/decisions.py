"""What the user has decided about results of older code: ``results/<experiment>/code.json``."""

from __future__ import annotations

from pathlib import Path

from revocab.closed import Closed, checked
from revocab.errors import RevocabError
from revocab.io import read_json, write_json
from revocab.plan.plan import Plan, steps


class Accepted(Closed):
    """Versions of a rule's code that count as equal; ``code`` was the current one."""

    rule: str
    code: str
    older: tuple[str, ...]
    #: Files that differ, as far as the outputs tell.
    changed: tuple[str, ...] = ()


class Asked(Closed):
    """An output to be made again; fulfilled once other code has made it."""

    output: str
    made_by: str


class Decisions(Closed):
    """The decisions on one experiment, in the order in which they were made."""

    accepted: tuple[Accepted, ...] = ()
    rerun: tuple[Asked, ...] = ()

    @staticmethod
    def file(plan: Plan) -> Path:
        """Return where the decisions on an experiment are kept."""
        return Path(plan.paths.results, "code.json")

    @classmethod
    def read(cls, plan: Plan) -> Decisions:
        """Return the decisions on an experiment, none where there is no file.

        Raises :class:`RevocabError` for a file that is damaged, or names unknown rules.
        """
        path = cls.file(plan)
        if not path.exists():
            return cls()
        try:
            found = checked(cls, read_json(path))
            problems = [
                f"accepted.{number}.rule: no rule {one.rule!r}"
                for number, one in enumerate(found.accepted)
                if one.rule not in steps()
            ]
        except RevocabError as error:
            problems = [problem.removeprefix(f"{path}: ") for problem in error.problems]
        if problems:
            raise RevocabError(
                f"{path}: {problem}; restore the file, or remove it: what it accepted then counts"
                " as changed again"
                for problem in problems
            )
        return found

    def write(self, plan: Plan) -> Path:
        """Write the decisions; return the file."""
        write_json(self.file(plan), self.model_dump(mode="json"))
        return self.file(plan)

    def equal(self, rule: str, one: str, other: str) -> bool:
        """Return whether two versions of a rule's code are the same, or accepted as the same."""
        groups = [{of.code, *of.older} for of in self.accepted if of.rule == rule]
        found = {one}
        while more := {code for group in groups if group & found for code in group} - found:
            found |= more
        return other in found

    def asks_for(self, output: Path, made_by: str) -> bool:
        """Return whether an output that some code made is to be made again."""
        return Asked(output=str(output), made_by=made_by) in self.rerun
