"""What a command stands on, and when that counts as changed: by what runs, in any Python."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from revocab.code_identity import FOUND, SHOWS, changes, code_of, identity, modules
from revocab.evaluation import records
from revocab.imports import SPEAKING, Modules, Writer, read_module

OTHER_PYTHONS = [
    version for version in ("3.11", "3.12", "3.13") if not sys.version.startswith(f"{version}.")
]


def package(folder: Path, **files: str) -> Modules:
    """Return the modules of a package with these files; ``__`` in a name is a folder."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for parent in path.relative_to(folder).parents:
            (folder / parent / "__init__.py").touch()
    return Modules(folder)


def said(text: str) -> str:
    return read_module(text).meaning


def test_closure_follows_lazy_imports_and_cycles(tmp_path):
    found = package(
        tmp_path,
        start="import os\nfrom revocab.part.a import f\n",
        part__a="def f():\n    from revocab.part.b import g\n",
        part__b="import json\nfrom revocab.part import a\n"
        "if TYPE_CHECKING:\n    from revocab.part.unused import T\n",
        part__unused="",
        found__one="",
    )
    assert found.below("found") == ["found/__init__.py", "found/one.py"]
    assert found.closure(["start.py", *found.below("found")]) == {
        "__init__.py", "start.py", "part/__init__.py", "part/a.py", "part/b.py",
        "found/__init__.py", "found/one.py",
    }  # fmt: skip
    assert "part/b.py" not in found.closure(["start.py"], without={"part/a.py"})


def test_the_yaml_of_a_module_is_its_code(tmp_path):
    found = package(tmp_path, start="from revocab import a, b\n", a="", b__c="")
    (tmp_path / "a.yaml").write_text("key: 1  # said\n")
    (tmp_path / "b" / "words.yaml").write_text("key: [1]")
    (tmp_path / "b" / "c.yaml").write_text("key: 1")  # of c.py, which is not imported
    before = found.code(["start.py"])
    assert [name for name in before if name.endswith(".yaml")] == ["a.yaml", "b/words.yaml"]
    (tmp_path / "a.yaml").write_text("# said otherwise\nkey: 1")
    assert Modules(found.folder).code(["start.py"]) == before
    (tmp_path / "a.yaml").write_text("key: 2")
    assert changes(before, Modules(found.folder).code(["start.py"])) == ["a.yaml"]


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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Module."""', "# a comment"),
        ('        """Function."""\n', ""),
        ('"""Class."""', '"""Another\nclass."""'),
        ('(1, "a")', "(\n    1,\n    'a',\n)"),
        ("from revocab.x import T", "from revocab.y import T"),
        ("async def g():\n    pass", 'async def g():\n    """Asynchronous."""'),
        ('f"{x}a"', "f'{x}' 'a'"),
    ],
)
def test_words_and_layout_mean_nothing(old, new):
    assert old in PLAIN
    assert said(PLAIN.replace(old, new)) == said(PLAIN)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('(1, "a")', '(1.0, "a")'),
        ('(1, "a")', '(True, "a")'),
        ('(1, "a")', '("1", "a")'),
        ('(1, "a")', '(1, b"a")'),
        ('(1, "a")', '(None, "a")'),
        ('(1, "a")', '[1, "a"]'),
        ('f"{x}a"', 'f"a{x}"'),
        ('f"{x}a"', 'f"{x!r}a"'),
        ('f"{x}a"', '"{x}a"'),
        ("return ", "yield "),
        ("async def", "def"),
        ("self, x=", "self, *, x="),
        ("import os", "import io"),
        ("if TYPE_CHECKING:", "if not TYPE_CHECKING:"),
        ("return f", "if x:\n            return f"),
    ],
)
def test_what_runs_means_something(old, new):
    assert old in PLAIN
    assert said(PLAIN.replace(old, new)) != said(PLAIN)


def test_what_only_newer_pythons_fill_means_nothing_while_it_is_empty():
    """3.12 gave functions and classes a list of type parameters; hand-made here."""

    class Later(ast.FunctionDef):
        _fields = (*ast.FunctionDef._fields, "type_params", "of_a_python_to_come")

    Later.__name__ = "FunctionDef"

    def written(node):
        writer = Writer(labels=False)
        writer.node(node)
        return writer.words

    plain = ast.parse("def f(a, *, b=None): return a").body[0]
    fields = {name: getattr(plain, name) for name in plain._fields if hasattr(plain, name)}
    later = Later(**{**fields, "type_params": [], "of_a_python_to_come": None})
    assert written(later) == written(plain)
    later.type_params = [ast.Name("T")]
    assert written(later) != written(plain)


ODD = r'''
a = f"a{x}b"; b = f"{x!r:>{y}}"; c = f"{{}}{x}"; d = f"{x=}"; e = f"pre{x=:>4}post" "tail" f"{y}"
f = f""; g = f"a" "b"; h = rf"\d{x}\w"; i = u"x"; j = "\x85\u200b😀é"; k = b"\xff"
l = 1e400, 1j, ...
m = f"""
{x
} {y:}"""
def n(a, /, b=1, *, c, d=None, **k):
    return
try: pass
except* ValueError as error: pass
match x:
    case None: pass
    case {"a": 1, **rest} | [A(x=-1), *_]: pass
del x[1:2, ...]
'''


def other_python(version: str) -> str | None:
    """Return another Python of this machine, if there is one that starts."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [*map(str, root.glob(f"{version}.*/bin/python")), shutil.which(f"python{version}")]
    for one in filter(None, candidates):
        done = subprocess.run([one, "-c", "import ast"], capture_output=True, check=False)
        if done.returncode == 0:
            return one
    return None


