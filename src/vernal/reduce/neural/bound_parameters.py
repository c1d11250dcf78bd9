"""Good choices for the bounds of rows: slopes and multipliers by Polyak's rule, and cases by the phases of ReLUs.

Where f - N has its maximum its kinks are concave, and the best slopes lose nothing to first order: the bound is the
dual of a linear program. The value to reach is known, since a row needs no more than the error that is to be certified;
so Polyak's rule says how far to go along a gradient (Polyak, 1969). Kinks that cancel each other, as those of the two
ReLUs in relu(x) - relu(-x), are only seen together: there a row is divided into the two phases of a ReLU, which costs
less than cutting the box, as long as the ReLUs are what keeps the bound from its goal.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vernal.interpret.numbers.rounding import TINY, Array, Floats
from vernal.reduce.neural.relaxed_difference import ErrorRows, NetworkRows, RelaxedBounds, ReluLines

POLYAK_STEPS = 5  # of Polyak's rule, at most
OVERSHOOT = 1.01  # of the way to the goal, so that rounding does not end a step just before it
HOPE = 2.0  # times what the lines of ReLUs lose at most: where a row is further from its goal, boxes have to be cut
MAX_CASES = 4096  # rows that are divided further


def bound(network: NetworkRows, rows: ErrorRows, goal: Floats, depth: int) -> tuple[Floats, Floats]:
    """Upper bounds (rows,), improved as long as they are above their goals, and points (rows, coordinates) behind them.

    At most `depth` ReLUs of a row are fixed in a phase.
    """
    with np.errstate(all="ignore"):
        found, rows = improved(network, rows, goal)
        return np.minimum(found.upper, _by_cases(network, rows, found, goal, depth)), found.corner


def improved(network: NetworkRows, rows: ErrorRows, goal: Floats) -> tuple[RelaxedBounds, ErrorRows]:
    """The best bounds on the way to the goals, and the rows with the choices that gave them.

    A step that does not make a bound better is taken back, and tried again at half its length.
    """
    best, length = network.bound(rows), np.ones(len(goal))
    rows = replace(rows, layers=tuple(replace(x, below=+x.below, multiplier=+x.multiplier) for x in rows.layers))
    for _ in range(POLYAK_STEPS):
        at = np.flatnonzero(_may_improve(best, goal))
        if not len(at):
            break
        tried = _moved(rows.take(at), _some(best, at), goal[at], length[at])
        found = network.bound(tried)
        good = np.flatnonzero(found.upper < best.upper[at])
        length[at] *= 0.5
        length[at[good]] = 1.0
        _keep(best, rows, at[good], _some(found, good), tried.take(good))
    return best, rows


def _some(found: RelaxedBounds, index: Array) -> RelaxedBounds:
    lists = ([x[index] for x in part] for part in (found.by_slope, found.by_multiplier, found.arrived))
    return RelaxedBounds(found.upper[index], found.corner[index], *lists)


def _keep(best: RelaxedBounds, rows: ErrorRows, at: Array, found: RelaxedBounds, tried: ErrorRows) -> None:
    """Write better bounds, and the choices that gave them, in the place of the best so far."""
    best.upper[at], best.corner[at] = found.upper, found.corner
    for k, (own, new) in enumerate(zip(rows.layers, tried.layers, strict=True)):
        own.below[at], own.multiplier[at] = new.below, new.multiplier
        best.by_slope[k][at], best.by_multiplier[k][at] = found.by_slope[k], found.by_multiplier[k]
        best.arrived[k][at] = found.arrived[k]


def _may_improve(found: RelaxedBounds, goal: Floats) -> Array:
    """Where the goal is not met, and may be, as far as the slopes of the bound say: multipliers have no end."""
    gain = sum((abs(g).sum(1) for g in found.by_slope), start=np.zeros(len(goal)))
    phased = sum((abs(g).sum(1) for g in found.by_multiplier), start=np.zeros(len(goal)))
    return (found.upper > goal) & np.isfinite(found.upper) & ((gain > found.upper - goal) | (phased > 0))


def _moved(rows: ErrorRows, found: RelaxedBounds, goal: Floats, length: Floats) -> ErrorRows:
    """One step of Polyak's rule, or some of it; multipliers are measured by the largest coefficient in their layer."""
    steep, scales = np.full(len(goal), TINY), []
    for lines, C, g, pull in zip(rows.layers, found.arrived, found.by_slope, found.by_multiplier, strict=True):
        scales.append(abs(C).max(1, keepdims=True))
        useful = np.where((lines.multiplier > 0) | (pull < 0), scales[-1] * pull, 0.0)
        steep += np.vecdot(g, g) + np.vecdot(useful, useful)
    step = (OVERSHOOT * length * (found.upper - goal) / steep)[:, None]
    layers = []
    for k, lines in enumerate(rows.layers):
        slopes = np.clip(lines.below - step * found.by_slope[k], 0.0, 1.0)
        multipliers = np.maximum(lines.multiplier - step * scales[k] ** 2 * found.by_multiplier[k], 0.0)
        layers.append(
            replace(lines, below=np.where(lines.open, slopes, lines.below), multiplier=np.nan_to_num(multipliers))
        )
    return replace(rows, layers=tuple(layers))


# Cases ----------------------------------------------------------------------------------------------------------------


def _by_cases(network: NetworkRows, rows: ErrorRows, found: RelaxedBounds, goal: Floats, depth: int) -> Floats:
    """The largest bounds of the parts of the boxes in which ReLUs have one phase."""
    upper = np.full(len(goal), -np.inf)
    owner, cases = np.arange(len(goal)), rows
    for fixed in range(depth + 1):
        losses = network.losses(cases, found.arrived)
        excess = found.upper - goal[owner]
        useful = (excess > 0) & np.isfinite(excess) & (HOPE * losses.sum(1) > excess)
        if fixed == depth or np.count_nonzero(useful) > MAX_CASES:
            useful[:] = False
        np.maximum.at(upper, owner[~useful], found.upper[~useful])
        hopeless = useful & (upper > goal)[owner]  # another part of the box keeps the row from its goal
        np.maximum.at(upper, owner[hopeless], found.upper[hopeless])
        some = np.flatnonzero(useful & ~hopeless)
        if not len(some):
            break
        cases = _divided(cases.take(some), losses[some].argmax(1))
        owner = np.tile(owner[some], 2)
        found, cases = improved(network, cases, goal[owner])
    return upper


def _divided(rows: ErrorRows, neurons: Array) -> ErrorRows:
    """Every row with one ReLU active, then every row with it inactive; ReLUs of all layers are counted in one go."""
    count, double = len(neurons), rows.take(np.tile(np.arange(len(neurons)), 2))
    phase = np.repeat([1.0, -1.0], count)
    both, layers, first = np.tile(neurons, 2), [], 0
    for lines in double.layers:
        width = lines.slope.shape[1]
        own = np.flatnonzero((both >= first) & (both < first + width))
        layers.append(_fixed(lines, own, both[own] - first, phase[own]))
        first += width
    return replace(double, layers=tuple(layers))


def _fixed(lines: ReluLines, rows: Array, neurons: Array, phase: Floats) -> ReluLines:
    slope, offset, below, phases = (part.copy() for part in (lines.slope, lines.offset, lines.below, lines.phase))
    is_open = lines.open.copy()
    slope[rows, neurons] = below[rows, neurons] = phase > 0
    offset[rows, neurons], is_open[rows, neurons], phases[rows, neurons] = 0.0, False, phase
    return ReluLines(slope, offset, below, is_open, phases, lines.multiplier)
