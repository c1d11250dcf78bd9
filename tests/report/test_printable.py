"""Nothing that comes from a file moves the cursor of a terminal, or makes a spreadsheet compute."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest

from tests.report import samples
from vernal.printable import in_one_line, printable
from vernal.report.csv_cells import write_rows
from vernal.report.text import result_text

HOSTILE = "safe\x1b[2K\x1b[1Aaccepted\u202e\r\x07"


@pytest.mark.parametrize("text", ["plain", "two\nlines", "\u00e9\u2264\u2227 \u4e2d"])
def test_what_prints_is_left_alone(text: str) -> None:
    assert printable(text) == text


def test_what_does_not_print_is_shown_as_its_escape() -> None:
    assert printable("a\x1b[2Kb\r\n\x00\u202e") == "a\\x1b[2Kb\\r\n\\x00\\u202e"
    assert in_one_line("a\nb\x1b") == "a\\nb\\x1b"


def test_a_result_has_no_colours_but_ours() -> None:
    result = replace(samples.unknown(), formula=HOSTILE, reason=HOSTILE, notes=(HOSTILE,))
    assert result_text(result).replace("\n", "").isprintable()
    assert result_text(result, colour=True).count("\x1b") == 2


@pytest.mark.parametrize("text", ["=1+1", "+A1", "-A1", "@now", "\tx", "-1+2"])
def test_a_cell_that_begins_like_a_formula_is_marked(text: str) -> None:
    file = StringIO()
    write_rows(file, [["name", text]])
    assert file.getvalue().strip("\n").split(",", 1)[1].strip('"').startswith("'")


@pytest.mark.parametrize("value", ["-1", "+2.5", "-1e-05", "1/3", "-2/3", -1.5, "name", ""])
def test_numbers_and_names_stay_as_they_are(value: object) -> None:
    file = StringIO()
    write_rows(file, [["name", value]])
    assert file.getvalue() == f"name,{value}\n"
