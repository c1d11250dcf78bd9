"""Constructors of expressions: they check sorts and shapes, and compute with constants exactly."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from vernal.errors import TypeClash, listed
from vernal.model import expr as e
from vernal.model import travel as travel  # nodes are pickled by way of it
from vernal.model.expr import Expr, Occurrence, Operand, Shape
from vernal.model.numbers import as_written
from vernal.model.sorts import BOOL, INT, REAL, Kind, Sort, join
from vernal.model.terms import terms

MAX_EXPONENT = 1000  # numerator and denominator of an exponent; more is a typing error or an attack
MAX_BITS = 13_000  # of numerator and denominator of a folded constant: as many as can be written down
TOO_LONG = f"a constant grows beyond all bounds: at most {MAX_BITS:,} bits, some 3,900 digits, are supported"


def const(value: Operand) -> Expr:
    """A number or truth value as a node.

    A float stands for the decimal it prints as, `as_written`: 0.1 is one tenth, and so it is as a number of numpy.
    """
    if isinstance(value, Expr):
        return value
    value = as_written(value)
    if isinstance(value, bool):
        return e.Const((), BOOL, (), (Fraction(value),))
    if isinstance(value, float):
        raise TypeClash(f"{value} is not a number Vernal computes with")
    try:
        number = Fraction(cast("Fraction | int | str", value))
    except (ValueError, TypeError, ZeroDivisionError):
        raise TypeClash(f"{value!r} is not a number; for a label write vn.equals(x, 'LABEL')") from None
    return e.Const((), INT if number.denominator == 1 else REAL, (), (number,))


def vector(values: Sequence[Fraction]) -> Expr:
    """A constant vector."""
    exact = tuple(Fraction(value) for value in values)
    sort = INT if all(value.denominator == 1 for value in exact) else REAL
    return e.Const((), sort, (len(exact),), exact)


def label(sort: Sort, name: str) -> Expr:
    """The value `name` of an enum."""
    if name not in sort.labels:
        raise TypeClash(f"{name!r} is not a label of {sort}")
    return e.Const((), sort, (), (Fraction(sort.labels.index(name)),))


TRUE = const(True)
FALSE = const(False)
PI: Expr = e.Pi((), REAL, ())


def var(name: str, sort: Sort = REAL, shape: Shape = (), role: e.Role = e.Role.STATE) -> e.Var:
    """A named unknown."""
    return e.Var((), sort, shape, name, role)


# Checks ---------------------------------------------------------------------------------------------------------------


def _numbers(what: str, *operands: Operand) -> list[Expr]:
    nodes = [const(operand) for operand in operands]
    for node in nodes:
        if not node.sort.is_number:
            raise TypeClash(f"{what} needs numbers, but one operand is of sort {node.sort}")
    return nodes


def _truths(what: str, *operands: Operand) -> list[Expr]:
    nodes = [const(operand) for operand in operands]
    for node in nodes:
        if node.sort != BOOL:
            raise TypeClash(f"{what} needs truth values, but one operand is of sort {node.sort}")
    return nodes


def shape_of(what: str, *nodes: Expr) -> Shape:
    """The common shape; scalars go with any vector."""
    shapes = {node.shape for node in nodes if node.shape}
    if len(shapes) > 1:
        raise TypeClash(f"{what} combines vectors of different lengths: {sorted(shapes)}")
    return shapes.pop() if shapes else ()


def join_sorts(what: str, *nodes: Expr) -> Sort:
    """The common sort of alternatives."""
    sort = join(*(node.sort for node in nodes))
    if sort is None:
        raise TypeClash(f"{what} mixes sorts that do not go together: {', '.join(str(n.sort) for n in nodes)}")
    return sort


def _fold(function: Callable[..., Fraction], *nodes: Expr) -> Expr | None:
    """The constant result of scalar constants, or None where an argument is not one."""
    if not all(isinstance(node, e.Const) and not node.shape for node in nodes):
        return None
    return const(_short(function(*(node.value for node in nodes if isinstance(node, e.Const)))))


def _short(value: Fraction) -> Fraction:
    if _bits(value) > MAX_BITS:
        raise TypeClash(TOO_LONG)
    return value


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _sum(*values: Fraction) -> Fraction:
    """Added up one by one: with every new denominator the sum may grow."""
    total = Fraction(0)
    for value in values:
        total = _short(total + value)
    return total


# Arithmetic -----------------------------------------------------------------------------------------------------------


def add(*operands: Operand) -> Expr:
    """The sum; `a + b + c` is one node however it was built, a bracketed sum on the right stays its own."""
    nodes = _numbers("+", *operands)
    if len(nodes) == 1:
        return nodes[0]
    folded = _fold(_sum, *nodes)
    if folded is not None:
        return folded
    first = nodes[0]
    args = (*(first.args if isinstance(first, e.Add) else (first,)), *nodes[1:])
    return e.Add(args, join_sorts("+", *nodes), shape_of("+", *nodes))


def neg(x: Operand) -> Expr:
    (node,) = _numbers("-", x)
    if isinstance(node, e.Const):
        return e.Const((), node.sort, node.shape, tuple(-value for value in node.values))
    return e.Neg((node,), node.sort, node.shape)


def sub(x: Operand, y: Operand) -> Expr:
    return add(x, neg(y))


def mul(x: Operand, y: Operand) -> Expr:
    a, b = _numbers("*", x, y)
    folded = _fold(operator.mul, a, b)
    return e.Mul((a, b), join_sorts("*", a, b), shape_of("*", a, b)) if folded is None else folded


def div(x: Operand, y: Operand) -> Expr:
    a, b = _numbers("/", x, y)
    if isinstance(b, e.Const) and 0 in b.values:
        raise TypeClash("division by the constant 0")
    folded = _fold(operator.truediv, a, b)
    return e.Div((a, b), REAL, shape_of("/", a, b)) if folded is None else folded


def quotient(x: Operand, y: Operand) -> Expr:
    """x // y: how often a constant goes into an integer, rounded down."""
    return floor(div(*_integers("//", x, y)))


