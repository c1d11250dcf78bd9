"""From a neural abstraction to an affine hybrid automaton.

Every region in which the network is affine is a location with the region for its invariant and the network's affine
function for its flow; the certified error is the disturbance. The reduction is OVER: the automaton has, up to limits,
every trajectory of the network with disturbances (`crossings` says why), hence every trajectory of the flow.

Reference: A. Abate, A. Edwards, M. Giacobbe, Neural Abstractions, NeurIPS 2022, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vernal.errors import InputError
from vernal.evidence.neural import NeuralAbstraction
from vernal.interpret.geometry.polytopes import Polytope, box
from vernal.interpret.numbers.rounding import float_above
from vernal.logic.task import Transitions
from vernal.model.hybrid import HybridAutomaton, Location
from vernal.model.tick import Tick, idle
from vernal.reduce.neural.activation import ActivationRegion, activation_regions, integer_layers
from vernal.reduce.neural.crossings import crossings_of
from vernal.reduce.neural.merging import merged
from vernal.reduce.neural.outward_rounding import exact_flow, facets_of, float_flow, rounding_error

LEAST_RADIUS = 2.0**-60  # of a coordinate without error: crossings by facets need a little


def automaton_of(
    abstraction: NeuralAbstraction,
    *,
    name: str,
    variables: Sequence[str],
    transitions: Transitions | str = Transitions.FACET,
    tick: Tick = idle,
) -> HybridAutomaton:
    """The hybrid automaton of a neural abstraction over its region.

    Its radius is the certified error, plus what rounding did to the flows (nothing, where the weights are on a coarse
    binary grid), plus the least that a float can add.
    """
    region = _region(abstraction)
    layers = integer_layers(abstraction.weights, abstraction.biases)
    regions = merged(activation_regions(layers, region, tick), region, tick)
    modes = [_Mode(one, float_flow(one.flow, layers.denominator)) for one in regions]
    radius = radius_of(abstraction.error, (mode.rounding(layers.denominator) for mode in modes))
    crossings = crossings_of(
        [one.polytope for one in regions],
        [exact_flow(mode.flow) for mode in modes],
        [Fraction(r) for r in radius.tolist()],
        Transitions(transitions),
        tick,
    )
    return HybridAutomaton(
        name,
        tuple(variables),
        np.array(abstraction.lower, dtype=np.float64),
        np.array(abstraction.upper, dtype=np.float64),
        radius,
        tuple(mode.location(i) for i, mode in enumerate(modes)),
        tuple(crossings),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Mode:
    """A region of the network with its flow in floats."""

    region: ActivationRegion
    flow: NDArray[np.float64]  # (n, n + 1), the constants last

    def rounding(self, denominator: int) -> list[Fraction]:
        """How far the floats are from the network's function in the region."""
        return rounding_error(self.region.flow, denominator, self.flow, self.region.polytope)

    def location(self, index: int) -> Location:
        return Location(f"l{index}", facets_of(self.region.polytope), self.flow[:, :-1].copy(), self.flow[:, -1].copy())


def _region(abstraction: NeuralAbstraction) -> Polytope:
    lower, upper = ([Fraction(x) for x in ends.tolist()] for ends in (abstraction.lower, abstraction.upper))
    if not all(low < high for low, high in zip(lower, upper, strict=True)):
        raise InputError(
            "the region of a hybrid automaton needs an interior: every variable's range has to have a length"
        )
    return box(lower, upper)


def radius_of(error: NDArray[np.float64], rounding: Iterable[Sequence[Fraction]]) -> NDArray[np.float64]:
    """For each coordinate the first float above the error and the largest rounding."""
    worst = [max(column) for column in zip(*rounding, strict=True)]
    sums = (Fraction(e) + extra for e, extra in zip(error.tolist(), worst, strict=True))
    return np.array([max(math.nextafter(float_above(total), math.inf), LEAST_RADIUS) for total in sums])
