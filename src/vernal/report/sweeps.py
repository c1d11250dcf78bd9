"""Sweeps for people and for machines: tables as the papers print them, documents, CSV and data frames."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from vernal.evidence.document_head import exact_number
from vernal.evidence.result import UNKNOWN, Result
from vernal.queries.sweep import SweepRow, SweepTable
from vernal.report.csv_cells import write_rows
from vernal.report.document import dump, sweep_document
from vernal.report.frames import data_frame, html_lines, html_table
from vernal.report.tables import WIDTH, Column, aligned, reach, seconds
from vernal.report.values import number
from vernal.run.output import write_text

CSV = ".csv"


def sweep_text(rows: Sequence[SweepRow], *, width: int = WIDTH) -> str:
    """One table per property: a grid over two parameters, a list over any other number."""
    tables = []
    for title, columns in _tables(rows):
        body = aligned(columns, width=width, indent="  ")
        tables.append(f"{title}\n{body}" if title else body)
    return "\n\n".join(tables)


def _tables(rows: Sequence[SweepRow]) -> list[tuple[str, list[Column]]]:
    """The columns of every table, under its title."""
    made = []
    for name, title in dict.fromkeys((row.result.property, _asked(row)) for row in rows):
        own = [row for row in rows if (row.result.property, _asked(row)) == (name, title)]
        grid = len(own[0].written) == 2
        made.append((f"{title}  ({_unit(own)})" if grid else title, _grid(own) if grid else _list(own)))
    return made


def _asked(row: SweepRow) -> str:
    """What the table is headed with: the name, or the formula, whose bounds may depend on the parameters."""
    return row.result.property or row.result.formula


def cell_text(result: Result) -> str:
    """`holds 27.5` or `violated -2.27` with its margin, else with its time."""
    if result.verdict is not UNKNOWN and result.margin is not None:
        return f"{result.verdict.value} {number(result.margin)}"
    return f"{result.verdict.value} {seconds(result.seconds)}"


def _unit(rows: Sequence[SweepRow]) -> str:
    """What stands beside the verdicts in the cells of a grid."""
    bare = [row.result.verdict is UNKNOWN or row.result.margin is None for row in rows]
    return "with seconds" if all(bare) else "with margin, or seconds" if any(bare) else "with margin"


def _grid(rows: Sequence[SweepRow]) -> list[Column]:
    """Rows are the last parameter, columns the first, as the papers print it; a cell never reached stays empty."""
    across, down = list(rows[0].written)
    texts = {(row.written[across], row.written[down]): cell_text(row.result) for row in rows}
    sides = list(dict.fromkeys(row.written[down] for row in rows))
    heads = list(dict.fromkeys(row.written[across] for row in rows))
    columns = [Column(f"{across}={head}", [texts.get((head, side), "") for side in sides], left=True) for head in heads]
    return [Column(down, sides), *columns]


def _list(rows: Sequence[SweepRow]) -> list[Column]:
    columns = [Column(name, [row.written[name] for row in rows]) for name in rows[0].written]
    found = [
        Column("verdict", [row.result.verdict.value for row in rows], left=True),
        Column("scope", [reach(row.result) or "" for row in rows], left=True),
        Column("margin", ["" if row.result.margin is None else number(row.result.margin) for row in rows]),
        Column("time", [seconds(row.result.seconds) for row in rows]),
    ]
    return [*columns, *(column for column in found if any(column.cells))]


# For machines ---------------------------------------------------------------------------------------------------------


def sweep_columns(rows: Sequence[SweepRow]) -> dict[str, list[Any]]:
    """A value for each row: parameters, property, verdict, scope, margin, engine, seconds."""
    names = list(rows[0].parameters) if rows else []
    results = [row.result for row in rows]
    return {
        **{name: [exact_number(row.parameters[name]) for row in rows] for name in names},
        "property": [result.property or result.formula for result in results],
        "verdict": [result.verdict.value for result in results],
        "scope": [result.scope for result in results],
        "margin": [result.margin for result in results],
        "engine": [result.engine for result in results],
        "seconds": [round(result.seconds, 6) for result in results],
    }


def csv_text(rows: Sequence[SweepRow]) -> str:
    """One line for each row."""
    columns = sweep_columns(rows)
    text = StringIO()
    write_rows(text, [list(columns), *map(list, zip(*columns.values(), strict=True))])
    return text.getvalue()


def save_sweep(table: SweepTable, file: str | Path) -> None:
    """The rows as CSV where the file is called so, else as a JSON document."""
    csv = Path(file).suffix.lower() == CSV
    write_text(file, csv_text(table.rows) if csv else dump(sweep_document(table.task, table.rows)))


def frame_sweep(table: SweepTable) -> Any:
    """The same as a data frame."""
    return data_frame(sweep_columns(table.rows))


def show_sweep(table: SweepTable) -> str:
    """The tables, for a notebook."""
    return "".join(html_lines([title]) + html_table(columns) for title, columns in _tables(table.rows))
