"""`revocab check`: say what is wrong with a model folder; mend a copy where that needs no guess."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.closed import Closed
from revocab.command import of_flags
from revocab.errors import RevocabError
from revocab.flags import leading, values_of
from revocab.io import write_json
from revocab.model_check.kind import SEVERITIES, look_at
from revocab.model_check.mended import write_mended
from revocab.model_check.subject import Subject
from revocab.models.finding import Finding
from revocab.models.hub_or_folder import local
from revocab.output import OutputFolder, check_files

ABOUT = """Say what is wrong with a model, whoever made it: revocab check MODEL

MODEL is a folder or a Hub id. Each finding is a line: what is wrong, what that does to a user, and
how to mend it. No code of the model is run. Exit status 1 if there is an error."""
STANDARD_OUTPUT = Path("-")


class CheckOptions(Closed):
    """The flags of `revocab check`."""

    fix: Path | None = Field(
        default=None,
        description="folder to write: a copy in which everything that needs no guess is mended",
    )
    findings: Path | None = Field(
        default=None,
        alias="json",
        description="file to write the findings to as JSON; -: standard output, and nothing else",
    )


def check(words: Sequence[str]) -> str:
    """Return what is said of a model; end with exit status 1, having said it, for errors."""
    named, flags = leading(words, 1)
    values = values_of([CheckOptions], "revocab check MODEL", ABOUT, flags)
    options = of_flags(CheckOptions, values)
    if not named:
        raise RevocabError("give a model, a folder or a Hub id: revocab check MODEL")
    folder = local(Path(named[0]), "model")
    to_screen = options.findings == STANDARD_OUTPUT
    if options.findings is not None and not to_screen:
        check_files(options.findings, inputs=[folder])
    # Checked before the work: nothing that somebody else wrote is replaced.
    output = None if options.fix is None else OutputFolder(options.fix, "mended model", [folder])
    findings = look_at(folder)
    report: dict[str, Any] = {"model": named[0], "findings": [*map(as_data, findings)]}
    lines = [*map(line_of, findings), f"{named[0]}: {counts(findings)}"]
    if output is not None:
        findings = mend(folder, findings, output, report, lines)
    if options.findings is not None and not to_screen:
        write_json(options.findings, report)
    shown = json.dumps(report, ensure_ascii=False, indent=2) if to_screen else "\n".join(lines)
    if any(finding.severity == "error" for finding in findings):
        print(shown)
        raise SystemExit(1)
    return shown


def mend(
    folder: Path,
    findings: list[Finding],
    output: OutputFolder,
    report: dict[str, Any],
    lines: list[str],
) -> list[Finding]:
    """Write the mended copy and return what is wrong with it still."""
    codes = sorted({finding.code for finding in findings if finding.fix})
    if not codes:
        lines.append(f"{output.path}: not written; nothing here can be mended without a guess")
        return findings
    left_out = write_mended(Subject(folder), findings, output)
    left = look_at(output.path)
    report["mended"] = {
        "folder": str(output.path),
        "codes": codes,
        "findings": [*map(as_data, left)],
    }
    without = f" (without {', '.join(left_out)})" if left_out else ""
    lines.append(f"{output.path}{without}: mended {', '.join(codes)}; {counts(left)} left")
    return left


def as_data(finding: Finding) -> dict[str, Any]:
    data = asdict(replace(finding, fix=None))
    return {**data, "fix": finding.fix is not None}


def line_of(finding: Finding) -> str:
    mended = " (--fix does)" if finding.fix else ""
    line = f"{finding.what}; {finding.effect}. To mend: {finding.mend}{mended}"
    return f"{finding.severity}: {finding.code}: {' '.join(line.split())}"


def counts(findings: Sequence[Finding]) -> str:
    """Return how many findings of each severity there are, in words."""
    severities: list[str] = [finding.severity for finding in findings]
    numbers = {severity: severities.count(severity) for severity in SEVERITIES}
    counted = [f"{n} {severity}{'s' * (n > 1)}" for severity, n in numbers.items() if n]
    return ", ".join(counted) or "nothing is wrong"
