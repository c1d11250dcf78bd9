"""The lemma *rows*: how large a form can be where other forms are at most 0, shown by multipliers.

For all y >= 0 a form f is at most f - sum(y row) wherever every row is at most 0. So whichever multipliers are found,
the range of that one form over the ends of its symbols is a bound; the search for good ones (a simplex, with the rule
of Bland) need not be believed. Where sum(y row) is above 0 for all values of the symbols, the rows contradict each
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from typing import Any

from vernal_check.clock import tick
from vernal_check.forms import ONE, ZERO, Exact, Form, Ranges

MAX_PIVOTS = 200
MAX_ROWS = 64
Cost = tuple[Fraction, Fraction]  # of what has no end, and else


def most(form: Exact, rows: Sequence[Exact], ranges: Ranges) -> Any:
    """An upper bound of a form where all rows are at most 0; -inf where they contradict each other."""
    used = connected(form, rows)
    multipliers, contradict = searched(form, used, ranges)
    total: Form = Exact(ZERO)
    for row, y in zip(used, multipliers, strict=True):
        total = total.plus(row.times(y)) if y > 0 else total
    assert isinstance(total, Exact)
    if contradict:
        return -inf if total.ends(ranges)[0] > 0 else form.ends(ranges)[1]
    shown = form.minus(total)
    assert isinstance(shown, Exact)
    return min(shown.ends(ranges)[1], form.ends(ranges)[1])


def connected(form: Exact, rows: Sequence[Exact]) -> list[Exact]:
    """The rows that have to do with a form, the last ones first."""
    symbols, used, left = set(form.terms), list[Exact](), list(reversed(rows))
    while more := [row for row in left if not symbols.isdisjoint(row.terms)]:
        used += more
        left = [row for row in left if symbols.isdisjoint(row.terms)]
        symbols.update(*(row.terms for row in more))
    return used[:MAX_ROWS]


def searched(form: Exact, rows: Sequence[Exact], ranges: Ranges) -> tuple[list[Fraction], bool]:
    """Multipliers of rows, by the program dual to the greatest value; or such that the rows contradict each other."""
    symbols = sorted({symbol for one in (form, *rows) for symbol in one.terms})
    columns = [[row.terms.get(symbol, ZERO) for symbol in symbols] for row in rows]
    costs: list[Cost] = [(ZERO, -(row.const + row.low)) for row in rows]
    for sign in (1, -1):
        for place, symbol in enumerate(symbols):
            columns.append([Fraction(sign * (place == other)) for other in range(len(symbols))])
            end = ranges[symbol][1] if sign > 0 else -ranges[symbol][0]
            costs.append((ONE, ZERO) if end == inf else (ZERO, end))
    wanted = [form.terms.get(symbol, ZERO) for symbol in symbols]
    basis = [len(rows) + place + (len(symbols) if a < 0 else 0) for place, a in enumerate(wanted)]
    table = [
        [a if wanted[i] >= 0 else -a for a in (c[i] for c in columns)] + [abs(wanted[i])] for i in range(len(basis))
    ]
    for _ in range(MAX_PIVOTS):
        tick()
        enters = next((k for k in range(len(columns)) if reduced(k, basis, table, costs) < (ZERO, ZERO)), None)
        if enters is None:
            break
        rising = [i for i in range(len(basis)) if table[i][enters] > 0]
        if not rising:  # a direction in which costs fall for ever
            ray = {basis[i]: -table[i][enters] for i in range(len(basis))} | {enters: ONE}
            return [ray.get(k, ZERO) for k in range(len(rows))], True
        leaves = min(rising, key=lambda i: (table[i][-1] / table[i][enters], basis[i]))
        pivot(table, leaves, enters)
        basis[leaves] = enters
    found = dict(zip(basis, (line[-1] for line in table), strict=True))
    return [found.get(k, ZERO) for k in range(len(rows))], False


def reduced(k: int, basis: Sequence[int], table: Sequence[Sequence[Fraction]], costs: Sequence[Cost]) -> Cost:
    """By how much the cost grows with the multiplier of a column."""
    endless, finite = costs[k]
    for line, place in zip(table, basis, strict=True):
        if line[k]:
            endless, finite = endless - costs[place][0] * line[k], finite - costs[place][1] * line[k]
    return endless, finite


def pivot(table: list[list[Fraction]], row: int, column: int) -> None:
    scale = table[row][column]
    table[row] = [a / scale for a in table[row]]
    for i, line in enumerate(table):
        if i != row and line[column]:
            factor = line[column]
            table[i] = [a - factor * b for a, b in zip(line, table[row], strict=True)]
