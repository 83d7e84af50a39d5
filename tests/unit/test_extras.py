"""Libraries and extras: each import is declared, and one that is absent names what installs it."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from revocab.cli import legible
from revocab.errors import missing_library

#: Import names of libraries that are installed by another name.
OTHERWISE = {"google": "protobuf", "yaml": "pyyaml"}
#: What export reads if it is there, and what lies in environments of its own (envs/).
APART = {"comet", "sentencepiece", "vllm"}
LISTED = [
    'torch>=2.6; extra == "models"',
    'lm-eval<0.5,>=0.4.13; extra == "evaluate"',
    "datasets>=4; extra == 'evaluate'",
    "datasets>=4; extra == 'workflow'",
    "numpy>=2.0",
]


def imported(package: Path) -> set[str]:
    """Return the libraries that modules import anywhere, for types included."""
    names: set[str] = set()
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names - sys.stdlib_module_names - {"revocab"}


def test_every_library_that_is_imported_is_declared(repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    own = [*project["dependencies"], *(line for name in extras if name != "dev"
                                       for line in extras[name])]  # fmt: skip
    declared = {Requirement(line).name.lower().replace("-", "_") for line in own}
    libraries = {OTHERWISE.get(name, name).lower() for name in imported(repository / "src/revocab")}
    assert libraries - declared == APART
    # By what is installed without an extra, tokenizers are read, and nothing of torch comes along.
    assert len(project["dependencies"]) <= 15
    assert extras["all"] == ["revocab[models,train,evaluate,workflow]"]
    pins = re.findall(r"^([\w.-]+)==", (repository / "requirements.lock").read_text(), re.M)
    assert declared - {"revocab"} <= {pin.lower().replace("-", "_") for pin in pins}


@pytest.mark.parametrize(
    ("module", "extras"),
    [
        ("torch.nn", ["models"]),
        ("lm_eval", ["evaluate"]),
        ("datasets", ["evaluate", "workflow"]),
        ("numpy", []),
        ("absent", []),
    ],
)
def test_an_absent_library_names_what_installs_it(monkeypatch, capsys, module, extras):
    monkeypatch.setattr(metadata, "requires", lambda name: LISTED)
    error = ModuleNotFoundError(f"No module named {module!r}", name=module)
    ends = SystemExit if extras else ModuleNotFoundError
    with pytest.raises(ends) as caught, legible("revocab init"):
        raise error
    if extras:
        assert caught.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"error: revocab init needs {module.partition('.')[0]!r}")
        assert re.findall(r"revocab\[(\w+)\]", line) == [*extras, "all"]


@pytest.mark.parametrize(
    ("origin", "where"),
    [
        (None, "'revocab[models]'"),
        ('{"url": "file:///a", "dir_info": {}}', "'revocab[models] @ file:///a'"),
        ('{"url": "https://h/r", "vcs_info": {"vcs": "git", "commit_id": "0"}}',
         "'revocab[models] @ git+https://h/r'"),
    ],
)  # fmt: skip
def test_an_extra_comes_from_where_the_package_came(monkeypatch, tmp_path, origin, where):
    folder = tmp_path / "revocab-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: revocab\nVersion: 1\n")
    if origin:
        (folder / "direct_url.json").write_text(origin)
    monkeypatch.setattr(metadata, "requires", lambda name: LISTED)
    monkeypatch.setattr(metadata, "distribution", lambda name: metadata.PathDistribution(folder))
    line = missing_library(ModuleNotFoundError("", name="torch"))
    assert line is not None and f"pip install {where}, or" in line


def test_a_broken_library_and_a_checkout_that_is_not_installed_keep_their_traceback(monkeypatch):
    monkeypatch.setattr(metadata, "requires", lambda name: LISTED)
    assert missing_library(ImportError("cannot import name", name="torch")) is None

    def absent(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", absent)
    assert missing_library(ModuleNotFoundError("", name="torch")) is None
