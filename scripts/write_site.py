"""Gather the pages of the site: README and docs, with the reference and gallery made from code."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Iterator
from html import escape, unescape
from pathlib import Path

import yaml
from command_pages import command_page, python_page
from reference_pages import experiment_page

from revocab.io import write_text

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(!?\[[^\]]*\]\()([^()\s]+)(\))")
BLOCK = re.compile(r"^ *```.*?^ *```$", re.M | re.S)
CODE = re.compile(rf"{BLOCK.pattern}|`[^`\n]+`", re.M | re.S)
#: Pages of the reference, by name.
PAGES = {"experiment.md": experiment_page, "commands.md": command_page, "python.md": python_page}
#: Files outside docs/ that pages link to, and where they lie in the site.
OTHERS = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "LICENSE",
    "CITATION.cff": "CITATION.cff",
}
#: Sources that pages link to for what the reference tells of them.
TOLD = {
    "src/revocab/experiment/schema/experiment.py": "reference/experiment.md",
    "src/revocab/verbs": "reference/commands.md",
}
#: Exported results, and the experiment that made them: the gallery shows both.
GALLERY, GALLERY_FILE = "docs/results-demo.md", "config/demos/demo.yaml"
#: A bar in code in a table.
PIPE = "\\|"
PIPED = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")
#: Sections and pages of the navigation in mkdocs.yml.
NAV = re.compile(r"^(?:  - ([^:\n]+):|(?:      |  )- ([^:\n]+): (\S+\.md))$", re.M)
#: What heads a table or figure in a page of results: folded, or left out with a reason.
SHOWN = re.compile(r"^<details><summary>(.+)</summary>$()|^\*\*(.+?)\*\*(.*)$", re.M)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of pages to write")
    write_site(parser.parse_args().out)


def write_site(out: Path) -> None:
    """Write all pages and files of the site into a folder, in place of what is there."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(ROOT / "docs", out, ignore=shutil.ignore_patterns("*.md"))
    for source, place in places().items():
        text = (ROOT / source).read_text(encoding="utf-8")
        if source == GALLERY:
            text = with_yaml(text, GALLERY_FILE)
        if place.endswith(".md"):
            text = for_mkdocs(relinked(text, source, place))
        write_text(out / place, text)
    for name, page in PAGES.items():
        write_text(out / "reference" / name, for_mkdocs(page()))
    write_text(out / "llms.txt", llms(out))


def for_mkdocs(text: str) -> str:
    """Return a page with what GitHub and mkdocs escape in different ways as both show it."""
    text = text.replace("\\<", "&lt;").replace("\\>", "&gt;")
    return PIPED.sub(lambda code: f"<code>{escape(code[1]).replace(PIPE, '&#124;')}</code>", text)


def places() -> dict[str, str]:
    """Return where each committed page lies in the site."""
    pages = [str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")]
    own = {page: page.removeprefix("docs/") for page in sorted(pages)}
    return {**OTHERS, **own, GALLERY: "gallery.md"}


def relinked(text: str, source: str, place: str) -> str:
    """Return a page with its links to files of the checkout as links within the site."""
    known = places() | TOLD

    def link(found: re.Match[str]) -> str:
        before, target, after = found.groups()
        path, mark, anchor = target.partition("#")
        if not path or ":" in path:
            return found[0]
        file = (ROOT / source).parent.joinpath(path).resolve().relative_to(ROOT)
        there = known.get(str(file), str(file).removeprefix("docs/"))
        up = "../" * place.count("/")
        return f"{before}{up}{there}{mark}{anchor}{after}"

    parts, end = [], 0
    for code in CODE.finditer(text):
        parts += [LINK.sub(link, text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, LINK.sub(link, text[end:])])


def with_yaml(page: str, file: str) -> str:
    """Return a page of results with the lines of the experiment under each table and figure."""
    text = (ROOT / file).read_text(encoding="utf-8")
    left = {kind: dict(entries(text, kind)) for kind in ("tables", "figures")}
    heading, _, rest = page.replace("</details>\n\n", "").partition("\n")
    about = f"Each table and figure of an experiment, with the lines of `{file}` that make it."
    page = f"{heading.replace('Results:', 'Gallery:')}\n\n{about}\n{rest}"
    tables, mark, figures = page.partition("\n## Figures\n")

    def shown(kind: str, part: str) -> str:
        return SHOWN.sub(lambda found: with_lines(found, kind, left[kind], file), part)

    page = "".join([shown("tables", tables), mark, shown("figures", figures)])
    if missing := [name for asked in left.values() for name in asked]:
        raise SystemExit(f"{file}: not in its page of results: {', '.join(missing)}")
    return page


def with_lines(found: re.Match[str], kind: str, left: dict[str, tuple[str, str]], file: str) -> str:
    """Return the heading of a table or figure and its lines, which are taken from those left."""
    heading = unescape(found[1]) if found[1] else plain(found[3])
    rest = (found[4] or "").strip()
    fits = [name for name, (title, _) in left.items() if title in heading]
    if not fits:
        return f"### {heading}"
    title, lines = left.pop(max(fits, key=lambda name: len(left[name][0])))
    place = heading.index(title) + len(title)
    notes = [part for part in (heading[place:].strip(), rest) if part]
    block = f'```yaml title="{file}"\n{kind}:\n{lines}\n```'
    return "\n\n".join([f"### {heading[:place]}", block, *notes])


def plain(markdown: str) -> str:
    return re.sub(r"\\([\\`*_{}\[\]<>()#+.!|-])", r"\1", markdown)


def entries(text: str, section: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the id, title and lines of each entry of a section, as they stand in the file."""
    lines = text.splitlines()
    for key, value in yaml.compose(text).value:
        if key.value != section:
            continue
        for name, entry in value.value:
            title = {part.value: what.value for part, what in entry.value}["title"]
            shown = lines[name.start_mark.line : entry.end_mark.line + 1]
            while shown and (not shown[-1].strip() or not shown[-1].startswith("  ")):
                shown.pop()
            yield name.value, (title, "\n".join(shown))


def llms(out: Path) -> str:
    """Return an index of the pages for language models, in the order of the navigation."""
    lines = ["# Revocab", "", f"> {setting('site_description')}", "", "## Begin", ""]
    _, _, nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")
    for section, name, page in NAV.findall(nav):
        if section:
            lines += ["", f"## {section}", ""]
        else:
            about = first_sentence((out / page).read_text(encoding="utf-8"))
            lines.append(f"- [{name}]({page})" + (f": {about}" if about else ""))
    return "\n".join([*lines, ""])


def setting(key: str) -> str:
    (found,) = re.findall(rf"^{key}: (.+)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.M)
    return found


def first_sentence(page: str) -> str:
    parts = BLOCK.sub("", page).split("\n\n")[1:]
    first = next((part for part in parts if re.match(r"\s*[A-Z*`]", part)), "")
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(first.split())).replace("*", "")
    return re.split(r"(?<=[.:])(?<!al\.) ", words)[0].rstrip(":.")


if __name__ == "__main__":
    main()
