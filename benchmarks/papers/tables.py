"""Tables of the papers from the benchmarks there are: each prints ours, the papers' methods and the printed figures.

Our policies are our own where the papers' are not public, so that seconds and depths compare, and verdicts need not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from benchmarks import ladder
from benchmarks.cartpole import __main__ as cartpole
from benchmarks.forever import table as forever
from benchmarks.forever.paper import Paper
from benchmarks.lander import __main__ as lander
from benchmarks.measure import Measured, Method, measure_engine, measure_task, table
from benchmarks.papers import printed
from benchmarks.pendulum import __main__ as pendulum
from benchmarks.pendulum_rnn import __main__ as pendulum_rnn
from benchmarks.spread import __main__ as spread
from vernal.logic.task import Task

CPU = time.process_time


# Ladders: AAAI 2019, and Table 4 and Figure 2 of AAMAS 2025 -----------------------------------------------------------


def climbed(
    header: Sequence[str],
    ladders: Sequence[ladder.Ladder],
    limits: ladder.Limits,
    columns: Mapping[str, Callable[[ladder.Row], str]],
) -> int:
    """All ladders by every method, with columns of what is printed; 1 if two methods contradict each other."""
    rows = ladder.climb(ladders, limits)
    names = ladder.names(rows)
    lines = [
        (
            *row.ladder.label,
            str(row.rung),
            *(str(row.cells[name]) if name in row.cells else "-" for name in names),
            *(column(row) for column in columns.values()),
        )
        for row in rows
    ]
    print(f"{ladder.LEGEND}\n\n{table((*header, *names, *columns), lines)}\n\n{ladder.totals_table(rows)}\n")
    wrong = [f"CONTRADICTION: {row.ladder.label} {row.rung}" for row in rows if row.contradicts]
    print("\n".join(wrong) or "no two methods contradict each other")
    return int(bool(wrong))


def limits(cap: float, minutes: float, to: int | None = None) -> ladder.Limits:
    """So many seconds of the processor for a cell, and so many minutes until no baseline is begun any more."""
    return ladder.Limits(cap, time.monotonic() + 60 * minutes, to, CPU)


def cell_of(cells: printed.Cells, place: int, row: ladder.Row) -> str:
    """One of the printed figures for the angle and the bound of a row."""
    return cells.get((row.ladder.label[-1], str(row.rung)), ("",) * (place + 1))[place]


def pushes(cap: float) -> int:
    """AAAI 2019, Tables 1 and 2."""
    names = ("printed ios", "printed iod")
    columns = {name: partial(cell_of, printed.PENDULUM_RNN, place) for place, name in enumerate(names)}
    print("X[n] (theta > -eps)\n")
    failed = climbed(pendulum_rnn.HEADER, pendulum_rnn.ladders(), limits(cap, 6), columns)
    print(f"\nvariables / rows / binaries of the program for eps = pi/{pendulum_rnn.TIGHTEST}\n")
    print(pendulum_rnn.sizes_table(limits(cap, 6)))
    print("\nprinted, variables / constraints\n")
    ios, iod = (list(zip(*printed.SIZES[name], strict=True)) for name in ("ios", "iod"))
    pairs = [(str(n), f"{a[0]} / {a[1]}", f"{b[0]} / {b[1]}") for n, (a, b) in enumerate(zip(ios, iod, strict=True), 1)]
    print(table(("n", "ios", "iod"), pairs))
    return failed


def landing(cap: float) -> int:
    """AAMAS 2025, Table 4."""
    names = ("printed RNSVerify", "printed RMILP", "printed ours")
    columns = {name: partial(cell_of, printed.LANDER, place) for place, name in enumerate(names)}
    print("X[t] (abs(theta) < eps), from the small box\n")
    return climbed(lander.HEADER, lander.ladders(boxes=(1,)), limits(cap, 8), columns)


def spreading(cap: float) -> int:
    """AAMAS 2025, Figure 2."""
    columns = {"printed": lambda row: printed.SPREAD[row.ladder.label[1]]}
    print("stability F[0,t] G[0,t] there, liveness G[0,t] F[0,t] there, holding G[0,t] (everybody is home)\n")
    return climbed(spread.HEADER, spread.ladders(), limits(cap, 4), columns)


# For all time: Tables 2 and 3 of AAMAS 2025 ---------------------------------------------------------------------------


def by_engine(task: Task, name: str, cap: float) -> Measured:
    return measure_task(task, name, Method("auto", "auto"), cap, CPU)


def by_paper(depth: int, task: Task, name: str, cap: float) -> Measured:
    return measure_engine(task, name, Paper(depth), cap, CPU)


def endless(
    header: Sequence[str],
    groups: Sequence[Sequence[forever.Asked]],
    depth: int,
    cap: float,
    cells: Mapping[tuple[str, str], str],
) -> int:
    """All questions by `auto` and by the paper's algorithms, and what is printed of them."""
    columns = [forever.Column("auto", by_engine), forever.Column(Paper.name, partial(by_paper, depth))]
    lines = forever.fill(groups, columns, cap)
    rows = []
    for line in lines:
        label = line.asked.label
        said = [str(line.cells[column.name]) if column.name in line.cells else "-" for column in columns]
        rows.append((*label, *said, cells.get((label[0], label[-1]), "")))
    print(f"{forever.LEGEND}\n\n{table((*header, 'auto', 'paper', 'printed'), rows)}\n\n{forever.comparison(lines)}")
    wrong = forever.mistakes(lines)
    print("\n".join(wrong) or "no two contradict each other")
    return int(bool(wrong))


def balancing(cap: float) -> int:
    """AAMAS 2025, Table 2."""
    groups = cartpole.groups(properties=("one_sided",))
    print("G (theta <= eps & |x| <= 1); printed: seconds (depth), + minimal, ++ maximal invariant\n")
    return endless(cartpole.HEADER, groups, cartpole.DEPTH, cap, printed.CARTPOLE)


def swinging(cap: float) -> int:
    """AAMAS 2025, Table 3."""
    print("F (y >= 1 - eps); printed: seconds (depth)\n")
    return endless(pendulum.HEADER, pendulum.groups(), pendulum.DEPTH, cap, printed.PENDULUM)
