"""Claims in seconds: what is true of all trajectories, by the spans that contain them.

`sure(f, a, b)` says that f is true of every trajectory, at each time from a to b that it reaches inside the region.
Formulas are in negation normal form: atoms, `p U[c,d] q` (a time has to be reached at which q is true, and p at every
time before) and its dual `p R[c,d] q`, of which only what follows from q at all of the window is looked for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

from vernal_check.clock import tick
from vernal_check.curves import Undefined
from vernal_check.errors import Rejected, Unreadable, Unshown
from vernal_check.evaluation import Run, outcomes
from vernal_check.flows import Ends, Flow, Span, box_of
from vernal_check.forms import ZERO
from vernal_check.formulas import FALSE, TRUE, Formula, Normal
from vernal_check.graph import Graph
from vernal_check.loops import Paths
from vernal_check.syntax import Node
from vernal_check.system import Place, System, placed

MAX_TIME = 2**20
MAX_TIMES = 2000  # at which windows begin or end
MAX_DEPTH = 12  # how often a set is halved
MAX_PARTS = 4096
LOOKS = 4  # halvings between looks at one state in the middle
NEVER = Node("name", ("false",))


class Timed(Normal):
    """A formula in seconds, itself and not its negation."""

    def __init__(self, node: Node, scope: Any) -> None:
        super().__init__(node, scope)
        self.formula, self.negation = self.made(node, False), self.made(node, True)

    def temporal(self, op: str, args: Sequence[Any], negated: bool) -> Formula:
        if op not in "GFU" or args[0] is not None:
            raise Unreadable(f"{args[0] or ''}{op} is not read of what moves in continuous time")
        return super().temporal(op, args, negated)

    def window(self, bound: Any, op: str) -> tuple[Any, Any]:
        if bound is None or bound[1] is None:
            raise Unreadable("claims about continuous time without a last time are not read")
        lower, upper = (self.scope.number(end) for end in bound)
        if not (lower.is_constant and upper.is_constant and 0 <= lower.value <= upper.value <= MAX_TIME):
            raise Unreadable("a bound is negative, inverted, very large, or not rational")
        return lower.value, upper.value


def stops(formula: Formula, times: frozenset[Fraction] = frozenset([ZERO])) -> frozenset[Fraction]:
    """The times at which windows begin or end."""
    found = times
    if formula.op in "UR":
        assert formula.upper is not None
        times = frozenset(time + end for time in times for end in (Fraction(formula.lower), Fraction(formula.upper)))
    for part in formula.parts:
        found |= stops(part, times)
    if len(found) > MAX_TIMES:
        raise Unreadable("a formula has too many windows in windows")
    return found | times


def check(graph: Graph, starts: Sequence[int], claim: Timed) -> None:
    """Reject where the claim is not shown of all trajectories from the sets that contain the initial states."""
    flow, times = Flow(graph.system, region(graph.system)), sorted(stops(claim.formula))
    for number in starts:
        node = graph.nodes[number]
        if not node.is_box:
            raise Unreadable("a flow is followed from boxes only")
        try:
            by_parts(flow, placed(node.region, directed=True), claim, times)
        except Rejected as problem:
            raise type(problem)(problem.reason, node.name, problem.obligation) from None


def by_parts(flow: Flow, place: Place, claim: Timed, times: Sequence[Fraction]) -> None:
    """A claim of all trajectories from a set: where it is not shown its halves are followed, and so on."""
    left = [(place, 0)]
    for _ in range(MAX_PARTS):
        if not left:
            return
        place, depth = left.pop()
        try:
            shown(flow, place, claim, times)
        except Rejected as problem:
            halves = place.halves() if depth < MAX_DEPTH and problem.obligation != 6 else None
            if halves is None or depth % LOOKS == 0:
                look(flow, middle(place), claim, times)
            if halves is None:
                raise
            left += [(half, depth + 1) for half in reversed(halves)]
    raise Unshown(f"more than {MAX_PARTS:,} parts of a set that is followed")


def look(flow: Flow, place: Place, claim: Timed, times: Sequence[Fraction]) -> None:
    """Reject where the negation is shown of one state; where the claim is not, of no part around it could it be."""
    try:
        shown(flow, place, claim, times)
    except Unshown as problem:
        ways = list(Paths(flow.system, flow.region, times).ways(place))
        if all(Trajectories(flow, claim, *way).sure(claim.negation, ZERO, ZERO) for way in ways):
            raise Rejected(f"the claim is false at {flow.system.described(place.region)}", obligation=2) from None
        raise problem


def middle(place: Place) -> Place:
    """The state in the middle of a set, as narrow as floats are."""
    ranges = {symbol: (low + high) / 2 for symbol, (low, high) in place.ranges}
    return replace(place, ranges=tuple((symbol, (at, at)) for symbol, at in ranges.items()))


def region(system: System) -> Ends:
    """The ranges of the variables, in which trajectories are followed."""
    found = []
    for variable in system.task.variables:
        if variable.sort != "real" or variable.within is None:
            raise Unreadable(f"{variable.name} is no real with a range")
        low, high = (system.scope_of_constants().number(end) for end in variable.within.args)
        if not low.is_constant or not high.is_constant or low.value >= high.value:
            raise Unreadable(f"the range of {variable.name} is not read")
        found.append((low.value, high.value))
    return tuple(found)


def shown(flow: Flow, place: Place, claim: Timed, times: Sequence[Fraction]) -> None:
    for spans, gone in Paths(flow.system, flow.region, times).ways(place):
        if not Trajectories(flow, claim, spans, gone).sure(claim.formula, ZERO, ZERO):
            where = flow.system.described(place.region)
            raise Unshown(f"the sets that contain all trajectories from {where} do not show the claim", obligation=2)


class Trajectories:
    """Spans that contain all trajectories from a set while they are in the region."""

    def __init__(self, flow: Flow, claim: Timed, spans: Sequence[Span], gone: bool) -> None:
        self.flow, self.claim, self.spans, self.gone = flow, claim, spans, gone
        self.starts = [span.start for span in spans]
        self.known: dict[tuple[int, int, bool], bool] = {}
        self.inside_until = self._inside_until()

    def _inside_until(self) -> Fraction:
        """Until when all of them are in the region."""
        until = ZERO
        for span in self.spans:
            ends = span.place.region
            if not all(
                isinstance(cell, tuple) and low <= cell[0] and cell[1] <= high
                for cell, (low, high) in zip(ends, self.flow.region, strict=True)
            ):
                return until
            until = span.end
        return until

    # Formulas ---------------------------------------------------------------------------------------------------------

    def sure(self, f: Formula, first: Fraction, last: Fraction) -> bool:
        """Whether f is true of every trajectory at each time between two that it reaches inside the region."""
        tick()
        if f == TRUE:
            return True
        if f.op in ("atom", "no atom", "false"):
            return all(self.at(f, span) for span in self.between(first, last)) and self.covers(last)
        if f.op == "and":
            return all(self.sure(part, first, last) for part in f.parts)
        if f.op == "or":
            whole = any(self.sure(part, first, last) for part in f.parts)
            return whole or self.piecewise(f, first, last)
        assert f.upper is not None
        if f.op == "R":
            return self.sure(f.parts[1], first + f.lower, last + f.upper)
        return self.comes(f, first, last) or self.piecewise(f, first, last)

    def piecewise(self, f: Formula, first: Fraction, last: Fraction) -> bool:
        """The same, one span after the other."""
        inner = [time for time in self.starts if first < time < last]
        ends = [first, *inner, last]
        return bool(inner) and all(self.sure(f, a, b) for a, b in pairwise(ends))

    def comes(self, f: Formula, first: Fraction, last: Fraction) -> bool:
        """Whether one time is in all windows, at which all are in the region and q is true, with p at all before."""
        p, q = f.parts
        assert f.upper is not None
        begins, ends = last + f.lower, min(first + f.upper, self.inside_until)
        times = [begins, *(time for time in self.starts if begins < time <= ends)]
        for time in times:
            if time > ends:
                return False
            if p != TRUE and not self.sure(p, first, time):
                return False
            if self.sure(q, time, time):
                return True
        return False

    # Atoms ------------------------------------------------------------------------------------------------------------

    def covers(self, time: Fraction) -> bool:
        """Whether the spans go on until then, or all trajectories have left the region before."""
        return self.gone or (bool(self.spans) and time <= self.spans[-1].end)

    def between(self, first: Fraction, last: Fraction) -> list[int]:
        """Spans that contain all states between two times."""
        if first == last:
            place = bisect_left(self.starts, first)
            exact = place < len(self.starts) and self.starts[place] == first
            return [place] if exact else [place - 1] if place > 0 and first <= self.spans[place - 1].end else []
        near = range(max(bisect_right(self.starts, first) - 1, 0), bisect_left(self.starts, last))
        return [place for place in near if self.spans[place].end > first]

    def at(self, f: Formula, number: int) -> bool:
        """Whether a condition is true, or false, at all states of a span in the region."""
        key = number, f.atom, f.op == "atom"
        if key not in self.known:
            condition = NEVER if f == FALSE else self.claim.atoms[f.atom]
            self.known[key] = self.holds(condition, f.op != "no atom", self.spans[number].place)
        return self.known[key]

    def holds(self, condition: Node, wanted: bool, place: Place) -> bool:
        """Whether a condition is true at all states of a set in the region; of its box where the set's forms do not."""
        system, region = self.flow.system, self.flow.region

        def is_wanted(run: Run, place: Place) -> bool:
            if not system.inside(run, place, region, (), None):
                return True  # outside of the region
            return system.scope(run, place).truth(condition) is wanted

        box = self.flow.inside(box_of(place))
        if box is None:
            return True
        try:
            return any(
                all(outcome.value for outcome in outcomes(dict(one.ranges), partial(is_wanted, place=one), True))
                for one in (place, placed(tuple(box), directed=True))
            )
        except Undefined as problem:
            raise Rejected(f"{problem} at some of the states of a condition", obligation=6) from None