EVERY = """
import pathlib, sys
from revocab.imports import read_module
for path in map(pathlib.Path, sys.stdin.read().split()):
    module = read_module(path.read_text("utf-8"))
    print(module.meaning, module.shown, *sorted(module.imports))
"""


@pytest.mark.parametrize("version", OTHER_PYTHONS)
def test_another_python_reads_the_same(repository, tmp_path, version):
    python = other_python(version)
    if python is None:
        pytest.skip(f"no other Python {version} here")
    (tmp_path / "odd.py").write_text(ODD, "utf-8")
    files = [*sorted((repository / "src").rglob("*.py")), tmp_path / "odd.py"]
    environment = {**os.environ, "PYTHONPATH": str(repository / "src"), "PYTHONUTF8": "1"}
    done = subprocess.run(
        [python, "-W", "ignore", "-c", EVERY], input="\n".join(map(str, files)), text=True,
        env=environment, capture_output=True, check=True,
    )  # fmt: skip
    found = [read_module(file.read_text("utf-8")) for file in files]
    mine = [" ".join((one.meaning, one.shown, *sorted(one.imports))) for one in found]
    assert done.stdout.splitlines() == mine


def test_labels_and_colours_are_no_code_but_of_what_shows_them(tmp_path):
    """Else another colour would initialise and train every model again."""
    found = []
    for number, changed in enumerate(({}, {"colour": "#000000", "label": "B"}, {"seed": 1})):
        given = {"name": "a", "label": "A", "colour": "#ffffff", **changed}
        keywords = ", ".join(f"{key}={value!r}" for key, value in given.items())
        one = package(tmp_path / str(number), methods__a=f"METHOD = Method({keywords})\n")
        found.append([one.code(["methods/a.py"], shows=shows) for shows in (False, True)])
    plain, coloured, seeded = found
    assert plain[0] == coloured[0] != seeded[0]
    assert len({identity(one[1]) for one in found}) == 3


