"""Regions: sets of states between bounds in a fixed set of directions, however many draws they came from.

A region says `lower <= D x <= upper`. The directions D are the components of the state and what they were a few steps
before (the rows of D times the maps of a step), so that a step moves bounds to bounds and loses nothing. A cut and the
hull of neighbours are a minimum and a maximum. Everything is rounded outward: a region contains its states (OVER). An
end that overflowed is no bound: every region is made by `regions`, which makes such ends infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.numbers.rounding import TINY, Floats, bounding, gamma
from vernal.sets.pieces.batches import Indices, Pairs

MAX_ROWS = 32  # directions of a template
WAYS = 12  # sums that bound a direction
ROW_TOLERANCE = 1e-9  # relative: rows that agree to this are one; what they differ by is paid for
REGIONS_PER_BLOCK = 256  # regions tightened at once
MAX_SHARED = 1 << 20  # numbers compared at once
TIGHTENING_SLACK = 4 * gamma(16)


@dataclass(frozen=True)
class Sums:
    """Directions as sums of two of a template's: which, the two, their factors, and what is left of each component."""

    which: Indices  # (sums,), ascending
    pair: Indices  # (sums, 2)
    factor: Floats  # (sums, 2)
    left: Floats  # (sums, components)

    def tighten(self, whole: Regions, lower: Floats, upper: Floats) -> None:
        """Cut bounds (batch, directions) by what the sums say of them."""
        if not len(self.which):
            return
        starts = np.flatnonzero(np.r_[True, self.which[1:] != self.which[:-1]])
        target = self.which[starts]
        largest = whole.largest()
        for start in range(0, len(whole), REGIONS_PER_BLOCK):
            part = slice(start, start + REGIONS_PER_BLOCK)
            low, high = self._ends(whole.lower[part], whole.upper[part], largest[part])
            low, high = bounding(low, high)
            lower[part, target] = np.maximum(lower[part, target], np.maximum.reduceat(low, starts, axis=1))
            upper[part, target] = np.minimum(upper[part, target], np.minimum.reduceat(high, starts, axis=1))

    def _ends(self, lower: Floats, upper: Floats, largest: Floats) -> tuple[Floats, Floats]:
        rest = largest @ self.left.T * (1 + TIGHTENING_SLACK) + TINY
        low, high = -rest, rest
        for side in (0, 1):
            factor, at = self.factor[:, side], self.pair[:, side]
            one, other = factor * lower[:, at], factor * upper[:, at]
            rest = TIGHTENING_SLACK * np.maximum(np.abs(one), np.abs(other))
            low, high = low + np.minimum(one, other) - rest, high + np.maximum(one, other) + rest
        return low, high


@dataclass(frozen=True)
class Template:
    """Directions in which states are measured; the first are the components themselves."""

    rows: Floats  # (directions, components)
    _sums: dict[bytes, Sums] = field(default_factory=dict, compare=False, repr=False)

    @property
    def size(self) -> int:
        """How many components a state has."""
        return int(self.rows.shape[1])

    def multiple(self, row: Floats) -> tuple[int, float, Floats] | None:
        """The direction of which a row is a multiple, by which factor, and what is left of each component."""
        factors = self.rows @ row / (self.rows**2).sum(axis=1)
        left = np.abs(factors[:, None] * self.rows - row)
        at = int(np.argmin(left.max(axis=1)))
        if not factors[at] or not left[at].max() <= ROW_TOLERANCE * np.abs(row).max() < np.inf:
            return None
        return at, float(factors[at]), left[at] + TIGHTENING_SLACK * np.abs(row)

    @cached_property
    def _pairs(self) -> tuple[Indices, Floats]:
        """All pairs of directions, and what turns a row into their factors."""
        pairs: Indices = np.array(list(combinations(range(len(self.rows)), 2)), dtype=np.intp).reshape(-1, 2)
        return pairs, np.asarray(np.linalg.pinv(self.rows[pairs].transpose(0, 2, 1)), dtype=np.float64)

    def sums(self, rows: Floats, others: bool = False) -> Sums:
        """Rows as sums of two directions, the best few of each; `others`: not of the row itself."""
        pairs, inverse = self._pairs
        factors = np.einsum("pin,rn->rpi", inverse, rows)
        made = np.einsum("rpi,pin->rpn", factors, self.rows[pairs])
        left = np.abs(made - rows[:, None])
        size = np.abs(rows).max(axis=1, initial=0.0)[:, None]
        cost = np.abs(factors).sum(axis=2)
        cost[~(left.max(axis=2, initial=0.0) <= ROW_TOLERANCE * size) | ~np.isfinite(cost)] = np.inf
        if others:
            cost[(pairs == np.arange(len(rows))[:, None, None]).any(axis=2)] = np.inf
        cost[:, (pairs < self.size).all(axis=1)] *= 1e-9  # the components themselves always count
        best = np.argsort(cost, axis=1, kind="stable")[:, :WAYS]
        which, place = np.nonzero(np.isfinite(np.take_along_axis(cost, best, axis=1)))
        pair = best[which, place]
        factor, steep = factors[which, pair], np.abs(self.rows[pairs[pair]])
        paid = TIGHTENING_SLACK * (np.einsum("si,sin->sn", np.abs(factor), steep) + np.abs(rows[which]))
        return Sums(which, pairs[pair], factor, left[which, pair] + paid)

    def images(self, rows: Floats) -> Sums:
        """Rows as sums of directions, worked out once."""
        key = rows.tobytes()
        if key not in self._sums:
            self._sums[key] = self.sums(rows)
        return self._sums[key]

    @cached_property
    def own(self) -> Sums:
        """Every direction as sums of two others."""
        return self.sums(self.rows, others=True)


