"""Deciding for many pieces at once what a comparison or an argmax can come out as.

Most decisions are the same for whole neighbourhoods of states: pieces are gathered into clusters, the hull of a cluster
is bounded, and only clusters that stay open are divided. What is open for a single piece is asked again with its
correlations, and then the piece is cut in halves; what is open still at a tiny width goes both ways.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from vernal.interpret.geometry.box_halves import halves
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.device_bounds import bounds_over
from vernal.interpret.linear.forms import Form
from vernal.interpret.numbers.rounding import Floats, Mask
from vernal.interpret.value_sets import Finite, Range, Truth
from vernal.model import build
from vernal.model.expr import Argmax, Expr, Role
from vernal.model.tick import Tick
from vernal.sets.cutting import cut_until_decided
from vernal.sets.pieces.batches import Indices, Pieces, image, join
from vernal.sets.pieces.free_winners import values

MIN_WIDTH = 1e-7  # of a parameter, relative to its first width: narrower pieces are not cut
MAX_PARTS = 32  # open at once of one piece: cutting on would only count the points of a surface
FIRST_CLUSTERS = 16
TOO_FEW_TO_GATHER = 16  # pieces that are not worth gathering
PARTS_PER_CLUSTER = 4  # into which an open cluster is divided


def outcomes(decision: Expr) -> list[Expr]:
    """What a decision can come out as, in the order of the columns of its masks."""
    if isinstance(decision, Argmax):
        return list(values(decision))
    return [build.FALSE, build.TRUE]


def mask_of(linear: Linear, decision: Expr) -> Mask:
    """(batch, outcomes): what is possible in each box; where bounds contradict each other, anything is."""
    value = linear.value(decision)
    assert isinstance(value, Truth | Finite)
    mask = value.mask if isinstance(value, Finite) else np.stack([~value.must, value.may], axis=1)
    some = mask.any(axis=1, keepdims=True)
    return np.asarray(mask if some.all() else mask | ~some)


@dataclass(frozen=True)
class Layout:
    """Which numeric nodes the components of a piece are."""

    nodes: tuple[Expr, ...]
    tick: Tick = field(default=lambda: None, compare=False, repr=False)  # called at every node that is bounded
    memo: list[tuple[Pieces, Linear]] = field(default_factory=list, compare=False, repr=False)  # the last one asked

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

    def over(self, low: Floats, high: Floats) -> Linear:
        """Bounds over boxes of the components."""
        return bounds_over(self.box(low, high), tick=self.tick, batch=len(low))

    def linear(self, pieces: Pieces) -> Linear:
        """Bounds over the parameters of the pieces, with the state as forms over them; kept for the next decision."""
        if self.memo and self.memo[0][0] is pieces:
            return self.memo[0][1]
        linear = self.fresh(pieces)
        self.memo[:] = [(pieces, linear)]
        return linear

    def for_step(self, pieces: Pieces) -> Linear:
        """Bounds for a step: those of the last decision, unless that asked about draws, which a step takes anew."""
        if self.memo and self.memo[0][0] is pieces and self.memo[0][1].inputs.count == pieces.parameters:
            return self.memo[0][1]
        return self.fresh(pieces)

    def fresh(self, pieces: Pieces) -> Linear:
        """The same without a memory: what others asked about draws is not in it."""
        return self._assumed(bounds_over(_parameters(pieces), tick=self.tick, batch=len(pieces)), pieces)

    def glance(self, pieces: Pieces) -> Linear:
        """The same for a look at many steps to come: ranges on the way by intervals."""
        linear = Linear(_parameters(pieces), mode="interval", tick=self.tick, batch=len(pieces))
        return self._assumed(linear, pieces)

    def _assumed(self, linear: Linear, pieces: Pieces) -> Linear:
        """Bounds over the parameters that know the state as forms."""
        count = pieces.parameters
        size = np.abs(pieces.c) + pieces.error
        if count:
            largest = np.maximum(np.abs(pieces.lower), np.abs(pieces.upper))
            size = (size + image(np.abs(pieces.A), largest)) * (1 + 1e-14)
        for node, at in self.columns().items():
            A = pieces.A[:, at] if count else None
            linear.assume(node, Form(A, pieces.c[:, at], pieces.error[:, at], size[:, at]))
        return linear


def _parameters(pieces: Pieces) -> dict[Expr, Range]:
    """The parameters of pieces as variables with their ranges."""
    names = [build.var(f"parameter {index}", role=Role.INPUT) for index in range(pieces.parameters)]
    return {name: Range(pieces.lower[:, i], pieces.upper[:, i]) for i, name in enumerate(names)}


def _shape(node: Expr, array: Floats) -> Floats:
    return array if node.shape else array[:, 0]


# Clusters -------------------------------------------------------------------------------------------------------------


def possible(decision: Expr, layout: Layout, pieces: Pieces, check: Tick) -> tuple[Indices, Mask]:
    """The one outcome of each piece, or -1; and of those with -1 a mask of what is possible.

    Hulls of neighbouring pieces are asked first, as far as these decide it.
    """
    code = np.full(len(pieces), -1)
    clusters = Clusters(*pieces.ranges())
    masks = np.zeros((0, len(outcomes(decision))), dtype=bool)
    while clusters.count:
        check()
        masks = mask_of(layout.over(*clusters.hulls()), decision)
        settled = masks.sum(axis=1) == 1
        clusters.note(code, np.where(settled, masks.argmax(axis=1), -1))
        if clusters.singles:
            return code, masks[~settled]
        clusters.divide(~settled)
    return code, masks[:0]


class Clusters:
    """Neighbouring boxes, gathered: runs of rows, which merging has put in an order that keeps neighbours together."""

    def __init__(self, low: Floats, high: Floats) -> None:
        self.low, self.high = np.ascontiguousarray(low.T), np.ascontiguousarray(high.T)
        self.rows = np.arange(len(low))  # of the boxes that are still looked at
        self.starts = _even(len(low), FIRST_CLUSTERS)

    @property
    def count(self) -> int:
        return len(self.starts)

    @property
    def sizes(self) -> Indices:
        return np.diff(self.starts, append=len(self.rows))

    @property
    def singles(self) -> bool:
        """Whether every cluster is one box."""
        return len(self.starts) == len(self.rows)

    def hulls(self) -> tuple[Floats, Floats]:
        """The least box around each cluster."""
        low = np.minimum.reduceat(self.low, self.starts, axis=1)
        high = np.maximum.reduceat(self.high, self.starts, axis=1)
        return low.T, high.T

    def note(self, target: Indices, values: Indices) -> None:
        """Write down what each cluster has, for each of its boxes."""
        target[self.rows] = np.repeat(values, self.sizes)

    def divide(self, wanted: Mask) -> None:
        """Only these clusters go on, in parts."""
        sizes = self.sizes
        rows = np.repeat(wanted, sizes)
        self.rows, self.low, self.high = self.rows[rows], self.low[:, rows], self.high[:, rows]
        sizes = sizes[wanted]
        ends = np.cumsum(sizes)
        parts = [ends - sizes + sizes * part // PARTS_PER_CLUSTER for part in range(PARTS_PER_CLUSTER)]
        self.starts = np.unique(np.concatenate(parts)) if len(ends) else ends


def _even(count: int, wanted: int) -> Indices:
    """Where the runs begin when so many boxes are divided evenly."""
    parts = min(count, wanted)
    return np.arange(parts) * count // max(parts, 1)


def least(value: Expr, layout: Layout, pieces: Pieces, known: float, check: Tick) -> float:
    """The least lower bound of a number over all pieces, or `known` if that is less: clusters above it are let go."""
    clusters = Clusters(*pieces.ranges())
    while clusters.count:
        check()
        linear = layout.over(*clusters.hulls())
        low = linear.range(value).lower
        low = np.broadcast_to(np.where(np.isnan(low), -np.inf, low), (clusters.count,))
        single = clusters.sizes == 1
        known = min(known, float(low[single].min(initial=np.inf)))
        clusters.divide(~single & (low < known))
    return known


def lowest(value: Expr, layout: Layout, pieces: Pieces) -> Floats:
    """The lower bound of a number on each piece, with its correlations."""
    low = layout.linear(pieces).range(value).lower
    return np.broadcast_to(np.where(np.isnan(low), -np.inf, low), (len(pieces),))


def highest(value: Expr, layout: Layout, pieces: Pieces) -> Floats:
    """The upper bound of a number on each piece."""
    linear = layout.over(*pieces.ranges())
    return np.broadcast_to(linear.range(value).upper, (len(pieces),))


# Pieces ---------------------------------------------------------------------------------------------------------------


def decide(
    decision: Expr, layout: Layout, pieces: Pieces, widths: Floats, most: int, check: Tick, few: int = TOO_FEW_TO_GATHER
) -> list[tuple[int, Pieces]]:
    """Which pieces can come out how: cut until each goes one way, or is too narrow to cut and goes several."""
    if len(pieces) <= few:
        mask = mask_of(layout.linear(pieces), decision)
        code = np.where(mask.sum(axis=1) == 1, mask.argmax(axis=1), -1)
        mask = mask[code < 0]
    else:
        code, mask = possible(decision, layout, pieces, check)
    cut = pieces.rows(code < 0)
    if most or len(pieces) > few:
        cut, mask = _divided(decision, layout, cut, mask, widths, most, check)
    found = []
    for index in range(mask.shape[1]):
        single = code == index
        if len(pieces) and single.all():
            return [(index, pieces)]  # the very same, so that what is known of them is used again
        parts = [pieces.rows(single)] if single.any() else []
        if mask[:, index].any():
            parts.append(cut.rows(mask[:, index]))
        if parts:
            found.append((index, join(parts)))
    return found


@dataclass(frozen=True, eq=False)
class PieceParts:
    """Parts of pieces: which piece each is from, and which ways it may go as far as is known."""

    pieces: Pieces
    origin: Indices
    known: Mask

    def __len__(self) -> int:
        return len(self.pieces)

    def rows(self, index: Mask) -> PieceParts:
        return PieceParts(self.pieces.rows(index), self.origin[index], self.known[index])


def _divided(
    decision: Expr, layout: Layout, work: Pieces, known: Mask, widths: Floats, most: int, check: Tick
) -> tuple[Pieces, Mask]:
    """Pieces that went several ways, cut (at most `most` parts open at once) and joined where parts go the same way."""
    done: list[PieceParts] = []
    count = len(work)

    def decide(parts: PieceParts) -> PieceParts:
        found = mask_of(layout.linear(parts.pieces), decision) & parts.known
        width = _relative_widths(parts.pieces, widths)
        cuttable = (width.max(axis=1, initial=0.0) > MIN_WIDTH) & (found.sum(axis=1) > 1)
        cuttable &= np.bincount(parts.origin[cuttable], minlength=count)[parts.origin] <= most
        parts = replace(parts, known=found)
        done.append(parts.rows(~cuttable))
        return parts.rows(cuttable)

    if count:
        cut_until_decided(PieceParts(work, np.arange(count), known), decide, partial(_cut, widths, most), tick=check)
    return _rejoin(done, check) if done else (work, known)


def _relative_widths(work: Pieces, widths: Floats) -> Floats:
    """Of every parameter, in proportion to its first width; 0 where no float lies between its ends."""
    middle = 0.5 * work.lower + 0.5 * work.upper
    width = (work.upper - work.lower) / np.maximum(widths[: work.parameters], 1e-300)
    return np.where((work.lower < middle) & (middle < work.upper), width, 0.0)


def _cut(widths: Floats, most: int, parts: PieceParts) -> PieceParts:
    """Both halves of every part, and their halves where bounding a few more costs nothing more."""
    parts = _halved(parts, _relative_widths(parts.pieces, widths))
    while parts.pieces.parameters == 1 and 2 * len(parts) <= min(most, TOO_FEW_TO_GATHER):
        width = _relative_widths(parts.pieces, widths)
        if width.min() <= MIN_WIDTH:
            break
        parts = _halved(parts, width)
    return parts


def _halved(parts: PieceParts, width: Floats) -> PieceParts:
    """Both halves of every part, along the parameter that moves the state most."""
    work = parts.pieces
    influence = np.abs(work.A).sum(axis=1) * (work.upper - work.lower)
    side = np.argmax(np.where(width > MIN_WIDTH, influence + 1e-12 * width, -1.0), axis=1)
    both = np.tile(np.arange(len(work)), 2)
    cut = work.rows(both).boxed(*halves(work.lower, work.upper, side))
    return PieceParts(cut, parts.origin[both], parts.known[both])


def _rejoin(done: list[PieceParts], check: Tick) -> tuple[Pieces, Mask]:
    """Parts of one piece that go the same way become one again where their boxes make a box."""
    pieces = join([part.pieces for part in done])
    mask = np.concatenate([part.known for part in done])
    origin = np.concatenate([part.origin for part in done])
    code = np.unique(mask, axis=0, return_inverse=True)[1].reshape(-1)  # exact for any number of outcomes
    rounds = 1 if pieces.parameters == 1 else 2
    for side in list(range(pieces.parameters)) * rounds:
        check()
        pieces, kept = _unite(pieces, np.stack([origin, code]), side)
        mask, origin, code = mask[kept], origin[kept], code[kept]
    return pieces, mask


def _unite(pieces: Pieces, labels: Indices, side: int) -> tuple[Pieces, Indices]:
    """Boxes with the same labels that touch along one side, and agree in the others, become one."""
    lower, upper = pieces.lower, pieces.upper
    others = [column for j in range(pieces.parameters) if j != side for column in (lower[:, j], upper[:, j])]
    order = np.lexsort((lower[:, side], *others, *labels))
    new = np.zeros(len(pieces), dtype=bool)
    new[:1] = True
    for column in (*others, *labels):
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    new[1:] |= lower[order, side][1:] > upper[order, side][:-1]
    if new.all():
        return pieces, np.arange(len(pieces))
    starts = np.flatnonzero(new)
    kept = order[starts]
    united = pieces.rows(kept)
    low, high = united.lower.copy(), united.upper.copy()
    high[:, side] = np.maximum.reduceat(upper[order, side], starts)
    return united.boxed(low, high), kept
