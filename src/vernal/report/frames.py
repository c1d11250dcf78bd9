"""Tables for notebooks: small HTML, and data frames where pandas is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vernal.errors import MissingExtra
from vernal.report.markup import escape
from vernal.report.tables import Column

CELL = 'style="text-align: left; padding: 0.15em 0.8em"'


def html_table(columns: Sequence[Column]) -> str:
    """Columns of text as a table, without any style but alignment: a notebook has its own."""
    if not columns:
        return ""
    top = "".join(f"<th {CELL}>{escape(column.title)}</th>" for column in columns)
    rows = zip(*(column.cells for column in columns), strict=True)
    body = "".join("<tr>" + "".join(f"<td {CELL}>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


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
