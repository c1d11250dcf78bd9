"""The regions of a box in which a ReLU network is affine, found by depth-first search and exactly.

Layer by layer, neuron by neuron: a polytope in which the sign of a neuron is not settled is cut along the neuron's
hyperplane, and both closed halves are followed. Most neurons are settled by their values at the vertices in floating
point, in one batch, with the rounding accounted for; the rest in whole numbers. A neuron that is nowhere positive, or
nowhere negative, on a polytope is not cut: one of its halves is the whole polytope, and the other a face of it. So
every region has an interior, and the regions cover the box.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.geometry.polytopes import IntegerRow, Polytope, coprime
from vernal.model.tick import Tick, idle

UNIT = 2.0**-53
UNDERFLOW = 1e-290  # more than underflow can lose, relative to the largest coordinate

IntegerMatrix = NDArray[np.object_]
IntegerForms = tuple[IntegerRow, ...]  # affine functions of the input: their coefficients and constants


@dataclass(frozen=True, slots=True, eq=False)
class ActivationRegion:
    """A polytope with interior in which the network is `flow`, its affine functions times the layers' denominator."""

    polytope: Polytope
    flow: IntegerForms


@dataclass(frozen=True, slots=True, eq=False)
class IntegerLayers:
    """The layers of a network in whole numbers: floats are whole multiples of powers of two.

    Functions that enter layer i are multiples of 1 / scales[i]; those that leave it, of 1 / scales[i + 1].
    """

    weights: tuple[IntegerMatrix, ...]
    biases: tuple[IntegerMatrix, ...]
    scales: tuple[int, ...]

    @property
    def denominator(self) -> int:
        """Of the network's affine functions."""
        return self.scales[-1]

    def apply(self, layer: int, entering: IntegerForms) -> IntegerForms:
        """What a layer computes of these functions, before activation."""
        leaving = self.weights[layer].dot(np.array(entering, dtype=object))
        leaving[:, -1] += self.biases[layer]
        return tuple(map(tuple, leaving.tolist()))


def integer_layers(weights: Sequence[NDArray[np.float64]], biases: Sequence[NDArray[np.float64]]) -> IntegerLayers:
    """The same network in whole numbers."""
    scales, rows, constants = [1], [], []
    for matrix, bias in zip(weights, biases, strict=True):
        scale = max(x.as_integer_ratio()[1] for x in [1.0, *matrix.ravel().tolist(), *bias.tolist()])
        rows.append(_whole(matrix, scale))
        scales.append(scales[-1] * scale)
        constants.append(_whole(bias, scales[-1]))
    return IntegerLayers(tuple(rows), tuple(constants), tuple(scales))


def _whole(array: NDArray[np.float64], scale: int) -> IntegerMatrix:
    """The array times a power of two that makes all of it whole."""
    whole = np.empty(array.shape, dtype=object)
    for index, x in np.ndenumerate(array):
        numerator, denominator = float(x).as_integer_ratio()
        whole[index] = numerator * (scale // denominator)
    return whole


def activation_regions(layers: IntegerLayers, region: Polytope, tick: Tick = idle) -> Iterator[ActivationRegion]:
    """All regions of the network inside a polytope with interior."""
    n = region.dimension_of_space
    inputs: IntegerForms = tuple(tuple(int(i == j) for j in range(n + 1)) for i in range(n))
    waiting = [(region, 0, inputs)]
    while waiting:
        polytope, layer, entering = waiting.pop()
        forms = layers.apply(layer, entering)
        if layer + 1 == len(layers.weights):
            yield ActivationRegion(polytope.reduced(), forms)
            continue
        waiting += [(part, layer + 1, active) for part, active in divided(polytope, forms, tick)]


def divided(polytope: Polytope, forms: IntegerForms, tick: Tick = idle) -> Iterator[tuple[Polytope, IntegerForms]]:
    """The parts of a polytope in which no function changes its sign, with what ReLU makes of the functions there."""
    slopes = _float_rows(forms)
    nothing = (0,) * len(forms[0])
    waiting: list[tuple[Polytope, tuple[bool, ...]]] = [(polytope, ())]
    while waiting:
        tick()
        part, active = waiting.pop()
        active, crossing = _settled(part, forms, slopes, active)
        if crossing is None:
            yield part, tuple(form if on else nothing for form, on in zip(forms, active, strict=True))
            continue
        below, above = crossing
        waiting += [(above, (*active, True)), (below, (*active, False))]


def _settled(
    part: Polytope, forms: IntegerForms, slopes: NDArray[np.float64], active: tuple[bool, ...]
) -> tuple[tuple[bool, ...], tuple[Polytope, Polytope] | None]:
    """The phases up to the first neuron whose hyperplane cuts the part, and the halves that it leaves."""
    negative, positive = _certain_signs(part, slopes[len(active) :])
    for j, form in enumerate(forms[len(active) :]):
        if negative[j] or positive[j]:
            active = (*active, bool(positive[j]))
            continue
        halves = part.split(coprime(form))
        if halves is not None:
            return active, halves
        active = (*active, max(part.values(form)) > 0)
    return active, None


def _float_rows(forms: IntegerForms) -> NDArray[np.float64]:
    """Each function divided by its largest coefficient, every number rounded once."""
    largest = [max(1, *map(abs, form)) for form in forms]
    return np.array([[x / most for x in form] for form, most in zip(forms, largest, strict=True)])


def _certain_signs(part: Polytope, slopes: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which functions are certainly negative, and which positive, at all vertices.

    Coefficients and coordinates are rounded once each, and a product of n + 1 terms is added up: its error is less
    than 2 (n + 4) units of the sum of absolute values.
    """
    points = np.array([[x / vertex[-1] for x in vertex] for vertex in part.vertices]).T
    values = slopes @ points
    margin = 2 * (len(points) + 4) * UNIT * (np.abs(slopes) @ np.abs(points)) + UNDERFLOW * np.abs(points).sum(axis=0)
    return np.all(values < -margin, axis=1), np.all(values > margin, axis=1)
