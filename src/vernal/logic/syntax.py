"""Syntax trees: what was written, before names are resolved.

The parser turns text into these nodes; the elaborator gives them types and turns them into expressions and formulas.
A node knows its span (offsets into the text), so that every later error can point at its cause. Long sums,
products, conjunctions and runs of signs are single nodes, and the parser bounds `depth`, so that walking a tree never
exhausts the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

from vernal.errors import Place

TextSpan: TypeAlias = tuple[int, int]


def place_in(text: str, offset: int, file: str | None = None) -> Place:
    """Where in a text an offset lies."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : end if end >= 0 else len(text)].rstrip("\r")
    return Place(file, text.count("\n", 0, offset) + 1, offset - start + 1, line)


@dataclass(frozen=True, slots=True)
class Source:
    """A text and where it stands: alone, or inside a file whose quotes and escapes `locate` sees through."""

    text: str
    file: str | None = None
    locate: Callable[[int], Place] | None = field(default=None, compare=False, repr=False)

    def place(self, start: int = 0, end: int | None = None) -> Place:
        """The place of `text[start:end]`, as wide as its first line."""
        first = self._point(start)
        last = self._point(max(start, (start if end is None else end) - 1))
        stop = last.column if last.line == first.line else len(first.text)
        return Place(first.file, first.line, first.column, first.text, max(1, stop - first.column + 1))

    def _point(self, offset: int) -> Place:
        return self.locate(offset) if self.locate else place_in(self.text, offset, self.file)


@dataclass(frozen=True, slots=True)
class Syntax:
    """A piece of text that was understood; two pieces are equal if they say the same, wherever they stand."""

    span: TextSpan = field(default=(0, 0), compare=False, repr=False, kw_only=True)
    depth: int = field(default=1, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Numeral(Syntax):
    """`1.5`: the decimal as written, an exact rational."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Identifier(Syntax):
    """`x`, `COC`, `pi` or `true`: whatever it will turn out to name."""

    text: str


@dataclass(frozen=True, slots=True)
class FunctionCall(Syntax):
    """`f(a, b)`: also `if`, `choose` and `between`."""

    function: str
    args: tuple[Syntax, ...]


@dataclass(frozen=True, slots=True)
class WrittenOption(Syntax):
    """`value when condition`, an option of `choose`."""

    value: Syntax
    condition: Syntax


@dataclass(frozen=True, slots=True)
class Subscript(Syntax):
    """`base[index]`."""

    base: Syntax
    index: Syntax


@dataclass(frozen=True, slots=True)
class ForEach(Syntax):
    """`body for index in lower..upper`: the body once for each integer from lower to upper."""

    body: Syntax
    index: str
    lower: Syntax
    upper: Syntax


@dataclass(frozen=True, slots=True)
class FoldedCall(Syntax):
    """`all(body for i in 0..8)`: a function of as many operands."""

    function: str
    operands: ForEach


@dataclass(frozen=True, slots=True)
class WrittenArray(Syntax):
    """`[body for i in 0..8]`: all components of an array."""

    components: ForEach


@dataclass(frozen=True, slots=True)
class MatchCase(Syntax):
    """`label: value`, a line of a match; the label is a name (`true` and `_` too) or a number."""

    label: str | Fraction
    value: Syntax


@dataclass(frozen=True, slots=True)
class Match(Syntax):
    """`match(subject, label: value, ...)`."""

    subject: Syntax
    cases: tuple[MatchCase, ...]


@dataclass(frozen=True, slots=True)
class Unary(Syntax):
    """A run of `count` equal signs before an operand: `-x`, `!p`, `!!p`."""

    op: Literal["-", "!"]
    arg: Syntax
    count: int = 1


@dataclass(frozen=True, slots=True)
class Binary(Syntax):
    """`left -> right` or `left ^ right`; a chain of these nests to the right."""

    op: Literal["->", "^"]
    left: Syntax
    right: Syntax


@dataclass(frozen=True, slots=True)
class Nary(Syntax):
    """Operands joined by one and the same operator, to be read from the left: `p & q & r`."""

    op: Literal["&", "|", "<->"]
    args: tuple[Syntax, ...]


@dataclass(frozen=True, slots=True)
class Arithmetic(Syntax):
    """A sum `a + b - c` or a product `a * b / c // d % e`, from the left; an operator between any two neighbours."""

    operators: tuple[Literal["+", "-", "*", "/", "//", "%"], ...]
    operands: tuple[Syntax, ...]


@dataclass(frozen=True, slots=True)
class ComparisonChain(Syntax):
    """`0 <= x < 5`: any two neighbours stand in the relation between them."""

    operators: tuple[Literal["==", "!=", "<", "<=", ">", ">="], ...]
    operands: tuple[Syntax, ...]


@dataclass(frozen=True, slots=True)
class WrittenBound(Syntax):
    """`[lower, upper]` behind a temporal operator; no upper means for ever, `X[k]` has k twice."""

    lower: Syntax
    upper: Syntax | None


@dataclass(frozen=True, slots=True)
class TemporalOperation(Syntax):
    """X, F or G on one operand; U, R, W or M on two; each also with a path quantifier: `AG`, `EF`, `AU`, `EW`."""

    op: str
    args: tuple[Syntax, ...]
    bound: WrittenBound | None = None


@dataclass(frozen=True, slots=True)
class WrittenRange(Syntax):
    """`[lower, upper]`, an initial interval or the range of a number."""

    lower: Syntax
    upper: Syntax


@dataclass(frozen=True, slots=True)
class Members(Syntax):
    """`{a, b}`, an initial set or the labels of an enum."""

    items: tuple[Syntax, ...]


@dataclass(frozen=True, slots=True)
class WrittenSize(Syntax):
    """`[9]` behind the name of a sort: how many components an array has."""

    count: Syntax


@dataclass(frozen=True, slots=True)
class WrittenSort(Syntax):
    """`real [-1, 1]`, `bool` or `enum {RED, GREEN}`: what a variable ranges over; `bool[9]` is an array of them."""

    name: str
    domain: WrittenRange | Members | None = None
    size: WrittenSize | None = None
