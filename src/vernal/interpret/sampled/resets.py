"""Resets of sets of states: what a network, or any expression, makes of every state of a set, enclosed.

Over the box around a set a new value is A z + m up to r (`affine_images`). So what is new stays an affine image of the
set, up to r.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

from vernal.errors import Stopped
from vernal.interpret.flow.affine_images import AffineImages, affine_images
from vernal.interpret.flow.balls import SLACK, points
from vernal.interpret.flow.zonotope_batches import RESET, Zonotopes, spanned, widened
from vernal.interpret.linear.bounds import InputBox, Linear
from vernal.interpret.numbers.rounding import TINY, Array, Mask
from vernal.interpret.sampled.layer_images import layer_images
from vernal.interpret.sampled.plant import Plant, Reset
from vernal.interpret.value_sets import Finite, Range, Truth, Value
from vernal.model import expr as e
from vernal.model.expr import Expr, Var
from vernal.model.partial_evaluation import specialise
from vernal.model.tick import Tick, idle

MAX_VALUES = 64  # of a whole number that a reset may yield
MANY_VALUES = f"a whole number may become one of more than {MAX_VALUES} values"

DiscreteValues = tuple[Fraction, ...]  # of the discrete variables


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

    def bounds(self, sets: Zonotopes) -> Linear:
        """Linear bounds over the boxes around sets."""
        box: InputBox = {var: (sets.lower[:, i], sets.upper[:, i]) for var, i in self.places.items()}
        return Linear(box, tick=self.tick, batch=len(sets.lower))

    def truth(self, condition: Expr, values: DiscreteValues, sets: Zonotopes) -> Truth:
        """Whether a condition must or may be true in each set."""
        (known,) = self.specialised([condition], values)
        return self.bounds(sets).truth(known)

    def apply(
        self, reset: Reset, values: DiscreteValues, sets: Zonotopes
    ) -> list[tuple[Array, DiscreteValues, Zonotopes]]:
        """What becomes of sets: which of them, new values of the discrete variables, and the sets then.

        A set of which discrete variables may get several values goes on with each of them.
        """
        linear = self.bounds(sets)
        nodes = dict(zip(reset, self.specialised(list(reset.values()), values), strict=True))
        after = self._images(linear, {var: node for var, node in nodes.items() if var in self.places}, sets)
        options = [possible(linear.value(nodes[var]), var) if var in nodes else None for var in self.plant.discrete]
        found: list[tuple[Array, DiscreteValues, Zonotopes]] = []
        for chosen in product(*(_values(option, old) for option, old in zip(options, values, strict=True))):
            rows = np.ones(len(sets.lower), dtype=bool)
            for option, value in zip(options, chosen, strict=True):
                rows &= True if option is None else option[value]
            if rows.any():
                found.append((np.flatnonzero(rows), chosen, after[rows]))
        return found

    def _images(self, linear: Linear, nodes: Mapping[Var, Expr], sets: Zonotopes) -> Zonotopes:
        if not nodes:
            return sets
        changed = [self.places[var] for var in nodes]
        with np.errstate(all="ignore"):
            images = layer_images(linear, list(nodes.values()), sets)
            if images is None:
                images = affine_images(linear, list(nodes.values()), len(self.places), len(sets.lower))
            return _reset(sets, changed, images)


def _reset(sets: Zonotopes, changed: list[int], images: AffineImages) -> Zonotopes:
    """Sets with new values in some places: images of the sets, each with an error of its own."""
    found, rest = spanned(points(images.coefficients), sets.spread, sets.spans)
    middle = (points(images.coefficients) @ points(sets.centre[..., None]))[..., 0] + points(images.rest.mid)
    centre, generators, bends = sets.centre.copy(), sets.generators.copy(), sets.bends.copy()
    count = generators.shape[2]
    centre[:, changed], generators[:, changed], bends[:, changed] = middle.mid, found[..., :count], found[..., count:]
    own = (rest + middle.rad + images.rest.rad) * SLACK + TINY
    after = replace(sets, centre=centre, generators=generators, bends=bends)
    after = widened(after.losing(RESET, own, found[..., :count], sets.weights, images.sources), np.array(changed), own)
    lower, upper = sets.lower.copy(), sets.upper.copy()
    lower[:, changed] = np.fmax(after.lower[:, changed], images.lower)
    upper[:, changed] = np.fmin(after.upper[:, changed], images.upper)
    return replace(after, lower=lower, upper=upper)


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
