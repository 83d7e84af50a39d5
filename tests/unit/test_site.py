"""The pages of the site that are made from code: whole, and up to date with what they show.

`make docs` builds the site from them and checks their links and anchors.
"""

from __future__ import annotations

import re
import sys

import pytest
import yaml

from revocab.__main__ import BEGUN, PLANNED, VERBS
from revocab.experiment.schema import Experiment
from revocab.initialise.method import methods
from revocab.report.kind import figure_kinds, table_kinds
from revocab.verbs import places


@pytest.fixture(scope="module")
def site(repository, tmp_path_factory):
    """The folder of pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(repository / "scripts"))
        import write_site

        pages = tmp_path_factory.mktemp("site") / "pages"
        write_site.write_site(pages)
        yield pages
    for name in ("write_site", "command_pages", "reference_pages"):
        sys.modules.pop(name, None)


def headings(page) -> list[str]:
    return re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_key_of_an_experiment_says_what_it_means(site):
    import reference_pages

    assert reference_pages.unexplained(Experiment) == []


def test_every_verb_section_and_kind_is_in_the_reference(site):
    steps = {*places()} - {*VERBS.values()}
    assert {*BEGUN, *PLANNED, *VERBS, *steps} <= {*headings(site / "reference/commands.md")}
    sections = headings(site / "reference/experiment.md")
    assert len(sections) == len(set(sections))
    kinds = {f"Method: {name}" for name, method in methods().items() if method.trains}
    kinds |= {f"Table: {name}" for name in table_kinds()}
    kinds |= {f"Figure: {name}" for name in figure_kinds()}
    assert kinds <= {*sections}
    page = (site / "reference/experiment.md").read_text(encoding="utf-8")
    assert all(f"\n| `{key}` |" in page for key in Experiment.model_fields)


def test_links_of_the_reference_lead_to_its_headings(site):
    import reference_pages

    for page in (site / "reference").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        places = {reference_pages.anchor(heading) for heading in headings(page)}
        assert {*re.findall(r"\]\(#([^)]+)\)", text)} <= places, page.name


def test_the_gallery_shows_each_table_and_figure_with_its_lines(site, repository):
    text = (site / "gallery.md").read_text(encoding="utf-8")
    experiment = yaml.safe_load((repository / "config/demos/demo.yaml").read_text("utf-8"))
    for section in ("tables", "figures"):
        blocks = re.findall(rf"^```yaml .*\n({section}:\n(?:  .*\n)+)```$", text, re.MULTILINE)
        entries = [yaml.safe_load(block)[section] for block in blocks]
        assert {name for entry in entries for name in entry} == {*experiment[section]}
        assert all(experiment[section][name] == entry[name] for entry in entries for name in entry)


def test_the_navigation_and_the_index_for_language_models_name_every_page(site, repository):
    named = set(re.findall(r"\]\(([^)]+\.md)\)", (site / "llms.txt").read_text(encoding="utf-8")))
    pages = {str(page.relative_to(site)) for page in site.rglob("*.md")}
    assert named == {page for page in pages if not page.startswith("decisions/")}
    text = (repository / "mkdocs.yml").read_text(encoding="utf-8")
    assert named == {page for page in pages if f" {page}\n" in text}
