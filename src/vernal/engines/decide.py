"""Deciding for many pieces at once what a comparison or an argmax can come out as.

Most decisions are the same for whole neighbourhoods of states: pieces are gathered into clusters, the hull of a cluster
is bounded, and only clusters that stay open are divided. What is open for a single piece is asked again with its
correlations, and then the piece is cut in halves; what is open still at a tiny width goes both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vernal.engines.batches import Floats, Indices, Pieces, join
from vernal.interpret.abstract import Finite, Range, Truth
from vernal.interpret.linear import Linear
from vernal.interpret.linear_forms import Form, concretise
from vernal.model import build
from vernal.model.expr import Argmax, Const, Expr, Role

Mask = NDArray[np.bool_]
Check = Callable[[], None]

MIN_WIDTH = 1e-7  # of a parameter, relative to its first width: narrower pieces are not cut
MAX_PARTS = 32  # open at once of one piece: cutting on would only count the points of a surface
FIRST_CLUSTERS = 16


def outcomes(decision: Expr) -> list[Expr]:
    """What a decision can come out as, in the order of the columns of its masks."""
    if isinstance(decision, Argmax):
        count = decision.args[0].size
        return [Const((), decision.sort, (), (Fraction(index),)) for index in range(count)]
    return [build.FALSE, build.TRUE]


def mask_of(linear: Linear, decision: Expr) -> Mask:
    """(batch, outcomes): what is possible in each box."""
    value = linear.value(decision)
    if isinstance(value, Truth):
        return np.stack([~np.asarray(value.must), np.asarray(value.may)], axis=1)
    assert isinstance(value, Finite)
    return np.asarray(value.mask)


@dataclass(frozen=True)
class Layout:
    """Which numeric nodes the components of a piece are."""

    nodes: tuple[Expr, ...]

    @property
    def size(self) -> int:
        return sum(node.size for node in self.nodes)

    def columns(self) -> dict[Expr, slice]:
        found, start = {}, 0
        for node in self.nodes:
            found[node] = slice(start, start + node.size)
            start += node.size
        return found

    def box(self, low: Floats, high: Floats) -> dict[Expr, Range]:
        """Ranges of the components as values of the nodes."""
        return {node: Range(_shape(node, low[:, at]), _shape(node, high[:, at])) for node, at in self.columns().items()}

    def linear(self, pieces: Pieces) -> Linear:
        """Bounds over the parameters of the pieces, with the state as forms over them."""
        count = pieces.parameters
        names = [build.var(f"parameter {index}", role=Role.INPUT) for index in range(count)]
        linear = Linear({name: Range(pieces.lower[:, i], pieces.upper[:, i]) for i, name in enumerate(names)})
        linear.batch = len(pieces)
        size = np.abs(pieces.c) + pieces.error
        if count:
            largest = np.maximum(np.abs(pieces.lower), np.abs(pieces.upper))
            size = (size + np.einsum("bnm,bm->bn", np.abs(pieces.A), largest)) * (1 + 1e-14)
        for node, at in self.columns().items():
            A = pieces.A[:, at] if count else None
            assume(linear, node, Form(A, pieces.c[:, at], pieces.error[:, at], size[:, at]))
        return linear


def _shape(node: Expr, array: Floats) -> Floats:
    return array if node.shape else array[:, 0]


def assume(linear: Linear, node: Expr, form: Form) -> None:
    """A node whose form over the inputs is known."""
    linear._store(node, concretise(linear.backend, linear.inputs, form), form)


# Clusters -------------------------------------------------------------------------------------------------------------


def possible(decision: Expr, layout: Layout, low: Floats, high: Floats, check: Check) -> Mask:
    """What is possible for each state box, found on hulls of neighbouring boxes as far as these decide it."""
    result = np.zeros((len(low), len(outcomes(decision))), dtype=bool)
    clusters = Clusters(low, high)
    while clusters.sizes.size:
        check()
        masks = mask_of(Linear(layout.box(*clusters.hulls())), decision)
        settled = (masks.sum(axis=1) == 1) | (clusters.sizes == 1)
        rows = np.repeat(settled, clusters.sizes)
        result[clusters.order[rows]] = np.repeat(masks, clusters.sizes, axis=0)[rows]
        clusters.keep(~settled)
        clusters.divide(2 * clusters.sizes.size)
    return result


class Clusters:
    """Neighbouring boxes, gathered: `order` lists them cluster by cluster, `sizes` says how many each has."""

    def __init__(self, low: Floats, high: Floats) -> None:
        self.low, self.high = np.ascontiguousarray(low.T), np.ascontiguousarray(high.T)
        self.centre = self.low + self.high
        spread = self.centre.max(axis=1) - self.centre.min(axis=1)
        self.scale = np.where(spread > 0, spread, np.inf)
        self.order = np.arange(len(low))
        self.sizes = np.array([len(low)])
        self.divide(FIRST_CLUSTERS)

    @property
    def starts(self) -> Indices:
        starts: Indices = np.cumsum(self.sizes) - self.sizes
        return starts

    def hulls(self) -> tuple[Floats, Floats]:
        """The least box around each cluster."""
        low = np.minimum.reduceat(self.low[:, self.order], self.starts, axis=1)
        high = np.maximum.reduceat(self.high[:, self.order], self.starts, axis=1)
        return low.T, high.T

    def keep(self, wanted: Mask) -> None:
        """Only these clusters go on."""
        self.order = self.order[np.repeat(wanted, self.sizes)]
        self.sizes = self.sizes[wanted]

    def divide(self, wanted: int) -> None:
        """Halve clusters until there are as many as wanted, or each is a single box."""
        while 0 < self.sizes.size < wanted and self.sizes.max() > 1:
            sizes: list[int] = []
            for start, size in zip(self.starts.tolist(), self.sizes.tolist(), strict=True):
                sizes += self._halve(start, size)
            self.sizes = np.array(sizes)

    def _halve(self, start: int, size: int) -> list[int]:
        """Cut one cluster at the median of its widest side."""
        if size == 1:
            return [1]
        members = self.order[start : start + size]
        centre = self.centre[:, members]
        side = int(np.argmax((centre.max(axis=1) - centre.min(axis=1)) / self.scale))
        self.order[start : start + size] = members[np.argpartition(centre[side], size // 2)]
        return [size // 2, size - size // 2]


# Pieces ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Decided:
    """Pieces with what each can come out as; `open` marks those that go several ways though they are tiny."""

    pieces: Pieces
    mask: Mask


def decide(decision: Expr, layout: Layout, pieces: Pieces, widths: Floats, check: Check) -> Decided:
    """Cut pieces until each goes one way, or is too narrow to cut; then join again what goes the same way."""
    low, high = pieces.ranges()
    mask = possible(decision, layout, low, high, check)
    done: list[tuple[Pieces, Mask, Indices]] = []
    origin = np.arange(len(pieces))
    single = mask.sum(axis=1) == 1
    done.append((pieces.rows(single), mask[single], origin[single]))
    work, origin, known = pieces.rows(~single), origin[~single], mask[~single]
    while len(work):
        check()
        found = mask_of(layout.linear(work), decision) & known
        width = (work.upper - work.lower) / np.maximum(widths[: work.parameters], 1e-300)
        middle = 0.5 * work.lower + 0.5 * work.upper
        width = np.where((work.lower < middle) & (middle < work.upper), width, 0.0)  # nothing lies between
        cuttable = (width.max(axis=1, initial=0.0) > MIN_WIDTH) & (found.sum(axis=1) > 1)
        cuttable &= np.bincount(origin[cuttable], minlength=len(pieces))[origin] <= MAX_PARTS
        done.append((work.rows(~cuttable), found[~cuttable], origin[~cuttable]))
        work, origin, known = _cut(work.rows(cuttable), origin[cuttable], found[cuttable], width[cuttable])
    return _rejoin(done)


def _cut(work: Pieces, origin: Indices, known: Mask, width: Floats) -> tuple[Pieces, Indices, Mask]:
    """Both halves of every piece, along the parameter that moves the state most."""
    if not len(work):
        return work, origin, known
    influence = np.abs(work.A).sum(axis=1) * (work.upper - work.lower)
    side = np.argmax(np.where(width > MIN_WIDTH, influence + 1e-12 * width, -1.0), axis=1)
    rows = np.arange(len(work))
    middle = 0.5 * work.lower[rows, side] + 0.5 * work.upper[rows, side]
    lower, upper = work.lower.copy(), work.upper.copy()
    upper[rows, side] = middle
    lower[rows, side] = middle
    both = np.concatenate([rows, rows])
    halves = work.rows(both).boxed(np.concatenate([work.lower, lower]), np.concatenate([upper, work.upper]))
    return halves, origin[both], known[both]


def _rejoin(done: list[tuple[Pieces, Mask, Indices]]) -> Decided:
    """Parts of one piece that go the same way become one again where their boxes make (nearly) a box."""
    pieces = join([part for part, _, _ in done])
    mask = np.concatenate([part for _, part, _ in done])
    origin = np.concatenate([part for _, _, part in done])
    count = np.bincount(origin)
    if count.max(initial=0) <= 1 or pieces.parameters != 1:
        return Decided(pieces, mask)
    return _hulls(pieces, mask, origin)


def _hulls(pieces: Pieces, mask: Mask, origin: Indices) -> Decided:
    """With one parameter, neighbouring parts of one piece with the same outcomes are an interval again."""
    code = mask @ (1 << np.arange(mask.shape[1]))
    order = np.lexsort((pieces.lower[:, 0], origin))
    o, m = origin[order], code[order]
    touching = pieces.lower[order, 0][1:] <= pieces.upper[order, 0][:-1]
    new = np.r_[True, (o[1:] != o[:-1]) | (m[1:] != m[:-1]) | ~touching]
    starts = np.flatnonzero(new)
    first = order[starts]
    lower = np.minimum.reduceat(pieces.lower[order, 0], starts)[:, None]
    upper = np.maximum.reduceat(pieces.upper[order, 0], starts)[:, None]
    return Decided(pieces.rows(first).boxed(lower, upper), mask[first])
