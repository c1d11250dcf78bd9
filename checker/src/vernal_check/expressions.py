"""The meaning of expressions: a tree, the values of names, and a run that answers what is open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import floor
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from vernal_check import curves
from vernal_check.curves import Undefined
from vernal_check.errors import Unreadable
from vernal_check.evaluation import End, Run
from vernal_check.forms import ONE, ZERO, Exact, Form, between, constant
from vernal_check.syntax import Node

Value = Any  # a Form, a truth value, a label (text), or a tuple of these
Lookup = Callable[[str, "Scope"], Value]
ARGUMENTS = {
    **{"if": 3, "between": 2, "clip": 3, "all": 1, "any": 1, "sum": 1, "count": 1},
    **dict.fromkeys(["abs", "relu", "sign", "floor", *curves.NAMES], 1),
}
ORDER = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
MAX_PIECES = 64  # integers that a floor may have
MAX_POWER = 1000


class Scope:
    """Where an expression is evaluated: what names mean, and the indices that are bound."""

    def __init__(self, run: Run, lookup: Lookup, calls: Mapping[str, Any], bound: Mapping[str, int] | None = None):
        self.run, self.lookup, self.calls = run, lookup, calls
        self.bound = dict(bound or {})

    def inside(self, index: str, value: int) -> Scope:
        return Scope(self.run, self.lookup, self.calls, {**self.bound, index: value})

    # Sorts ------------------------------------------------------------------------------------------------------------

    def number(self, node: Node) -> Form:
        value = self.value(node)
        if not isinstance(value, Form):
            raise Unreadable(f"a number is expected, not {value!r}")
        return value

    def truth(self, node: Node) -> bool:
        value = self.value(node)
        if not isinstance(value, bool):
            raise Unreadable(f"a truth value is expected, not {value!r}")
        return value

    def integer(self, node: Node) -> int:
        value = self.number(node)
        if not value.is_constant or value.value.denominator != 1:
            raise Unreadable("a constant integer is expected")
        return int(value.value)

    # Values -----------------------------------------------------------------------------------------------------------

    def value(self, node: Node) -> Value:
        op, args = node.op, node.args
        if op == "num":
            return Exact(args[0])
        if op == "name":
            return constant(self.bound[args[0]]) if args[0] in self.bound else self.lookup(args[0], self)
        rule = getattr(self, RULES.get(op, "unknown"))
        return rule(op, args)

    def unknown(self, op: str, args: Sequence[Any]) -> Value:
        raise Unreadable(f"{op!r} does not belong into an expression")

    def arithmetic(self, op: str, args: Sequence[Any]) -> Form:
        a = self.number(args[0])
        if op == "neg":
            return a.times(-ONE)
        if op == "^":
            return self.raised(a, self.number(args[1]), self.is_even_power(args[0]))
        b, ranges = self.number(args[1]), self.run.ranges
        if op in "+-":
            return (a.plus(b) if op == "+" else a.minus(b)).shortened(ranges)
        if op == "*":
            return a.product(b, ranges).shortened(ranges)
        quotient = a.product(curves.inverse(b, ranges), ranges)
        if op == "/":
            return quotient.shortened(ranges)
        whole = self.floor(quotient)
        return whole if op == "//" else a.minus(b.product(whole, ranges))

    def is_even_power(self, node: Node) -> bool:
        if node.op != "^":
            return False
        exponent = self.number(node.args[1])
        return exponent.is_constant and exponent.value.numerator % 2 == 0 and exponent.value.denominator == 1

    def raised(self, a: Form, exponent: Form, is_even_power: bool = False) -> Form:
        if not exponent.is_constant or abs(exponent.value) > MAX_POWER:
            raise Unreadable("an exponent is a constant, and not a large one")
        p, ranges = exponent.value, self.run.ranges
        if p.denominator > 1:
            a, p = self.root(p.denominator, a, is_even_power), Fraction(p.numerator)
        raised = a.power(abs(int(p)), ranges)
        return raised if p >= 0 else curves.inverse(raised, ranges)

    def root(self, n: int, a: Form, is_even_power: bool) -> Form:
        return curves.root(n, a, self.run.ranges, is_even_power)

    def compare(self, op: str, args: Sequence[Any]) -> bool:
        a, b = self.value(args[0]), self.value(args[1])
        if not isinstance(a, Form) or not isinstance(b, Form):
            return self.same(a, b) == (op == "==")
        if a.is_constant and b.is_constant:
            return bool(ORDER[op](a.value, b.value))
        if op in ("==", "!="):
            return self.run.is_zero(a.minus(b)) == (op == "==")
        difference = a.minus(b) if op in ("<", "<=") else b.minus(a)
        return self.run.is_negative(difference, strict=op in ("<", ">"))

    def same(self, a: Value, b: Value) -> bool:
        if type(a) is not type(b) or isinstance(a, tuple):
            raise Unreadable(f"{a!r} and {b!r} cannot be compared")
        return bool(a == b)

    def connect(self, op: str, args: Sequence[Any]) -> bool:
        if op == "!":
            return not self.truth(args[0])
        if op == "<->":
            return self.truth(args[0]) == self.truth(args[1])
        if op == "->":
            return self.some([lambda: not self.truth(args[0]), lambda: self.truth(args[1])], True)
        return self.some([partial(self.truth, arg) for arg in args], op == "|")

    def some(self, parts: Sequence[Callable[[], bool]], wanted: bool) -> bool:
        """`wanted` where one part is; what is undefined matters only where no part is."""
        undefined: Undefined | None = None
        for part in parts:
            try:
                if part() is wanted:
                    return wanted
            except Undefined as problem:
                undefined = problem
        if undefined is not None:
            raise undefined
        return not wanted

    def match(self, op: str, args: Sequence[Any]) -> Value:
        subject = self.value(args[0])
        for label, body in args[1]:
            if label == "_" or self.is_case(subject, label):
                return self.value(body)
        raise Undefined("no case of a match applies")

    def is_case(self, subject: Value, label: str | Fraction) -> bool:
        if isinstance(subject, bool):
            return label == ("true" if subject else "false")
        if isinstance(subject, str):
            return label == subject
        if not isinstance(label, Fraction) or not isinstance(subject, Form):
            raise Unreadable(f"{label!r} is no case of a number")
        if subject.is_constant:
            return subject.value == label
        return self.run.is_zero(subject.minus(Exact(label)))

    def indexed(self, op: str, args: Sequence[Any]) -> Value:
        values, place = self.value(args[0]), self.integer(args[1])
        if not isinstance(values, tuple):
            if isinstance(values, Form) and place == 0:
                return values
            raise Unreadable("only arrays have components")
        return values[place] if 0 <= place < len(values) else values[-1]  # as docs/tasks.md says

    def each(self, op: str, args: Sequence[Any]) -> tuple[Value, ...]:
        item, index, lower, upper = args
        first, last = self.integer(lower), self.integer(upper)
        if last - first > 10_000:
            raise Unreadable("an index takes too many values")
        return tuple(self.inside(index, i).value(item) for i in range(first, last + 1))

    # Functions --------------------------------------------------------------------------------------------------------

    def call(self, op: str, args: Sequence[Any]) -> Value:
        name, given = args[0], args[1:]
        if len(given) != ARGUMENTS.get(name, max(1, len(given))):
            raise Unreadable(f"{name} does not take {len(given)} arguments")
        if name == "if":
            return self.value(given[1] if self.truth(given[0]) else given[2])
        if name == "choose":
            return self.choose(given)
        if name == "between":
            return self.between(self.number(given[0]), self.number(given[1]))
        if name in ("all", "any", "sum", "count") or (name in ("min", "max") and len(given) == 1):
            return self.folded(name, given)
        if name in ("min", "max"):
            return self.extreme(name, [self.number(arg) for arg in given])
        if name in curves.NAMES:
            return curves.apply(name, self.number(given[0]), self.run.ranges)
        if name in ("abs", "relu", "sign", "floor", "clip"):
            return getattr(self, name)(*(self.number(arg) for arg in given))
        if name in self.calls:
            return self.calls[name](self, [self.value(arg) for arg in given])
        raise Unreadable(f"the function {name!r} is not read")

    def choose(self, options: Sequence[Node]) -> Value:
        """One of the options whose conditions are true; the path ends where none is."""
        there = [option for option in options if option.op != "when" or self.truth(option.args[1])]
        if not there:
            raise End
        taken = there[self.run.ask("choice", len(there))]
        return self.value(taken.args[0] if taken.op == "when" else taken)

    def between(self, low: Form, high: Form) -> Form:
        if low.is_constant and high.is_constant:
            return self.run.fresh(min(low.value, high.value), max(low.value, high.value))
        share = self.run.fresh(ZERO, ONE)
        return low.plus(share.product(high.minus(low), self.run.ranges))

    def folded(self, name: str, given: Sequence[Node]) -> Value:
        values = self.value(given[0])
        if not isinstance(values, tuple):
            raise Unreadable(f"{name} takes an array")
        kind = bool if name in ("all", "any", "count") else Form
        if not values or not all(isinstance(value, kind) for value in values):
            raise Unreadable(f"{name} takes an array of {'truth values' if kind is bool else 'numbers'}")
        if name in ("all", "any"):
            return all(values) if name == "all" else any(values)
        if name == "count":
            return constant(sum(map(bool, values)))
        if name in ("min", "max"):
            return self.extreme(name, values)
        total: Form = Exact(ZERO)
        for value in values:
            total = total.plus(value)
        return total

    def extreme(self, name: str, values: Sequence[Form]) -> Form:
        best = values[0]
        for value in values[1:]:
            difference = best.minus(value) if name == "max" else value.minus(best)
            best = value if self.run.is_negative(difference, strict=False) else best
        return best

    def abs(self, a: Form) -> Form:
        return a.times(-ONE) if self.run.is_negative(a, strict=False) else a

    def relu(self, a: Form) -> Form:
        return Exact(ZERO) if self.run.is_negative(a, strict=False) else a

    def clip(self, a: Form, low: Form, high: Form) -> Form:
        return self.extreme("min", [self.extreme("max", [a, low]), high])

    def sign(self, a: Form) -> Form:
        if self.run.is_zero(a):
            return Exact(ZERO)
        return Exact(-ONE) if self.run.is_negative(a, strict=True) else Exact(ONE)

    def floor(self, a: Form) -> Form:
        low, high = map(floor, a.range(self.run.ranges))
        if high - low >= MAX_PIECES:
            raise Unreadable("a floor has too many values over one set")
        taken = low + self.run.ask("either", high - low + 1)
        if high > low:
            self.run.assume(Exact(Fraction(taken)).minus(a))
            self.run.assume(a.minus(Exact(Fraction(taken + 1))))
        return constant(taken)


def pi() -> Form:
    return between(*curves.pi())


RULES = {
    **dict.fromkeys(["+", "-", "*", "/", "//", "%", "^", "neg"], "arithmetic"),
    **dict.fromkeys(["==", "!=", "<", "<=", ">", ">="], "compare"),
    **dict.fromkeys(["&", "|", "!", "->", "<->"], "connect"),
    "match": "match",
    "index": "indexed",
    "each": "each",
    "call": "call",
}
