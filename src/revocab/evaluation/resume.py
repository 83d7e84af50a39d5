"""What finished work depends on, so that a killed evaluation resumes it only if nothing changed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from revocab.io import sha256


def checkpoint_fingerprint(folder: Path) -> list[tuple[str, int, int]]:
    """Return path, size and time of every file of a checkpoint; hashing weights would take long."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]


def code_fingerprint() -> list[str]:
    """Return the hashes of this package's modules."""
    return [sha256(path) for path in sorted(Path(__file__).parent.glob("*.py"))]


def digest(*parts: Any) -> str:
    """Return one hash of JSON-able parts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
