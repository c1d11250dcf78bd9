"""Layers in blocks: many small layers of components of one vector, put together, are one sparse affine map of it.

Large convolutions are read as tiles, each a gather and a small layer. Bounds take them as one product where that costs
less than its tiles one by one: the way of a row back through a convolution is a transposed convolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.numbers.sparse import Sparse
from vernal.model import expr as e
from vernal.model.expr import Expr

# Measured for a dozen rows at once, in products of two numbers of a dense matrix: what an entry of a sparse one takes,
# and what the calls for a block take.
SPARSE_ENTRY_COST, BLOCK_COST = 6, 200_000


@dataclass(frozen=True, slots=True, eq=False)
class BlockLayer:
    """What a layer in blocks is applied to, and the nodes that it is made of."""

    base: Expr
    inside: frozenset[Expr]


_known: WeakKeyDictionary[Expr, BlockLayer | None] = WeakKeyDictionary()


def block_layer(node: Expr) -> BlockLayer | None:
    """The layer in blocks that a node is, if it is one that is better taken as a whole; found once."""
    if not isinstance(node, e.Gather | e.Concat):
        return None
    if node not in _known:
        _known[node] = _found(node)
    return _known[node]


def _found(node: e.Gather | e.Concat) -> BlockLayer | None:
    blocks = _blocks(node)
    bases = {_read(block)[0] for block in blocks}
    if len(bases) != 1 or not blocks or not all(_reads_once(block) for block in blocks):
        return None
    (base,) = bases
    dense = sum(block.weight.array.size for block in blocks) + BLOCK_COST * len(blocks)
    if SPARSE_ENTRY_COST * sum(np.count_nonzero(block.weight.array) for block in blocks) > dense:
        return None
    inside = {node.args[0], *blocks, *(block.args[0] for block in blocks)} - {base}
    return BlockLayer(base, frozenset(inside))


def _blocks(node: e.Gather | e.Concat) -> list[e.Affine]:
    """The layers that a node puts together, or takes components of; none where some are others than layers."""
    whole = node.args[0] if isinstance(node, e.Gather) and node.shape else node
    if not isinstance(whole, e.Concat):
        return []
    blocks = [part for part in whole.args if isinstance(part, e.Affine)]
    return blocks if len(blocks) == len(whole.args) else []


def _read(block: e.Affine) -> tuple[Expr, NDArray[np.intp]]:
    """The vector that a block reads, and the places of what it reads there."""
    (arg,) = block.args
    if isinstance(arg, e.Gather):
        return arg.args[0], np.array(arg.indices, dtype=np.intp)
    return arg, np.arange(arg.size)


def _reads_once(block: e.Affine) -> bool:
    """Whether a block reads no component twice: two entries in one place would have a sum, which may be rounded."""
    _, places = _read(block)
    return len(np.unique(places)) == len(places)


def block_matrix(node: Expr) -> tuple[Sparse, NDArray[Any]]:
    """The matrix of a layer in blocks, every entry as it is and in its place, and its bias."""
    from scipy.sparse import csr_array

    found = block_layer(node)
    assert found is not None
    assert isinstance(node, e.Gather | e.Concat)
    blocks = _blocks(node)
    starts = np.cumsum([0, *(block.size for block in blocks)])
    entries = [_entries(block, start) for block, start in zip(blocks, starts, strict=False)]
    values, rows, columns = (np.concatenate(some) for some in zip(*entries, strict=True))
    matrix = csr_array((values, (rows, columns)), shape=(int(starts[-1]), found.base.size))
    bias = np.concatenate([block.bias.array for block in blocks])
    if isinstance(node, e.Gather):
        taken = np.array(node.indices, dtype=np.intp)
        matrix, bias = matrix[taken], bias[taken]
    return Sparse.of(matrix), bias


def _entries(block: e.Affine, start: int) -> Sequence[NDArray[Any]]:
    """Entries other than zero, with their rows and columns in the whole."""
    _, places = _read(block)
    row, column = np.nonzero(block.weight.array)
    return block.weight.array[row, column], row + start, places[column]