def template(size: int, maps: Sequence[Floats], depth: int, guards: Sequence[Floats] = ()) -> Template:
    """The components, what comparisons compare, what components depend on up to so many steps before, and the sides
    of what draws make of them.
    """
    made = _added(Template(np.eye(size)), guards)[1]
    newest = list(made.rows[:size])
    for _ in range(depth):
        newest = [row @ F[:, :size] for row in newest for F in maps]
        newest, made = _added(made, newest)
    newest = [draw for F in maps for draw in F[:, size:].T]
    for _ in range(depth):
        _, made = _added(made, [side for draw in newest for side in _sides(draw)])
        newest = [F[:, :size] @ draw for draw in newest for F in maps][:MAX_ROWS]
    return made


def _added(made: Template, rows: Sequence[Floats]) -> tuple[list[Floats], Template]:
    """The template with new directions, as far as there is room; and which they are."""
    new = []
    for row in rows:
        largest = np.abs(row).max()
        if len(made.rows) < MAX_ROWS and np.isfinite(largest) and largest > 0 and made.multiple(row) is None:
            new.append(row / largest)
            made = Template(np.vstack([made.rows, new[-1]]))
    return new, made


def _sides(draw: Floats) -> list[Floats]:
    """Directions of two components in which a draw does not show."""
    found = []
    for i, k in combinations(np.flatnonzero(draw).tolist(), 2):
        side = np.zeros_like(draw)
        side[i], side[k] = draw[k], -draw[i]
        found.append(side)
    return found


@dataclass(frozen=True, slots=True)
class Regions:
    """A batch of regions: states between bounds of the directions of a template."""

    template: Template
    lower: Floats  # (batch, directions)
    upper: Floats
    trail: Indices  # (batch,): how each came about

    def __len__(self) -> int:
        return len(self.trail)

    def rows(self, index: Indices | NDArray[np.bool_]) -> Regions:
        """Some of the regions."""
        return regions(self.template, self.lower[index], self.upper[index], self.trail[index])

    def ranges(self) -> tuple[Floats, Floats]:
        """The least box around each."""
        return self.lower[:, : self.template.size], self.upper[:, : self.template.size]

    def largest(self) -> Floats:
        """The largest absolute value of every component."""
        low, high = self.ranges()
        return np.maximum(np.abs(low), np.abs(high))

    def tightened(self) -> Regions:
        """Every direction bounded by what others say of it; regions found to be empty are left out."""
        lower, upper = self.lower.copy(), self.upper.copy()
        self.template.own.tighten(self, lower, upper)
        made = regions(self.template, lower, upper, self.trail)
        full: NDArray[np.bool_] = np.all(made.lower <= made.upper, axis=1)
        return made.rows(full)


def regions(made: Template, lower: Floats, upper: Floats, trail: Indices) -> Regions:
    """Regions between bounds of the template's directions, of which the first are the state."""
    return Regions(made, *bounding(lower, upper), trail)


def from_box(made: Template, low: Floats, high: Floats, trail: Indices) -> Regions:
    """The region of all states in a box."""
    lower, upper = _images(made.rows, low[None], high[None])
    slack = TIGHTENING_SLACK * (np.abs(made.rows) @ np.maximum(np.abs(low), np.abs(high))) + TINY
    lower, upper = lower - slack, upper + slack
    lower[0, : made.size], upper[0, : made.size] = low, high
    return regions(made, lower, upper, trail)


