"""Lassos through irrational states: Newton's method finds where a run would close, interval Newton proves that it does.

A run that nearly comes back, or just begins somewhere, says which decisions a loop takes. Newton's method then solves
"the state after the last step is that of an earlier position" for the first state and the disturbances, in more digits
than floats have. What it converges to is put into a small box, and `evidence.periodic` has to prove that this box holds
exactly one such state. Nothing rests on how the box was found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

from vernal.engines.lasso.guesses import guesses
from vernal.evidence import confirm
from vernal.evidence.candidates import lasso_of
from vernal.evidence.knowledge import Candidate
from vernal.evidence.periodic import EnclosedLoop, LoopImage, LoopUnknown, LoopWalk, proven_lasso
from vernal.evidence.replay import NotAPath, Undecided
from vernal.evidence.trace import Enclosure, Trace, TraceNumber
from vernal.interpret.numbers import reals
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import Formula
from vernal.model.expr import Between, Component
from vernal.model.graph import order
from vernal.model.initial import Span
from vernal.model.sorts import REAL
from vernal.model.system import Model
from vernal.model.tick import Tick
from vernal.model.traits import is_rational, nonlinear_node
from vernal.simulate.runs import Runs

BITS = 256  # of Newton's method
ITERATIONS = 24
NO_CHANGE = 2.0**-120  # of a number that has converged, relative
SIMPLE = 10**6  # the largest denominator of numbers that are tried as they are
RADII = (80, 200)  # bits of the radius of a box: a narrow one decides comparisons that a wide one leaves open
ROUNDED = 16  # bits of a centre beyond those of the radius
SINGULAR = 1e-10  # relative: what is left of a column after elimination


def has_irrational_loops(system: Model) -> bool:
    """Whether a loop of the system may close at irrational numbers only: affine loops with rational numbers do not."""
    roots = [*system.step.next_state, *system.step.next_memory]
    return nonlinear_node(roots) is not None or not all(map(is_rational, order(roots)))


def periodic_point(runs: Runs, goal: Formula, tick: Tick) -> Trace | None:
    """A proven lasso on which the goal is false, from what runs suggest."""
    tried: set[object] = set()
    for guess in guesses(runs, goal, tick):
        tick()
        found = _solved(runs.system, guess, tick)
        if found is None or (key := _key(found)) in tried:
            continue
        tried.add(key)
        trace = found.proven(goal)
        if trace is not None:
            return trace
    return None


# Newton's method ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Converged:
    """Where Newton's method came to rest: the loop, and the numbers that were solved for."""

    walk: LoopWalk
    image: LoopImage
    values: Mapping[LoopUnknown, arb]

    def proven(self, goal: Formula) -> Trace | None:
        """The lasso, exactly where its numbers are rational, else in a box, if the goal is false on it."""
        system, loop = self.walk.system, self.walk.loop
        likely = Trace(tuple(self.image.steps), loop.loop, system=system)
        if confirm.truth(likely, goal) is True:
            return None
        trace = self._rational()
        if trace is not None and confirm.truth(trace, goal) is False:
            return trace
        for bits in RADII:
            try:
                boxes = {place: _box(value, bits) for place, value in self.values.items()}
                trace = proven_lasso(system, _filled(loop, boxes), self.walk.tick)
            except NotAPath:
                continue
            if confirm.truth(trace, goal) is False:
                return trace
        return None

    def _rational(self) -> Trace | None:
        """The lasso from the simple rational numbers that these numbers are to all digits, if they are."""
        system, loop = self.walk.system, self.walk.loop
        exactly = {place: reals.ends(value)[0] for place, value in self.values.items()}
        simple = {place: number.limit_denominator(SIMPLE) for place, number in exactly.items()}
        if any(abs(number - simple[place]) > NO_CHANGE for place, number in exactly.items()):
            return None
        found = _filled(loop, simple)
        start: Any = found.start  # without boxes
        candidate = Candidate(*system.pack(start), found.decisions, len(found.decisions))
        return lasso_of(system, candidate, loop.loop, self.walk.tick)


def _solved(system: Model, guess: EnclosedLoop, tick: Tick) -> Converged | None:
    """Newton's method from a guess; None where it does not converge, or to no initial state."""
    walk = LoopWalk(system, guess, BITS, tick)
    with ctx.workprec(BITS):
        try:
            values = _chosen(walk, _free(system, guess))
            return None if values is None else _iterated(walk, values)
        except (NotAPath, Undecided, ZeroDivisionError):
            return None


