"""Functions of arrays, written down as they run: what a card computes in one kernel instead of one for each operation.

A function of a `Backend` and arrays is called once with a `Tracing` backend and `Traced` arrays, and every operation on
these becomes a line of a `Recipe` (`kernel_code` writes it as source). So there is one text of each bound, in Python; a
kernel is made of it and cannot say anything else. What is traced works component by component and may sum along the
last axis; it must not ask about values (`if mask.any()`), since there are none: `Tracing.some` says yes, to take the
general way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, cast

import numpy as np

from vernal.interpret.numbers.rounding import Array, Backend

REAL, TRUTH, INTEGER = "double", "bool", "long long"

# A function of a backend and arrays, whose results are arrays; what else it depends on comes between the two.
Fusible = Callable[..., tuple[Array, ...]]


class Where(IntEnum):
    """When the value of a line is known: always, for a whole row, for each component, or after the sums of a row."""

    CONSTANT = 0
    ROW = 1
    COMPONENT = 2
    SUMMED = 3


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One operation: its name, the numbers of the lines it takes, the kind of its value, and where that is known."""

    operation: str
    args: tuple[Any, ...]
    kind: str
    where: Where
    inputs: frozenset[int]  # which inputs of the function it depends on


@dataclass
class Recipe:
    """The lines of a traced function, inputs first, and the numbers of its results."""

    rows: tuple[bool, ...]  # for each input, whether it has one value for a whole row
    lines: list[Line] = field(default_factory=list)
    results: tuple[int, ...] = ()
    _known: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def add(self, operation: str, args: tuple[Any, ...], kind: str, where: Where, inputs: frozenset[int]) -> int:
        """The number of a line; one that is there already is not written again."""
        key = (operation, args, kind)
        if key not in self._known:
            self._known[key] = len(self.lines)
            self.lines.append(Line(operation, args, kind, where, inputs))
        return self._known[key]


class Traced:
    """An array of which only the way it is computed is known."""

    __slots__ = ("number", "recipe")

    def __init__(self, recipe: Recipe, number: int) -> None:
        self.recipe, self.number = recipe, number

    @property
    def line(self) -> Line:
        return self.recipe.lines[self.number]

    def __bool__(self) -> bool:
        raise TypeError("a traced function may not depend on the values of its arrays")

    def apply(self, operation: str, *others: Any, kind: str | None = None) -> Traced:
        """An operation on this array and others."""
        return operate(self.recipe, operation, (self, *others), kind)

    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Traced:
        return self.apply("+", other)

    def __radd__(self, other: Any) -> Traced:
        return operate(self.recipe, "+", (other, self))

    def __sub__(self, other: Any) -> Traced:
        return self.apply("-", other)

    def __rsub__(self, other: Any) -> Traced:
        return operate(self.recipe, "-", (other, self))

    def __mul__(self, other: Any) -> Traced:
        return self.apply("*", other)

    def __rmul__(self, other: Any) -> Traced:
        return operate(self.recipe, "*", (other, self))

    def __truediv__(self, other: Any) -> Traced:
        return self.apply("/", other, kind=REAL)

    def __rtruediv__(self, other: Any) -> Traced:
        return operate(self.recipe, "/", (other, self), REAL)

    def __pow__(self, exponent: int) -> Traced:
        result: Any = 1.0
        for _ in range(abs(exponent)):
            result = self * result
        return cast(Traced, result if exponent >= 0 else 1.0 / result)

    def __neg__(self) -> Traced:
        return self.apply("negate")

    def __abs__(self) -> Traced:
        return self.apply("fabs")

    def __lt__(self, other: Any) -> Traced:
        return self.apply("<", other, kind=TRUTH)

    def __le__(self, other: Any) -> Traced:
        return self.apply("<=", other, kind=TRUTH)

    def __gt__(self, other: Any) -> Traced:
        return self.apply(">", other, kind=TRUTH)

    def __ge__(self, other: Any) -> Traced:
        return self.apply(">=", other, kind=TRUTH)

    def __eq__(self, other: object) -> Any:
        return self.apply("==", other, kind=TRUTH)

    def __ne__(self, other: object) -> Any:
        return self.apply("!=", other, kind=TRUTH)

    def __and__(self, other: Any) -> Traced:
        return self.apply("&", other)

    def __or__(self, other: Any) -> Traced:
        return self.apply("|", other)

    def __invert__(self) -> Traced:
        return self.apply("!", kind=TRUTH)

    def __lshift__(self, places: int) -> Traced:
        return self.apply("<<", places)

    def __rshift__(self, places: int) -> Traced:
        return self.apply(">>", places)

    def view(self, kind: str) -> Traced:
        """The same bits as another kind of number."""
        return self.apply("bits", kind=kind)

    def to(self, kind: str) -> Traced:
        """The same number, of another kind."""
        return self.apply("convert", kind=kind)

    def clamp(self, min: float | None = None, max: float | None = None) -> Traced:
        """Between two numbers; a nan stays one."""
        value = self
        if min is not None:
            value = operate(self.recipe, "where", (value < min, min, value))
        if max is not None:
            value = operate(self.recipe, "where", (value > max, max, value))
        return value

    def sum(self, axis: int) -> Traced:
        """The sum along the last axis, in any order."""
        assert axis == -1
        line = self.line
        if line.where is not Where.COMPONENT:
            raise TypeError("only what differs from component to component is summed in a traced function")
        number = self.recipe.add("sum", (self.number,), REAL, Where.SUMMED, line.inputs)
        return Traced(self.recipe, number)