def remainder(x: Operand, y: Operand) -> Expr:
    """x % y: what is left of an integer, with the sign of the constant."""
    a, b = _integers("%", x, y)
    return sub(a, mul(b, quotient(a, b)))


OF_REALS = {"//": "floor(x / y)", "%": "x - y*floor(x / y)"}


def _integers(what: str, x: Operand, y: Operand) -> list[Expr]:
    """An integer and a constant integer that is not zero."""
    a, b = _numbers(what, x, y)
    if a.sort != INT or b.sort != INT or not isinstance(b, e.Const) or 0 in b.values:
        raise TypeClash(f"{what} takes an integer and a constant integer other than 0; of reals write {OF_REALS[what]}")
    return [a, b]


def power(x: Operand, exponent: Operand) -> Expr:
    """x ^ exponent for a constant rational exponent of moderate size."""
    (a,), (n,) = _numbers("^", x), _numbers("^", exponent)
    if not isinstance(n, e.Const) or n.shape:
        raise TypeClash("the exponent of ^ must be a constant number; write exp(y * log(x)) for x to the y")
    p = n.value
    if max(abs(p.numerator), p.denominator) > MAX_EXPONENT:
        raise TypeClash(f"the exponent {p} is too large; at most {MAX_EXPONENT} is supported")
    if p.denominator == 1:
        if isinstance(a, e.Const) and not a.shape and not (a.value == 0 and p < 0):
            return _fold_power(a.value, int(p))
        if p == 1:
            return a
    if isinstance(a, e.Const) and p < 0 and 0 in a.values:
        raise TypeClash("division by the constant 0")
    return e.Pow((a,), INT if a.sort == INT and p.denominator == 1 and p >= 0 else REAL, a.shape, p)


def _fold_power(base: Fraction, exponent: int) -> Expr:
    if (_bits(base) - 1) * abs(exponent) > MAX_BITS:  # counted before it is made
        raise TypeClash(TOO_LONG)
    return const(_short(base**exponent))


def absolute(x: Operand) -> Expr:
    """The size of a number: `vn.absolute(s.x)`, or `abs(s.x)`."""
    (a,) = _numbers("abs", x)
    folded = _fold(abs, a)
    return e.Abs((a,), a.sort, a.shape) if folded is None else folded


def relu(x: Operand) -> Expr:
    """x where it is positive, else 0: `vn.relu(s.x - 1)`."""
    (a,) = _numbers("relu", x)
    folded = _fold(lambda v: max(v, Fraction(0)), a)
    return e.Relu((a,), a.sort, a.shape) if folded is None else folded


def sign(x: Operand) -> Expr:
    """-1, 0 or 1, as an int: `vn.sign(s.x)`."""
    (a,) = _numbers("sign", x)
    folded = _fold(lambda v: Fraction((v > 0) - (v < 0)), a)
    return e.Sign((a,), INT, a.shape) if folded is None else folded


