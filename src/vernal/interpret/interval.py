"""Interval arithmetic over whole graphs and thousands of boxes: rigorous, instant, and blind to correlations.

`evaluate` gives for every root a set that contains each value the expression can have when its inputs come from the
given sets and its draws are free. Bounds are rounded outward; a value that may be undefined may be anything. Branches
that no box can take are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce

import numpy as np

from vernal.errors import TypeClash
from vernal.interpret.choice import merge, possibilities
from vernal.interpret.layers import Layer, layer
from vernal.interpret.numbers import enclosures
from vernal.interpret.numbers.rounding import (
    PI,
    TINY,
    Array,
    Backend,
    all_along,
    any_along,
    float_above,
    float_below,
    gamma,
)
from vernal.interpret.value_sets import (
    Finite,
    Range,
    Truth,
    Value,
    as_range,
    first_array,
    flat,
    indices,
    integral,
    point,
    shaped,
    whole,
)
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.sorts import Kind

Rounded = Callable[[Array, Array], tuple[Array, Array]]  # an operation as floats below and above
SMALL_ARRAY = 256  # components of an array that is small
LONG_SUM = 16  # sums of more terms are bounded as one dot product


def evaluate(roots: Sequence[Expr], inputs: Mapping[Expr, Value]) -> list[Value]:
    """Sets that contain the roots' values, for inputs (variables, or any other nodes) from the given sets."""
    backend = Backend(next((first_array(value) for value in inputs.values()), None))
    done = {node: flat(backend, value, node) for node, value in inputs.items()}
    batch = max((first_array(value).shape[0] for value in done.values()), default=1)

    def compute(node: Expr) -> None:
        done[node] = apply(backend, node, [done.get(arg) for arg in node.args])

    with np.errstate(all="ignore"):
        demand(roots, done, compute)
    return [shaped(backend, done[root], root, batch) for root in roots]


def demand(
    roots: Iterable[Expr],
    done: Mapping[Expr, Value],
    compute: Callable[[Expr], None],
    needs: Callable[[Expr, Mapping[Expr, Value]], Sequence[Expr]] | None = None,
) -> None:
    """Compute what the roots need, arguments first, and of a branching only the branches some box can take."""
    wanted = needs or required
    stack = list(roots)[::-1]
    while stack:
        node = stack[-1]
        missing = [] if node in done else [arg for arg in wanted(node, done) if arg not in done]
        if missing:
            stack.extend(reversed(missing))
            continue
        stack.pop()
        if node not in done:
            compute(node)


def required(node: Expr, done: Mapping[Expr, Value]) -> Sequence[Expr]:
    """The arguments a node cannot do without: all of them, or the deciding one and the possible branches."""
    if isinstance(node, e.Choose):
        return node.options
    if not isinstance(node, e.If | e.Switch):
        return node.args
    if node.args[0] not in done:
        return node.args[:1]
    possible = possibilities(node, done[node.args[0]])
    return [arg for arg, mask in zip(node.args[1:], possible, strict=True) if bool(mask.any())]


def apply(backend: Backend, node: Expr, args: Sequence[Value | None]) -> Value:
    """One operator on sets; the argument of a branch that no box takes may be missing."""
    handler = HANDLERS.get(type(node))
    if handler is None:
        what = f"variable {node.name!r}" if isinstance(node, e.Var) else type(node).__name__
        raise TypeClash(f"no bounds are given for the {what}")
    value = handler(backend, node, args)
    size = node.size
    if size > 1 and first_array(value).shape[1] == 1:
        value = repeated(backend, value, size)
    if node.sort.kind is Kind.INT and isinstance(value, Range):
        return integral(backend, value)
    return value


def repeated(backend: Backend, value: Value, size: int) -> Value:
    """A scalar in the place of a vector: the same for each component."""

    def every(array: Array) -> Array:
        return backend.xp.broadcast_to(array, (array.shape[0], size, *array.shape[2:]))

    match value:
        case Range(lower, upper):
            return Range(every(lower), every(upper))
        case Truth(must, may):
            return Truth(every(must), every(may))
    return Finite(every(value.mask), value.values)


