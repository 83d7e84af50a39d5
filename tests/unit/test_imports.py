"""Which files a rule depends on: lazy imports count, strangers and types do not, cycles end."""

from __future__ import annotations

import pytest

from revocab.imports import closure, direct, identity, imported_names, meaning


def test_closure_follows_lazy_imports_and_cycles(tmp_path):
    package = tmp_path / "src/revocab/part"
    package.mkdir(parents=True)
    for name, text in {
        "src/revocab/__init__.py": "",
        "src/revocab/part/__init__.py": "",
        "src/revocab/part/a.py": "def f():\n    from revocab.part.b import g\n",
        "src/revocab/part/b.py": "import json\nfrom revocab.part import a\n"
        "if TYPE_CHECKING:\n    from revocab.part.unused import T\n",
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


def missing(path, root):
    """Return the names that ``path`` imports from modules of ours that are not there."""

    def is_there(parts):
        folder = root.joinpath(*parts)
        return folder.is_dir() or folder.with_suffix(".py").is_file()

    names = [name.split(".") for name in imported_names(path.read_text(encoding="utf-8"))]
    ours = [parts for parts in names if parts[0] == "revocab"]
    return [parts for parts in ours if not is_there(parts) and not is_there(parts[:-1])]


def test_every_import_of_ours_names_a_module_that_exists(repository, tmp_path):
    """Else a rule would silently not depend on the code: ``closure`` follows what it finds."""
    root = repository / "src"
    files = {file for one in (repository / "scripts").glob("*.py") for file in closure(one, root)}
    assert len(files) > 100
    assert {path: missing(path, root) for path in files if missing(path, root)} == {}
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    from revocab.nowhere import g\n")
    assert missing(wrong, root) == [["revocab", "nowhere", "g"]]


def test_imports_of_the_evaluation_go_one_way(repository):
    """No module stands on itself, lazy imports included."""
    root = repository / "src"
    modules = {*(root / "revocab" / "evaluation").rglob("*.py")}
    while free := {path for path in modules if not (modules - {path}) & {*direct(path, root)}}:
        modules -= free
    assert not {path.name for path in modules}


def test_labels_and_colours_are_no_code_but_of_what_shows_them(tmp_path):
    """Else another colour would initialise and train every model again."""
    script = tmp_path / "script.py"
    script.write_text("import os\n")
    found = []
    for number, changes in enumerate(({}, {"colour": "#000000", "label": "B"}, {"seed": 1})):
        given = {"name": "a", "label": "A", "colour": "#ffffff", **changes}
        keywords = ", ".join(f"{key}={value!r}" for key, value in given.items())
        root = tmp_path / str(number)  # what a file means is remembered by its path
        (root / "revocab/methods").mkdir(parents=True)
        (root / "revocab/methods/a.py").write_text(f"METHOD = Method({keywords})\n")
        found.append([identity(script, root, ("methods",), shows=one) for one in (False, True)])
    plain, coloured, seeded = found
    assert plain[0] == coloured[0] != seeded[0]
    assert len({plain[1], coloured[1], seeded[1]}) == 3


@pytest.mark.parametrize(
    ("before", "shown", "computed"),
    [
        ("Metric('a', label='A', low=0)", "Metric('a', label='B', low=0)", "Metric('a', low=1)"),
        ("GenerationKind(place=1, shots=2)", "GenerationKind(place=2, caption='x', shots=2)", "0"),
    ],
)
def test_what_readers_see_of_metrics_and_kinds_is_no_code(tmp_path, before, shown, computed):
    found = []
    for number, text in enumerate((before, shown, computed)):
        path = tmp_path / f"{number}.py"
        path.write_text(text)
        found.append((meaning(path), meaning(path, True)))
    assert found[0][0] == found[1][0] != found[2][0]
    assert len({labelled for _, labelled in found}) == 3


def test_a_colour_of_a_language_is_no_code_and_a_word_is(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("from revocab.languages import languages\n")
    found = []
    for number, text in enumerate(("colours: [red]", "colours: [blue]", "words: {a: b}")):
        root = tmp_path / str(number)
        (root / "revocab/languages").mkdir(parents=True)
        (root / "revocab/languages/__init__.py").touch()
        (root / "revocab/languages/it.yaml").write_text(f"name: Italian\n{text}\n")
        found.append([identity(script, root, shows=one) for one in (False, True)])
    red, blue, worded = found
    assert red[0] == blue[0] != worded[0]
    assert len({red[1], blue[1], worded[1]}) == 3
