"""The way in, docs/design.md: it is short, its rooms are those of the house, and what it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import rooms
from tests.test_house import ROOMS

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "vernal"
MOST_WORDS = 4000
PAGES = [ROOT / "docs" / "design.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
PATH = re.compile(rf"`((?:{'|'.join(ROOMS)})/[a-z\d_/.]*)`")  # a file or folder below src/vernal, or one without `.py`


def missing(text: str) -> list[str]:
    """The paths of a page that lead to no file and to no folder of the package."""
    return [path for path in PATH.findall(text) if not (SOURCE / path).exists()]


def test_the_way_in_is_short() -> None:
    assert len(rooms.PAGE.read_text(encoding="utf-8").split()) < MOST_WORDS


def test_its_rooms_are_those_of_the_house() -> None:
    assert [name for name, _ in rooms.rooms(rooms.PAGE.read_text(encoding="utf-8"))] == list(ROOMS)
    assert [name for members, _ in rooms.BANDS.values() for name in members] == list(ROOMS)


def test_its_picture_is_that_of_the_page() -> None:
    assert rooms.PICTURE.read_text(encoding="utf-8") == rooms.picture(rooms.PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_paths_lead_somewhere(page: Path) -> None:
    assert missing(page.read_text(encoding="utf-8")) == []


def test_a_path_that_leads_nowhere_is_seen() -> None:
    assert missing("`model/expr.py`, `sets/`, `engines/none.py` and `logic/nothing`") == [
        "engines/none.py",
        "logic/nothing",
    ]
