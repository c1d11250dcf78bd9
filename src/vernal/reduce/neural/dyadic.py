"""Weights on dyadic grids, so fine that nothing is lost and so coarse that products of layers are exact in float64.

The affine map of an activation region is W2 S W1 x + W2 S b1 + b2 with a diagonal S of zeros and ones. If every entry
of layer l is a multiple of 2^-k_l, every partial sum of such a product is a multiple of 2^-(k_1 + k_2 + ...); as long
as none is above 2^53 times that, floats hold all of them. Inputs and outputs have units of their own, powers of two,
which change no mantissa.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vernal.interpret.numbers.rounding import Floats

MANTISSA = 53
MAX_BITS = 26  # of a layer


def power_of_two(values: Floats) -> Floats:
    """The least power of two that is at least the value; 1 for 0."""
    mantissa, exponent = np.frexp(np.abs(values))
    exact = mantissa == 0.5
    return np.where(values == 0, 1.0, np.ldexp(1.0, exponent - exact))


def balanced(weights: Sequence[Floats], biases: Sequence[Floats], units: Floats) -> tuple[list[Floats], list[Floats]]:
    """The same network with every hidden neuron scaled by a power of two: its largest weight is about 1 per unit."""
    weights, biases, below = list(weights), list(biases), units
    for layer in range(len(weights) - 1):
        scale = power_of_two((np.abs(weights[layer]) * below).max(axis=1))
        weights[layer] = weights[layer] / scale[:, None]
        biases[layer] = biases[layer] / scale
        weights[layer + 1] = weights[layer + 1] * scale
        below = np.ones(len(scale))
    return weights, biases


def rounded(weights: Sequence[Floats], biases: Sequence[Floats], units: Floats) -> tuple[list[Floats], list[Floats]]:
    """A balanced network on grids; `units` are those of the inputs, and the outputs get theirs from the last layer."""
    rises = power_of_two(np.abs(weights[-1]).max(axis=1))
    scaled, shifted = list(weights), list(biases)
    scaled[0] = scaled[0] * units
    scaled[-1], shifted[-1] = scaled[-1] / rises[:, None], shifted[-1] / rises
    bits = _bits(scaled, shifted)
    scaled = [_on_grid(weight, k) for weight, k in zip(scaled, bits, strict=True)]
    shifted = [_on_grid(bias, k) for bias, k in zip(shifted, bits, strict=True)]
    scaled[0] = scaled[0] / units
    scaled[-1], shifted[-1] = scaled[-1] * rises[:, None], shifted[-1] * rises
    return scaled, shifted


def _bits(weights: Sequence[Floats], biases: Sequence[Floats]) -> list[int]:
    """Bits behind the point for each layer: none where all numbers are integers, else as many as may be, shared."""
    largest = np.abs(biases[0])[:, None] + 1.0
    size = np.hstack([np.abs(weights[0]), largest])
    for weight, bias in zip(weights[1:], biases[1:], strict=True):
        size = (np.abs(weight) + 1e-6) @ size
        size[:, -1] += np.abs(bias)
    free = MANTISSA - 2 - int(np.ceil(np.log2(max(1.0, size.max()))))
    integral = [_integral(weight) and _integral(bias) for weight, bias in zip(weights, biases, strict=True)]
    sharing = max(1, integral.count(False))
    return [0 if whole else min(MAX_BITS, max(1, free // sharing)) for whole in integral]


def _integral(values: Floats) -> bool:
    return bool((values == np.round(values)).all())


def _on_grid(values: Floats, bits: int) -> Floats:
    return np.asarray(np.round(values * 2.0**bits) * 2.0**-bits, dtype=np.float64)