# Arithmetic -----------------------------------------------------------------------------------------------------------


def add(backend: Backend, x: Range, y: Range) -> Range:
    """x + y"""
    return Range(*backend.fused(_sum, (), x.lower, x.upper, y.lower, y.upper))


def _sum(backend: Backend, a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    lower, _ = backend.sums(a, c)
    _, upper = backend.sums(b, d)
    return backend.known(lower, upper)


def negate(x: Range) -> Range:
    """-x"""
    return Range(-x.upper, -x.lower)


def multiply(backend: Backend, x: Range, y: Range) -> Range:
    """x * y, from the four corners."""
    return Range(*backend.fused(_product, (), x.lower, x.upper, y.lower, y.upper))


def _product(backend: Backend, a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    return _ends(_at_corners(backend, backend.products, Range(a, b), Range(c, d)))


def divide(backend: Backend, x: Range, y: Range) -> Range:
    """x / y; anything where y may be 0."""
    return Range(*backend.fused(_quotient, (), x.lower, x.upper, y.lower, y.upper))


def _quotient(backend: Backend, a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    found = _at_corners(backend, backend.quotients, Range(a, b), Range(c, d))
    return _ends(whole(backend, found, (c <= 0) & (d >= 0)))


def _at_corners(backend: Backend, rounded: Rounded, x: Range, y: Range) -> Range:
    """The hull of an operation on the ends of both; of small arrays in one go, since there each operation costs."""
    a, b = _corners(x), _corners(y)
    if backend.native and len(a) == len(b) == 2 and _stacks(a) and _stacks(b) and a[0].ndim == b[0].ndim:
        low, high = rounded(np.array(a)[:, None], np.array(b)[None])
        return Range(*backend.known(low.min((0, 1)), high.max((0, 1))))  # a nan stays a nan until then
    return _hull(backend, [rounded(p, q) for p in a for q in b])


def _corners(x: Range) -> tuple[Array, ...]:
    """Both ends, or the one point where they are one array."""
    return (x.lower,) if x.lower is x.upper else (x.lower, x.upper)


def _stacks(ends: Sequence[Array]) -> bool:
    low, high = ends
    return bool(low.shape == high.shape and low.size <= SMALL_ARRAY)


def _hull(backend: Backend, corners: Sequence[tuple[Array, Array]]) -> Range:
    lower = reduce(backend.xp.minimum, [low for low, _ in corners])  # a nan stays a nan
    return Range(*backend.known(lower, reduce(backend.xp.maximum, [high for _, high in corners])))


def total(backend: Backend, terms: Sequence[Range]) -> Range:
    """The sum of many."""
    if len(terms) <= LONG_SUM:
        return reduce(lambda x, y: add(backend, x, y), terms)
    shape = np.broadcast_shapes(*(tuple(term.lower.shape) for term in terms))
    ends = [[backend.xp.broadcast_to(end, shape) for end in ends] for ends in zip(*map(_ends, terms), strict=True)]
    lower, upper = (backend.xp.stack(end) for end in ends)
    slack = gamma(len(terms) + 2)
    low = backend.down(lower.sum(0) - slack * abs(lower).sum(0) - TINY)
    return Range(*backend.known(low, backend.up(upper.sum(0) + slack * abs(upper).sum(0) + TINY)))


def _ends(x: Range) -> tuple[Array, Array]:
    return x.lower, x.upper


def absolute(backend: Backend, x: Range) -> Range:
    """|x|"""
    nearest = backend.xp.maximum(backend.positive(x.lower), backend.positive(-x.upper))
    return Range(nearest, backend.magnitude(x.lower, x.upper))


def power(backend: Backend, x: Range, exponent: Fraction) -> Range:
    """x ^ exponent: by repeated squaring for integers, through logarithms of balls else."""
    if exponent.denominator != 1:
        return elementary(backend, x, exponent)
    return Range(*backend.fused(_integer_power, (exponent,), x.lower, x.upper))


def _integer_power(backend: Backend, exponent: Fraction, lower: Array, upper: Array) -> tuple[Array, Array]:
    x = Range(lower, upper)
    n = abs(int(exponent))
    size = absolute(backend, x)
    low, high = _powers(backend, size.lower, n)[0], _powers(backend, size.upper, n)[1]
    if n % 2:
        below, above = _powers(backend, abs(x.lower), n), _powers(backend, abs(x.upper), n)
        low = backend.where(x.lower < 0, -below[1], below[0])
        high = backend.where(x.upper < 0, -above[0], above[1])
    result = Range(*backend.known(low, high))
    one = backend.xp.ones_like(low)
    return _ends(result if exponent >= 0 else divide(backend, Range(one, one), result))


def _powers(backend: Backend, base: Array, n: int) -> tuple[Array, Array]:
    """Floats below and above base ^ n for a base that is not negative."""
    low = high = backend.xp.ones_like(base)
    square_low = square_high = base
    while n:
        if n & 1:
            low, high = backend.products(low, square_low)[0], backend.products(high, square_high)[1]
        n >>= 1
        if n:
            square_low = backend.products(square_low, square_low)[0]
            square_high = backend.products(square_high, square_high)[1]
    return backend.positive(low), high


def elementary(backend: Backend, x: Range, name: enclosures.Elementary) -> Range:
    """An elementary function or a fractional power."""
    if backend.fuser is not None and enclosures.is_covered(name, x.lower, x.upper):
        return Range(*backend.fused(enclosures.ranges, (name,), x.lower, x.upper))
    return Range(*enclosures.ranges(backend, name, x.lower, x.upper))


def angle(backend: Backend, y: Range, x: Range) -> Range:
    """atan2(y, x)"""
    return Range(*backend.fused(_angles, (), y.lower, y.upper, x.lower, x.upper))


def _angles(backend: Backend, a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    return enclosures.angles(backend, (a, b), (c, d))


def leaky(backend: Backend, x: Range, slopes: Sequence[Fraction]) -> Range:
    """x above 0, slope * x below: from the ends and, where 0 is inside, the kink."""
    low = backend.array(np.array([[float_below(slope) for slope in slopes]]))
    high = backend.array(np.array([[float_above(slope) for slope in slopes]]))
    ends = []
    for end in (x.lower, x.upper):
        scaled = multiply(backend, Range(end, end), Range(low, high))
        ends.append((backend.where(end >= 0, end, scaled.lower), backend.where(end >= 0, end, scaled.upper)))
    hull = _hull(backend, ends)
    kink = (x.lower < 0) & (x.upper > 0)
    lower = backend.where(kink & (hull.lower > 0), 0.0, hull.lower)
    return Range(lower, backend.where(kink & (hull.upper < 0), 0.0, hull.upper))


def affine(backend: Backend, x: Range, own: Layer) -> Range:
    """W x + b in centre and radius, the radius widened by what rounding may cost.

    With c for the centre and g = gamma(m + n + 8): the middle is off by at most gamma(n + 1) (|W| |c| + |b|), and each
    end by a unit of |W| |c| + |b| and of the reach besides. The reach has g (|W| |c| + |b|) for the first two, and the
    magnitude's factor, larger than 1 + 5 g, for its own rounding and that of the radius.
    """
    centre = 0.5 * x.lower + 0.5 * x.upper
    radius = backend.xp.maximum(x.upper - centre, centre - x.lower)
    middle = backend.product(centre, own.transposed) + own.bias
    reach = backend.product(radius + own.slack * abs(centre) + TINY, own.magnitude) + own.doubt
    reach = reach + (middle - middle)  # a nan where the middle overflowed: its parts may have met only to cancel
    return Range(*backend.known(middle - reach, middle + reach))


def gather(backend: Backend, array: Array, indices: Sequence[int]) -> Array:
    """Components by their indices; a run of neighbours is a view."""
    first, last = indices[0], indices[-1]
    if list(indices) == list(range(first, last + 1)):
        return array[:, first : last + 1]
    return array[:, backend.array(np.array(indices))]


def concat(backend: Backend, arrays: Sequence[Array]) -> Array:
    """Components one after the other; a batch of 1 is repeated."""
    batch = max(array.shape[0] for array in arrays)
    return backend.concat([_every_box(backend, array, batch) for array in arrays], 1)


def _every_box(backend: Backend, array: Array, batch: int) -> Array:
    return array if array.shape[0] == batch else backend.xp.broadcast_to(array, (batch, *array.shape[1:]))


# Truth ----------------------------------------------------------------------------------------------------------------


def compare(op: str, x: Range, y: Range) -> Truth:
    """x op y, three-valued."""
    if op == "<":
        return Truth(x.upper < y.lower, x.lower < y.upper)
    if op == "<=":
        return Truth(x.upper <= y.lower, x.lower <= y.upper)
    same = (x.lower == x.upper) & (y.lower == y.upper) & (x.lower == y.lower)
    equal = Truth(same & (abs(x.lower) < np.inf), (x.lower <= y.upper) & (y.lower <= x.upper))
    return equal if op == "==" else complement(equal)


def complement(p: Truth) -> Truth:
    """not p"""
    return Truth(~p.may, ~p.must)


def _compare(backend: Backend, node: Expr, args: Sequence[Value | None]) -> Value:
    assert isinstance(node, e.Compare)
    x, y = args
    if isinstance(x, Truth) and isinstance(y, Truth):
        equal = Truth((x.must & y.must) | ~(x.may | y.may), (x.may & y.may) | ~(x.must | y.must))
    elif isinstance(x, Finite) and isinstance(y, Finite) and x.values == y.values and node.op in ("==", "!="):
        both = any_along(x.mask & y.mask)
        single = (x.mask.sum(-1) == 1) & (y.mask.sum(-1) == 1)
        equal = Truth(both & single, both)
    elif isinstance(x, Finite):
        return _of_values(backend, x, lambda value: compare(node.op, value, _column(_number(backend, y))))
    elif isinstance(y, Finite):
        return _of_values(backend, y, lambda value: compare(node.op, _column(_number(backend, x)), value))
    else:
        return compare(node.op, _number(backend, x), _number(backend, y))
    return equal if node.op == "==" else complement(equal)


def _of_values(backend: Backend, subject: Finite, condition: Callable[[Range], Truth]) -> Truth:
    """A condition that must be true of every value that is possible, and may be of one: sharper than of their hull."""
    lower, upper = (np.array([end(value) for value in subject.values]) for end in (float_below, float_above))
    found = condition(Range(backend.array(lower), backend.array(upper)))
    return Truth(all_along(found.must | ~subject.mask), any_along(found.may & subject.mask))


def _column(x: Range) -> Range:
    """The same for each of several alternatives, which come last."""
    return Range(x.lower[..., None], x.upper[..., None])


def argmax(scores: Range, backend: Backend) -> Finite:
    """Every index whose score may be a largest one."""
    best = backend.xp.amax(scores.lower, -1)[:, None]
    count = scores.lower.shape[-1]
    return Finite((scores.upper >= best)[:, None, :], indices(count))


# The table of operators -----------------------------------------------------------------------------------------------

IntervalMeaning = Callable[[Backend, Expr, Sequence[Value | None]], Value]


def _number(backend: Backend, value: Value | None) -> Range:
    assert value is not None
    return as_range(backend, value)


def _truths(args: Sequence[Value | None]) -> list[Truth]:
    return [arg for arg in args if isinstance(arg, Truth)]


def _unary(function: Callable[[Backend, Expr, Range], Range]) -> IntervalMeaning:
    return lambda backend, node, args: function(backend, node, _number(backend, args[0]))


def _nary(function: Callable[[Backend, list[Range]], Range]) -> IntervalMeaning:
    return lambda backend, node, args: function(backend, [_number(backend, arg) for arg in args])


def _mul(backend: Backend, node: Expr, args: Sequence[Value | None]) -> Value:
    x, y = (_number(backend, arg) for arg in args)
    return power(backend, x, Fraction(2)) if node.args[0] is node.args[1] else multiply(backend, x, y)


def _gather(backend: Backend, node: Expr, args: Sequence[Value | None]) -> Value:
    assert isinstance(node, e.Gather)
    value = args[0]
    if isinstance(value, Truth):
        return Truth(gather(backend, value.must, node.indices), gather(backend, value.may, node.indices))
    if isinstance(value, Finite):
        return Finite(gather(backend, value.mask, node.indices), value.values)
    x = _number(backend, value)
    return Range(gather(backend, x.lower, node.indices), gather(backend, x.upper, node.indices))


def _concat(backend: Backend, terms: list[Range]) -> Range:
    return Range(concat(backend, [x.lower for x in terms]), concat(backend, [x.upper for x in terms]))


def _branch(backend: Backend, node: Expr, args: Sequence[Value | None]) -> Value:
    assert args[0] is not None
    return merge(backend, possibilities(node, args[0]), args[1:])


def _choose(backend: Backend, node: Expr, args: Sequence[Value | None]) -> Value:
    assert isinstance(node, e.Choose)
    always = backend.array(np.array([[True]]))
    count = len(node.options)
    return merge(backend, [always] * count, args[:count])


def _each(combine: str) -> Callable[[Backend, list[Range]], Range]:
    def extremum(backend: Backend, terms: list[Range]) -> Range:
        pick = getattr(backend.xp, combine)
        return Range(reduce(pick, [x.lower for x in terms]), reduce(pick, [x.upper for x in terms]))

    return extremum


def _affine(backend: Backend, node: Expr, x: Range) -> Range:
    assert isinstance(node, e.Affine)
    return affine(backend, x, layer(backend, node))


HANDLERS: dict[type[Expr], IntervalMeaning] = {
    e.Const: lambda backend, node, args: point(backend, node, node.values),  # type: ignore[attr-defined]
    e.Pi: lambda backend, node, args: Range(*(backend.array(np.array([[end]])) for end in PI)),
    e.Add: _nary(total),
    e.Neg: _unary(lambda backend, node, x: negate(x)),
    e.Mul: _mul,
    e.Div: _nary(lambda backend, terms: divide(backend, *terms)),
    e.Pow: _unary(lambda backend, node, x: power(backend, x, node.exponent)),  # type: ignore[attr-defined]
    e.Relu: _unary(lambda backend, node, x: Range(backend.positive(x.lower), backend.positive(x.upper))),
    e.LeakyRelu: _unary(lambda backend, node, x: leaky(backend, x, node.slopes)),  # type: ignore[attr-defined]
    e.Abs: _unary(lambda backend, node, x: absolute(backend, x)),
    e.Max: _nary(_each("maximum")),
    e.Min: _nary(_each("minimum")),
    e.Sign: _unary(lambda backend, node, x: Range(backend.xp.sign(x.lower), backend.xp.sign(x.upper))),
    e.Floor: _unary(lambda backend, node, x: Range(backend.xp.floor(x.lower), backend.xp.floor(x.upper))),
    e.Nonlinear: _unary(lambda backend, node, x: elementary(backend, x, node.function)),  # type: ignore[attr-defined]
    e.Atan2: _nary(lambda backend, terms: angle(backend, *terms)),
    e.Affine: _unary(_affine),
    e.Gather: _gather,
    e.Concat: _nary(_concat),
    e.Compare: _compare,
    e.Not: lambda backend, node, args: complement(_truths(args)[0]),
    e.And: lambda backend, node, args: reduce(lambda p, q: Truth(p.must & q.must, p.may & q.may), _truths(args)),
    e.Or: lambda backend, node, args: reduce(lambda p, q: Truth(p.must | q.must, p.may | q.may), _truths(args)),
    e.If: _branch,
    e.Switch: _branch,
    e.Argmax: lambda backend, node, args: argmax(_number(backend, args[0]), backend),
    e.Choose: _choose,
    e.Between: _nary(lambda backend, terms: Range(terms[0].lower, terms[1].upper)),
}
