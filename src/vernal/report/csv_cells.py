"""Cells of CSV files: a spreadsheet takes a text that begins like a formula for one, so such a text is marked."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from typing import TextIO

FORMULA = re.compile(r"[=+\-@\t\r]")  # how a cell begins that a spreadsheet computes
NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?(/\d+)?")


def write_rows(file: TextIO, rows: Iterable[Iterable[object]]) -> None:
    """Rows as CSV; texts that a spreadsheet would compute begin with an apostrophe."""
    csv.writer(file, lineterminator="\n").writerows([_cell(value) for value in row] for row in rows)


def _cell(value: object) -> object:
    harmless = not isinstance(value, str) or not FORMULA.match(value) or NUMBER.fullmatch(value)
    return value if harmless else f"'{value}"