def _free(system: Model, guess: EnclosedLoop) -> dict[LoopUnknown, arb]:
    """What may be solved for: real numbers that start in an interval and change, and disturbances."""
    step = system.step
    following = (*step.next_state, *step.next_memory)
    kept = {var for var, node in zip(step.inputs, following, strict=True) if var is node}
    found = {
        (0, var, i): _point(guess.start[var][i])
        for var, i, start in system.initial.components()
        if var.sort == REAL and var not in kept and isinstance(start, Span) and not start.is_point
    }
    for t, decisions in enumerate(guess.decisions):
        for node, value in decisions.items():
            if isinstance(node, Between):
                items = value if isinstance(value, tuple) else (value,)
                found |= {(t, node, i): _point(item) for i, item in enumerate(items)}
    return found


def _point(number: Any) -> arb:
    return arb(reals.rational(Fraction(number))).mid()


def _chosen(walk: LoopWalk, free: Mapping[LoopUnknown, arb]) -> dict[LoopUnknown, arb] | None:
    """As many unknowns as there are equations, those on which these depend most; None where these do not suffice."""
    if not free:
        return None
    image = walk.image(free, differentiated=True)
    equations = walk.equations(image)
    matrix = np.array([[float(item.mid()) for item in image.slope(place, walk.loop.loop)] for place in equations])
    places = list(free)
    columns = _pivots(matrix) if equations else []
    chosen = {places[column]: free[places[column]] for column in sorted(columns)}
    return chosen or None


def _pivots(matrix: Floats) -> list[int]:
    """Columns that are independent, the largest first (Gram-Schmidt with pivoting); as many as the matrix's rank."""
    rest, found = matrix.copy(), list[int]()
    limit = SINGULAR * np.linalg.norm(matrix, axis=0).max(initial=0.0)
    while len(found) < len(matrix):
        sizes = np.linalg.norm(rest, axis=0)
        sizes[found] = 0.0
        best = int(sizes.argmax())
        if not sizes[best] > limit:
            break
        found.append(best)
        direction = rest[:, best] / sizes[best]
        rest = rest - np.outer(direction, direction @ rest)
    return found


def _iterated(walk: LoopWalk, values: dict[LoopUnknown, arb]) -> Converged | None:
    """Newton's method until nothing changes."""
    loop = walk.loop.loop
    for _ in range(ITERATIONS):
        walk.tick()
        image = walk.image(values, differentiated=True)
        equations: list[Component] = walk.equations(image)
        if len(equations) != len(values):
            return None
        slopes = arb_mat([image.slope(place, loop) for place in equations]).mid()
        missed = arb_mat([[image.difference(place, loop).mid()] for place in equations])
        changes = [change.mid() for (change,) in slopes.solve(missed).tolist()]
        moved = zip(values.items(), changes, strict=True)
        values = {place: _inside(walk, place, (x - change).mid()) for (place, x), change in moved}
        sizes = [1 + abs(float(x)) for x in values.values()]
        if all(abs(float(change)) <= size * NO_CHANGE for change, size in zip(changes, sizes, strict=True)):
            return Converged(walk, image, values)
    return None


def _inside(walk: LoopWalk, place: LoopUnknown, value: arb) -> arb:
    """The value, moved into the initial interval of its variable: Newton's steps may be too long at first."""
    _, node, i = place
    if isinstance(node, Between):
        return value
    low, high = (_point(end) for end in walk.system.initial.starts[node][i].ends)
    return low if value < low else high if value > high else value


def _filled(loop: EnclosedLoop, numbers: Mapping[LoopUnknown, TraceNumber]) -> EnclosedLoop:
    """The loop with these numbers, or boxes, for the unknowns."""
    start = {
        var: tuple(numbers.get((0, var, i), item) for i, item in enumerate(items)) for var, items in loop.start.items()
    }
    decisions = tuple(
        {node: _put(value, [numbers.get((t, node, i)) for i in range(node.size)]) for node, value in one.items()}
        for t, one in enumerate(loop.decisions)
    )
    return replace(loop, start=start, decisions=decisions)


def _put(value: Any, boxes: Sequence[TraceNumber | None]) -> Any:
    if isinstance(value, tuple):
        return tuple(item if box is None else box for item, box in zip(value, boxes, strict=True))
    return value if boxes[0] is None else boxes[0]


def _box(value: arb, bits: int) -> Enclosure:
    """A box around a number, relative to its size, with ends that are short in binary."""
    middle = reals.ends(value)[0]
    size = max(0, int(abs(middle)).bit_length())
    scale, radius = 1 << (bits + ROUNDED), Fraction(1 << size, 1 << bits)
    centre = Fraction(round(middle * scale), scale)
    return Enclosure(centre - radius, centre + radius)


def _key(found: Converged) -> object:
    """The same for loops that are the same to many digits."""
    numbers = tuple((place, round(float(value), 9)) for place, value in found.values.items())
    return numbers, found.walk.loop.loop, len(found.walk.loop.decisions)
