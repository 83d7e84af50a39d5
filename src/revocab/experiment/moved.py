"""Old names of shipped experiments and published values, which say the new ones for one version.

Snakemake reads ``--configfile`` before any code of ours: there the old name is a file that is
missing (``revocab run`` looks first).
"""

from __future__ import annotations

from pathlib import Path

#: New names by those that version 0.1 had.
MOVED = {
    "config/paper.yaml": "config/sava.yaml",
    "config/overlays/pico-paper.yaml": "config/overlays/pico-sava.yaml",
    "config/demo.yaml": "config/demos/demo.yaml",
    "config/lep-demo.yaml": "config/demos/lep.yaml",
    "config/vocadt-demo.yaml": "config/demos/vocadt.yaml",
    "config/bilingual-demo.yaml": "config/demos/bilingual.yaml",
    "config/local-data.yaml": "config/demos/local-data.yaml",
    "config/vocadt-local.yaml": "config/demos/vocadt-local.yaml",
    "config/bilingual-local.yaml": "config/demos/bilingual-local.yaml",
    "config/real.yaml": "config/demos/real.yaml",
    "config/one-gpu.yaml": "config/demos/one-gpu.yaml",
    "config/paper": "config/published/sava",
    "config/lep": "config/published/lep",
    "config/vocadt": "config/published/vocadt",
    "config/bilingual": "config/published/bilingual",
}


def moved(path: str | Path) -> str:
    """Return what an error on a missing file or folder adds where the path is an old name: the new
    one, in the same checkout; nothing for other paths.
    """
    parts = Path(path).parts
    for start in range(len(parts)):
        if new := MOVED.get("/".join(parts[start:])):
            return f"; it is {Path(*parts[:start], new)} now"
    return ""
