"""Cases: the sides of comparisons on which an operator is linear, or a branch is decided, each of them a possible cut.

A *pivot* is a number whose sign says which case applies: the argument of a ReLU or an absolute value, the difference
of the two arguments of a maximum, that of the sides of a comparison, that of two scores of an argmax. One half of a box
has it at least zero, the other at most zero. Both halves are closed, so a state with a pivot of zero is in both, once
with each side of the comparison, and with either score as the winner: more than the system can do (OVER).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.linear.bounds import SQUASHED, Linear
from vernal.interpret.linear.nodes import relu_of_two
from vernal.interpret.linear.tuned_bounds import TUNABLE
from vernal.interpret.numbers.rounding import Array, Mask
from vernal.interpret.value_sets import Finite, Truth, indices
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr, Matrix
from vernal.model.graph import order, rewrite
from vernal.model.lazy import cached_property
from vernal.model.sorts import BOOL
from vernal.model.traits import may_be_undefined

Signs = NDArray[np.int8]

MAX_PAIRS = 300  # pairs of scores of one argmax that are pivots
MAX_COMPONENTS = 4096  # of the pivots of all branchings: every box has numbers for each
CONDITIONS = (e.Not, e.And, e.Or, e.If, e.Compare)  # what may lead from a branching to the comparisons that decide it


@dataclass(frozen=True, slots=True, eq=False)
class WinnerPivot:
    """The differences of scores of an argmax: component p is score first[p] - score second[p]."""

    pivot: Expr
    first: tuple[int, ...]
    second: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """The pivots of a graph, by what they decide."""

    activations: tuple[Expr, ...]  # whose arguments are pivots; those that stand for a maximum among them
    comparisons: Mapping[Expr, Expr]  # by comparison its pivot: true where that is positive, false where negative
    winners: Mapping[Expr, WinnerPivot]
    deciding: Mapping[Expr, tuple[Expr, ...]]  # by branching, the comparisons and argmax nodes that it depends on

    @property
    def size(self) -> int:
        """How many numbers may be cut at zero."""
        return sum(node.size for node in {*(user.args[0] for user in self.activations), *self.branch_pivots})

    @property
    def branch_pivots(self) -> list[Expr]:
        return list(dict.fromkeys([*self.comparisons.values(), *(own.pivot for own in self.winners.values())]))


NO_CASES = Cases((), {}, {}, {})


class CaseFinder:
    """Finds the cases of a graph; `nodes` are those that are asked about."""

    def __init__(self, nodes: Sequence[Expr]) -> None:
        self.graph = order(nodes)

    @cached_property
    def _undefined(self) -> set[Expr]:
        """Nodes that may have no value: which side of zero they are on is not to be asked."""
        found: set[Expr] = set()
        for node in self.graph:
            if may_be_undefined(node) or any(arg in found for arg in node.args):
                found.add(node)
        return found

    def inner(self) -> tuple[Expr, ...]:
        """The arguments of activations, whose ranges are what bounds cost most to find, and all pivots."""
        found = [node.args[0] for node in self.graph if isinstance(node, SQUASHED) and node.args]
        found += [node.args[0] for node in self.cases.activations]
        return tuple(dict.fromkeys([*found, *self.cases.branch_pivots]))

    @cached_property
    def cases(self) -> Cases:
        """All cases."""
        activations: list[Expr] = [node for node in self.graph if isinstance(node, TUNABLE) and node.args]
        activations += [node for part in self.graph for node in _of_extremum(part)]
        branchings = [node for node in self.graph if isinstance(node, e.If | e.Switch) and node.sort.is_number]
        deciding: dict[Expr, tuple[Expr, ...]] = {node: tuple(self._atoms(node.args[0])) for node in branchings}
        atoms = list(dict.fromkeys(atom for own in deciding.values() for atom in own))
        comparisons: dict[Expr, Expr] = {a: build.sub(*a.args[::-1]) for a in atoms if isinstance(a, e.Compare)}
        winners: dict[Expr, WinnerPivot] = {a: winner_pivot(a.args[0]) for a in atoms if isinstance(a, e.Argmax)}
        made = Cases(tuple(dict.fromkeys(activations)), comparisons, winners, deciding)
        few = sum(pivot.size for pivot in made.branch_pivots) <= MAX_COMPONENTS
        return made if few else Cases(made.activations, {}, {}, {})

    def _atoms(self, condition: Expr) -> Iterator[Expr]:
        """The comparisons and argmax nodes with pivots that a condition consists of."""
        waiting, seen = [condition], set[Expr]()
        while waiting:
            node = waiting.pop()
            if node in seen or node in self._undefined:
                continue
            seen.add(node)
            if is_inequality(node):
                yield node
            elif isinstance(node, e.Argmax):
                if node.args[0].size > 1 and node.args[0].size * (node.args[0].size - 1) // 2 <= MAX_PAIRS:
                    yield node
            elif isinstance(node, CONDITIONS) and (node.sort == BOOL or isinstance(node, e.Compare)):
                waiting += node.args


def is_inequality(node: Expr) -> bool:
    """Whether a node compares two numbers, neither of them the index of a winner, by < or <=."""
    if not isinstance(node, e.Compare) or node.op not in ("<", "<="):
        return False
    return all(arg.sort.is_number and not isinstance(arg, e.Argmax) for arg in node.args)


def _of_extremum(node: Expr) -> Iterator[Expr]:
    """The ReLU that a maximum or minimum of two numbers is bounded by."""
    if isinstance(node, e.Max | e.Min) and len(node.args) == 2:
        ahead = relu_of_two(node, *node.args)
        if isinstance(ahead, e.Relu):
            yield ahead


def winner_pivot(scores: Expr) -> WinnerPivot:
    """The differences of all pairs of scores."""
    first, second = zip(*combinations(range(scores.size), 2), strict=True)
    rows = np.arange(len(first))
    matrix = np.zeros((len(first), scores.size))
    matrix[rows, first], matrix[rows, second] = 1.0, -1.0
    return WinnerPivot(build.affine(scores, Matrix(matrix), Matrix(np.zeros(len(first)))), first, second)


# What bounds know of cases --------------------------------------------------------------------------------------------


def measure(cases: Cases, linear: Linear) -> None:
    """Bound the pivots of what was decided, or stays open, as far as sides of it are given to the bounds as known."""
    with np.errstate(all="ignore"):
        for atom, pivot in cases.comparisons.items():
            known, found = linear.known.get(atom), linear.values.get(atom)
            if isinstance(known, Truth) and isinstance(found, Truth):
                linear.need(pivot)
                linear.tighten(pivot, (found.may & ~found.must) | known.must | ~known.may)
        for atom, own in cases.winners.items():
            known, found = linear.known.get(atom), linear.values.get(atom)
            if isinstance(known, Finite) and isinstance(found, Finite):
                linear.need(own.pivot)
                linear.tighten(own.pivot, _both(linear, own, found) | ~_both(linear, own, known))


def _both(linear: Linear, own: WinnerPivot, found: Finite) -> Array:
    """(boxes, pairs): whether either score of a pair may win."""
    first, second = (linear.backend.array(np.array(places)) for places in (own.first, own.second))
    mask = found.mask[:, 0, :]
    return mask[:, first] & mask[:, second]


def undecided(cases: Cases, linear: Linear, atom: Expr) -> Mask | None:
    """(boxes, components of its pivot): where a comparison, or a pair of scores, is not decided; None if nowhere."""
    found = linear.values.get(atom)
    if isinstance(found, Truth):
        opened = found.may & ~found.must
    elif isinstance(found, Finite) and atom in cases.winners:
        opened = _both(linear, cases.winners[atom], found)
    else:
        return None
    return np.broadcast_to(opened, (linear.batch, opened.shape[1])) if bool(opened.any()) else None


def truth_by_phases(phases: Signs) -> Truth:
    """What the sides of its pivot, (boxes, components), say of a comparison."""
    return Truth(phases > 0, phases >= 0)


def winners_by_phases(own: WinnerPivot, scores: int, phases: Signs) -> Finite:
    """Which scores may win where of some pairs one was cut to be at least as large: the other one is no winner."""
    mask = np.ones((len(phases), 1, scores), dtype=bool)
    for pair, (first, second) in enumerate(zip(own.first, own.second, strict=True)):
        mask[:, 0, second] &= phases[:, pair] <= 0
        mask[:, 0, first] &= phases[:, pair] >= 0
    return Finite(mask, indices(scores))


# The graph, written so that cases can be cut --------------------------------------------------------------------------

WRITTEN = (e.Sign, e.Max, e.Min)


def by_pivots(condition: Expr) -> Expr:
    """The same condition with a maximum of many as that of two at a time, and a sign as two comparisons."""
    if not any(isinstance(node, WRITTEN) for node in order([condition])):
        return condition
    return rewrite([condition], _written)[0]


def _written(node: Expr) -> Expr | None:
    match node:
        case e.Max(args=(first, second, *rest)) if rest:
            return reduce(build.maximum, rest, build.maximum(first, second))
        case e.Min(args=(first, second, *rest)) if rest:
            return reduce(build.minimum, rest, build.minimum(first, second))
        case e.Sign(args=(x,)):
            below = build.if_(build.compare("<", x, 0), -1, 0)
            return build.if_(build.compare("<", 0, x), 1, below)
    return None
