"""Real numbers whose comparisons can be decided: rationals where the value is rational, else balls that contain it.

A scalar may also be a truth value, `Undefined` (a division by zero, a logarithm of -1) or None: undecided, since balls
overlap at this precision. Undefined and undecided values travel on and matter only where they are used. Functions here
expect the caller to have set the working precision (`flint.ctx.workprec`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb, fmpq, fmpz

from vernal.interpret.numbers.calculus import CALCULUS
from vernal.interpret.numbers.number_size import MAX_BITS
from vernal.model.expr import Function


@dataclass(frozen=True, slots=True)
class Undefined:
    """There is no value, and why."""

    why: str


ExactNumber = fmpq | arb
ExactScalar = fmpq | arb | bool | Undefined | None

ZERO, ONE = fmpq(0), fmpq(1)
BEYOND_CAP = arb(2) ** MAX_BITS
SMALLEST_RATIONAL = Fraction(1, 1 << MAX_BITS)


def rational(value: Fraction | int) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def ends(ball: arb) -> tuple[Fraction, Fraction]:
    """The ball's end points; a ball of next to nothing is rounded outward to one that can be written down."""
    middle, radius = _dyadic(ball.mid()), _dyadic(ball.rad())
    if middle is None or radius is None:
        middle, radius = middle or Fraction(0), (radius or SMALLEST_RATIONAL) + SMALLEST_RATIONAL
    return middle - radius, middle + radius


def ball(lower: Fraction, upper: Fraction) -> arb:
    """A ball that contains the interval."""
    return arb(rational(lower)).union(arb(rational(upper)))


def _dyadic(value: arb) -> Fraction | None:
    """mantissa * 2 ^ exponent, or None where that is tiny beyond writing down."""
    mantissa, exponent = (int(part) for part in value.man_exp())
    if exponent >= 0:
        return Fraction(mantissa << exponent)
    return Fraction(mantissa, 1 << -exponent) if exponent >= -2 * MAX_BITS else None


def settle(value: ExactNumber) -> ExactNumber | None:
    """A rational within the cap on its bits, else a ball; of a size within it as well, or nothing is decided."""
    if isinstance(value, fmpq):
        return value if value.height_bits() <= MAX_BITS else arb(value)
    return value if value.is_finite() and value < BEYOND_CAP and value > -BEYOND_CAP else None


# Arithmetic -----------------------------------------------------------------------------------------------------------


def add(x: ExactNumber, y: ExactNumber) -> ExactScalar:
    return settle(x + y)


def neg(x: ExactNumber) -> ExactScalar:
    return -x


def mul(x: ExactNumber, y: ExactNumber) -> ExactScalar:
    """A rational zero annihilates a ball: the product is exactly zero."""
    if _is_zero(x) or _is_zero(y):
        return ZERO
    return settle(x * y)


def _is_zero(x: ExactNumber) -> bool:
    return isinstance(x, fmpq) and x == 0


def div(x: ExactNumber, y: ExactNumber) -> ExactScalar:
    match sign_of(y):
        case None:
            return None
        case 0:
            return Undefined("division by zero")
    return settle(x / y)


def power(x: ExactNumber, exponent: Fraction) -> ExactScalar:
    """Exact where the root is; 0 ^ 0 is 1."""
    if exponent < 0:
        below = power(x, -exponent)
        return div(ONE, below) if isinstance(below, fmpq | arb) else below
    if exponent.denominator == 1:
        return _integer_power(x, int(exponent))
    match sign_of(x):
        case None:
            return None
        case -1:
            return Undefined(f"a negative number to the power {exponent}")
        case 0:
            return ZERO
    if isinstance(x, fmpq):
        root = _exact_root(x, exponent.denominator)
        if root is not None:
            return _integer_power(root, exponent.numerator)
    return settle(arb(x) ** arb(rational(exponent)))


def _integer_power(x: ExactNumber, exponent: int) -> ExactScalar:
    if isinstance(x, fmpq) and x.height_bits() * exponent <= MAX_BITS:
        return x**exponent
    return settle(arb(x) ** exponent)


def _exact_root(x: fmpq, degree: int) -> fmpq | None:
    """The root of a positive rational, if it is rational."""
    parts: list[fmpz] = []
    for part in (x.p, x.q):
        root = part.root(degree)
        if root**degree != part:
            return None
        parts.append(root)
    return fmpq(*parts)


# Comparisons ----------------------------------------------------------------------------------------------------------


def sign_of(x: ExactNumber) -> int | None:
    """-1, 0 or 1, or None where the ball does not say."""
    if x > 0:
        return 1
    if x < 0:
        return -1
    return 0 if x == 0 else None


def less(x: ExactNumber, y: ExactNumber) -> bool | None:
    if x < y:
        return True
    return False if x >= y else None


def less_equal(x: ExactNumber, y: ExactNumber) -> bool | None:
    if x <= y:
        return True
    return False if x > y else None


def equal(x: ExactNumber, y: ExactNumber) -> bool | None:
    if x < y or x > y:
        return False
    return True if x == y else None  # for balls, == says that both are the same single point


# Piecewise and nonlinear functions ------------------------------------------------------------------------------------


def relu(x: ExactNumber) -> ExactScalar:
    return maximum(x, ZERO)


def leaky_relu(x: ExactNumber, slope: Fraction) -> ExactScalar:
    match sign_of(x):
        case 0 | 1:
            return x
        case -1:
            return mul(x, rational(slope))
    return settle(arb(x).union(arb(x) * rational(slope)))


def absolute(x: ExactNumber) -> ExactScalar:
    return maximum(x, -x) if sign_of(x) is not None else arb(x).max(-arb(x)).nonnegative_part()


def maximum(x: ExactNumber, y: ExactNumber) -> ExactScalar:
    match less_equal(x, y):
        case True:
            return y
        case False:
            return x
    return arb(x).max(arb(y))


def minimum(x: ExactNumber, y: ExactNumber) -> ExactScalar:
    match less_equal(x, y):
        case True:
            return x
        case False:
            return y
    return arb(x).min(arb(y))


def sign(x: ExactNumber) -> ExactScalar:
    found = sign_of(x)
    return None if found is None else fmpq(found)


def floor(x: ExactNumber) -> ExactScalar:
    if isinstance(x, fmpq):
        return fmpq(x.floor())
    whole = x.floor().unique_fmpz()
    return None if whole is None else fmpq(whole)


def apply(function: Function, x: ExactNumber) -> ExactScalar:
    """An elementary function."""
    if function is Function.SQRT:  # which is rational more often than the others
        return power(x, Fraction(1, 2))
    entry = CALCULUS[function]
    if entry.domain is not None:
        inside = (less_equal if entry.domain.closed else less)(fmpq(entry.domain.edge), x)
        if not inside:
            return None if inside is None else Undefined(entry.undefined)
    if entry.point is not None and isinstance(x, fmpq) and x == entry.point[0]:
        return rational(entry.point[1])
    return settle(entry.ball(arb(x)))


def atan2(y: ExactNumber, x: ExactNumber) -> ExactScalar:
    """The angle of (x, y); undecided where a ball may contain the origin, or points on both sides of the jump."""
    match sign_of(y), sign_of(x):
        case 0, 0:
            return Undefined("the angle of the origin")
        case 0, 1:
            return ZERO
        case ((0 | None), None):
            return None
        case None, (-1 | 0):
            return None
    return settle(arb.atan2(arb(y), arb(x)))
