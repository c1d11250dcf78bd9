"""Affine layers as arrays of a backend, with what bounds need to know of their weights: made once for each layer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast
from weakref import WeakKeyDictionary

from vernal.interpret.blocks import block_matrix
from vernal.interpret.numbers.memory_room import refuse_beyond
from vernal.interpret.numbers.rounding import FLOOR, TINY, Array, Backend, gamma
from vernal.interpret.numbers.sparse import Sparse, sparse_or_none
from vernal.model import expr as e
from vernal.model.expr import Expr


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """W x + b with m rows and n columns, and g = gamma(k + 8), which bounds the rounding of any sum on its way.

    k is m + n, or of a sparse W the most entries that a row and a column have together. `magnitude` and `offset` are
    |W| and |b|, larger by a factor of at least 1 + 7 g. So for x >= 0 the floating point number x magnitude + offset,
    whose relative error is at most gamma(k + 1), is at least (|W| x + |b|) (1 + 5 g).
    """

    weight: Array | Sparse  # (m, n)
    transposed: Array | Sparse  # (n, m)
    bias: Array  # (1, m)
    slack: float  # g
    magnitude: Array | Sparse  # (n, m)
    offset: Array  # (1, m); besides, FLOOR / g, so that g times a sum with it is at least FLOOR
    doubt: Array  # (1, m): g times the offset
    added_slack: float  # what a sum of m biases is rounded by, where g says less

    def most(self, backend: Backend, x: Array) -> Array:
        """At least (|W| x + |b|) (1 + 5 g), for x >= 0: (boxes, m)."""
        return backend.product(x, self.magnitude) + self.offset

    def rounding(self, backend: Backend, x: Array) -> Array:
        """(boxes, m): what a row's way back through the layer costs for each entry, for |values| up to x."""
        cost = self.slack * self.most(backend, x)
        return cost + self.added_slack * self.offset if self.added_slack else cost

    def of(self, backend: Backend, A: Array) -> Array:
        """W A for coefficients (boxes, n, inputs)."""
        if isinstance(self.weight, Sparse):
            boxes, n, inputs = A.shape
            made = self.weight.dot(A[0] if boxes == 1 else A.transpose(1, 0, 2).reshape(n, boxes * inputs))
            return made[None] if boxes == 1 else made.reshape(-1, boxes, inputs).transpose(1, 0, 2)
        if backend.native and A.shape[0] == 1:
            return cast(Array, self.weight.dot(A[0])[None])
        return backend.xp.matmul(self.weight, A)

    def written_out(self) -> Array:
        """W as an array."""
        return self.weight.dense() if isinstance(self.weight, Sparse) else self.weight


def layer(backend: Backend, node: Expr) -> Layer:
    """The layer that a node is, alone or in blocks; made once for each backend."""
    found = backend.kept.get(node)
    if found is None:
        found = backend.kept[node] = _make(backend, node)
    return cast(Layer, found)


_sparse: WeakKeyDictionary[e.Affine, Sparse | None] = WeakKeyDictionary()


def sparse_weights(node: e.Affine) -> Sparse | None:
    """The transposed weights of a layer, if they are to be multiplied as a sparse matrix; looked at once."""
    if node not in _sparse:
        found = sparse_or_none(node.weight.array)
        _sparse[node] = None if found is None else found.T
    return _sparse[node]


def _make(backend: Backend, node: Expr) -> Layer:
    if not isinstance(node, e.Affine):
        matrix, bias = block_matrix(node)
        return _sparse_layer(matrix.T, bias[None])
    W, b = backend.weights(node.weight.array), backend.weights(node.bias.array)[None]
    sparse = sparse_weights(node) if backend.native else None
    if sparse is not None:
        return _sparse_layer(sparse, b)
    slack = gamma(sum(W.shape) + 8)
    if backend.native:
        refuse_beyond(math.prod(W.shape))
    magnitude = abs(W.T)
    magnitude *= 1.0 + 8.0 * slack  # in place: a second array as large as the weights would be there for a moment
    offset = _offset(b, slack)
    return Layer(W, W.T, b, slack, magnitude, offset, slack * offset, 0.0)


def _sparse_layer(transposed: Sparse, b: Array) -> Layer:
    slack = gamma(transposed.terms + 8)
    offset, magnitude = _offset(b, slack), transposed.magnitude(1.0 + 8.0 * slack)
    return Layer(transposed.T, transposed, b, slack, magnitude, offset, slack * offset, gamma(b.shape[1] + 8))


def _offset(b: Array, slack: float) -> Array:
    return abs(b) * (1.0 + 8.0 * slack) + (FLOOR / slack + TINY)
