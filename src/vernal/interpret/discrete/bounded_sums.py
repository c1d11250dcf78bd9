"""Linear comparisons of integers over boxes of values, in integer arithmetic: which are decided, and what they leave.

Of a box and `load + a + b == 15` the ends of each variable follow from those of the others, so that a box is cut along
all variables but one. Interval arithmetic, which serves every other condition, would try each value of the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import lcm

import numpy as np

from vernal.errors import TooLong
from vernal.interpret.discrete.state_tables import DomainPlaces
from vernal.interpret.geometry.affine_form import ONE, ZERO, AffineForm, arithmetic, rational
from vernal.interpret.numbers.rounding import Mask
from vernal.model.expr import And, Compare, Const, Expr, Var
from vernal.model.graph import order
from vernal.model.sorts import INT

LARGEST_SUM = 2**53  # sums of all terms stay below


@dataclass(frozen=True, eq=False)
class BoundedSum:
    """least <= sum of factor * variable <= most."""

    factors: DomainPlaces  # (variables,)
    least: int
    most: int

    def truth(self, low: DomainPlaces, high: DomainPlaces) -> tuple[Mask, Mask]:
        """Of which boxes all points satisfy it, and of which some may."""
        lowest, highest = (ends.sum(axis=1) for ends in self._terms(low, high))
        must = (lowest >= self.least) & (highest <= self.most)
        return must, (highest >= self.least) & (lowest <= self.most)

    def contracted(self, low: DomainPlaces, high: DomainPlaces) -> tuple[DomainPlaces, DomainPlaces]:
        """The boxes without values of a variable that leave no value of some other; an empty one has high < low."""
        lowest, highest = self._terms(low, high)
        used = np.flatnonzero(self.factors)
        size, falls = np.abs(self.factors[used]), self.factors[used] < 0
        above = (self.most - lowest.sum(axis=1, keepdims=True) + lowest[:, used]) // size
        below = -((highest.sum(axis=1, keepdims=True) - highest[:, used] - self.least) // size)
        low, high = low.copy(), high.copy()
        low[:, used] = np.maximum(low[:, used], np.where(falls, -above, below))
        high[:, used] = np.minimum(high[:, used], np.where(falls, -below, above))
        return low, high

    def _terms(self, low: DomainPlaces, high: DomainPlaces) -> tuple[DomainPlaces, DomainPlaces]:
        """The least and the greatest value of each term."""
        rises = self.factors > 0
        return self.factors * np.where(rises, low, high), self.factors * np.where(rises, high, low)


def conjuncts(conditions: Iterable[Expr]) -> list[Expr]:
    """The conditions, with conjunctions taken apart."""
    found, waiting = [], list(conditions)[::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, And):
            waiting.extend(reversed(node.args))
        else:
            found.append(node)
    return found


def bounded_sum(condition: Expr, variables: Sequence[Expr], domains: Sequence[Sequence[int]]) -> BoundedSum | None:
    """A comparison of sums as a row over these variables; None for other conditions, and for sums that are too large.

    Ends that it does not have are what the domains allow.
    """
    if not isinstance(condition, Compare) or condition.op not in ("==", "<=", "<"):
        return None
    left, right = (_form(side) for side in condition.args)
    if left is None or right is None:
        return None
    form = left - right
    shared = lcm(*(int(number.q) for number in (form.constant, *form.coefficients.values())))
    factors = [int(form.coefficients.get((var, 0), ZERO) * shared) for var in variables]
    most = int(-form.constant * shared) - (condition.op == "<")
    ends = [factor * value for factor, domain in zip(factors, domains, strict=True) for value in _ends(domain)]
    if not any(factors) or sum(map(abs, ends)) + abs(most) >= LARGEST_SUM:
        return None
    least = most if condition.op == "==" else -sum(map(abs, ends)) - abs(most)
    return BoundedSum(np.array(factors, np.int64), least, most)


def _ends(domain: Sequence[int]) -> tuple[int, ...]:
    return (domain[0], domain[-1]) if len(domain) else ()


def _form(expr: Expr) -> AffineForm | None:
    """A number as a sum of integer variables; None where it is no such sum."""
    made: dict[Expr, AffineForm | None] = {}
    for node in order([expr]):
        if node.shape:
            return None
        match node:
            case Var(sort=sort):
                made[node] = AffineForm(ZERO, {(node, 0): ONE}) if sort == INT else None
            case Const(sort=sort) if sort.is_number:
                made[node] = AffineForm(rational(node.value))
            case _:
                args = [made[arg] for arg in node.args]
                forms = [form for form in args if form is not None]
                made[node] = _combined(node, forms) if len(forms) == len(args) else None
    return made[expr]


def _combined(node: Expr, forms: Sequence[AffineForm]) -> AffineForm | None:
    try:
        return arithmetic(node, forms)
    except TooLong:
        return None
