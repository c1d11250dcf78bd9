"""Resets of sets of states: what a network, or any expression, makes of every state of a set, enclosed.

A new value v has linear bounds over the box around a set: l z + a <= v <= u z + b. With A the mean of l and u, v is
A z + m up to r, where [m - r, m + r] contains l z - A z + a and u z - A z + b over the box. So what is new stays an
affine image of the set, up to r.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np

from vernal.errors import Stopped
from vernal.interpret.flow.balls import SLACK, BallArrays, around, points
from vernal.interpret.flow.doubletons import Doubletons, moved, reduced, weighted
from vernal.interpret.linear.bounds import InputBox, Linear
from vernal.interpret.numbers.rounding import TINY, Array, Floats, Mask, all_along, gamma
from vernal.interpret.sampled.plant import Plant, Reset
from vernal.interpret.value_sets import Finite, Range, Truth, Value
from vernal.model import expr as e
from vernal.model.expr import Expr, Var
from vernal.model.partial_evaluation import specialise
from vernal.model.tick import Tick, idle

MAX_VALUES = 64  # of a whole number that a reset may yield
MANY_VALUES = f"a whole number may become one of more than {MAX_VALUES} values"

DiscreteValues = tuple[Fraction, ...]  # of the discrete variables


@dataclass(frozen=True, slots=True, eq=False)
class ResetImages:
    """Of new values: for each set coefficients (batch, changed, n), and what is added to them."""

    coefficients: Floats
    rest: BallArrays  # (batch, changed)
    lower: Floats  # (batch, changed): bounds over the sets
    upper: Floats


class Resetter:
    """Applies the resets of a plant to sets of states of its continuous variables."""

    def __init__(self, plant: Plant, tick: Tick = idle) -> None:
        self.plant, self.tick = plant, tick
        self.places = {var: index for index, var in enumerate(plant.continuous)}
        self._known: dict[tuple[tuple[Expr, ...], DiscreteValues], list[Expr]] = {}

    def specialised(self, roots: Sequence[Expr], values: DiscreteValues) -> list[Expr]:
        """Expressions for known values of the discrete variables."""
        key = tuple(roots), values
        if key not in self._known:
            self._known[key] = specialise(roots, self.constants(values))
        return self._known[key]

    def constants(self, values: DiscreteValues) -> dict[Expr, Expr]:
        """The discrete variables with their values."""
        return {var: e.Const((), var.sort, (), (x,)) for var, x in zip(self.plant.discrete, values, strict=True)}

    def bounds(self, sets: Doubletons) -> Linear:
        """Linear bounds over the boxes around sets."""
        box: InputBox = {var: (sets.lower[:, i], sets.upper[:, i]) for var, i in self.places.items()}
        return Linear(box, tick=self.tick, batch=len(sets.lower))

    def truth(self, condition: Expr, values: DiscreteValues, sets: Doubletons) -> Truth:
        """Whether a condition must or may be true in each set."""
        (known,) = self.specialised([condition], values)
        return self.bounds(sets).truth(known)

    def apply(
        self, reset: Reset, values: DiscreteValues, sets: Doubletons
    ) -> list[tuple[Array, DiscreteValues, Doubletons]]:
        """What becomes of sets: which of them, new values of the discrete variables, and the sets then.

        A set of which discrete variables may get several values goes on with each of them.
        """
        linear = self.bounds(sets)
        nodes = dict(zip(reset, self.specialised(list(reset.values()), values), strict=True))
        after = self._images(linear, {var: node for var, node in nodes.items() if var in self.places}, sets)
        options = [possible(linear.value(nodes[var]), var) if var in nodes else None for var in self.plant.discrete]
        found: list[tuple[Array, DiscreteValues, Doubletons]] = []
        for chosen in product(*(_values(option, old) for option, old in zip(options, values, strict=True))):
            rows = np.ones(len(sets.lower), dtype=bool)
            for option, value in zip(options, chosen, strict=True):
                rows &= True if option is None else option[value]
            if rows.any():
                found.append((np.flatnonzero(rows), chosen, after[rows]))
        return found

    def _images(self, linear: Linear, nodes: Mapping[Var, Expr], sets: Doubletons) -> Doubletons:
        if not nodes:
            return sets
        changed = [self.places[var] for var in nodes]
        with np.errstate(all="ignore"):
            images = joined_images([self._image(linear, node, sets) for node in nodes.values()])
            return _reset(sets, changed, images)

    def _image(self, linear: Linear, node: Expr, sets: Doubletons) -> ResetImages:
        """One new value as an affine image of each set, up to a rest."""
        found, n, batch = linear.form(node), len(self.places), len(sets.lower)
        ends = linear.box
        whole = around(*(np.broadcast_to(end, (batch, end.shape[1])) for end in (ends.lower, ends.upper)))
        low, high = (_every(part[:, 0], batch) for part in (found.lower_coefficients, found.upper_coefficients))
        known = all_along(np.isfinite(low) & np.isfinite(high))
        slopes = np.where(known[:, None], 0.5 * low + 0.5 * high, 0.0)
        slopes[:, n:] = 0.0  # draws are no part of a set
        rests = []
        for rows, constants in ((low, found.lower_constants), (high, found.upper_constants)):
            left = (points(rows) - points(slopes)) * whole
            rests.append(_sum(left) + points(_every(constants[:, 0], batch)))
        lower, upper = rests[0].ends[0], rests[1].ends[1]
        own = _every(found.lower[:, 0], batch), _every(found.upper[:, 0], batch)
        good = np.isfinite(lower) & np.isfinite(upper)
        slopes = np.where(good[:, None], slopes, 0.0)
        rest = around(np.where(good, lower, own[0]), np.where(good, upper, own[1]))
        own_ends = (end[:, None] for end in own)
        return ResetImages(slopes[:, None, :n], BallArrays(rest.mid[:, None], rest.rad[:, None]), *own_ends)


def joined_images(parts: Sequence[ResetImages]) -> ResetImages:
    """Several new values as one."""
    mid, rad = (np.concatenate([getattr(part.rest, end) for part in parts], 1) for end in ("mid", "rad"))
    coefficients, lower, upper = (
        np.concatenate([getattr(part, name) for part in parts], 1) for name in ("coefficients", "lower", "upper")
    )
    return ResetImages(coefficients, BallArrays(mid, rad), lower, upper)


def _reset(sets: Doubletons, changed: list[int], images: ResetImages) -> Doubletons:
    """Sets with new values in some places."""
    n = sets.lower.shape[1]
    kept = [index for index in range(n) if index not in changed]
    free = not images.coefficients[:, :, changed].any()
    after = _lifted(sets, kept, changed, images) if free else _moved(sets, changed, images)
    lower, upper = after.lower.copy(), after.upper.copy()
    lower[:, kept], upper[:, kept] = sets.lower[:, kept], sets.upper[:, kept]
    lower[:, changed] = np.fmax(lower[:, changed], images.lower)
    upper[:, changed] = np.fmin(upper[:, changed], images.upper)
    return replace(after, lower=lower, upper=upper)


def _moved(sets: Doubletons, changed: list[int], images: ResetImages) -> Doubletons:
    """By one map of all variables, where new values depend on those that change."""
    batch, n = sets.lower.shape
    slopes = np.broadcast_to(np.eye(n), (batch, n, n)).copy()
    slopes[:, changed] = images.coefficients
    centre, doubt = _centres(sets, changed, images), np.zeros((batch, n))
    doubt[:, changed] = images.rest.rad
    return moved(sets, centre, points(slopes), doubt)


def _centres(sets: Doubletons, changed: list[int], images: ResetImages) -> BallArrays:
    """The images of the centres; the radii are those of rounding alone."""
    value = (points(images.coefficients) @ points(sets.centre[..., None]))[..., 0] + points(images.rest.mid)
    mid, rad = sets.centre.copy(), np.zeros_like(sets.centre)
    mid[:, changed], rad[:, changed] = value.mid, value.rad
    return BallArrays(mid, rad)


def _lifted(sets: Doubletons, kept: list[int], changed: list[int], images: ResetImages) -> Doubletons:
    """New values beside what is kept: the image of its set, and an error of their own that turns nothing else."""
    batch, n = sets.lower.shape
    frame, error = reduced(sets.frame[:, kept], sets.error)  # of what is kept
    new = points(images.coefficients[:, :, kept])
    image, turned = new @ points(sets.image[:, kept]), new @ points(frame)
    centre = _centres(sets, changed, images)
    own = images.rest.rad + centre.rad[:, changed] + weighted(image.rad, sets.spread) + weighted(turned.rad, error)
    whole, frames = sets.image.copy(), np.zeros((batch, n, n))
    errors = np.zeros((batch, n))
    whole[:, changed] = image.mid
    frames[np.ix_(range(batch), kept, range(len(kept)))] = frame
    frames[np.ix_(range(batch), changed, range(len(kept)))] = turned.mid
    frames[:, changed, range(len(kept), n)] = 1.0
    errors[:, : len(kept)], errors[:, len(kept) :] = error, own * SLACK + TINY
    reach = (weighted(np.abs(whole), sets.spread) + weighted(np.abs(frames), errors)) * SLACK
    return Doubletons(centre.mid, whole, sets.spread, frames, errors, *BallArrays(centre.mid, reach).ends)


def _every(array: Array, batch: int) -> Floats:
    return np.broadcast_to(array, (batch, *array.shape[1:])).astype(np.float64)


def _sum(terms: BallArrays) -> BallArrays:
    """Along the last axis."""
    count = terms.mid.shape[-1]
    rad = terms.rad.sum(-1) + gamma(count + 2) * np.abs(terms.mid).sum(-1)
    return BallArrays(terms.mid.sum(-1), rad * (SLACK + gamma(2 * count + 2)) + TINY)


# Discrete values ------------------------------------------------------------------------------------------------------


def possible(value: Value, var: Var) -> dict[Fraction, Mask]:
    """Each value that a discrete variable may get, and in which sets."""
    match value:
        case Truth(must, may):
            return {Fraction(1): np.asarray(may), Fraction(0): ~np.asarray(must)}
        case Finite(mask, values):
            return {one: np.asarray(mask[..., i]) for i, one in enumerate(values)}
    assert isinstance(value, Range)
    lower, upper = float(value.lower.min()), float(value.upper.max())
    if not upper - lower < MAX_VALUES:
        raise Stopped(MANY_VALUES)
    numbers = range(int(np.ceil(lower)), int(np.floor(upper)) + 1)
    return {Fraction(one): np.asarray((value.lower <= one) & (one <= value.upper)) for one in numbers}


def _values(option: Mapping[Fraction, Mask] | None, old: Fraction) -> list[Fraction]:
    return [old] if option is None else [value for value, mask in option.items() if mask.any()]
