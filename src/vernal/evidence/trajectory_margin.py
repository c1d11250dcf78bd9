"""By how much a formula is true on a recorded trajectory, whichever of its solutions is taken: at most so much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import arb

from vernal.evidence.trace import Trace
from vernal.evidence.trajectory import Trajectory, again, closed
from vernal.interpret import exact
from vernal.interpret.flow.point_solutions import is_inside
from vernal.logic.claim import position_expression
from vernal.logic.formula import Always, And, Atom, Bound, Eventually, Formula, Not, Or
from vernal.logic.margin import atom_margin, margins
from vernal.logic.normal import fold, nnf, rebuild
from vernal.logic.prefix import refuted_within
from vernal.logic.question import Question
from vernal.logic.times import Time, is_timed
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.tick import Tick, idle

PARTS_PER_PIECE = 64  # of a piece of time, over which what has to come true is bounded
BEGINNING = Bound(Fraction(0), Fraction(0))


def trajectory_margin(recorded: Trace, question: Question, tick: Tick = idle) -> float | None:
    """The margin of a formula that is false on a trajectory, from above; None where it is no finite number."""
    flow, formula = question.model, closed(question.formula, question.model)
    path = again(recorded, flow, tick=tick)
    if question.time is Time.SAMPLES:
        found = _sampled_margin(formula, path)
    else:
        found = _margin(nnf(formula, total=True), path)
    return min(found, 0.0) + 0.0 if math.isfinite(found) else None


def _sampled_margin(formula: Formula, path: Trajectory) -> float:
    """The margin over samples: it does not fall where those of literals rise."""
    found, complete = path.samples()
    literals = fold(nnf(formula if complete else refuted_within(formula, len(found))), _literal)
    table = lambda atom, k: np.array([_above(atom_margin(atom), found[k], path)])  # noqa: E731
    return float(margins(literals, table, len(found))[0]) if found else math.inf


def _literal(node: Formula, args: tuple[Formula, ...]) -> Formula:
    """A negated atom as an atom."""
    match node, args:
        case Not(), (Atom(expr),):
            return Atom(build.negate(expr))
    return rebuild(node, args)


def _margin(formula: Formula, path: Trajectory) -> float:
    match formula:
        case Always(arg=arg, bound=bound) if not is_timed(arg):
            return _least(arg, bound, path)
        case Eventually(arg=arg, bound=bound) if not is_timed(arg):
            return _most(arg, bound, path)
        case And(args) if is_timed(formula):
            return min(_margin(arg, path) for arg in args)
        case Or(args) if is_timed(formula):
            return max(_margin(arg, path) for arg in args)
    return math.inf if is_timed(formula) else _least(formula, BEGINNING, path)  # of nested windows it is not measured


def _least(condition: Formula, bound: Bound, path: Trajectory) -> float:
    """The least margin at times at which all solutions are in the region: there may be smaller ones between."""
    asked, last = atom_margin(position_expression(condition)), min(_end(bound, path), path.inside_until)
    times = {*path.times, *(piece.end for piece in path.pieces), bound.lower, last}
    counted = [time for time in times if bound.lower <= time <= last]
    inside = [states for time in counted for states in path.states(time) if is_inside(states, path.flow.region)]
    return min((_above(asked, states, path) for states in inside), default=math.inf)


def _most(condition: Formula, bound: Bound, path: Trajectory) -> float:
    """The largest margin at all times of the bound."""
    asked, found = atom_margin(position_expression(condition)), -math.inf
    for piece in path.pieces:
        ends = [piece.start + piece.length * k / PARTS_PER_PIECE for k in range(PARTS_PER_PIECE + 1)]
        for lower, upper in pairwise(ends):
            if lower <= _end(bound, path) and upper >= bound.lower:
                found = max(found, _above(asked, piece.states(lower, upper), path))
    return found


def _end(bound: Bound, path: Trajectory) -> Fraction:
    return path.until if bound.upper is None else min(bound.upper, path.until)


def _above(asked: Expr, states: Sequence[Fraction | arb], path: Trajectory) -> float:
    """A number that is not below a margin, at some states."""
    (value,) = exact.evaluate([asked], path.inputs(states), {}, path.precision)
    if isinstance(value, arb):
        return math.nextafter(float(value.upper()), math.inf)
    return float(value) if isinstance(value, Fraction) else math.inf
