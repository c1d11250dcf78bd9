"""The site without building it: links lead somewhere, every page is listed, the reference names everything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import vernal as vn
from scripts import notebooks, pages
from vernal.cli.main import application

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted({file for pattern in pages.PAGES for file in ROOT.glob(pattern)})
NOTEBOOKS = sorted(ROOT.glob(pages.NOTEBOOKS))
FENCED = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+?)\s*$", re.MULTILINE)
GENERATED = {f"docs/reference/{name}.md" for name in ("commands", "names", "modules")}


def links(page: Path) -> Iterator[str]:
    """Where the links and pictures of a page lead; code is no link."""
    text = CODE.sub("", FENCED.sub("", page.read_text(encoding="utf-8")))
    yield from LINK.findall(text)


@cache
def anchors(page: Path) -> frozenset[str]:
    """What can be linked to in a page: its headings as GitHub and the site write them."""
    found = HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found)


def problem(page: Path, link: str) -> str | None:
    """What is wrong with a link, if anything; other hosts are not asked."""
    if link.startswith(("https://", "http://")):
        return None
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.exists():
        return f"{page.relative_to(ROOT)}: {link} leads nowhere"
    if anchor and anchor not in anchors(target):
        return f"{page.relative_to(ROOT)}: {name or 'the page'} has no heading #{anchor}"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert [found for link in links(page) if (found := problem(page, link))] == []


@pytest.mark.parametrize(
    ("link", "what"),
    [("nowhere.md", "leads nowhere"), ("tasks.md#no-such-heading", "no heading"), ("#none", "no heading")],
)
def test_a_broken_link_is_seen(link: str, what: str) -> None:
    assert what in (problem(ROOT / "docs/tasks.md", link) or "")


def test_every_page_is_in_the_navigation_once() -> None:
    listed = re.findall(r"^ +- .*?: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    tracked = {str(page.relative_to(ROOT)) for page in PAGES}
    made = {str(file.relative_to(ROOT).with_suffix(".md")) for file in NOTEBOOKS}
    assert sorted(listed) == sorted(tracked | made | GENERATED)


def test_the_reference_names_every_command_and_option() -> None:
    page = pages.commands_page()
    for command in application().registered_commands:
        assert f"\n## vernal {command.name}\n" in page
    assert all(option in page for option in ("--timeout S", "--engine NAME", "--force", "--over"))
    assert "\b" not in page


def test_the_reference_names_every_public_name() -> None:
    named = re.findall(r"^::: vernal\.(?:[\w.]+\.)?(\w+)$", pages.names_page(), re.MULTILINE)
    assert sorted(named) == sorted(vn.__all__)


def test_pages_are_gathered_where_they_stand(tmp_path: Path) -> None:
    pages.main(tmp_path / "pages")
    for page in PAGES:
        gathered = (tmp_path / "pages" / page.relative_to(ROOT)).read_text()
        assert gathered == pages.front(page.relative_to(ROOT)) + pages.page(page.read_text())
        for name in (link.partition("#")[0] for link in links(page) if not link.startswith("http")):
            assert (tmp_path / "pages" / page.relative_to(ROOT).parent / name).exists(), (
                f"{page}: {name} is not gathered"
            )
    assert (tmp_path / "pages/CHANGELOG.md").read_text().startswith("---\nsearch:\n  boost: 0.05\n---\n")
    assert "`& | ! -> <->`" in (tmp_path / "pages/README.md").read_text()  # a bar in a table's code
    assert (tmp_path / "pages/docs/images/gallery/vcas-trace.svg").is_file()


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_notebooks_print_what_they_store(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = json.loads(file.read_text(encoding="utf-8"))
    monkeypatch.chdir(file.parent)
    ran, cells = notebooks.run(notebook), notebooks.code_cells(notebook)
    assert [printed for printed, _ in ran] == [notebooks.stored(cell) for cell in cells]
    drawn = [any("image/png" in output.get("data", ()) for output in cell["outputs"]) for cell in cells]
    assert drawn == [picture is not None for _, picture in ran]
    assert any(drawn)
    assert file.stat().st_size < 100_000


def test_the_citation_says_what_the_package_says() -> None:
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"version: {vn.__version__}\n" in citation
    assert "license: Apache-2.0\n" in citation
