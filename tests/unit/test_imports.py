"""What a command stands on, and when that counts as changed: by what runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from revocab.evaluation import records
from revocab.imports import PACKAGE, closure, code_hash, file_hash, files, stands_on
from revocab.verbs import find, places


def package(folder: Path, **files: str) -> Path:
    """Write a package of these files; ``__`` in a name is a folder."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for parent in path.relative_to(folder).parents:
            (folder / parent / "__init__.py").touch()
    return folder


def test_closure_follows_lazy_imports_cycles_and_yaml(tmp_path):
    made = package(
        tmp_path,
        start="import os\nfrom revocab.part.a import f\n",
        part__a="def f():\n    from revocab.part.b import g\n",
        part__b="import json\nfrom revocab.part import a\n"
        "if TYPE_CHECKING:\n    from revocab.part.unused import T\n",
        part__unused="",
        found__one="",
    )
    for data in ("part/b.yaml", "part/words.yaml", "part/unused.yaml"):
        (made / data).write_text("key: 1")
    assert closure(["start.py", *files("found/*.py", made)], made) == {
        "__init__.py", "start.py", "part/__init__.py", "part/a.py", "part/b.py",
        "part/b.yaml", "part/words.yaml", "found/__init__.py", "found/one.py",
    }  # fmt: skip


PLAIN = '''
"""Module."""
import os
if TYPE_CHECKING:
    from revocab.x import T
class A:
    """Class."""
    def f(self, x=(1, "a")):
        """Function."""
        return f"{x}a"
async def g():
    pass
'''
SAME = {
    "import os\n": "# a comment\nimport os\n",
    "async def g()": "\n\nasync def g()",
    "from revocab.x import T": "from revocab.y import T",
}
OTHER = {
    "(1,": "(1.0,", '"a"': 'b"a"', "return ": "yield ", "async def": "def",
    "self, x=": "self, *, x=", "import os": "import io", 'f"{x}a"': '"{x}a"',
    "if TYPE_CHECKING:": "if not TYPE_CHECKING:",
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), [*SAME.items(), *OTHER.items()])
def test_what_runs_is_compared_and_not_comments(tmp_path, old, new):
    assert old in PLAIN
    for name, text in (("a.py", PLAIN), ("b.py", PLAIN.replace(old, new))):
        (tmp_path / name).write_text(text)
    same = file_hash(tmp_path / "a.py") == file_hash(tmp_path / "b.py")
    assert same == (old in SAME)


MODULE = """
import os
from revocab.a import A, other as B
from revocab.c import C
LIMIT = B(3)
def helper() -> None:
    print(LIMIT)
@mark(C)
def first(x: A) -> None:
    from revocab.d import D
    helper()
def second() -> None:
    pass
"""


def test_a_function_stands_on_what_it_names_in_its_module():
    text = stands_on("first", MODULE)
    for line in ("import A", "import other as B", "import C", "import D", "LIMIT = B(3)"):
        assert line in text
    assert "second" not in text and "import os" not in text
    assert stands_on("second", MODULE) == "def second() -> None:\n    pass"


# --- the package itself ---------------------------------------------------------------------------


def test_registries_that_a_command_reads_are_its_code():
    """A command whose modules look for kinds at run time says in which folders."""
    folders = {"evaluation/inference/engine.py": "evaluation/inference/engines",
               "initialise/method.py": "initialise/methods"}  # fmt: skip
    finds = {name: find(name).finds for name in places()}
    for name, known in finds.items():
        assert all(len(files(f"{folder}/*.py", PACKAGE)) > 1 for folder in known), name
        module = f"verbs/{places()[name].module}.py"
        assert not known or code_hash(name, module, known) != code_hash(name, module)
    for name, folder in zip(("generate_text", "init_embeddings"), folders.values(), strict=True):
        assert folder in finds[name]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("inference/checkpoint.py", True),
        ("multiple_choice/scoring.py", True),
        ("inference/engines/vllm.py", False),
        ("generation/kinds/references.py", False),
    ],
)
def test_records_stand_on_all_of_the_evaluation_but_what_is_found(
    tmp_path, monkeypatch, name, counts
):
    """Engines and kinds, of which a record knows its own alone."""
    hashes = []
    for folder, more in ((tmp_path / "before", ""), (tmp_path / "after", "\nMORE = 1\n")):
        shutil.copytree(PACKAGE / "evaluation", folder / "evaluation")
        with (folder / "evaluation" / name).open("a", encoding="utf-8") as file:
            file.write(more)
        monkeypatch.setattr(records, "__file__", str(folder / "evaluation/records.py"))
        hashes.append(records.code_hash.__wrapped__())
    assert (hashes[0] != hashes[1]) == counts
