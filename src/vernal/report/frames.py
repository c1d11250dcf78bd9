"""Tables for notebooks: small HTML, and data frames where pandas is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vernal.errors import MissingExtra
from vernal.evidence.result import Verdict
from vernal.report.markup import escape
from vernal.report.tables import Column

VERDICT_COLOURS = {"holds": "#1a7f37", "violated": "#c3272b", "unknown": "#9a6700"}  # on white and on dark pages
CELL, WRAPPED = (f'style="text-align: left; padding: 0.15em 0.8em{more}"' for more in ("; white-space: nowrap", ""))
MAX_UNWRAPPED = 16  # characters of a cell that stay on one line: numbers and times, above all


def html_table(columns: Sequence[Column]) -> str:
    """Columns of text as a table, without any style but alignment: a notebook has its own."""
    if not columns:
        return ""
    top = "".join(f"<th {CELL}>{escape(column.title)}</th>" for column in columns)
    rows = zip(*(column.cells for column in columns), strict=True)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str) -> str:
    return f"<td {CELL if len(text) <= MAX_UNWRAPPED else WRAPPED}>{escape(text)}</td>"


def coloured(verdict: Verdict) -> str:
    """A verdict in its colour: a notebook has no style sheet of ours."""
    return f'<b style="color: {VERDICT_COLOURS[verdict.value]}">{verdict.value}</b>'


def html_lines(lines: Sequence[str]) -> str:
    """Lines of text below a table."""
    return "".join(f"<p>{escape(line)}</p>" for line in lines)


def data_frame(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Columns as a data frame."""
    try:
        import pandas
    except ImportError:
        raise MissingExtra("a table as a data frame", "pandas") from None
    return pandas.DataFrame(dict(columns))
