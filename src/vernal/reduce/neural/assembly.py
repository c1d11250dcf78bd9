"""From sums of ridge functions to one feed-forward ReLU network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.numbers.rounding import Floats
from vernal.reduce.neural.dyadic import balanced, power_of_two, rounded
from vernal.reduce.neural.part_samples import PartField
from vernal.reduce.neural.parts import FieldParts
from vernal.reduce.neural.ridges import Ridges


class SkipNeurons:
    """Neurons x / unit + shift that are active on the whole region and so hand the variables on."""

    def __init__(self, lower: Floats, upper: Floats, variables: NDArray[np.intp]) -> None:
        self.lower, self.upper = lower, upper
        self.variables = variables
        self.units = power_of_two((upper - lower) / 2)
        self.shifts = np.ceil(-lower / self.units) + 1

    @property
    def neurons(self) -> int:
        return len(self.variables)

    @property
    def rows(self) -> Floats:
        return np.diag(1 / self.units)[self.variables]


def assembled(
    parts: FieldParts,
    found: Sequence[Ridges],
    fields: Sequence[PartField],
    skip: SkipNeurons,
    widths: Sequence[int] | None,
) -> tuple[list[Floats], list[Floats]]:
    """Weights and biases of all layers: hyperplanes and handed-on variables first, then the outputs again and again."""
    linear, constant = parts.linear.copy(), parts.constant.copy()
    rows, offsets, columns = [skip.rows], [skip.shifts[skip.variables]], list[Floats]()
    for ridges, field in zip(found, fields, strict=True):
        normals, heights, into = _in_state(ridges, field)
        slopes = ridges.slopes / field.radius
        linear[field.outputs] += slopes @ field.part.directions
        constant[field.outputs] += ridges.constants - slopes @ field.middle
        rows, offsets, columns = [*rows, normals], [*offsets, heights], [*columns, into]
    skipped = (linear * skip.units)[:, skip.variables]
    weights = [np.vstack(rows), np.hstack([skipped, *columns])]
    biases = [np.concatenate(offsets), constant - skipped @ skip.shifts[skip.variables]]
    wide = list(widths or [max(1, len(weights[0]))])
    weights, biases = _padded(weights, biases, wide[0])
    for width in wide[1:]:
        weights, biases = _handed_on(weights, biases, width, skip)
    return rounded(*balanced(weights, biases, skip.units), skip.units)


def _in_state(ridges: Ridges, field: PartField) -> tuple[Floats, Floats, Floats]:
    """Normals and offsets over the state, and the weights that every variable's rate has for them."""
    normals = ridges.normals / field.radius
    offsets = ridges.offsets - normals @ field.middle
    weights = np.zeros((field.part.directions.shape[1], len(offsets)))
    weights[field.outputs] = ridges.weights
    if field.dimension == 1:  # in the unit of the direction itself, which is often exact
        normals, offsets, weights = normals * field.radius, offsets * field.radius, weights / field.radius
    return normals @ field.part.directions, offsets, weights


def _padded(weights: list[Floats], biases: list[Floats], width: int) -> tuple[list[Floats], list[Floats]]:
    """The last hidden layer with neurons added that are never active and that nothing looks at."""
    last, out = weights[-2:]
    missing = width - len(last)
    inner = np.vstack([last, np.zeros((missing, last.shape[1]))])
    outer = np.hstack([out, np.zeros((len(out), missing))])
    bias = np.concatenate([biases[-2], np.full(missing, -1.0)])
    return [*weights[:-2], inner, outer], [*biases[:-2], bias, biases[-1]]


def _handed_on(
    weights: list[Floats], biases: list[Floats], width: int, skip: SkipNeurons
) -> tuple[list[Floats], list[Floats]]:
    """One more hidden layer, whose neurons are the outputs, raised so far that they are always active."""
    size = np.maximum(np.abs(skip.lower), np.abs(skip.upper))
    for weight, bias in zip(weights, biases, strict=True):
        size = np.abs(weight) @ size + np.abs(bias)
    raised = 2 * power_of_two(size)
    count = len(raised)
    return _padded([*weights, np.eye(count)], [*biases[:-1], biases[-1] + raised, -raised], width)
