"""By how much a formula is true: numbers whose sign is the truth value, for searches that follow a gradient.

A positive margin means true and a negative one false; zero says nothing (`x <= 0` and `x < 0` have the same margin).
Conjunction and G take the least margin, disjunction and F the largest, negation changes the sign.
Reference: A. Donzé and O. Maler, Robust satisfaction of temporal logic over real-valued signals, FORMATS 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from vernal.logic.formula import Atom, Formula
from vernal.logic.normal import classify, fold, horizon, strip_quantifiers
from vernal.logic.path_algebra import operator_value
from vernal.logic.spans import Window, covers, spans
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.graph import order
from vernal.model.sorts import BOOL

Margins = NDArray[np.float64]


# Atoms ----------------------------------------------------------------------------------------------------------------


def atom_margin(expr: Expr) -> Expr:
    """An expression that is positive only where the atom is true and negative only where it is false.

    For `a <= b` and `a < b` it is b - a, for `a != b` the distance of the two, for `a == b` its negative: the largest
    margin of an equation is 0, where it is true. A Boolean without numbers inside has the margin 1 or -1.
    """
    known: dict[Expr, Expr] = {}
    for node in order([expr]):
        if node.sort == BOOL:
            known[node] = _margin_of(node, known)
    return known[expr]


def _margin_of(node: Expr, known: dict[Expr, Expr]) -> Expr:
    match node:
        case e.Compare(args=(a, b), op=op) if a.sort.is_number and b.sort.is_number:
            apart = build.absolute(build.sub(a, b))
            return {"==": build.neg(apart), "!=": apart}.get(op, build.sub(b, a))
        case e.Not(args=(p,)):
            return build.neg(known[p])
        case e.And(args=args):
            return build.minimum(*(known[arg] for arg in args))
        case e.Or(args=args):
            return build.maximum(*(known[arg] for arg in args))
        case e.If(args=(condition, p, q)):
            return build.if_(condition, known[p], known[q])
        case e.Switch(args=(subject, *branches), cases=cases):
            return build.switch(subject, cases, [known[branch] for branch in branches])
    return build.if_(node, 1, -1)


# Formulas over many runs ----------------------------------------------------------------------------------------------


def margins(formula: Formula, margin: Callable[[Expr, int], Margins], length: int) -> Margins:
    """The margin of a formula at the start of each of many runs, of which positions 0 .. length - 1 are known.

    `margin(atom, t)` has one number for each run. Later positions do not count, as if the runs ended there: F and U
    must come true before, G and R need not fail after, and an operator that sees no position at all is minus or plus
    infinity. So within the horizon of a bounded formula the sign is the truth; beyond, it is the truth of the part
    seen. CTL is read along each run.
    """
    if length < 1:
        raise ValueError("a run has at least one position")
    classify(formula)
    path = strip_quantifiers(formula)
    reach = horizon(path)
    count = length if reach is None else min(length, reach + 1)
    looks, algebra = spans(path), _Margins()

    def rule(node: Formula, args: tuple[Margins, ...]) -> Margins:
        if isinstance(node, Atom):
            found = _atom_rows(node, margin, count, looks[id(node)])
        else:
            found = operator_value(node, args, algebra)
        return np.broadcast_to(found, (count, found.shape[1]))

    result: Margins = fold(path, rule)[0]
    return result


def _atom_rows(atom: Atom, margin: Callable[[Expr, int], Margins], count: int, span: Window) -> Margins:
    """A row for each position, a column for each run; a constant is as true or false as can be.

    At positions outside the span of the formula the margin is 0 and not computed.
    """
    expr = atom.expr
    if isinstance(expr, e.Const):
        return np.full((count, 1), np.inf if expr.value else -np.inf)
    asked = {t for t in range(count) if covers(span, t)} or {0}  # one row at least gives the number of runs
    rows = np.broadcast_arrays(*(np.atleast_1d(margin(expr, t) if t in asked else 0.0) for t in range(count)))
    return np.stack(rows).astype(np.float64, copy=False)


class _Margins:
    """Margins at every position: a row each, and a column for each run."""

    def negation(self, value: Margins) -> Margins:
        return -value

    def conjunction(self, values: Sequence[Margins]) -> Margins:
        return reduce(np.minimum, values, np.full((1, 1), np.inf))

    def disjunction(self, values: Sequence[Margins]) -> Margins:
        return reduce(np.maximum, values, np.full((1, 1), -np.inf))

    def eventually(self, rows: Margins, lower: int, upper: int | None) -> Margins:
        """The largest of rows t + lower .. t + upper, for every t, by doubling the window."""
        width = len(rows) if upper is None else min(upper - lower + 1, len(rows))
        best, covered = rows, 1
        while covered < width:
            shift = min(covered, width - covered)
            best, covered = np.maximum(best, _later(best, shift)), covered + shift
        return _later(best, lower)

    def until(self, p: Margins, q: Margins, lower: int, upper: int | None) -> Margins:
        """p on the way to lower; from there on, q within the bound, and p until q: all three, also as quantities."""
        p, q = np.broadcast_arrays(p, q)
        meet = q.copy()
        for t in range(len(q) - 2, -1, -1):
            meet[t] = np.maximum(q[t], np.minimum(p[t], meet[t + 1]))
        width = None if upper is None else upper - lower
        rest = _later(np.minimum(meet, self.eventually(q, 0, width)), lower)
        return rest if lower == 0 else np.minimum(rest, -self.eventually(-p, 0, lower - 1))


def _later(rows: Margins, count: int) -> Margins:
    """The rows count positions later, minus infinity where there are none."""
    moved = np.full_like(rows, -np.inf)
    if count < len(rows):
        moved[: len(rows) - count] = rows[count:]
    return moved
