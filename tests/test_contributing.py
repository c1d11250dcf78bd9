"""What CONTRIBUTING says a new operator takes is what `log1p` and `atan2` took."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "vernal"


@pytest.mark.parametrize(
    ("begins", "mentions"),
    [
        ("These files took `log1p`:", r"\blog1p\b|\bLOG1P\b"),
        ("These files took `atan2`:", r"\b[Aa]tan2\b|\bangle_planes\b"),
    ],
    ids=["function", "node"],
)
def test_the_files_that_an_operator_takes(begins: str, mentions: str) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split(begins)[1].split("\n\n")[1]
    named = {name for row in table.splitlines() for name in re.findall(r"`([\w/]+\.py)`", row.split("|")[1])}
    touched = {
        file.relative_to(SOURCE).as_posix()
        for file in SOURCE.rglob("*.py")
        if re.search(mentions, file.read_text(encoding="utf-8"))
    }
    assert named == touched
