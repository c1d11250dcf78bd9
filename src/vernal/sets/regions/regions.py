"""TemplateSets: sets of states between bounds in a fixed set of directions, however many draws they came from.

A region says `lower <= D x <= upper`. The directions D are the components of the state and what they were a few steps
before (the rows of D times the maps of a step), so that a step moves bounds to bounds and loses nothing. A cut and the
hull of neighbours are a minimum and a maximum. Everything is rounded outward: a region contains its states (OVER). An
end that overflowed is no bound: every region is made by `regions`, which makes such ends infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from vernal.interpret.geometry.box_halves import halves
from vernal.interpret.geometry.directions import TIGHTENING_SLACK, DirectionBounds, Template
from vernal.interpret.geometry.template_sets import TemplateSets, trailed
from vernal.interpret.numbers.rounding import TINY, Floats, bounding, gamma
from vernal.sets.pieces.batches import Indices, Pairs

MAX_ROWS = 32  # directions of a template
MAX_SHARED = 1 << 20  # numbers compared at once


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


def regions(made: Template, lower: Floats, upper: Floats, trail: Indices) -> TemplateSets:
    """Regions between bounds of the template's directions, of which the first are the state."""
    return trailed(made, *bounding(lower, upper), trail)


def tightened(whole: TemplateSets) -> TemplateSets:
    """Every direction bounded by what others say of it; regions found to be empty are left out."""
    lower, upper = whole.lower.copy(), whole.upper.copy()
    whole.template.own.tighten((whole.lower, whole.upper), whole.largest(), lower, upper)
    made = regions(whole.template, lower, upper, whole.trail)
    return made.rows(np.all(made.lower <= made.upper, axis=1))


def from_box(made: Template, low: Floats, high: Floats, trail: Indices) -> TemplateSets:
    """The region of all states in a box."""
    lower, upper = _images(made.rows, low[None], high[None])
    slack = TIGHTENING_SLACK * (np.abs(made.rows) @ np.maximum(np.abs(low), np.abs(high))) + TINY
    lower, upper = lower - slack, upper + slack
    lower[0, : made.size], upper[0, : made.size] = low, high
    return regions(made, lower, upper, trail)


def cut(whole: TemplateSets, side: Indices) -> TemplateSets:
    """Both halves of every region, across one component each."""
    return tightened(regions(whole.template, *halves(whole.lower, whole.upper, side), np.tile(whole.trail, 2)))


def below(whole: TemplateSets, row: Floats, limit: Floats) -> TemplateSets | None:
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
    return tightened(regions(whole.template, lower, upper, whole.trail))


def moved(whole: TemplateSets, F: Floats, f: Floats, gap: Floats, draws: DirectionBounds) -> DirectionBounds:
    """Bounds after a step F x + G w + f, up to a gap: F has the columns of the state, then those of the draws."""
    made, n = whole.template, whole.template.size
    D, largest = made.rows, whole.largest()
    Q, G = D @ F[:, :n], D @ F[:, n:]
    low, high = whole.ranges()
    lower, upper = _images(Q, low, high)
    made.images(Q).tighten((whole.lower, whole.upper), largest, lower, upper)
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


def gathered(whole: TemplateSets, grid: Floats) -> tuple[TemplateSets, Pairs | None]:
    """TemplateSets whose centres lie in one cell of a grid become their hull; which trails were given up for which."""
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


def clipped(whole: TemplateSets, others: TemplateSets) -> TemplateSets:
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
    return tightened(regions(whole.template, lower[some], upper[some], whole.trail[some]))
