"""The paper's table: 24 cells for each scaling, by every method of ours, beside what others report."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from benchmarks.measure import AUTO, Measured, Method, measure, table, times_ours
from benchmarks.vcas import published
from benchmarks.vcas.methods import FOLDER, METHODS

REPORTED = ("paper par", "paper seq", "paper mono")

Cell = tuple[int, float, int]  # scaling, climb rate, step
Row = dict[str, Measured]


def run_cells(cap: float, methods: Sequence[Method] = METHODS) -> dict[Cell, Row]:
    """Every cell by every method; after its first timeout a method leaves out the larger k of that column."""
    rows: dict[Cell, Row] = {}
    for scaling, rate in product(published.SCALINGS, published.RATES):
        alive = list(methods)
        for k in published.STEPS:
            row = {method.name: _cell(method, cap, scaling, rate, k) for method in alive}
            rows[scaling, rate, k] = row
            alive = [method for method in alive if not row[method.name].timed_out]
    return rows


def _cell(method: Method, cap: float, scaling: int, rate: float, k: int) -> Measured:
    return measure(FOLDER / "vcas.toml", method, cap, range_v=scaling, v0=rate, k=k)


def cells_table(rows: dict[Cell, Row]) -> str:
    """T and F with seconds; ? is unknown, an empty cell was not tried after a timeout."""
    methods = _names(rows)
    return table(
        ("scaling", "v0", "k", "right", *methods, *REPORTED), [_line(cell, rows[cell], methods) for cell in rows]
    )


def _names(rows: dict[Cell, Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows.values() for name in row))


def _line(cell: Cell, row: Row, methods: Sequence[str]) -> list[str]:
    scaling, rate, k = cell
    right = "T" if published.expected(*cell) == "holds" else "F"
    ours = [str(row[name]) if name in row else "" for name in methods]
    times = (published.PARALLEL, published.SEQUENTIAL, published.MONOLITHIC)
    return [str(scaling), str(rate), str(k), right, *ours, *(published.reported(one, *cell) for one in times)]


def summary(rows: dict[Cell, Row]) -> str:
    """How many cells each method decides, in how many seconds altogether, and how that compares with ours."""
    lines = []
    for scaling, name in product(published.SCALINGS, _names(rows)):
        own = [row for cell, row in rows.items() if cell[0] == scaling and name in row]
        done = [row[name] for row in own]
        decided = [one for one in done if one.verdict != "unknown"]
        slowest = max((one.seconds for one in decided), default=0.0)
        total, processor = sum(one.seconds for one in decided), sum(one.processor for one in decided)
        costs = [f"{cost:.2f}" for cost in (total, processor, slowest)]
        ratio = times_ours([(row[name], row[AUTO.name]) for row in own])
        lines.append([str(scaling), name, f"{len(decided)} of 24", *costs, ratio])
    return table(("scaling", "method", "decided", "seconds for these", "CPU seconds", "slowest", "times auto"), lines)


def wrong(rows: dict[Cell, Row]) -> list[str]:
    """Every verdict that contradicts the right answer; there must be none."""
    return [
        f"{name} says {done.verdict} for scaling {cell[0]}, v0 = {cell[1]}, k = {cell[2]}"
        for cell, row in rows.items()
        for name, done in row.items()
        if done.verdict not in ("unknown", published.expected(*cell))
    ]