def together(batches: Sequence[Regions]) -> Regions:
    """Regions of the same template, one after the other."""
    lower, upper, trail = (
        np.concatenate(parts) for parts in zip(*((one.lower, one.upper, one.trail) for one in batches), strict=True)
    )
    return regions(batches[0].template, lower, upper, trail)


def cut(whole: Regions, side: Indices) -> Regions:
    """Both halves of every region, across one component each."""
    rows = np.arange(len(whole))
    middle = 0.5 * whole.lower[rows, side] + 0.5 * whole.upper[rows, side]
    lower, upper = whole.lower.copy(), whole.upper.copy()
    upper[rows, side] = middle
    lower[rows, side] = middle
    halves = [regions(whole.template, *ends, whole.trail) for ends in ((whole.lower, upper), (lower, whole.upper))]
    return together(halves).tightened()


def below(whole: Regions, row: Floats, limit: Floats) -> Regions | None:
    """The parts of the regions in which a row of the state is at most a limit; None if no direction measures it."""
    found = whole.template.multiple(row)
    if found is None:
        return None
    at, factor, left = found
    rest = (whole.largest() @ left + TIGHTENING_SLACK * np.abs(limit)) * (1 + TIGHTENING_SLACK) + TINY
    end = (limit + rest) / factor
    lower, upper = whole.lower.copy(), whole.upper.copy()
    if factor > 0:
        upper[:, at] = np.minimum(upper[:, at], np.nextafter(end, np.inf))
    else:
        lower[:, at] = np.maximum(lower[:, at], np.nextafter(end, -np.inf))
    return regions(whole.template, lower, upper, whole.trail).tightened()


def moved(whole: Regions, F: Floats, f: Floats, gap: Floats, draws: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Bounds after a step F x + G w + f, up to a gap: F has the columns of the state, then those of the draws."""
    made, n = whole.template, whole.template.size
    D, largest = made.rows, whole.largest()
    Q, G = D @ F[:, :n], D @ F[:, n:]
    low, high = whole.ranges()
    lower, upper = _images(Q, low, high)
    made.images(Q).tighten(whole, lower, upper)
    first, last = _images(G, *draws)
    steep = np.abs(D) @ np.abs(F)
    sizes = largest @ steep[:, :n].T + np.maximum(np.abs(draws[0]), np.abs(draws[1])) @ steep[:, n:].T
    slack = (
        4 * gamma(2 * F.shape[1] + 16) * (sizes + np.abs(D) @ np.abs(f))
        + np.abs(D) @ gap * (1 + TIGHTENING_SLACK)
        + TINY
    )
    return lower + first + D @ f - slack, upper + last + D @ f + slack


def _images(M: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The ends of M p for p in boxes, but for rounding."""
    positive, negative = np.maximum(M, 0), np.minimum(M, 0)
    return low @ positive.T + high @ negative.T, high @ positive.T + low @ negative.T


def gathered(whole: Regions, grid: Floats) -> tuple[Regions, Pairs | None]:
    """Regions whose centres lie in one cell of a grid become their hull; which trails were given up for which."""
    low, high = whole.ranges()
    with np.errstate(all="ignore"):  # a component that does not vary has no grid
        cells = np.where(grid > 0, np.floor((0.5 * low + 0.5 * high) / grid), 0.0)
    order = np.lexsort(cells.T)
    starts = np.flatnonzero(np.r_[True, (cells[order][1:] != cells[order][:-1]).any(axis=1)])
    if len(starts) == len(whole):
        return whole.rows(order), None
    lower = np.minimum.reduceat(whole.lower[order], starts)
    upper = np.maximum.reduceat(whole.upper[order], starts)
    trail = whole.trail[order]
    kept = np.repeat(trail[starts], np.diff(np.r_[starts, len(whole)]))
    different = kept != trail
    return regions(whole.template, lower, upper, trail[starts]), (kept[different], trail[different])


def clipped(whole: Regions, others: Regions) -> Regions:
    """The regions cut to the hull of what they share with the others; those that share nothing are left out."""
    lower, upper = np.full_like(whole.lower, np.inf), np.full_like(whole.upper, -np.inf)
    block = max(1, MAX_SHARED // max(1, others.lower.size))
    for start in range(0, len(whole), block):
        part = slice(start, start + block)
        low = np.maximum(whole.lower[part, None], others.lower)
        high = np.minimum(whole.upper[part, None], others.upper)
        meet = np.all(low <= high, axis=2, keepdims=True)
        lower[part] = np.where(meet, low, np.inf).min(axis=1)
        upper[part] = np.where(meet, high, -np.inf).max(axis=1)
    some = (lower <= upper).all(axis=1)
    return regions(whole.template, lower[some], upper[some], whole.trail[some]).tightened()
