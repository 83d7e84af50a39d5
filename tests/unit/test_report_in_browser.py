"""The report as a reader uses it: sorted, filtered and unfolded by real clicks, in the dark too."""

from __future__ import annotations

import pytest
from browser import browser, chromium
from fake_results import copy_of_demo
from PIL import Image

from revocab.report import page as html
from revocab.report.results import Results

#: Numbers whose order is not that of their letters, twice the same one, and one that is missing.
ROWS = [
    ["Alpha", "9"],
    ["Beta", "1,024"],
    ["Gamma", "–"],
    ["Delta", "10.5"],
    ["Epsilon", "−3"],
    ["Zeta", "9"],
]
MADE = "document.querySelector('#timings table')"


@pytest.fixture(scope="module")
def page():
    if chromium() is None:
        pytest.skip("no Chromium: install the package chromium")
    with browser() as page:
        yield page


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of a demo with drawn figures and a table of :data:`ROWS`."""
    root = copy_of_demo(tmp_path_factory.mktemp("demo"))
    results = Results(root)
    for name in results.experiment.figures:
        figure = '<svg xmlns="http://www.w3.org/2000/svg" width="700" height="450"><defs/></svg>'
        (root / "figures").mkdir(exist_ok=True)
        (root / "figures" / f"{name}.svg").write_text(figure)
    with pytest.MonkeyPatch.context() as patch:
        rows = [{"training": name, "steps": number} for name, number in ROWS]
        patch.setattr(html, "trainings", lambda results: rows)
        (root / "report.html").write_text(html.page(results), encoding="utf-8")
    return root / "report.html"


def first_cells(
    page, table, rows="[...{}.tBodies[0].rows].filter(row => !row.hidden)"
) -> list[str]:
    return page.value(rows.format(table) + ".map(row => row.cells[0].textContent)")


def test_a_click_on_a_header_sorts_numbers_as_numbers_and_a_second_one_turns_them(page, report):
    page.show(report, "#timings")
    assert first_cells(page, MADE) == [name for name, _ in ROWS]
    page.click(f"{MADE}.tHead.rows[0].cells[1]")
    assert first_cells(page, MADE) == ["Epsilon", "Alpha", "Zeta", "Delta", "Beta", "Gamma"]
    page.click(f"{MADE}.tHead.rows[0].cells[1]")  # equal ones stay in order, the missing one last
    assert first_cells(page, MADE) == ["Beta", "Delta", "Alpha", "Zeta", "Epsilon", "Gamma"]
    assert page.value(f"{MADE}.tHead.rows[0].cells[1].getAttribute('aria-sort')") == "descending"
    page.click(f"{MADE}.tHead.rows[0].cells[0]")
    assert first_cells(page, MADE) == sorted(name for name, _ in ROWS)
    assert page.value(f"{MADE}.querySelectorAll('[aria-sort]').length") == 1


def test_rows_are_sorted_between_headings(page, report):
    page.show(report, "#table03")
    table = "document.querySelector('#table03 table')"
    before = first_cells(page, table)
    headings = {place: name for place, name in enumerate(before) if name.endswith("training steps")}
    assert headings
    page.click(f"{table}.tHead.rows[0].cells[1]")
    after = first_cells(page, table)
    assert after != before and sorted(after) == sorted(before)
    assert {place: after[place] for place in headings} == headings
    rows = f"[...{table}.tBodies[0].rows]"
    scores = page.value(f"{rows}.map(row => parseFloat(row.cells[1]?.textContent))")
    ends = [*headings, len(after)]
    for start, end in zip(headings, ends[1:], strict=True):
        assert scores[start + 1 : end] == sorted(scores[start + 1 : end])


def test_typing_filters_rows(page, report):
    page.show(report, "#timings")
    box = "document.querySelector('#timings .tools')"
    page.click(box)
    page.type("BETA")
    assert first_cells(page, MADE) == ["Beta"]
    page.value(f"{box}.select()")
    page.type("9")
    assert first_cells(page, MADE) == ["Alpha", "Zeta"]


def test_a_link_unfolds_what_it_leads_to(page, report):
    opened = "document.getElementById({!r}).open"
    top = "document.getElementById({!r}).getBoundingClientRect().top"
    page.show(report)
    assert page.value("document.querySelectorAll('details[open] > table').length") == 0
    page.click("document.querySelector('nav a[href=\"#table04\"]')")
    assert page.value(opened.format("table04")) and not page.value(opened.format("table03"))
    assert 0 <= page.value(top.format("table04")) < 900
    page.click("document.querySelector('#table04 a.cell')")
    origin = page.value("decodeURIComponent(location.hash.slice(1))")
    assert origin.startswith("from-runs/") and page.value(opened.format(origin))
    assert page.value("document.querySelector('#provenance > details').open")
    assert 0 <= page.value(top.format(origin)) < 900


@pytest.mark.parametrize(("dark", "least", "most"), [(False, 230, 255), (True, 0, 60)])
def test_colours_follow_the_reader(page, report, tmp_path, dark, least, most):
    page.show(report, dark=dark)
    page.picture(tmp_path / "page.png")
    with Image.open(tmp_path / "page.png") as picture:
        paper = sorted(picture.convert("L").get_flattened_data())
    assert least <= paper[len(paper) // 2] <= most  # most of a page is paper
    ink = page.value("getComputedStyle(document.body).color")
    assert (min(int(part) for part in ink[4:-1].split(",")) > 200) is dark


@pytest.mark.parametrize("width", [360, 390, 430, 485, 1280])
def test_the_page_fits_its_window_and_is_not_tall(page, report, width):
    page.show(report, width=width)
    assert page.value("document.documentElement.scrollWidth") == width
    assert page.height() <= 6000
