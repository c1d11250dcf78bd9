"""What formulas mean on paths: the reference every engine is held to.

There are three kinds of path: a *prefix*, of which it is unknown whether and how it goes on; a *finite maximal path*,
which ends with its last position; and a *lasso*, whose last position leads back to an earlier one. All three are one
thing here, a row of positions with a way back: a prefix and a finite path lead to one more row, which stands for all
that is not known and leads to itself. Each position may be left for certain, perhaps, or not at all.

A truth value is a pair: what is *sure*, and what *may be*. The two are equal where all is known, and negation swaps
them. Every temporal operator is an until of sure, or of possible, facts:

    X[k] p    = F[k,k] p              p W[a,b] q  =  p U[a,b] q | G[0,b] p
    F[a,b] q  = true U[a,b] q         p R[a,b] q  =  !(!p U[a,b] !q)
    G[a,b] q  = !F[a,b] !q            AX, EX: weak and strong next (see vernal.logic.normal)

and p U[a,b] q is true at t iff the first q at or after t + a comes by t + b, and neither p nor the path fails before.
First occurrences are found for all positions in one backward scan, so the cost is linear in the length of the path for
each operator, whatever its bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vernal.logic.formula import Atom, Formula
from vernal.logic.margin import atom_margin, margins
from vernal.logic.normal import classify, fold, horizon, strip_quantifiers
from vernal.logic.path_algebra import operator_value
from vernal.logic.spans import Window, covers, spans
from vernal.model.expr import Const, Expr

__all__ = ["atom_margin", "evaluate", "evaluate_levels", "margins"]

TruthTable = NDArray[np.bool_]
AtomTruth = Callable[[Expr, int], bool | None]

NO_DISTANCE = 2**60  # larger than any distance on a path
EVERYWHERE: Mapping[int, Window] = {}


def evaluate(
    formula: Formula,
    truth: AtomTruth,
    length: int,
    *,
    position: int = 0,
    loop: int | None = None,
    complete: bool = False,
) -> bool | None:
    """The truth of a formula at a position of a path of which positions 0 .. length - 1 are known.

    `truth(atom, t)` says what is known of an atom at t. With `loop` the path is a lasso, whose last position is
    followed by position `loop`; if `complete`, it ends with the last position; otherwise it is a prefix, and the answer
    is None unless the prefix decides (in Kleene's sense: `p | !p` is open where p is). CTL is read along this one path.
    """
    if not 0 <= position < length:
        raise ValueError(f"there is no position {position} in a path of {length} positions")
    if loop is not None and (complete or not 0 <= loop < length):
        raise ValueError(f"a path of {length} positions cannot return to {loop}" + " and end" * complete)
    classify(formula)
    path = strip_quantifiers(formula)
    if loop is not None:
        return _value(path, truth, _Track(length, loop, np.ones(length, bool), np.ones(length, bool)), 0, position)
    reach = horizon(path)
    known = length - position if reach is None else min(length - position, reach + 1)
    last = True if position + known < length else False if complete else None
    return _value(path, truth, _open_track([*[True] * (known - 1), last]), position, 0)


def evaluate_levels(
    formula: Formula, truth: AtomTruth, enabled: Callable[[int], bool | None], horizon: int
) -> bool | None:
    """The truth of a formula at all initial states at once, from what is known of the states at each step.

    A *level* t is any set of states that contains those reachable in t steps (from the initial states, by any path).
    `truth(atom, t)` is True if the atom is true of all of level t, False if it is false of all, None if mixed or open;
    `enabled(t)` says the same of "the system can move". Levels 0 .. horizon are known; later ones are open. Atoms are
    asked only where the formula looks. The answer True means that the formula holds at every initial state, False that
    it fails at every one, None that what is known does not decide it. It is sound for LTL (claimed of all paths) and
    for both quantifiers of CTL.

    Why: show by induction that a sub-formula that is *sure* at t is true of every path (LTL) or state (CTL) at level t,
    and one that is not *possible* at t of none. Atoms, by assumption; Boolean operators, by Kleene's tables; negation
    swaps the two claims. All temporal operators reduce to until. Let p U[a,b] q be sure at t: some i in [t+a, t+b]
    has q sure, and each j in [t, i) has p sure and can surely be left. Then every path from level t goes through the
    levels t .. i (successors of level j lie in level j+1), meets only p before i and q at i: the until is true of all
    its paths, hence also of some path, since every state has a maximal path. Let it not be possible at t, and suppose a
    path from level t satisfies it, with q at some i; then q is possible at i, and p is possible and the level can
    perhaps be left at each j before, which is what *possible* at t means: a contradiction. So no path satisfies
    it, neither all nor some. AX is the weak next !X !p and EX the strong X: at level t, AX p is sure if p is sure
    at t+1 or nothing at t can move, and impossible if p is impossible at t+1 and everything at t can move. The
    quantifiers play no role since the levels say the same of all paths; they only make mixed answers more frequent.
    """
    classify(formula)
    path = strip_quantifiers(formula)
    return _value(path, truth, _open_track([*map(enabled, range(horizon)), None]), 0, 0, spans(path))


# Rows -----------------------------------------------------------------------------------------------------------------


class _Fact(NamedTuple):
    """A truth value at every row: what is sure, and what may be."""

    sure: TruthTable
    maybe: TruthTable


@dataclass(frozen=True, slots=True, eq=False)
class _Track:
    """Rows 0 .. size - 1, the last followed by row `back`, and which rows surely, or perhaps, have a successor."""

    size: int
    back: int
    surely: TruthTable
    perhaps: TruthTable
    virtual: bool = False  # the last row stands for all unknown positions

    def negation(self, value: _Fact) -> _Fact:
        return _Fact(~value.maybe, ~value.sure)

    def conjunction(self, values: Sequence[_Fact]) -> _Fact:
        everywhere = np.ones(self.size, bool)
        return reduce(lambda a, b: _Fact(a.sure & b.sure, a.maybe & b.maybe), values, _Fact(everywhere, everywhere))

    def disjunction(self, values: Sequence[_Fact]) -> _Fact:
        nowhere = np.zeros(self.size, bool)
        return reduce(lambda a, b: _Fact(a.sure | b.sure, a.maybe | b.maybe), values, _Fact(nowhere, nowhere))

    def eventually(self, goal: _Fact, lower: int, upper: int | None) -> _Fact:
        return self.until(self.conjunction([]), goal, lower, upper)

    def until(self, stay: _Fact, goal: _Fact, lower: int, upper: int | None) -> _Fact:
        width = NO_DISTANCE - 1 if upper is None else min(upper - lower, NO_DISTANCE - 1)
        kept = _Fact(stay.sure & self.surely, stay.maybe & self.perhaps)
        return _Fact(*(_reach(*facts, self.shorten(lower), width, self) for facts in zip(kept, goal, strict=True)))

    def after(self, count: int) -> NDArray[np.intp]:
        """The row that is count steps after each row."""
        rows = np.arange(self.size) + count
        return np.where(rows < self.size, rows, self.back + (rows - self.back) % (self.size - self.back))

    def distance(self, facts: TruthTable) -> NDArray[np.int64]:
        """How many steps it is from each row to the first row where facts is true; NO_DISTANCE if it never is."""
        twice = np.concatenate([facts, facts[self.back :]])  # once more around finds everything there is
        index = np.where(twice, np.arange(len(twice)), NO_DISTANCE)
        first = np.minimum.accumulate(index[::-1])[::-1][: self.size]
        return np.where(first < NO_DISTANCE, first - np.arange(self.size), NO_DISTANCE)

    def shorten(self, count: int) -> int:
        """A smaller number of steps that leads to the same rows and still exceeds every finite distance."""
        most, period = 2 * self.size, self.size - self.back
        return count if count < most else most + (count - most) % period


def _open_track(go: Sequence[bool | None]) -> _Track:
    """Known rows, one after the other, then one row for what is not known."""
    return _Track(len(go) + 1, len(go), *_fact([*go, None]), virtual=True)


def _value(
    path: Formula, truth: AtomTruth, track: _Track, offset: int, row: int, looks: Mapping[int, Window] = EVERYWHERE
) -> bool | None:
    """The truth of a path formula at a row; row r is position r + offset. Atoms are asked where the formula looks."""

    def rule(node: Formula, args: tuple[_Fact, ...]) -> _Fact:
        if not isinstance(node, Atom):
            return operator_value(node, args, track)
        return _atom(node.expr, truth, track, offset, looks.get(id(node), (0, None)))

    fact = fold(path, rule)
    return bool(fact.sure[row]) if fact.sure[row] == fact.maybe[row] else None


def _atom(expr: Expr, truth: AtomTruth, track: _Track, offset: int, span: Window) -> _Fact:
    if isinstance(expr, Const):
        constant = np.full(track.size, bool(expr.value))
        return _Fact(constant, constant)
    rows = range(track.size - track.virtual)
    known = [truth(expr, offset + row) if covers(span, row) else None for row in rows]
    return _fact([*known, *[None] * track.virtual])


def _fact(known: Sequence[bool | None]) -> _Fact:
    """Three-valued answers as what is sure and what may be; numpy's truth values are welcome."""
    sure = [value is not None and bool(value) for value in known]
    return _Fact(np.array(sure), np.array([value is None or bool(value) for value in known]))


def _reach(stay: TruthTable, goal: TruthTable, count: int, width: int, track: _Track) -> TruthTable:
    """Whether the first goal at or after count steps comes within width more, and no row before it lacks `stay`."""
    wait = track.distance(goal)[track.after(count)]
    return (wait <= width) & (count + wait <= track.distance(~stay))
