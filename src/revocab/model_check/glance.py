"""What `init`, `change` and `train` tell of the models that they read and write."""

from __future__ import annotations

import sys
from collections.abc import Set as AbstractSet
from pathlib import Path

from revocab.errors import RevocabError
from revocab.model_check.kind import kinds, look_at


def tell(folder: Path, known: AbstractSet[str] = frozenset()) -> set[str]:
    """Print a warning for each error and warning of the quick kinds; return what was found.

    What is ``known`` is not said again. What cannot be read is left to the command, which refuses
    it.
    """
    try:
        found = look_at(folder, [kind for kind in kinds().values() if kind.quick])
    except RevocabError:
        return set()
    told = [one for one in found if one.severity != "note" and one.code != "unreadable"]
    for finding in told:
        if finding.what not in known:
            print(f"warning: {finding.line(folder)}", file=sys.stderr)
    return {finding.what for finding in told}
