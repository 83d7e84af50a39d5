"""Profiles for GPUs on a machine without any: fewer processes, on the CPU; all else as shipped."""

from __future__ import annotations

from pathlib import Path

import yaml


def written(profile: dict, folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(profile))
    return folder
