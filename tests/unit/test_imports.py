"""Which files a rule depends on: lazy imports count, strangers do not, cycles end."""

from __future__ import annotations

from revocab.imports import closure, direct


def test_closure_follows_lazy_imports_and_cycles(tmp_path):
    package = tmp_path / "src/revocab/part"
    package.mkdir(parents=True)
    for name, text in {
        "src/revocab/__init__.py": "",
        "src/revocab/part/__init__.py": "",
        "src/revocab/part/a.py": "def f():\n    from revocab.part.b import g\n",
        "src/revocab/part/b.py": "import json\nfrom revocab.part import a\n",
        "src/revocab/part/unused.py": "",
        "src/revocab/found/one.py": "",
        "script.py": "import os\nfrom revocab.part.a import f\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    names = [
        path.name
        for path in closure(tmp_path / "script.py", tmp_path / "src", ("found",))
        if path.name != "__init__.py"
    ]
    assert names == ["script.py", "one.py", "a.py", "b.py"]


def test_every_rule_names_code_that_exists(repository):
    for script in (repository / "scripts").glob("*.py"):
        assert all(path.is_file() for path in closure(script, repository / "src"))


def test_imports_of_the_evaluation_go_one_way(repository):
    """No module stands on itself, lazy imports included."""
    root = repository / "src"
    modules = {*(root / "revocab" / "evaluation").glob("*.py")}
    while free := {path for path in modules if not (modules - {path}) & {*direct(path, root)}}:
        modules -= free
    assert not {path.name for path in modules}