@pytest.mark.parametrize(
    ("before", "shown", "computed"),
    [
        ("Metric('a', label='A', low=0)", "Metric('a', label='B', low=0)", "Metric('a', low=1)"),
        ("GenerationKind(place=1, shots=2)", "GenerationKind(place=2, caption='x', shots=2)", "0"),
        ("Field(ge=1, description='a')", "Field(ge=1, description='b')", "Field(ge=2)"),
    ],
)
def test_what_readers_see_is_no_code(before, shown, computed):
    found = [read_module(text) for text in (before, shown, computed)]
    assert found[0].meaning == found[1].meaning != found[2].meaning
    assert len({one.shown for one in found}) == 3


def test_a_colour_of_a_language_is_no_code_and_a_word_is(tmp_path):
    package_ = package(tmp_path, start="from revocab import languages\n", languages__a="")
    file, found = tmp_path / "languages/it.yaml", []
    for text in ("colours: [red]", "colours: [blue]", "words: {a: b}"):
        file.write_text(f"name: Italian\n{text}\n")
        now = Modules(package_.folder)
        found.append([now.code(["start.py"], shows=shows) for shows in (False, True)])
    red, blue, worded = found
    assert red[0] == blue[0] != worded[0]
    assert len({identity(shown) for _, shown in found}) == 3


# --- the package itself ---------------------------------------------------------------------------


def test_the_commands_stand_on_what_they_use():
    trained = code_of("train_model")
    assert {"training/loop/trainer.py", "training/loop/loss.py", "models/load.py"} <= trained.keys()
    assert not {*trained} & {*SPEAKING}
    assert "report/figure_parts/style.py" in code_of("make_figures")
    for command, folders in FOUND.items():
        for folder in folders:
            assert len(modules().below(folder)) > 1, folder
            assert {*modules().below(folder)} <= code_of(command).keys()


def test_every_name_of_a_module_or_command_is_one(repository):
    """Else a rule would silently not depend on the code."""
    assert {*SPEAKING} <= {*modules().names.values()}
    commands = {path.stem for path in (repository / "src/revocab/commands").glob("*.py")}
    assert {*FOUND, *SHOWS} <= commands


def test_every_import_of_ours_names_a_module_that_exists():
    """Else a rule would silently not depend on the code: ``closure`` follows what it finds."""
    known = modules().names
    assert len(known) > 100

    def missing(imports):
        ours = [name for name in imports if name.split(".")[0] == "revocab"]
        return {one for one in ours if one not in known and one.rpartition(".")[0] not in known}

    wrong = {name: missing(modules().read(name).imports) for name in known.values()}
    assert {name: found for name, found in wrong.items() if found} == {}
    assert missing(read_module("def f():\n    from revocab.nowhere import g\n").imports)


def test_the_report_never_stands_on_the_plan():
    """The plan asks tables and figures what they read; types count as well."""
    for name in modules().names.values():
        if name.startswith("report/"):
            tree = ast.parse((modules().folder / name).read_text("utf-8"))
            imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
            assert not any(f"{node.module}.".startswith("revocab.plan.") for node in imports), name


def test_no_import_is_relative():
    """Those are not followed."""
    for name in modules().names.values():
        tree = ast.parse((modules().folder / name).read_text("utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        assert not any(node.level for node in imports), name


def test_imports_of_the_evaluation_go_one_way():
    """No module stands on itself, lazy imports included."""
    left = {name for name in modules().names.values() if name.startswith("evaluation/")}
    while free := {name for name in left if not (left - {name}) & modules().direct(name)}:
        left -= free
    assert not left


def test_records_stand_on_all_of_the_evaluation_but_what_is_found(tmp_path, monkeypatch):
    """Engines and kinds, of which a record knows its own alone."""
    folder = tmp_path / "evaluation"
    shutil.copytree(modules().folder / "evaluation", folder)
    monkeypatch.setattr(records, "__file__", str(folder / "records.py"))
    found = {path for paths in FOUND.values() for path in paths}
    before = records.code_hash.__wrapped__()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text("utf-8")
        path.write_text(f"{text}\nMORE = 1\n", "utf-8")
        counts = path.parent.relative_to(tmp_path).as_posix() not in found
        assert (records.code_hash.__wrapped__() != before) == counts, path
        path.write_text(text, "utf-8")
