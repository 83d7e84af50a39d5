"""Profiles for GPUs on a machine without any: fewer processes, on the CPU; all else as shipped."""

from __future__ import annotations

from pathlib import Path

import yaml


def one_node(repository: Path, folder: Path, processes: int) -> Path:
    """Write profiles/one-node with so many processes of a training."""
    given = yaml.safe_load((repository / "profiles/one-node/config.yaml").read_text())
    given["set-resources"]["adapt_model"]["gpu"] = processes
    given |= {"resources": [f"gpu={processes}"], "set-threads": {"adapt_model": 1}}
    return written(given, folder)


def written(profile: dict, folder: Path) -> Path:
    """Write a profile into a folder, and return the folder."""
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(profile))
    return folder
