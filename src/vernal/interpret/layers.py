"""Affine layers as arrays of a backend, with what bounds need to know of their weights: made once for each layer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

from vernal.interpret.numbers.memory_room import refuse_beyond
from vernal.interpret.numbers.rounding import FLOOR, TINY, Array, Backend, gamma
from vernal.model import expr as e


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """W x + b with m rows and n columns, and g = gamma(m + n + 8), which bounds the rounding of any sum on its way.

    `magnitude` and `offset` are |W| and |b|, larger by a factor of at least 1 + 7 g. So for x >= 0 the floating point
    number x magnitude + offset, whose relative error is at most gamma(n + 1), is at least (|W| x + |b|) (1 + 5 g).
    """

    weight: Array  # (m, n)
    transposed: Array  # (n, m)
    bias: Array  # (1, m)
    slack: float  # g
    magnitude: Array  # (n, m)
    offset: Array  # (1, m); besides, FLOOR / g, so that g times a sum with it is at least FLOOR
    doubt: Array  # (1, m): g times the offset

    def most(self, backend: Backend, x: Array) -> Array:
        """At least (|W| x + |b|) (1 + 5 g), for x >= 0: (boxes, m)."""
        return backend.product(x, self.magnitude) + self.offset


def layer(backend: Backend, node: e.Affine) -> Layer:
    """The layer of a node, made once for each backend."""
    found = backend.kept.get(node)
    if found is None:
        found = backend.kept[node] = _make(backend, node)
    return cast(Layer, found)


def _make(backend: Backend, node: e.Affine) -> Layer:
    W, b = backend.weights(node.weight.array), backend.weights(node.bias.array)[None]
    slack = gamma(sum(W.shape) + 8)
    offset = abs(b) * (1.0 + 8.0 * slack) + (FLOOR / slack + TINY)
    if backend.native:
        refuse_beyond(math.prod(W.shape))
    magnitude = abs(W.T)
    magnitude *= 1.0 + 8.0 * slack  # in place: a second array as large as the weights would be there for a moment
    return Layer(W, W.T, b, slack, magnitude, offset, slack * offset)
