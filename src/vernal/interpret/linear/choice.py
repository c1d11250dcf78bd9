"""Decisions under linear bounds: comparisons and argmax by differences, and relaxations of undecided branchings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Literal, Protocol

import numpy as np

from vernal.interpret import interval
from vernal.interpret.choice import possibilities
from vernal.interpret.linear.forms import Form
from vernal.interpret.linear.relaxations import Plane, Relaxation, relax
from vernal.interpret.linear.rows import LinearGraph, Seeds, tighter
from vernal.interpret.numbers.rounding import Array, Backend, any_along
from vernal.interpret.value_sets import Finite, Range, Truth, Value, indices
from vernal.model import expr as e
from vernal.model.expr import Expr

Mode = Literal["backward", "interval"]
MAX_COMPARED = 512  # components of a comparison whose sides are subtracted; longer ones are decided by intervals only
MAX_BRANCH_WIDTH = 64  # the differences of longer branches are bounded by intervals only


class Bounding(Protocol):
    """What decisions and branchings use of `Linear`."""

    mode: Mode
    backend: Backend
    batch: int
    values: dict[Expr, Value]
    forms: dict[Expr, Form]
    pending: set[Expr]
    rewritten: dict[Expr, Expr]
    graph: LinearGraph
    known: Mapping[Expr, Value]

    def number(self, node: Expr) -> Range: ...

    def lower(self, seeds: Seeds, constants: Array, index: Array | None) -> Array: ...

    def exceeds(self, node: Expr, rows: Array, index: Array) -> Array: ...


def discrete(linear: Bounding, node: Expr) -> Value:
    """Truth values, enum values and argmax results."""
    if isinstance(node, e.Compare) and all(arg.sort.is_number for arg in node.args):
        return _compare(linear, node)
    if isinstance(node, e.Argmax):
        return _argmax(linear, node)
    return interval.apply(linear.backend, node, [linear.values.get(arg) for arg in node.args])


# Comparisons ----------------------------------------------------------------------------------------------------------


def _compare(linear: Bounding, node: e.Compare) -> Truth:
    """Intervals first; the difference of the sides where they leave it open."""
    rough = interval.apply(linear.backend, node, [linear.values[arg] for arg in node.args])
    assert isinstance(rough, Truth)
    rough = _as_known(linear, node, rough)
    undecided = any_along(rough.may & ~rough.must)
    finite = any(isinstance(linear.values[arg], Finite) for arg in node.args)  # an index is no form over the inputs
    if finite or not bool(undecided.any()):
        return rough
    shape = (linear.batch, node.size)
    must, may = (linear.backend.xp.broadcast_to(part, shape) for part in (rough.must, rough.may))
    if undecided.shape[0] < linear.batch:
        undecided = linear.backend.xp.broadcast_to(undecided, (linear.batch,))
    (index,) = linear.backend.nonzero(undecided)
    if node.size > MAX_COMPARED:
        return rough
    gap = difference(linear, node, index)
    zero = Range(linear.backend.xp.zeros_like(gap.lower), linear.backend.xp.zeros_like(gap.lower))
    sharp = interval.compare(node.op, zero, gap)
    must, may = must | False, may | False  # own copies
    must[index] = must[index] | sharp.must
    may[index] = may[index] & sharp.may
    return _as_known(linear, node, Truth(must, may))


def _as_known(linear: Bounding, node: Expr, found: Truth) -> Truth:
    """A truth cut to what is known; that counts also where bounds say the opposite, since no state is there."""
    known = linear.known.get(node)
    if not isinstance(known, Truth):
        return found
    return Truth((found.must & known.may) | known.must, (found.may & known.may) | known.must)


def difference(linear: Bounding, node: e.Compare, index: Array | None) -> Range:
    """right - left, for the boxes of the index or all."""
    left, right = node.args
    n = node.size
    groups = linear.batch if index is None else index.shape[0]
    seeds: dict[Expr, Array] = {}
    for arg, sign in ((left, -1.0), (right, 1.0)):
        unit = sign * (np.eye(n) if arg.size == n else np.ones((n, 1)))
        _plus(linear, seeds, arg, np.concatenate([unit, -unit])[None])
    seeds = {arg: linear.backend.xp.broadcast_to(L, (groups, *L.shape[1:])) for arg, L in seeds.items()}
    low = linear.lower(seeds, linear.backend.zeros((groups, 2 * n)), index)
    x, y = (_pick(linear.number(arg), index) for arg in (right, left))
    rough = interval.add(linear.backend, x, interval.negate(y))
    return tighter(linear.backend, rough, low[:, :n], -low[:, n:])


def _plus(linear: Bounding, seeds: dict[Expr, Array], node: Expr, L: Array) -> None:
    """More rows for a node; sums of small integers are exact."""
    rows = linear.backend.array(L) if isinstance(L, np.ndarray) else L
    seeds[node] = seeds[node] + rows if node in seeds else rows


def _pick(x: Range, index: Array | None) -> Range:
    """The boxes of the index; an end that is the same for all boxes stays one row."""
    if index is None:
        return x
    low, high = (end if end.shape[0] == 1 else end[index] for end in (x.lower, x.upper))
    return Range(low, high)


# Argmax ---------------------------------------------------------------------------------------------------------------


def _argmax(linear: Bounding, node: e.Argmax) -> Finite:
    """The union, over the networks that may be in use, of the indices that may be maximal."""
    n = node.args[0].size
    mask = linear.backend.array(np.zeros((linear.batch, n), dtype=bool))
    for leaf, reached in leaves(linear, node.args[0]):
        whole = linear.backend.xp.broadcast_to(reached[:, 0], (linear.batch,))
        index = None if bool(whole.all()) else linear.backend.nonzero(whole)[0]
        if index is None:
            mask = mask | winners(linear, leaf, linear.backend.array(np.arange(linear.batch)))
        elif index.shape[0]:
            mask[index] = mask[index] | winners(linear, leaf, index)
    given = linear.known.get(node)
    if isinstance(given, Finite):
        cut = mask & given.mask[:, 0, :]
        mask = linear.backend.where(any_along(cut)[:, None], cut, mask)  # where nothing is left, no state is there
    return Finite(mask[:, None, :], indices(n))


def leaves(linear: Bounding, node: Expr) -> list[tuple[Expr, Array]]:
    """The vectors a branching may yield, with the boxes in which each is possible."""
    found: list[tuple[Expr, Array]] = []
    stack = [(node, linear.backend.array(np.array([[True]])))]
    while stack:
        here, reached = stack.pop()
        scalar = isinstance(here, e.If | e.Switch) and not here.args[0].shape
        if not scalar or any(arg.size != here.size for arg in here.args[1:]):
            found.append((here, reached))
            continue
        masks = possibilities(here, linear.values[here.args[0]])
        stack += [(arg, reached & m) for arg, m in zip(here.args[1:], masks, strict=True) if bool((reached & m).any())]
    return found


def winners(linear: Bounding, scores: Expr, index: Array) -> Array:
    """(groups, n): which components may be largest in the boxes of the index.

    Ranges first; then every score against a likely winner; then the remaining ones against each other.
    """
    backend, x = linear.backend, full(linear, scores, index)
    possible = interval.argmax(x, backend).mask[:, 0, :] | False
    (left,) = backend.nonzero(possible.sum(-1) > 1)
    if not left.shape[0]:
        return possible
    middle = backend.where(possible[left], 0.5 * x.lower[left] + 0.5 * x.upper[left], -np.inf)
    favourite = middle.argmax(-1)
    unit = backend.array(np.eye(scores.size))
    L = unit[favourite][:, None, :] - unit[None]
    beaten = linear.lower({scores: L}, backend.xp.zeros_like(L[..., 0]), index[left]) > 0
    possible[left] = possible[left] & ~beaten
    return _duel(linear, scores, index, possible)


def full(linear: Bounding, node: Expr, index: Array) -> Range:
    """The range of a number, with a row for each box of the index."""
    x = linear.number(node)
    shape = (linear.batch, node.size)
    return Range(*(linear.backend.xp.broadcast_to(end, shape)[index] for end in (x.lower, x.upper)))


def _duel(linear: Bounding, scores: Expr, index: Array, possible: Array) -> Array:
    """Drop a component if another one is certainly larger, over all pairs that are still possible."""
    several = possible.sum(-1) > 1
    pairs = possible[:, :, None] & possible[:, None, :] & several[:, None, None]
    group, loser, rival = linear.backend.nonzero(pairs)
    keep = loser != rival
    group, loser, rival = group[keep], loser[keep], rival[keep]
    if not group.shape[0]:
        return possible
    unit = linear.backend.array(np.eye(scores.size))
    beaten = linear.exceeds(scores, unit[rival] - unit[loser], index[group])
    possible[group[beaten], loser[beaten]] = False
    return possible


# Branchings -----------------------------------------------------------------------------------------------------------


def branches(linear: Bounding, node: Expr) -> list[tuple[Expr, Array]]:
    """The branches some box may take, with the boxes (and components) that may."""
    if isinstance(node, e.Choose):
        always = linear.backend.array(np.array([[True]]))
        return [(option, always) for option in node.options]
    masks = possibilities(node, linear.values[node.args[0]])
    return [(arg, m) for arg, m in zip(node.args[1:], masks, strict=True) if bool(m.any())]


def decided(linear: Bounding, node: Expr, own: Range) -> Relaxation | None:
    """The relaxation of a branching that is decided in every box, else None."""
    taken = branches(linear, node)
    counts = reduce(lambda a, b: a + b, [1 * mask for _, mask in taken])
    if not bool((counts == 1).all()):
        return None
    slopes = tuple(linear.backend.where(mask, 1.0, 0.0) for _, mask in taken)
    plane = Plane(slopes, None)
    return Relaxation(tuple(arg for arg, _ in taken), plane, plane, exact=True)


def prepare(linear: Bounding, seeds: Iterable[Expr]) -> None:
    """Relax the undecided branchings that rows from these nodes will pass through, earlier ones first."""
    position = linear.graph.position
    seeds = list(seeds)
    if not linear.pending or max(map(position.__getitem__, seeds)) < min(map(position.__getitem__, linear.pending)):
        return
    found: list[Expr] = []
    seen: set[Expr] = set()
    stack = list(seeds)
    while stack:
        node = stack.pop()
        if node in seen or node in linear.forms:
            continue
        seen.add(node)
        if node in linear.pending:
            found.append(node)
            stack += [arg for arg, _ in branches(linear, node)]
        elif node in linear.rewritten:
            stack.append(linear.rewritten[node])
        else:
            rule, base = linear.graph.rules.get(node), linear.graph.blocks.get(node)
            stack += [base] if base is not None else node.args if rule is None else rule.args
    for node in sorted(found, key=position.__getitem__):
        linear.graph.rules[node] = undecided(linear, node)
        linear.pending.discard(node)  # only now: a limit may end the work above


def undecided(linear: Bounding, node: Expr) -> Relaxation:
    """A base branch plus what the others may exceed it by, or the hull where that is narrower."""
    backend, own = linear.backend, linear.number(node)
    taken = branches(linear, node)
    args = [arg for arg, _ in taken]
    base = _first_possible([mask for _, mask in taken])
    others = [mask & ~first for (_, mask), first in zip(taken, base, strict=True)]
    gaps = [_gap(linear, node, arg, args, base) if bool(o.any()) else None for arg, o in zip(args, others, strict=True)]
    low, high = backend.xp.zeros_like(own.lower), backend.xp.zeros_like(own.lower)
    for gap, other in zip(gaps, others, strict=True):
        if gap is not None:
            low = backend.xp.minimum(low, backend.where(other, gap.lower, 0.0))
            high = backend.xp.maximum(high, backend.where(other, gap.upper, 0.0))
    hull = ~(high - low < own.upper - own.lower) & (high > low)
    planes = []
    for side, offset, constant in ((-1.0, low, own.lower), (1.0, high, own.upper)):
        slopes, offset = _swap(linear, base, others, gaps, offset, side)
        slopes = [backend.where(slope & ~hull, 1.0, 0.0) for slope in slopes]
        planes.append(Plane(tuple(slopes), backend.where(hull, constant, offset)))
    return relax(backend, node, own, args, [linear.number(arg) for arg in args], planes[0], planes[1])


def _first_possible(masks: Sequence[Array]) -> list[Array]:
    """For each branch the boxes in which it is the first possible one."""
    first: list[Array] = []
    before = masks[0] & ~masks[0]
    for mask in masks:
        first.append(mask & ~before)
        before = before | mask
    return first


def _swap(
    linear: Bounding,
    base: Sequence[Array],
    others: Sequence[Array],
    gaps: Sequence[Range | None],
    offset: Array,
    side: float,
) -> tuple[list[Array], Array]:
    """Of two possible branches, the plane above (side 1) or below rests on the one that needs the smaller offset."""
    backend = linear.backend
    slopes = list(base)
    alone = reduce(lambda a, b: a + b, [1 * other for other in others]) == 1
    for gap, other in zip(gaps, others, strict=True):
        if gap is None:
            continue
        reverse = backend.positive(-gap.lower if side > 0 else gap.upper)  # the base may exceed the other by this
        better = other & alone & (reverse < abs(offset))
        slopes = [(s & ~better) | (o & better) for s, o in zip(slopes, others, strict=True)]
        offset = backend.where(better, side * reverse, offset)
    return slopes, offset


def _gap(linear: Bounding, node: Expr, other: Expr, args: Sequence[Expr], base: Sequence[Array]) -> Range:
    """other - base branch, by linear bounds where that is not too long."""
    backend, n = linear.backend, node.size
    x = linear.number(other)
    picked = [
        (backend.where(first, y.lower, 0.0), backend.where(first, y.upper, 0.0))
        for y, first in zip((linear.number(arg) for arg in args), base, strict=True)
    ]
    chosen = Range(*(reduce(lambda a, b: a + b, ends) for ends in zip(*picked, strict=True)))
    rough = interval.add(backend, x, interval.negate(chosen))
    if linear.mode == "interval" or n > MAX_BRANCH_WIDTH:
        return rough
    seeds: dict[Expr, Array] = {}
    for arg, sign, chosen_mask in [(other, 1.0, None), *((a, -1.0, m) for a, m in zip(args, base, strict=True))]:
        unit = backend.array(sign * (np.eye(n) if arg.size == n else np.ones((n, 1))))[None]
        if chosen_mask is not None:
            unit = unit * backend.where(chosen_mask, 1.0, 0.0)[:, :, None]
        _plus(linear, seeds, arg, unit)
    both = _mirrored(linear, seeds)
    low = linear.lower(both, backend.zeros((linear.batch, 2 * n)), None)
    return tighter(backend, rough, low[:, :n], -low[:, n:])


def _mirrored(linear: Bounding, seeds: Mapping[Expr, Array]) -> dict[Expr, Array]:
    """Rows and their negations, for every box."""
    backend = linear.backend
    result = {}
    for arg, L in seeds.items():
        both = [L, -L]
        rows = backend.concat(both, 1)
        result[arg] = backend.xp.broadcast_to(rows, (linear.batch, *rows.shape[1:]))
    return result