def floor(x: Operand) -> Expr:
    """The largest integer that is not above x, as an int: `vn.floor(s.x / 2)`."""
    (a,) = _numbers("floor", x)
    folded = _fold(lambda v: Fraction(math.floor(v)), a)
    return e.Floor((a,), INT, a.shape) if folded is None else folded


def maximum(*operands: Operand) -> Expr:
    """The largest of some numbers: `vn.maximum(s.x, s.y, 0)`."""
    return _extremum("max", max, e.Max, operands)


def minimum(*operands: Operand) -> Expr:
    """The least of some numbers: `vn.minimum(s.x, s.y, 1)`."""
    return _extremum("min", min, e.Min, operands)


def _extremum(what: str, pick: Callable[..., Fraction], cls: type[Expr], operands: Sequence[Operand]) -> Expr:
    if not operands:
        raise TypeClash(f"{what} needs at least one argument")
    nodes = _numbers(what, *operands)
    if len(nodes) == 1:
        return nodes[0]
    folded = _fold(pick, *nodes)
    return cls(tuple(nodes), join_sorts(what, *nodes), shape_of(what, *nodes)) if folded is None else folded


def clip(x: Operand, low: Operand, high: Operand) -> Expr:
    """x, moved to the nearer end of [low, high] where it is outside.

    Example: `vn.clip(s.x, -1, 1)`
    """
    return minimum(maximum(x, low), high)


def apply(function: e.Function, x: Operand) -> Expr:
    """An elementary function of one argument."""
    (a,) = _numbers(function.value, x)
    return e.Nonlinear((a,), REAL, a.shape, function)


def atan2(y: Operand, x: Operand) -> Expr:
    """The angle of the point (x, y), in (-pi, pi].

    Example: `vn.atan2(s.y, s.x)`
    """
    a, b = _numbers("atan2", y, x)
    if a is b is const(0):
        raise TypeClash("atan2(0, 0) is undefined: the origin has no angle")
    return e.Atan2((a, b), REAL, shape_of("atan2", a, b))


# Truth ----------------------------------------------------------------------------------------------------------------


def compare(op: str, x: Operand, y: Operand) -> Expr:
    """x op y for `<`, `<=`, `==`, `!=`, `>` or `>=`; the last two are turned round."""
    if op in (">", ">="):
        return compare({">": "<", ">=": "<="}[op], y, x)
    a, b = const(x), const(y)
    if join(a.sort, b.sort) is None or (op in ("<", "<=") and not a.sort.is_number):
        raise TypeClash(f"{op} cannot compare {a.sort} with {b.sort}")
    if isinstance(a, e.Const) and isinstance(b, e.Const) and not (a.shape or b.shape):
        return const(COMPARISONS[op](a.value, b.value))
    return e.Compare((a, b), BOOL, shape_of(op, a, b), op)


