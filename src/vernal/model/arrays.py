"""Arrays of expressions, as functions of names are given for arrays of state variables; they work like numpy's.

    state={"p": vn.array(vn.real(-1, 1), 4), "i": vn.integer(0, 3)}
    step=lambda s: {"p": 0.5 * s.p + s.p[s.i], "i": (s.i + 1) % 4}

Operators work component by component, with numbers, expressions and arrays of the same length. An index is a number, a
slice or an integer expression whose declared ranges keep it inside the array.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeGuard, overload

from vernal.errors import TypeClash
from vernal.model import build
from vernal.model.expr import CONSTRUCTORS, Expr, Operand
from vernal.model.index_range import IndexRange, index_range
from vernal.model.sorts import INT

Operands = Operand | Sequence[Operand]
NO_RANGES: Mapping[str, IndexRange] = {}


class ExprArray(Sequence[Expr]):
    """A fixed number of expressions."""

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **settings: Any) -> Any:
        return CONSTRUCTORS["numpy ufunc"](ufunc, method, given, settings)

    def __array_function__(self, function: Any, types: Any, given: Any, settings: Any) -> Any:
        return CONSTRUCTORS["numpy function"](function, given, settings)

    def __init__(self, parts: Iterable[Operand], ranges: Mapping[str, IndexRange] = NO_RANGES) -> None:
        self.parts = tuple(map(build.const, parts))
        self._ranges = ranges  # of the numbers that an index may be made of

    def __repr__(self) -> str:
        return f"<ExprArray of {len(self.parts)}>"

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Expr]:
        return iter(self.parts)

    @overload
    def __getitem__(self, index: int | Expr) -> Expr: ...

    @overload
    def __getitem__(self, index: slice) -> ExprArray: ...

    def __getitem__(self, index: int | slice | Expr) -> Expr | ExprArray:
        if isinstance(index, Expr):
            return component(self.parts, index, self._ranges)
        if isinstance(index, slice):
            return ExprArray(self.parts[index], self._ranges)
        position = operator.index(index)
        if not -len(self) <= position < len(self):
            raise TypeClash(f"there is no component {position}; the array has components 0 to {len(self) - 1}")
        return self.parts[position]

    # Folds ------------------------------------------------------------------------------------------------------------

    def sum(self) -> Expr:
        """The sum of the components."""
        return build.add(*self.parts)

    def min(self) -> Expr:
        """The least component."""
        return build.minimum(*self.parts)

    def max(self) -> Expr:
        """The largest component."""
        return build.maximum(*self.parts)

    def all(self) -> Expr:
        """Whether every component is true."""
        return build.conj(*self.parts)

    def any(self) -> Expr:
        """Whether some component is true."""
        return build.disj(*self.parts)

    def count(self, value: object = True) -> Expr:  # type: ignore[override]  # of expressions, not of objects
        """How many components are true."""
        if value is not True:
            raise TypeClash("count() tells how many components are true; compare the array with a value first")
        return build.add(*(build.if_(part, 1, 0) for part in self.parts))

    def __matmul__(self, other: Sequence[Operand]) -> Expr:
        """The sum of the products with numbers or expressions, one for each component."""
        return (self * other).sum()

    def __rmatmul__(self, other: Sequence[Any]) -> Expr | ExprArray:
        """A matrix times the array, or a vector times it."""
        if any(map(is_listed, other)):
            return self._made((self * row).sum() for row in other)
        return (self * other).sum()

    # Component by component -------------------------------------------------------------------------------------------

    def _made(self, parts: Iterable[Operand]) -> ExprArray:
        return ExprArray(parts, self._ranges)

    def _each(self, function: Callable[..., Expr], other: object, *, swapped: bool = False) -> ExprArray:
        others = self._beside(other)
        pairs = zip(others, self.parts, strict=True) if swapped else zip(self.parts, others, strict=True)
        return self._made(function(*pair) for pair in pairs)

    def _beside(self, other: object) -> Sequence[Operand]:
        """The other operand of each component: its own, or the same for all."""
        if not is_listed(other):
            return [other] * len(self)  # type: ignore[list-item]  # `build` refuses what is no operand
        if len(other) != len(self):
            raise TypeClash(f"an array of {len(self)} and one of {len(other)} cannot be combined")
        return list(other)

    def __add__(self, other: Operands) -> ExprArray:
        return self._each(build.add, other)

    def __radd__(self, other: Operands) -> ExprArray:
        return self._each(build.add, other, swapped=True)

    def __sub__(self, other: Operands) -> ExprArray:
        return self._each(build.sub, other)

    def __rsub__(self, other: Operands) -> ExprArray:
        return self._each(build.sub, other, swapped=True)

    def __mul__(self, other: Operands) -> ExprArray:
        return self._each(build.mul, other)

    def __rmul__(self, other: Operands) -> ExprArray:
        return self._each(build.mul, other, swapped=True)

    def __truediv__(self, other: Operands) -> ExprArray:
        return self._each(build.div, other)

    def __rtruediv__(self, other: Operands) -> ExprArray:
        return self._each(build.div, other, swapped=True)

    def __floordiv__(self, other: Operands) -> ExprArray:
        return self._each(build.quotient, other)

    def __mod__(self, other: Operands) -> ExprArray:
        return self._each(build.remainder, other)

    def __pow__(self, other: Operands) -> ExprArray:
        return self._each(build.power, other)

    def __neg__(self) -> ExprArray:
        return self._made(map(build.neg, self.parts))

    def __abs__(self) -> ExprArray:
        return self._made(map(build.absolute, self.parts))

    def __invert__(self) -> ExprArray:
        return self._made(map(build.negate, self.parts))

    def __and__(self, other: Operands) -> ExprArray:
        return self._each(build.conj, other)

    def __rand__(self, other: Operands) -> ExprArray:
        return self._each(build.conj, other, swapped=True)

    def __or__(self, other: Operands) -> ExprArray:
        return self._each(build.disj, other)

    def __ror__(self, other: Operands) -> ExprArray:
        return self._each(build.disj, other, swapped=True)

    def __lt__(self, other: Operands) -> ExprArray:
        return self._each(lambda a, b: build.compare("<", a, b), other)

    def __le__(self, other: Operands) -> ExprArray:
        return self._each(lambda a, b: build.compare("<=", a, b), other)

    def __gt__(self, other: Operands) -> ExprArray:
        return self._each(lambda a, b: build.compare("<", b, a), other)

    def __ge__(self, other: Operands) -> ExprArray:
        return self._each(lambda a, b: build.compare("<=", b, a), other)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ExprArray):
            return self.parts == other.parts
        raise TypeError("== on arrays compares objects; write [vn.eq(a, b) for a, b in zip(...)]")

    def __hash__(self) -> int:
        return hash(self.parts)

    def __bool__(self) -> bool:
        raise TypeError("an array of expressions has no truth value; use .all() or .any()")


def is_listed(given: object) -> TypeGuard[Sequence[Any]]:
    """Whether something has one entry for each component, and is not the same for all of them."""
    axes = getattr(given, "ndim", None)  # of numpy's arrays, and of tensors
    return isinstance(given, Sequence) and not isinstance(given, str) if axes is None else axes > 0


def component(parts: Sequence[Expr], index: Expr, ranges: Mapping[str, IndexRange]) -> Expr:
    """The component of an array that an integer expression names; its declared ranges keep it inside."""
    last = len(parts) - 1
    if index.shape or index.sort != INT:
        raise TypeClash(f"the number of a component must be an integer, but this is of sort {index.sort}")
    lower, upper = index_range(index, ranges)
    if lower < 0 or upper > last:
        what = f"this index may be from {lower} to {upper}, but the array has components 0 to {last}"
        raise TypeClash(f"{what}; declare narrower ranges of its variables, or write clip(..., 0, {last})")
    return build.switch(index, [*map(Fraction, range(last)), None], parts)
