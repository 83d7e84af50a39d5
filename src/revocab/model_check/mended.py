"""The copy of a folder that ``--fix`` writes: what needs no guess is mended, all else is as it was.

What transformers reads of the folder stays the same; other programs then read that, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from revocab.folder_claim import CLAIM
from revocab.io import write_json
from revocab.model_check.subject import Subject
from revocab.models.finding import Finding
from revocab.models.folder import OWN_FILES
from revocab.models.links import check_links, copy_present, link_or_copy
from revocab.output import OutputFolder

#: Endings of files that are linked where the file system allows it.
_LARGE = (".safetensors", ".bin", ".gguf", ".pt", ".pth", ".npz")


@dataclass
class Mended:
    """What is other in the copy; fixes of findings fill it."""

    subject: Subject
    edited: dict[str, dict[str, Any]] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)

    def edit(self, name: str) -> dict[str, Any]:
        """Return a JSON file's object, to be changed in place."""
        if name not in self.edited:
            self.edited[name] = deepcopy(self.subject.settings(name))
        return self.edited[name]

    def edit_text_config(self) -> dict[str, Any]:
        config = self.edit("config.json")
        nested = self.subject.text_config is not self.subject.config
        return config["text_config"] if nested else config

    def remove(self, *names: str) -> None:
        self.removed |= {*names}


def write_mended(subject: Subject, findings: Iterable[Finding], output: OutputFolder) -> list[str]:
    """Write the copy; return the names of folders that are not in it.

    The copy appears whole or not at all. Raises :class:`RevocabError` for files that are links out
    of the folder.
    """
    mended = Mended(subject)
    for finding in findings:
        if finding.fix is not None:
            finding.fix(mended)
    own = {*OWN_FILES, CLAIM, *mended.removed, *mended.edited}
    places = sorted(subject.path.iterdir())
    names = [place.name for place in places if place.name not in own and not place.is_dir()]
    check_links(subject.path, names)
    with output.replaced(keeps_job=False) as folder:
        copy_present(subject.path, (name for name in names if not name.endswith(_LARGE)), folder)
        for name in names:
            if name.endswith(_LARGE):
                link_or_copy(subject.path / name, folder / name)
        for name, content in mended.edited.items():
            write_json(folder / name, content)
    return [place.name for place in places if place.is_dir()]
