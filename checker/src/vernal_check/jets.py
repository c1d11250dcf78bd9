"""Taylor coefficients in time of what depends on the state of a flow: the derivatives that the lemma *flow* needs.

A `Jet` stands for a function of time by the coefficients of its powers, each a form; they are found when they are asked
for, so that those of the state may follow from those of its rates. The recurrences are the usual ones: for y = g(a) the
derivative y' = g'(a) a' is compared power by power.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from vernal_check import curves
from vernal_check.curves import Undefined
from vernal_check.evaluation import Run
from vernal_check.expressions import Scope
from vernal_check.forms import ONE, ZERO, Exact, Form, Interval, Ranges


class NotSmooth(Undefined):
    """Something without derivatives: then only the first order is left."""


class Jet(Form):
    """A function of time, by its Taylor coefficients at 0."""

    is_constant = False

    def __init__(self, ranges: Ranges, rule: Callable[[int], Form], first: Sequence[Form] = ()) -> None:
        self.over, self.rule, self.found = ranges, rule, list(first)

    def __getitem__(self, number: int) -> Form:
        while len(self.found) <= number:
            self.found.append(self.rule(len(self.found)))
        return self.found[number]

    def ends(self, ranges: Ranges) -> Interval:
        raise NotSmooth("what depends on the sign of something has no derivatives")

    range = ends

    def plus(self, other: Form) -> Form:
        return Jet(self.over, lambda i: self[i].plus(coefficient(other, i)))

    def times(self, a: Fraction) -> Form:
        return Jet(self.over, lambda i: self[i].times(a)) if a else Exact(ZERO)

    def minus(self, other: Form) -> Form:
        return Jet(self.over, lambda i: self[i].minus(coefficient(other, i)))

    def product(self, other: Form, ranges: Ranges) -> Form:
        if not isinstance(other, Jet):
            return Jet(self.over, lambda i: self[i].product(other, self.over))
        if other is self:
            return Jet(self.over, self.squared)
        return Jet(self.over, lambda i: self.convolved(other, range(i + 1), i))

    def squared(self, i: int) -> Form:
        total = self.convolved(self, range((i + 1) // 2), i).times(Fraction(2))
        return total if i % 2 else total.plus(self[i // 2].product(self[i // 2], self.over))

    def convolved(self, other: Jet, places: Sequence[int], i: int) -> Form:
        total: Form = Exact(ZERO)
        for j in places:
            total = total.plus(self[j].product(other[i - j], self.over))
        return total

    def shortened(self, ranges: Ranges) -> Form:
        return self

    def driving(self, slope: Jet, i: int) -> Form:
        """The i-th coefficient of the function whose derivative is the slope times this one's."""
        total: Form = Exact(ZERO)
        for j in range(1, i + 1):
            total = total.plus(self[j].product(slope[i - j], self.over).times(Fraction(j, i)))
        return total

    def divided_by(self, below: Jet) -> Jet:
        """A quotient q with q below = this."""

        def rule(i: int) -> Form:
            rest = self[i]
            for j in range(1, i + 1):
                rest = rest.minus(below[j].product(made[i - j], self.over))
            return rest.product(inverse_of_first(), self.over)

        kept: list[Form] = []

        def inverse_of_first() -> Form:
            if not kept:
                kept.append(curves.inverse(below[0], self.over))
            return kept[0]

        made = Jet(self.over, rule)
        return made


def coefficient(form: Form, number: int) -> Form:
    """A coefficient of a form, which is constant in time unless it is a jet."""
    if isinstance(form, Jet):
        return form[number]
    return form if number == 0 else Exact(ZERO)


def applied(name: str, a: Jet) -> Jet:
    """An elementary function of a jet."""
    over = a.over
    first = [curves.apply(name, a[0], over)]
    one = Jet(over, lambda i: Exact(ONE if i == 0 else ZERO))

    def driven(slope: Callable[[Jet], Any]) -> Jet:
        made = Jet(over, lambda i: a.driving(slopes[0], i), first)
        slopes.append(slope(made))
        return made

    slopes: list[Jet] = []
    if name == "exp":
        return driven(lambda y: y)
    if name in ("sin", "cos"):
        sign = Fraction(1 if name == "sin" else -1)
        made = Jet(over, lambda i: a.driving(other, i).times(sign), first)
        other = Jet(over, lambda i: a.driving(made, i).times(-sign), [curves.apply(OTHER[name], a[0], over)])
        return made
    if name == "tanh":
        return driven(lambda y: one.minus(y.product(y, over)))
    if name == "tan":
        return driven(lambda y: one.plus(y.product(y, over)))
    if name == "sigmoid":
        return driven(lambda y: y.minus(y.product(y, over)))
    if name == "log":
        return driven(lambda y: one.divided_by(a))
    if name == "sqrt":
        return rooted(2, a)
    raise NotSmooth(f"the derivatives of {name} are not known here")


def rooted(n: int, a: Jet) -> Jet:
    """y = a^(1/n), with y' = y a' / (n a)."""
    made = Jet(a.over, lambda i: a.driving(slope, i), [curves.root(n, a[0], a.over)])
    quotient = made.divided_by(a)
    slope = Jet(a.over, lambda i: quotient[i].times(Fraction(1, n)))
    return made


OTHER = {"sin": "cos", "cos": "sin"}


class RateScope(Scope):
    """Where rates are evaluated with derivatives; `drawn` says what a disturbance between two numbers is."""

    def arithmetic(self, op: str, args: Sequence[Any]) -> Form:
        if op == "/":
            a, b = self.number(args[0]), self.number(args[1])
            if isinstance(b, Jet):
                whole = a if isinstance(a, Jet) else Jet(b.over, lambda i: coefficient(a, i))
                return whole.divided_by(b)
            return a.product(curves.inverse(b, self.run.ranges), self.run.ranges)
        return super().arithmetic(op, args)

    def raised(self, a: Form, exponent: Form, is_even_power: bool = False) -> Form:
        p = exponent.value if exponent.is_constant else Fraction(0)
        if not isinstance(a, Jet) or p >= 0:
            return super().raised(a, exponent, is_even_power)
        raised = super().raised(a, exponent.times(-ONE), is_even_power)
        assert isinstance(raised, Jet)
        return Jet(raised.over, lambda i: Exact(ONE if i == 0 else ZERO)).divided_by(raised)

    def root(self, n: int, a: Form, is_even_power: bool) -> Form:
        return rooted(n, a) if isinstance(a, Jet) else super().root(n, a, is_even_power)

    def call(self, op: str, args: Sequence[Any]) -> Any:
        name, given = args[0], args[1:]
        if name in curves.NAMES and len(given) == 1:
            a = self.number(given[0])
            return applied(name, a) if isinstance(a, Jet) else curves.apply(name, a, self.run.ranges)
        if name in self.calls:
            raise NotSmooth("a network has no derivatives here")
        return super().call(op, args)


class Middle(Run):
    """A run in which every disturbance is in the middle of what it may be."""

    def fresh(self, low: Fraction, high: Fraction) -> Form:
        return Exact((low + high) / 2)

    def ask(self, kind: str, count: int) -> int:
        """Nothing is decided here: a rate that takes sides has no derivatives."""
        if count > 1:
            raise NotSmooth("what depends on the sign of something has no derivatives")
        return 0
