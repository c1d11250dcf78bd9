"""The vocabulary in docs/vocabulary.md: every noun is a type at the stated place, and no other type has its name."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.test_house import tree_of

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "vernal"
ROW = re.compile(r"^\| `(?P<noun>\w+)` \| (?P<kind>class|alias), `(?P<file>[\w/]+\.py)` \| (?P<about>.+) \|$")
LEAST = 60  # nouns of the core


class Home(NamedTuple):
    """Where a type is defined, and how."""

    kind: str
    file: str


def vocabulary(page: str) -> list[tuple[str, Home]]:
    """The nouns of the page's tables, with their homes."""
    lines = [line for line in page.splitlines() if line.startswith("| `")]
    rows = [ROW.match(line) for line in lines]
    assert all(rows), [line for line, row in zip(lines, rows, strict=True) if row is None]
    return [(row["noun"], Home(row["kind"], row["file"])) for row in rows if row is not None]


def types_of(file: str, text: str) -> list[tuple[str, Home]]:
    """The classes and aliases at the top level of a module; an alias is a name in capitals and small letters."""
    found = []
    for node in tree_of(text).body:
        match node:
            case ast.ClassDef(name=name):
                found.append((name, Home("class", file)))
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if re.fullmatch(r"[A-Z]\w*[a-z]\w*", name) and "_" not in name:
                    found.append((name, Home("alias", file)))
    return found


def homes(texts: Mapping[str, str]) -> dict[str, list[Home]]:
    """All places at which each name is a type."""
    found: dict[str, list[Home]] = defaultdict(list)
    for file, text in texts.items():
        for name, home in types_of(file, text):
            found[name].append(home)
    return found


def problems(page: str, texts: Mapping[str, str]) -> list[str]:
    """What is wrong with the table: a noun that stands there twice, is no type, is elsewhere, or is two types."""
    rows, known = vocabulary(page), homes(texts)
    nouns = [noun for noun, _ in rows]
    twice = [f"{noun} stands on the page twice" for noun in sorted({n for n in nouns if nouns.count(n) > 1})]
    wrong = [
        f"{noun}: the page says {' in '.join(home)}, the source {[' in '.join(found) for found in known.get(noun, [])]}"
        for noun, home in rows
        if known.get(noun, []) != [home]
    ]
    return twice + wrong


def source() -> dict[str, str]:
    return {str(path.relative_to(SOURCE).as_posix()): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}


def test_every_noun_is_one_type() -> None:
    page = (ROOT / "docs" / "vocabulary.md").read_text(encoding="utf-8")
    assert problems(page, source()) == []
    assert len(vocabulary(page)) >= LEAST


def test_a_name_has_one_home() -> None:
    """Beyond the page: only the connectives of the two languages share a name."""
    shared = {name for name, found in homes(source()).items() if len(found) > 1}
    assert shared <= {"And", "Or", "Not"}


FAKE = "# Vocabulary\n\n| noun | type | what it is |\n|---|---|---|\n| `Box` | class, `a.py` | ends |\n"


@pytest.mark.parametrize(
    ("texts", "wrong"),
    [
        ({"a.py": "class Box: ..."}, 0),
        ({"a.py": "class Box: ...", "b.py": "BOX = 1\nbox = 2\ndef f():\n    class Box: ..."}, 0),
        ({"a.py": "Box = tuple[int, int]"}, 1),
        ({"b.py": "class Box: ..."}, 1),
        ({}, 1),
        ({"a.py": "class Box: ...", "b.py": "class Box: ..."}, 1),
        ({"a.py": "class Box: ...", "b.py": "Box: TypeAlias = int"}, 1),
    ],
)
def test_a_wrong_table_is_seen(texts: Mapping[str, str], wrong: int) -> None:
    """The test above can fail: a noun of another kind, at another place, of no type, or of two."""
    assert len(problems(FAKE, texts)) == wrong


def test_a_noun_that_stands_twice_is_seen() -> None:
    line = "| `Box` | class, `a.py` | ends |\n"
    assert problems(FAKE.replace(line, line * 2), {"a.py": "class Box: ..."}) == ["Box stands on the page twice"]


def test_a_malformed_line_is_seen() -> None:
    with pytest.raises(AssertionError):
        vocabulary(FAKE.replace("class, `a.py`", "a class"))
