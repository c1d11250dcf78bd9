"""Conjunctions of linear comparisons as SpaceEx writes them: `x + 2*y <= 3 & x' == -y + d_x`.

Numbers are exact rationals. Read are + - * /, parentheses, names (with a prime for rates), `<=`, `>=`, `==`, `=`,
chains of them, `&` and `&&`, and `true`; anything else is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

from vernal.errors import FormatError

TOKEN = re.compile(
    r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*'?)|(<=|>=|==|:=|&&|[-+*/()&=<>|!,]))"
)
MAX_NESTING = 50
MAX_TOKENS = 200_000  # of one condition
MAX_DIGITS = 1200  # of a number; that of a float has up to 767
MAX_EXPONENT = 400
MAX_BITS = 20_000  # of a number that is computed
EQUALS = ("==", "=")
RELATIONS = ("<=", ">=", *EQUALS)


@dataclass(slots=True)
class LinearTerm:
    """A linear function of names; none of the coefficients is zero."""

    constant: Fraction = Fraction(0)
    coefficients: dict[str, Fraction] = field(default_factory=dict)

    def add(self, other: LinearTerm, factor: Fraction) -> LinearTerm:
        """Add a multiple of another term to this one, which is returned."""
        self.constant = _bounded(self.constant + factor * other.constant)
        for name, a in other.coefficients.items():
            total = _bounded(self.coefficients.get(name, Fraction(0)) + factor * a)
            if total:
                self.coefficients[name] = total
            else:
                self.coefficients.pop(name, None)
        return self

    def times(self, factor: Fraction) -> LinearTerm:
        """A multiple, as another term."""
        return LinearTerm().add(self, factor)


@dataclass(frozen=True, slots=True)
class LinearComparison:
    """`term <= 0`, or `term == 0`."""

    term: LinearTerm
    equation: bool


def parse_comparisons(text: str) -> list[LinearComparison]:
    """All comparisons of a conjunction; an empty text, like `true`, has none."""
    tokens = list(islice(_tokens(text), MAX_TOKENS + 1))
    if len(tokens) > MAX_TOKENS:
        raise FormatError(f"a condition of more than {MAX_TOKENS} words")
    return _Reader(tokens).conjunction() if tokens else []


def _tokens(text: str) -> Iterator[str]:
    position, end = 0, len(text.rstrip())
    while position < end:
        found = TOKEN.match(text, position)
        if found is None:
            raise FormatError(f"unexpected {text[position : position + 20].strip()!r}")
        yield found[0].strip()
        position = found.end()


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise FormatError(f"a number of more than {MAX_BITS} bits")
    return value


def _number(text: str) -> Fraction:
    _, _, exponent = text.lower().partition("e")
    if len(text) > MAX_DIGITS or (exponent and (len(exponent) > 5 or abs(int(exponent)) > MAX_EXPONENT)):
        raise FormatError(f"the number {text[:20]}... is longer than any float")
    return Fraction(text)


class _Reader:
    """Descends through the tokens; parentheses are the only nesting, and limited."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.position, self.depth = tokens, 0, 0

    @property
    def next(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self) -> str:
        token = self.next
        self.position += 1
        return token

    def conjunction(self) -> list[LinearComparison]:
        made = self.chain()
        while self.next in ("&", "&&"):
            self.take()
            made += self.chain()
        if self.next:
            raise FormatError(f"unexpected {self.next!r}; what is read are linear comparisons joined by &")
        return made

    def chain(self) -> list[LinearComparison]:
        """`a <= b <= c`, or `true`."""
        if self.next == "true":
            self.take()
            return []
        left, made = self.sum(), []
        while self.next in RELATIONS:
            relation, right = self.take(), self.sum()
            high, low = (right, left) if relation == ">=" else (left, right)
            made.append(LinearComparison(high.times(Fraction(1)).add(low, Fraction(-1)), relation in EQUALS))
            left = right
        if not made or self.next in ("<", ">"):
            what = (
                "strict comparisons are not read, write <= or >="
                if self.next in ("<", ">")
                else "expected <=, >= or =="
            )
            raise FormatError(f"{what}, at {self.next!r}")
        return made

    def sum(self) -> LinearTerm:
        made = self.product()
        while self.next in ("+", "-"):
            sign = Fraction(1 if self.take() == "+" else -1)
            made = made.add(self.product(), sign)
        return made

    def product(self) -> LinearTerm:
        made = self.factor()
        while self.next in ("*", "/"):
            operator, right = self.take(), self.factor()
            made = _quotient(made, right) if operator == "/" else _product(made, right)
        return made

    def factor(self) -> LinearTerm:
        sign = Fraction(1)
        while self.next in ("+", "-"):
            sign = -sign if self.take() == "-" else sign
        made = self.atom()
        return made if sign > 0 else made.times(sign)

    def atom(self) -> LinearTerm:
        token = self.take()
        if token == "(":
            return self._nested(self.sum)
        if token[:1].isdigit() or token[:1] == ".":
            return LinearTerm(_number(token))
        if token[:1].isalpha() or token[:1] == "_":
            return LinearTerm(Fraction(0), {token: Fraction(1)})
        raise FormatError(f"unexpected {token!r}" if token else "unexpected end")

    def _nested(self, read: Callable[[], LinearTerm]) -> LinearTerm:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise FormatError(f"more than {MAX_NESTING} parentheses in each other")
        made = read()
        if self.take() != ")":
            raise FormatError("a parenthesis is not closed")
        self.depth -= 1
        return made


def _product(left: LinearTerm, right: LinearTerm) -> LinearTerm:
    if left.coefficients and right.coefficients:
        raise FormatError("a product of two variables is not linear")
    term, factor = (left, right.constant) if left.coefficients else (right, left.constant)
    return term.times(factor)


def _quotient(left: LinearTerm, right: LinearTerm) -> LinearTerm:
    if right.coefficients or not right.constant:
        raise FormatError("only division by numbers other than zero is linear")
    return left.times(1 / right.constant)
