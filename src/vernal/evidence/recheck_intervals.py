"""Invariants checked by intervals: sets are cut into boxes until interval arithmetic can judge each of them.

Blind to how values depend on each other, but rigorous for every operator, and boxes become small. A box is settled if
its image is in one of the sets, or, where it meets several, if exact polyhedra show that it is in their union.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from vernal.errors import TypeClash
from vernal.evidence.invariant import StateSet
from vernal.evidence.recheck_exact import MAX_PIECES, MAX_POINTS, minus, rows_of
from vernal.evidence.recheck_parts import CannotCheck, Watched
from vernal.interpret import interval
from vernal.interpret.geometry.affine_form import ONE, ZERO, AffineForm
from vernal.interpret.geometry.polyhedra import Polyhedron, from_box
from vernal.interpret.numbers.rounding import Floats, float_above, float_below
from vernal.interpret.value_sets import Range, Truth, Value, between
from vernal.model import build
from vernal.model.build import TRUE
from vernal.model.expr import Component, Expr

UNDECIDED = "interval arithmetic does not decide the claim, or where a step leads"
MAX_BOXES = 200_000  # of one set
BOXES_PER_BLOCK = 4096  # boxes judged at once
MAX_UNIONS = 2_000  # boxes of one set whose image is compared with several sets, which takes polyhedra

Flags = NDArray[np.bool_]
SetRow = tuple[Fraction, ...]


@dataclass(frozen=True)
class SetsToBeIn:
    """Sets to be in, as bounds of all directions that one of them has; no bound is infinite."""

    sets: Sequence[StateSet]
    directions: tuple[SetRow, ...]
    bounds: Floats  # (sets, directions), rounded down

    @classmethod
    def of(cls, sets: Sequence[StateSet]) -> SetsToBeIn:
        directions = tuple(dict.fromkeys(row for one in sets for row in one.rows))
        bounds = np.full((len(sets), len(directions)), np.inf)
        places = {row: place for place, row in enumerate(directions)}
        for i, one in enumerate(sets):
            for row, bound in zip(one.rows, one.bounds, strict=True):
                bounds[i, places[row]] = min(bounds[i, places[row]], float_below(bound))
        return cls(sets, directions, bounds)

    def holds(self, upper: Floats) -> Flags:
        """Which boxes, given by the most of each direction, are in one of the sets."""
        found = np.zeros(len(upper), bool)
        for bounds in self.bounds:
            found |= (upper <= bounds).all(axis=1)
        return found


class IntervalCheck:
    """The three questions, answered by intervals over ever smaller boxes."""

    how = "by intervals"

    def __init__(self, watched: Watched) -> None:
        self.watched = watched
        self.components = watched.components
        self.numeric = [place for place, (var, _) in enumerate(self.components) if var.sort.is_number]
        self.labels = [place for place, (var, _) in enumerate(self.components) if not var.sort.is_number]

    # The questions ----------------------------------------------------------------------------------------------------

    def initial(self, sets: Sequence[StateSet]) -> None:
        """Every initial state is in one of the sets."""
        initial = self.watched.system.initial
        if initial.count > MAX_POINTS:
            raise CannotCheck("there are too many discrete initial states to look at")
        where, target = build.conj(*initial.where), SetsToBeIn.of(sets)
        for part in initial.alternatives():
            ends = [part.starts[var][i].ends for var, i in self.components]
            floats = np.array([(float_below(low), float_above(high)) for low, high in ends])
            boxes = floats.reshape(1, len(ends), 2).transpose(0, 2, 1)
            self._prove(boxes, None, where, lambda known: self._inside(known, self.components, target))

    def step(self, source: StateSet, sets: Sequence[StateSet]) -> None:
        """Every step from the source ends in one of the sets."""
        target = SetsToBeIn.of(sets)
        judge: Judge = lambda known: self._inside(known, self.watched.following, target)  # noqa: E731
        for boxes in self._boxes(source):
            self._prove(boxes, source, self.watched.guard, judge)

    def kept(self, source: StateSet) -> None:
        """What is to be kept is true everywhere in the source."""
        keep = self.watched.keep
        for boxes in self._boxes(source):
            self._prove(boxes, source, TRUE, lambda known: _truth(known.values([keep])[0]).must)

    # Cutting ----------------------------------------------------------------------------------------------------------

    def _prove(self, boxes: Floats, source: StateSet | None, guard: Expr, judge: Judge) -> None:
        """Cut the boxes until each is outside the source, excluded by the guard, or judged to be right."""
        total, done = (boxes[:, 1] - boxes[:, 0]).max(axis=0), 0
        own = None if source is None else SetsToBeIn.of([source])
        waiting = [boxes]
        while waiting:
            self.watched.tick()
            block = waiting.pop()
            if len(block) > BOXES_PER_BLOCK:
                waiting += [block[BOXES_PER_BLOCK:]]
                block = block[:BOXES_PER_BLOCK]
            open_boxes = block[self._open(block, own, guard, judge)]
            done += len(block)
            if len(open_boxes):
                if done > MAX_BOXES:
                    raise CannotCheck(f"{UNDECIDED}, on {MAX_BOXES:,} boxes of one of the sets")
                waiting.append(self._cut(open_boxes, total))

    def _open(self, block: Floats, own: SetsToBeIn | None, guard: Expr, judge: Judge) -> Flags:
        known = BoxValues(self, block)
        left = np.ones(len(block), bool)
        if own is not None:
            lower = -known.most(self.components, [tuple(-a for a in row) for row in own.directions])
            with np.errstate(over="ignore"):  # above the largest float there is no end
                left = ~(lower > np.nextafter(own.bounds[0], np.inf)).any(axis=1)
        left &= np.broadcast_to(_truth(known.values([guard])[0]).may, left.shape)
        if left.any():
            part = BoxValues(self, block[left])
            left[left] = ~np.broadcast_to(judge(part), (int(left.sum()),))
        return left

    def _cut(self, boxes: Floats, total: Floats) -> Floats:
        """Both halves of every box, across the component that is widest in proportion; integers between values."""
        if not self.components:
            raise CannotCheck(f"{UNDECIDED}, on all states at once, and the invariant names no variable")
        low, high = boxes[:, 0], boxes[:, 1]
        at = np.arange(len(boxes))
        with np.errstate(invalid="ignore"):  # a box without an end has no middle, and is refused below
            width = np.where(total > 0, (high - low) / np.where(total > 0, total, 1.0), 0.0)
            side = np.argmax(width, axis=1)
            middle = 0.5 * low[at, side] + 0.5 * high[at, side]
        if not (np.isfinite(middle) & (low[at, side] < middle) & (middle < high[at, side])).all():
            raise CannotCheck(f"{UNDECIDED}, at some states of the sets, however small the boxes around them")
        left, right = boxes.copy(), boxes.copy()
        whole = np.array([var.sort.is_discrete for var, _ in self.components])[side]
        left[at, 1, side] = np.where(whole, np.floor(middle), middle)
        right[at, 0, side] = np.where(whole, np.floor(middle) + 1, middle)
        return np.concatenate([left, right])

    def _boxes(self, source: StateSet) -> list[Floats]:
        """Boxes around the set: one for each combination of labels; an end that is missing is infinite."""
        ends = np.array([self._sort_ends(var) for var, _ in self.components]).reshape(-1, 2).T.copy()
        for row, low, high in source.limits():
            places = [place for place, a in enumerate(row) if a]
            if len(places) == 1:
                (place,), a = places, row[places[0]]
                ends[0, place] = max(ends[0, place], -np.inf if low is None else float_below(low / a))
                ends[1, place] = min(ends[1, place], np.inf if high is None else float_above(high / a))
        values = [np.arange(np.ceil(ends[0, place]), np.floor(ends[1, place]) + 1) for place in self.labels]
        if (ends[0] > ends[1]).any():
            return []
        if np.prod([len(own) for own in values]) > MAX_POINTS:
            raise CannotCheck("one of the sets has too many discrete states to look at")
        return [self._with_labels(ends, chosen) for chosen in product(*values)]

    def _with_labels(self, ends: Floats, chosen: Sequence[float]) -> Floats:
        made = ends.copy()
        made[:, self.labels] = chosen
        return made[None]

    def _sort_ends(self, var: Expr) -> tuple[float, float]:
        values = var.sort.values
        return (-np.inf, np.inf) if values is None else (0.0, len(values) - 1.0)

    # Coverage ---------------------------------------------------------------------------------------------------------

    def _inside(self, known: BoxValues, values: Sequence[Component], target: SetsToBeIn) -> Flags:
        """Which boxes have all their values in the union of the sets."""
        upper = known.most(values, target.directions)
        found = target.holds(upper)
        if len(target.sets) > 1:
            lower, high = known.ends(values)
            left = np.flatnonzero(~found & np.isfinite(lower).all(axis=1) & np.isfinite(high).all(axis=1))
            for at in left[:MAX_UNIONS].tolist():
                self.watched.tick()
                found[at] = self._in_union(lower[at], high[at], upper[at], target)
        return found

    def _in_union(self, lower: Floats, high: Floats, upper: Floats, target: SetsToBeIn) -> bool:
        """Whether the values between these ends, and at most `upper` in every direction, are in the union."""
        names = self.components
        box = {name: (Fraction(a), Fraction(b)) for name, a, b in zip(names, lower, high, strict=True)}
        forms = [AffineForm(ZERO, {name: ONE}) for name in names]
        limits = [(row, bound) for row, bound in zip(target.directions, upper, strict=True) if np.isfinite(bound)]
        image = StateSet(tuple(row for row, _ in limits), tuple(Fraction(bound) for _, bound in limits))
        whole = from_box(box, self.watched.tick).meet(rows_of(image, forms))
        parts: list[Polyhedron] = [] if whole is None else [whole]
        for one in target.sets:
            rows = rows_of(one, forms)
            if whole is None or any(row.is_refuted(whole.measure(row.form)) for row in rows):
                continue
            parts = [rest for part in parts for rest in minus(part, rows)]
            if not parts or len(parts) > MAX_PIECES:
                break
        return not parts


class BoxValues:
    """What intervals say of expressions over a batch of boxes, (boxes, 2, components)."""

    def __init__(self, check: IntervalCheck, boxes: Floats) -> None:
        self.check, self.boxes = check, boxes
        self.inputs: dict[Expr, Value] = {
            var: between(var, boxes[:, 0, places], boxes[:, 1, places])
            for var, places in check.watched.variables.items()
        }

    def values(self, roots: Sequence[Expr]) -> list[Value]:
        """Sets that contain the values of some expressions."""
        try:
            return interval.evaluate(roots, self.inputs)
        except TypeClash:
            raise CannotCheck("a step depends on a component that the invariant does not name") from None

    def ends(self, values: Sequence[Component]) -> tuple[Floats, Floats]:
        """The least and the most of components of expressions."""
        if not values:
            return np.zeros((len(self.boxes), 0)), np.zeros((len(self.boxes), 0))
        nodes = list(dict.fromkeys(node for node, _ in values))
        found = dict(zip(nodes, map(self._range, nodes, self.values(nodes)), strict=True))
        lower = [found[node][0][:, i if node.shape else 0] for node, i in values]
        return np.stack(lower, axis=1), np.stack([found[node][1][:, i if node.shape else 0] for node, i in values], 1)

    def _range(self, node: Expr, value: Value) -> tuple[Floats, Floats]:
        lower, upper = _ends(value)
        shape = (len(self.boxes), node.size)
        return np.broadcast_to(lower.reshape(-1, node.size), shape), np.broadcast_to(
            upper.reshape(-1, node.size), shape
        )

    def most(self, values: Sequence[Component], directions: Sequence[SetRow]) -> Floats:
        """Upper bounds of sums of components, direction by direction."""
        lower, upper = self.ends(values)
        made = np.empty((len(self.boxes), len(directions)))
        for k, row in enumerate(directions):
            places = [place for place, a in enumerate(row) if a]
            if not places:
                made[:, k] = 0.0
            elif len(places) == 1 and abs(row[places[0]]) == 1:
                made[:, k] = upper[:, places[0]] if row[places[0]] > 0 else -lower[:, places[0]]
            else:
                made[:, k] = self._sum(values, row, places)
        return made

    def _sum(self, values: Sequence[Component], row: SetRow, places: Sequence[int]) -> Floats:
        terms = []
        for place in places:
            node, i = values[place]
            scalar = build.component(node, i) if node.shape else node
            if not scalar.sort.is_number:
                raise CannotCheck("a set mixes labels with numbers in one row")
            terms.append(build.mul(build.const(row[place]), scalar))
        (value,) = self.values([build.add(*terms)])
        return np.broadcast_to(_ends(value)[1].reshape(-1), (len(self.boxes),))


Judge = Callable[[BoxValues], Flags]


def _ends(value: Value) -> tuple[Floats, Floats]:
    """The ends of a value as numbers, truth values as 0 and 1, labels by their index."""
    match value:
        case Range(lower, upper):
            return np.asarray(lower), np.asarray(upper)
        case Truth(must, may):
            return np.where(must, 1.0, 0.0), np.where(may, 1.0, 0.0)
    numbers = np.array([float(number) for number in value.values])
    return np.where(value.mask, numbers, np.inf).min(-1), np.where(value.mask, numbers, -np.inf).max(-1)


def _truth(value: Value) -> Truth:
    assert isinstance(value, Truth)
    return value