COMPARISONS: dict[str, Callable[[Fraction, Fraction], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


def eq(x: Operand, y: Operand) -> Expr:
    """The equation x == y (Python's own == on nodes is identity).

    Example: `vn.eq(s.x, 0)`
    """
    return compare("==", x, y)


def negate(p: Operand) -> Expr:
    (a,) = _truths("!", p)
    if isinstance(a, e.Const):
        return e.Const((), BOOL, a.shape, tuple(1 - value for value in a.values))
    return e.Not((a,), BOOL, a.shape)


def conj(*operands: Operand) -> Expr:
    return _junction("&", e.And, operands)


def disj(*operands: Operand) -> Expr:
    return _junction("|", e.Or, operands)


def _junction(what: str, cls: type[Expr], operands: Sequence[Operand]) -> Expr:
    nodes = _truths(what, *operands)
    neutral, absorbing = (TRUE, FALSE) if cls is e.And else (FALSE, TRUE)
    if any(node is absorbing for node in nodes):
        return absorbing
    nodes = [node for node in nodes if node is not neutral]
    if len(nodes) < 2:
        return nodes[0] if nodes else neutral
    first = nodes[0]
    args = (*(first.args if type(first) is cls else (first,)), *nodes[1:])
    return cls(args, BOOL, shape_of(what, *nodes))


def implies(p: Operand, q: Operand) -> Expr:
    return disj(negate(p), q)


# Control --------------------------------------------------------------------------------------------------------------


def if_(condition: Operand, then: Operand, otherwise: Operand) -> Expr:
    """`then` where the condition is true, else `otherwise`; a draw in the branch not taken does not exist.

    Example: `vn.if_(s.x > 0, s.x, -s.x)`
    """
    if isinstance(condition, bool):
        raise TypeClash("the condition of if is a plain Python truth value: == compares objects, use vn.eq(a, b)")
    (c,) = _truths("if", condition)
    a, b = const(then), const(otherwise)
    sort = join_sorts("if", a, b)
    if isinstance(c, e.Const) and not c.shape:
        return a if c.value else b
    return e.If((c, a, b), sort, shape_of("if", c, a, b))


def switch(subject: Expr, cases: Sequence[Fraction | None], branches: Sequence[Operand]) -> Expr:
    """The branch whose case equals the subject; exhaustive, or with the default case None at the end."""
    nodes = [const(branch) for branch in branches]
    sort = join_sorts("match", *nodes)
    if len(set(cases)) != len(cases):
        raise TypeClash("match names a case twice")
    if None in cases[:-1]:
        raise TypeClash("`_` must be the last case of match")
    if cases[-1] is not None:
        _check_exhaustive(subject.sort, cases)
    if isinstance(subject, e.Const):
        return next(n for case, n in zip(cases, nodes, strict=True) if case is None or case == subject.value)
    return e.Switch((subject, *nodes), sort, shape_of("match", *nodes), tuple(cases))


def _check_exhaustive(sort: Sort, cases: Sequence[Fraction | None]) -> None:
    covered = set(cases)
    if sort.kind is Kind.ENUM:
        missing = [name for index, name in enumerate(sort.labels) if index not in covered]
    elif sort.kind is Kind.BOOL:
        missing = [name for index, name in enumerate(("false", "true")) if index not in covered]
    else:
        missing = ["_ (any other number)"]
    if missing:
        raise TypeClash(f"match is not exhaustive: {listed(missing)} not covered; add them or end with `_: value`")


# Draws ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Guarded:
    """An option of `choose` that exists where its condition is true; made by `when`."""

    value: Operand
    condition: Operand


def when(value: Operand, condition: Operand) -> Guarded:
    """An option for `choose` that exists only in steps in which the condition is true.

    Example: `vn.choose(s.x, vn.when(s.x - 1, s.x > 0))`
    """
    return Guarded(value, condition)


def choose(*options: Operand | Guarded, name: str = "choose") -> Expr:
    """A finite non-deterministic choice; every call is its own draw.

    An option `when(value, condition)` exists where its condition is true; where no option is left the path ends.

    Example: `vn.choose(s.x, s.x + 1)`
    """
    if not options:
        raise TypeClash("choose needs at least one option")
    values = [const(option.value if isinstance(option, Guarded) else option) for option in options]
    guards = [_guard(option) if isinstance(option, Guarded) else TRUE for option in options]
    sort, shape, occurrence = join_sorts("choose", *values), shape_of("choose", *values), Occurrence(name)
    if all(guard is TRUE for guard in guards):
        return e.Choose(tuple(values), sort, shape, occurrence)
    return e.Choose((*_existing(values, guards), *guards), sort, shape, occurrence, guarded=True)


def _guard(option: Guarded) -> Expr:
    if isinstance(option.condition, bool):
        raise TypeClash(
            "the condition of an option is a plain Python truth value: == compares objects, use vn.eq(a, b)"
        )
    (condition,) = _truths("when", option.condition)
    if condition.shape:
        raise TypeClash(f"when needs one truth value, but this is a vector of {condition.size}")
    return condition


def _existing(values: Sequence[Expr], guards: Sequence[Expr]) -> list[Expr]:
    """The options, where one does not exist the first that does; the last where there is none."""
    if len(values) == 1:
        return [if_(guards[0], values[0], values[0])]
    first = values[-1]
    for guard, value in zip(guards[-2::-1], values[-2::-1], strict=True):
        first = if_(guard, value, first)
    return [first, *(if_(guard, value, first) for guard, value in zip(guards[1:], values[1:], strict=True))]


def between(low: Operand, high: Operand, name: str = "between") -> Expr:
    """A disturbance between two ends; every call is its own draw.

    Constant ends have to be in order. Ends that depend on the state mean the interval between them, whichever is lower.

    Example: `vn.between(-0.1, 0.1)`
    """
    a, b = _numbers("between", low, high)
    if isinstance(a, e.Const) and isinstance(b, e.Const):
        if any(a.values[i % a.size] > b.values[i % b.size] for i in range(max(a.size, b.size))):
            raise TypeClash(f"between({a.values[0]}, {b.values[0]}) is an inverted interval")
    elif not _in_order(a, b):
        a, b = minimum(a, b), maximum(a, b)
    return e.Between((a, b), REAL, shape_of("between", a, b), Occurrence(name))


def _in_order(low: Expr, high: Expr) -> bool:
    """Whether one end is the other plus a constant that is not negative, as in `between(x - 1, x + 1)`."""
    rest, width = terms((high, Fraction(1)), (low, Fraction(-1)))
    return not rest and width >= 0 and not (low.shape or high.shape)


# Vectors --------------------------------------------------------------------------------------------------------------


def component(x: Expr, index: int) -> Expr:
    """One component of a vector, as a scalar."""
    if not x.shape or not -x.size <= index < x.size:
        raise TypeClash(f"there is no component {index} in a value of shape {x.shape}")
    position = index % x.size
    if isinstance(x, e.Const):
        return const(x.values[position])
    if isinstance(x, e.Concat):
        scalar = _concat_component(x, position)
        if scalar is not None:
            return scalar
    return e.Gather((x,), x.sort, (), (position,))


def _concat_component(x: Expr, position: int) -> Expr | None:
    for arg in x.args:
        if position < arg.size:
            return arg if not arg.shape else component(arg, position)
        position -= arg.size
    return None


def gather(x: Expr, indices: Sequence[int]) -> Expr:
    """Several components of a vector, as a vector."""
    if any(not 0 <= index < x.size for index in indices):
        raise TypeClash(f"indices {list(indices)} do not fit a value of shape {x.shape}")
    if isinstance(x, e.Const):
        return vector([x.values[index] for index in indices])
    return e.Gather((x,), x.sort, (len(indices),), tuple(indices))


def concat(*parts: Operand) -> Expr:
    """Scalars and vectors as one vector."""
    nodes = _numbers("a vector", *parts)
    if len(nodes) == 1 and nodes[0].shape:
        return nodes[0]
    if all(isinstance(node, e.Const) for node in nodes):
        return vector([value for node in nodes if isinstance(node, e.Const) for value in node.values])
    return e.Concat(tuple(nodes), join_sorts("a vector", *nodes), (sum(node.size for node in nodes),))


def affine(x: Expr, weight: e.Matrix, bias: e.Matrix) -> Expr:
    """W x + b"""
    m, n = weight.array.shape
    if x.shape != (n,) or bias.array.shape != (m,):
        raise TypeClash(f"a {m}x{n} matrix does not fit an input of shape {x.shape} and a bias {bias.array.shape}")
    return e.Affine((x,), REAL, (m,), weight, bias)


def leaky_relu(x: Operand, slopes: Sequence[Fraction]) -> Expr:
    (a,) = _numbers("leaky relu", x)
    if len(slopes) not in (1, a.size):
        raise TypeClash(f"{len(slopes)} slopes do not fit {a.size} components")
    return e.LeakyRelu((a,), REAL, a.shape, tuple(slopes))


def hard_sigmoid(x: Operand, alpha: Fraction = Fraction(1, 5), beta: Fraction = Fraction(1, 2)) -> Expr:
    return clip(add(mul(alpha, x), beta), 0, 1)


def soft_shrink(x: Operand, threshold: Fraction) -> Expr:
    """x moved towards zero by the threshold, zero in between."""
    return shrink(x, threshold, threshold)


def hard_shrink(x: Operand, threshold: Fraction) -> Expr:
    """x where |x| exceeds the threshold, else zero."""
    return shrink(x, threshold, Fraction(0))


def shrink(x: Operand, threshold: Fraction, bias: Fraction) -> Expr:
    """x + bias below -threshold, x - bias above threshold, zero in between; continuous if the two are equal."""
    if threshold == bias:
        return sub(relu(sub(x, threshold)), relu(sub(neg(x), threshold)))
    above = if_(compare(">", x, threshold), sub(x, bias), 0)
    return if_(compare("<", x, neg(threshold)), add(x, bias), above)


def argmax(x: Expr, labels: Sort | None = None, name: str = "argmax") -> Expr:
    """The index of a largest component, as an int or as the label of an enum; ties are a choice."""
    if not x.shape:
        raise TypeClash("argmax needs a vector")
    if labels is not None and len(labels.labels) != x.size:
        raise TypeClash(f"argmax over {x.size} scores cannot name one of {len(labels.labels)} labels")
    return e.Argmax((x,), labels or INT, (), Occurrence(name))


_ARITHMETIC = (add, sub, mul, div, quotient, remainder, power, neg, absolute)
e.CONSTRUCTORS.update(
    (constructor.__name__, constructor) for constructor in (*_ARITHMETIC, compare, conj, disj, negate, component)
)
