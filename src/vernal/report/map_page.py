"""Maps as one HTML page: zoom with the wheel, drag, hover a cell, click it for its trace. No network is needed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from io import StringIO
from pathlib import Path
from typing import Any

from vernal.evidence.codec import encoded
from vernal.evidence.trace import Trace
from vernal.logic.printing import number
from vernal.model.held_loop import as_written
from vernal.queries.maps.cell_tree import KINDS, NUMBER
from vernal.queries.maps.map_certificate import certificate_lines
from vernal.queries.maps.map_file import map_document
from vernal.queries.maps.region_map import RegionMap
from vernal.report.csv_cells import write_rows
from vernal.report.document import dump
from vernal.report.map_pictures import COLOURS, percent
from vernal.report.markup import escape
from vernal.run.budget import Budget
from vernal.run.output import write_text

MAX_TRACES = 2000  # of a page: each takes a few hundred characters


def write_map_page(found: RegionMap, file: str | Path) -> None:
    """The page of a map."""
    write_text(file, map_page(found))


def map_page(found: RegionMap) -> str:
    """The page as HTML."""
    frame = resources.files("vernal.report").joinpath("map_page.html").read_text(encoding="utf-8")
    data = json.dumps(_data(found), separators=(",", ":"), allow_nan=False)
    safe = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    title = f"{found.task.name}: {found.question.name or found.question.formula}"
    return frame.replace("@TITLE@", escape(title)).replace("@DATA@", safe)


def _data(found: RegionMap) -> dict[str, Any]:
    rows: list[list[Any]] = []
    traces: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    steps: dict[str, int] = {}
    for sheet, node, box in found.tree.cells():
        margin, shown = found.tree.margin[node], found.tree.evidence.get(node)
        place = len(rows)
        ends = [float(end) for low_high in box for end in low_high]
        rows.append([sheet, found.tree.kind[node], None if margin != margin else margin, *ends])
        if isinstance(shown, Trace) and len(traces) < MAX_TRACES:
            traces[str(place)] = encoded(shown, as_written(found.question.model)).get("trace")
        if node in found.tree.steps:
            steps[str(place)] = found.tree.steps[node]
        if node in found.tree.reasons:
            reasons[str(place)] = found.tree.reasons[node]
    shares = found.shares
    return {
        "task": found.task.name,
        "name": found.question.name,
        "formula": str(found.question.formula),
        "axes": [
            {"name": one.name, "lower": float(one.lower), "upper": float(one.upper), "whole": one.whole}
            for one in found.axes
        ],
        "sheets": [{name: number(value) for name, value in values.items()} for values in found.sheets],
        "kinds": [{"name": kind.value, "colour": COLOURS[kind], "share": percent(shares[kind])} for kind in KINDS],
        "cells": rows,
        "traces": traces,
        "reasons": reasons,
        "otherwise": found.otherwise,
        "steps": steps,
        "last": found.question.claim.horizon,
    }


def save_map(found: RegionMap, file: str | Path) -> None:
    """The cells as CSV where the file is called so, else the tree as JSON."""
    write_text(file, csv_map(found) if Path(file).suffix.lower() == ".csv" else dump(map_document(found)))


def certify_map(found: RegionMap, file: str | Path, timeout: float | None = None) -> None:
    """The certificate of the safe cells: a line of JSON each for the header, and for every cell and set."""
    lines = certificate_lines(found, Budget(timeout))
    write_text(file, "".join(f"{json.dumps(line, separators=(',', ':'), allow_nan=False)}\n" for line in lines))


def csv_map(found: RegionMap) -> str:
    """A line for each cell."""
    names = [axis.name for axis in found.axes]
    titles = [*found.sheets[0], *(f"{name} {end}" for name in names for end in ("lower", "upper"))]
    text = StringIO()
    rows: Iterator[list[object]] = (
        [
            *(number(value) for value in cell.parameters.values()),
            *(number(end) for name in names for end in cell.ends[name]),
            cell.kind.value,
            cell.margin,
            *([cell.steps] if found.tree.steps else []),
            str(cell.share),
        ]
        for cell in found.cells
    )
    write_rows(text, [[*titles, "kind", "margin", *(["steps"] if found.tree.steps else []), "share"], *rows])
    return text.getvalue()


def map_text(found: RegionMap) -> str:
    """The lines of the command line: shares by kind, then the number of cells."""
    numbers = found.tree.kind
    counts = [0] * len(NUMBER)
    for _, node, _ in found.tree.cells():
        counts[numbers[node]] += 1
    lines = [f"{found.task.name}  {found.question.name or ''}  {found.question.formula}".replace("    ", "  ")]
    for kind, share in found.shares.items():
        if share:
            cells = counts[NUMBER[kind]]
            lines.append(f"{kind.value:14}{percent(share):>10}  {cells:,} {'cell' if cells == 1 else 'cells'}")
    ended = f"; ended by: {found.stopped}" if found.stopped else ""
    return "\n".join([*lines, f"{len(found):,} cells in {found.seconds:.1f} s{ended}"])
