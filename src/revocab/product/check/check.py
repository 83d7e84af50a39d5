"""`revocab check`: say what is wrong with a model folder; mend a copy where that needs no guess."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from revocab.closed import Closed
from revocab.errors import on_one_line
from revocab.io import write_json
from revocab.links import check_links, copy_present, link_or_copy
from revocab.marker import MARKER
from revocab.models.findings import Finding
from revocab.models.folder import OWN_FILES, files_of
from revocab.models.hub_or_folder import local, model_field
from revocab.output import OutputFolder, check_files
from revocab.product.check.kind import SEVERITIES, Mended, Subject, look_at
from revocab.verb import verb
from revocab.vocabulary.tokenizers.file_ids import TEMPLATES

#: Endings of files that are linked where the file system allows it.
LARGE = (".safetensors", ".bin", ".gguf", ".pt", ".pth", ".npz")


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


@verb()
def check(model: str = model_field("model to look at"), *, options: CheckOptions) -> str:
    """Say what is wrong with a model, whoever made it.

    MODEL is a folder or a Hub id. Each finding is a line: what is wrong, what that does to a
    user, and how to mend it. No code of the model is run. Exit status 1 if there is an error.
    """
    findings, text = examine(model, options)
    if any(finding.severity == "error" for finding in findings):
        print(text)
        raise SystemExit(1)
    return text


def examine(model: str, options: CheckOptions) -> tuple[list[Finding], str]:
    """Return what is wrong, or left in a mended copy, and what the terminal shows."""
    folder = local(Path(model), "model")
    to_screen = options.findings == Path("-")
    if options.findings is not None and not to_screen:
        check_files(options.findings, inputs=[folder])
    # Checked before the work: nothing that somebody else wrote is replaced.
    output = None if options.fix is None else OutputFolder(options.fix, "mended model", [folder])
    findings = look_at(folder)

    def as_data(findings: Iterable[Finding]) -> list[dict[str, Any]]:
        each = ((finding.fix is not None, replace(finding, fix=None)) for finding in findings)
        return [{**asdict(finding), "fix": mends} for mends, finding in each]

    report: dict[str, Any] = {"model": model, "findings": as_data(findings)}
    lines = [*map(line_of, findings), f"{model}: {counts(findings)}"]
    codes = sorted({finding.code for finding in findings if finding.fix})
    if output is not None and not codes:
        lines.append(f"{output.path}: not written; nothing here can be mended without a guess")
    elif output is not None:
        left_out = write_mended(Subject(folder), findings, output)
        findings = look_at(output.path)
        mended = {"folder": str(output.path), "codes": codes}
        report["mended"] = {**mended, "findings": as_data(findings)}
        without = f" (without {', '.join(left_out)})" if left_out else ""
        lines.append(f"{output.path}{without}: mended {', '.join(codes)}; {counts(findings)} left")
    if options.findings is not None and not to_screen:
        write_json(options.findings, report)
    text = json.dumps(report, ensure_ascii=False, indent=2) if to_screen else "\n".join(lines)
    return findings, text


def write_mended(subject: Subject, findings: Iterable[Finding], output: OutputFolder) -> list[str]:
    """Write the copy, whole or not at all; return the names of folders that are not in it."""
    mended = Mended(subject)
    for finding in findings:
        if finding.fix is not None:
            finding.fix(mended)
    own = {*OWN_FILES, MARKER, *mended.removed, *mended.edited}
    places = sorted(subject.path.iterdir())
    names = [place.name for place in places if place.name not in own and not place.is_dir()]
    names += [name for name in files_of(subject.path, "tokenizer") if name.startswith(TEMPLATES)]
    check_links(subject.path, names)
    large = [name for name in names if name.endswith(LARGE)]
    with output.replaced() as folder:
        copy_present(subject.path, (name for name in names if name not in large), folder)
        for name in large:
            link_or_copy(subject.path / name, folder / name)
        for name, content in mended.edited.items():
            write_json(folder / name, content)
    return [place.name for place in places if place.is_dir() and place.name != TEMPLATES]


def line_of(finding: Finding) -> str:
    mended = " (--fix does)" if finding.fix else ""
    line = f"{finding.what}; {finding.effect}. To mend: {finding.mend}{mended}"
    return f"{finding.severity}: {finding.code}: {on_one_line(' '.join(line.split()))}"


def counts(findings: Sequence[Finding]) -> str:
    severities: list[str] = [finding.severity for finding in findings]
    numbers = {severity: severities.count(severity) for severity in SEVERITIES}
    counted = [f"{n} {severity}{'s' * (n > 1)}" for severity, n in numbers.items() if n]
    return ", ".join(counted) or "nothing is wrong"
