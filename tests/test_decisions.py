"""Pages of decisions: each has a title, a date and a line in the index, and the way in stays short."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
DECISIONS = sorted(page for page in (DOCS / "decisions").glob("*.md") if page.name != "index.md")
ROW = re.compile(r"^\| \[(?P<title>[^]]+)\]\((?P<page>[\w-]+\.md)\) \| (?P<date>\d{4}-\d\d-\d\d) \|$", re.MULTILINE)
REASONED = re.compile(r"\n\*\*Why\.\*\* .*\n\*\*Rules out\.\*\* ", re.DOTALL)
DATED = re.compile(r"^\*Decided on (\d{4}-\d\d-\d\d)(?:, changed on \d{4}-\d\d-\d\d)?\. In force\.\*$")


def described(page: Path) -> tuple[str, str, str]:
    """The title, the name and the date of a page, as the index should have them."""
    title, empty, dated, *_ = page.read_text(encoding="utf-8").splitlines()
    found = DATED.match(dated)
    assert title.startswith("# ")
    assert empty == ""
    assert found is not None, f"{page.name} does not say when it was decided"
    return title.removeprefix("# "), page.name, found[1]


def test_the_index_lists_every_decision_once() -> None:
    index = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")
    listed = [(row["title"], row["page"], row["date"]) for row in ROW.finditer(index)]
    assert sorted(listed) == sorted(described(page) for page in DECISIONS)


def test_titles_are_short() -> None:
    assert [page.name for page in DECISIONS if len(described(page)[0].split()) > 7] == []


def test_a_page_says_why_and_what_is_ruled_out() -> None:
    texts = {page.name: page.read_text(encoding="utf-8") for page in DECISIONS}
    assert [
        name
        for name, text in texts.items()
        if not re.search(r"\n\*\*Why\.\*\* .*\n\*\*Rules out\.\*\* ", text, re.DOTALL)
    ] == []