def operate(recipe: Recipe, operation: str, args: Sequence[Any], kind: str | None = None) -> Traced:
    """A new line; plain numbers among its arguments are lines of their own."""
    numbers = tuple(arg.number if isinstance(arg, Traced) else _constant(recipe, arg) for arg in args)
    lines = [recipe.lines[number] for number in numbers]
    inputs = frozenset().union(*(line.inputs for line in lines))
    where = max(line.where for line in lines)
    if where is Where.SUMMED and any(line.where is Where.COMPONENT for line in lines):
        raise TypeError("what is known after the sums of a row cannot be used component by component")
    return Traced(recipe, recipe.add(operation, numbers, kind or _common([line.kind for line in lines]), where, inputs))


def _constant(recipe: Recipe, value: Any) -> int:
    if isinstance(value, bool | np.bool_):
        return recipe.add("constant", (bool(value),), TRUTH, Where.CONSTANT, frozenset())
    if isinstance(value, int | np.integer):
        return recipe.add("constant", (int(value),), INTEGER, Where.CONSTANT, frozenset())
    return recipe.add("constant", (float(value).hex(),), REAL, Where.CONSTANT, frozenset())


def _common(kinds: Sequence[str]) -> str:
    return REAL if REAL in kinds else INTEGER if INTEGER in kinds else TRUTH


class Functions:
    """The functions of a namespace that traced code may call."""

    int64, float64 = INTEGER, REAL

    def __getattr__(self, name: str) -> Callable[..., Traced]:
        if name not in NAMESPACE:
            raise TypeError(f"{name} cannot be traced")
        operation, kind = NAMESPACE[name]
        return lambda *args: operate(_recipe(args), operation, args, kind)

    def zeros_like(self, x: Traced) -> Traced:
        return Traced(x.recipe, _constant(x.recipe, 0.0))

    def ones_like(self, x: Traced) -> Traced:
        return Traced(x.recipe, _constant(x.recipe, 1.0))

    def broadcast_to(self, x: Traced, shape: Sequence[int]) -> Traced:
        return x


NAMESPACE: dict[str, tuple[str, str | None]] = {
    "maximum": ("maximum", None),
    "minimum": ("minimum", None),
    "nextafter": ("nextafter", REAL),
    "isfinite": ("isfinite", TRUTH),
    "isnan": ("isnan", TRUTH),
    "round": ("rint", REAL),
    **{name: (name, REAL) for name in ("floor", "ceil", "sqrt", "sin", "cos", "tan", "tanh", "exp", "erf")},
    "arctan": ("atan", REAL),
}


def _recipe(args: Sequence[Any]) -> Recipe:
    return next(arg.recipe for arg in args if isinstance(arg, Traced))


class Tracing(Backend):
    """A backend whose arrays are `Traced`."""

    traces = True

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        functions: Any = Functions()
        self.native, self.on_host, self.xp = False, False, functions
        self.recipe = recipe

    def array(self, values: Any) -> Array:
        """A single number; other arrays have to be inputs."""
        number = np.asarray(values)
        if number.size != 1:
            raise TypeError("an array that is no input cannot be traced")
        return cast(Array, Traced(self.recipe, _constant(self.recipe, number.item())))

    def some(self, mask: Array) -> bool:
        """Nothing is known of values, so the general way is taken."""
        return True

    def where(self, mask: Array, x: Array | float, y: Array | float) -> Array:
        """x where the mask is true, else y."""
        return cast(Array, operate(self.recipe, "where", (mask, x, y), _common([_kind(x), _kind(y)])))

    def short(self, x: Array) -> Array:
        """Whether a number has at most 24 significant bits."""
        return cast(Array, operate(self.recipe, "short", (x,), TRUTH))

    def fused(self, function: Fusible, static: tuple[Any, ...], *arrays: Array) -> tuple[Array, ...]:
        """A part of the whole that is being traced."""
        return function(self, *static, *arrays)


def _kind(value: Any) -> str:
    if isinstance(value, Traced):
        return value.line.kind
    return TRUTH if isinstance(value, bool) else INTEGER if isinstance(value, int) else REAL


def trace(function: Fusible, static: tuple[Any, ...], kinds: Sequence[str], rows: Sequence[bool]) -> Recipe:
    """The recipe of a function of arrays of these kinds; `rows` says which have one value for a whole row."""
    recipe = Recipe(tuple(rows))
    arrays = []
    for index, (kind, row) in enumerate(zip(kinds, rows, strict=True)):
        where = Where.ROW if row else Where.COMPONENT
        arrays.append(Traced(recipe, recipe.add("input", (index,), kind, where, frozenset([index]))))
    results = function(Tracing(recipe), *static, *arrays)
    made = [found if isinstance(found, Traced) else Traced(recipe, _constant(recipe, found)) for found in results]
    recipe.results = tuple(found.number for found in made)
    return recipe
