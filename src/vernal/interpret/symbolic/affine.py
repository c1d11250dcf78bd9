"""Exact affine forms over one box: where every phase and branch is decided, a value is c + sum of a_i p_i.

Floating-point bounds cannot tell a margin of zero from one of 1e-16; these forms can. 0.1 added ten times is 1, and
x - x is 0. Decisions on the way (ReLU phases, `if`, `match`, argmax) are taken from rigorous bounds where a `Linear`
knows them, else from the exact ranges of the deciding forms; what neither decides makes the value None.

The inputs are the components of numeric variables and the draws with constant ends. A `choose` counts as the interval
of its options: the ends of an exact range are attained by options, values in between perhaps not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from flint import fmpq

from vernal.errors import TooLong, TypeClash
from vernal.interpret.geometry.affine_form import (
    ONE,
    ZERO,
    AffineForm,
    Extent,
    affine_layer,
    arithmetic,
    exact_range,
    extent,
    rational,
)
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.nodes import drawn_from, is_input
from vernal.interpret.symbolic.cases import (
    Split,
    SymbolicScalar,
    SymbolicValue,
    as_form,
    branches,
    constant,
    split,
    winners,
)
from vernal.interpret.value_sets import Finite, Truth
from vernal.model import expr as e
from vernal.model.expr import Component, Expr
from vernal.model.sorts import BOOL
from vernal.model.tick import Tick, idle

__all__ = ["AffineForm", "ComponentEnds", "Forms", "SymbolicScalar", "SymbolicValue", "exact_range"]

ComponentEnds = Mapping[Expr, Sequence[tuple[Fraction, Fraction]]]  # for each variable the ends of each component


class Forms:
    """Exact values of the nodes of a graph over one box, computed when asked for and kept."""

    def __init__(
        self,
        ends: ComponentEnds,
        decided: Linear | None = None,
        index: int = 0,
        tick: Tick = idle,
    ) -> None:
        """`decided` bounds the same graph, `index` is this box's place in its batch; `tick` is called at every node."""
        self.decided, self.index, self.tick = decided, index, tick
        self.leans = False  # whether a decision was taken from bounds in floating point
        self.box: dict[Component, tuple[fmpq, fmpq]] = {}
        self.known: dict[Expr, SymbolicValue] = {}
        for node, components in ends.items():
            self.known[node] = tuple(self._enter(node, i, *pair) for i, pair in enumerate(components))

    def _enter(self, node: Expr, component: int, low: Fraction, high: Fraction) -> SymbolicScalar:
        if not node.sort.is_number:
            value = rational(low) if low == high else None
            return bool(value) if value is not None and node.sort == BOOL else value
        if low == high:
            return AffineForm(rational(low))
        self.box[node, component] = rational(low), rational(high)
        return AffineForm(ZERO, {(node, component): ONE})

    def values(self, node: Expr) -> SymbolicValue:
        """A form (or a decided discrete value) for each component; None where there is none."""
        stack = [node]
        while stack:
            here = stack[-1]
            missing = [] if here in self.known else [arg for arg in self._needs(here) if arg not in self.known]
            if missing:
                stack.extend(reversed(missing))
                continue
            stack.pop()
            if here not in self.known:
                self.tick()
                self.known[here] = self._within_cap(here)
        return self.known[node]

    def truth(self, node: Expr) -> bool | None:
        """The truth of a condition, if it is the same for all values of the inputs."""
        (value,) = self.values(node)
        assert value is None or isinstance(value, bool)
        return value

    def range(self, form: AffineForm) -> tuple[Fraction, Fraction]:
        """The exact range of a form over the box."""
        return exact_range(form, self.box)

    def _measure(self, form: AffineForm) -> Extent:
        return extent(form, self.box)

    def _settle(self, cases: Split) -> SymbolicScalar:
        """The value of the only case that is left; open where ranges would take numbers that are too long."""
        try:
            left = cases.possible(self._measure)
        except TooLong:
            return None
        if not left:
            raise TypeClash("no case of a match covers the value it is given")
        return left[0].value if len(left) == 1 else None

    # Walking ----------------------------------------------------------------------------------------------------------

    def _needs(self, node: Expr) -> Sequence[Expr]:
        """The arguments a node needs first: none where bounds have decided it, one branch where the subject has."""
        if is_input(node) or self._from_bounds(node) is not None:
            return ()
        if not isinstance(node, e.If | e.Switch) or node.args[0].shape:
            return node.args
        if node.args[0] not in self.known:
            return node.args[:1]
        taken = self._taken(node, self.known[node.args[0]][0])
        return node.args[1:] if taken is None else (taken,)

    def _taken(self, node: e.If | e.Switch, subject: SymbolicScalar) -> Expr | None:
        """The branch a subject takes, if it is one."""
        position = None if subject is None else self._settle(branches(node, subject))
        assert position is None or isinstance(position, fmpq)
        return None if position is None else node.args[int(position.p)]

    def _from_bounds(self, node: Expr) -> SymbolicValue | None:
        """What rigorous bounds decided about a discrete scalar."""
        if self.decided is None or node.shape or not isinstance(node, e.Compare | e.Argmax):
            return None
        value = self.decided.value(node)
        if isinstance(value, Truth):
            must, may = bool(value.must[self.index]), bool(value.may[self.index])
            return (must,) if must == may else None
        assert isinstance(value, Finite)
        (possible,) = np.nonzero(np.asarray(value.mask[self.index]))
        return (fmpq(int(possible[0])),) if len(possible) == 1 else None

    def _within_cap(self, node: Expr) -> SymbolicValue:
        """The values of a node; open where their numbers would be too long."""
        try:
            return self._compute(node)
        except TooLong:
            return (None,) * node.size

    def _compute(self, node: Expr) -> SymbolicValue:
        if is_input(node):
            return self._draw(node)
        bounded = self._from_bounds(node)
        if bounded is not None:
            self.leans = True
            return bounded
        args = [self.known.get(arg, ()) for arg in node.args]
        match node:
            case e.Argmax():
                return (self._argmax(args[0]),)
            case e.If() | e.Switch():
                return self._branch(node)
        structural = rearranged(node, args, self.tick)
        if structural is not None:
            return structural
        return tuple(self._scalar(node, [at(arg, i) for arg in args], i) for i in range(node.size))

    def _draw(self, node: Expr) -> SymbolicValue:
        options = [_constants(end) for end in drawn_from(node)]
        per_component = [[values[i if len(values) > 1 else 0] for values in options] for i in range(node.size)]
        return tuple(self._enter(node, i, min(values), max(values)) for i, values in enumerate(per_component))

    def _branch(self, node: e.If | e.Switch) -> SymbolicValue:
        subject = self.known[node.args[0]]
        result = []
        for i in range(node.size):
            taken = self._taken(node, at(subject, i))
            if taken is not None:
                result.append(at(self.known[taken], i))
            else:
                options = [at(self.known[arg], i) for arg in node.args[1:]]
                result.append(options[0] if all(option == options[0] for option in options) else None)
        return tuple(result)

    def _argmax(self, scores: SymbolicValue) -> SymbolicScalar:
        """The one index that is largest for all inputs, without a tie anywhere."""
        known = [score for score in scores if isinstance(score, AffineForm)]
        return self._settle(winners(known)) if len(known) == len(scores) else None

    def _scalar(self, node: Expr, args: Sequence[SymbolicScalar], component: int) -> SymbolicScalar:
        """One component of an elementwise operator."""
        if isinstance(node, e.And | e.Or):
            dominant = isinstance(node, e.Or)
            return dominant if dominant in args else None if None in args else not dominant
        if any(arg is None for arg in args):
            return None
        if isinstance(node, e.Not):
            return not args[0]
        cases = split(node, args, component, self._measure)
        return arithmetic(node, [as_form(arg) for arg in args]) if cases is None else self._settle(cases)


# Small pieces ---------------------------------------------------------------------------------------------------------


def at(values: Sequence[SymbolicScalar], index: int) -> SymbolicScalar:
    """A component; a scalar goes with every one, a branch that was not evaluated with none."""
    return None if not values else values[0] if len(values) == 1 else values[index]


def rearranged(node: Expr, args: Sequence[SymbolicValue], tick: Tick) -> SymbolicValue | None:
    """The value of a node that only moves or mixes components: constants, layers, parts and vectors of parts."""
    match node:
        case e.Const():
            return tuple(constant(value, node) for value in node.values)
        case e.Affine():
            return affine_layer(node, [None if item is None else as_form(item) for item in args[0]], tick)
        case e.Gather():
            return tuple(args[0][index] for index in node.indices)
        case e.Concat():
            return tuple(item for arg in args for item in arg)
    return None


def _constants(node: Expr) -> tuple[Fraction, ...]:
    assert isinstance(node, e.Const)
    return node.values
