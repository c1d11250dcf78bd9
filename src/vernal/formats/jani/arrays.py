"""Arrays of JANI models, written out: each element is a variable of its own, named `d[0]`, `d[1]` and so on.

An array has the length of its initial value, for ever. An element is named by a constant, or by an integer that the
ranges of variables, or the guard of the edge, keep inside the array: then it is a choice among all elements. So no
graph knows of arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from vernal.errors import TypeClash
from vernal.interpret.discrete.initial_states import has_state
from vernal.logic.scope import Repetition
from vernal.model import build
from vernal.model.build import TRUE
from vernal.model.components import MAX_COMPONENTS
from vernal.model.expr import Const, Expr, Var
from vernal.model.graph import variables
from vernal.model.initial import Start
from vernal.model.sorts import BOOL, INT, REAL, Sort, join
from vernal.reduce.operators import conjuncts

ValueOrArray = Expr | tuple["ValueOrArray", ...]
"""What an expression stands for: one value, or the elements of an array."""


@dataclass(frozen=True, slots=True)
class Surely:
    """The states in which something is read: values of variables, and conditions; and how much is written out."""

    starts: Mapping[Expr, Start] = field(default_factory=dict)
    condition: Expr = TRUE
    outer: Surely | None = None  # conditions that are true besides
    repetition: Repetition = field(default_factory=Repetition, compare=False)

    def under(self, condition: Expr) -> Surely:
        """Where a condition is true besides."""
        return replace(self, condition=condition, outer=self)

    def excludes(self, condition: Expr) -> bool:
        """Whether a condition is true in none of the states, as far as the discrete variables tell."""
        if not self._is_known(condition):
            return False
        known = [part for outer in self._conditions() for part in conjuncts(outer) if self._is_known(part)]
        return not has_state([*known, condition], self.starts)

    def _conditions(self) -> Iterator[Expr]:
        here: Surely | None = self
        while here is not None:
            yield here.condition
            here = here.outer

    def _is_known(self, condition: Expr) -> bool:
        return all(var in self.starts and var.sort != REAL and not var.shape for var in variables([condition]))


def one_value(value: ValueOrArray) -> Expr:
    """The value itself; an array is refused."""
    if isinstance(value, tuple):
        raise TypeClash(f"this is an array of {len(value)}, where one value is expected: name an element, with aa")
    return value


def negation(condition: Expr) -> Expr:
    """Of a condition; nothing of what is none, which is refused elsewhere."""
    return build.negate(condition) if condition.sort == BOOL else TRUE


def length(value: ValueOrArray) -> int:
    """How many elements an array has, from a constant."""
    if not isinstance(value, Const) or value.sort != INT:
        raise TypeClash("the length of an array is a constant integer")
    if not 0 < value.value <= MAX_COMPONENTS:
        raise TypeClash(f"an array has from 1 to {MAX_COMPONENTS} elements, not {value.value}")
    return int(value.value)


# Elements -------------------------------------------------------------------------------------------------------------


def element(array: ValueOrArray, index: Expr, surely: Surely) -> ValueOrArray:
    """The element with this number."""
    places = _places(array, index, surely)
    assert isinstance(array, tuple)
    if isinstance(index, Const):
        return array[places[0]]
    surely.repetition.take(_size(array))
    return _chosen(index, places, [array[place] for place in places])


def _places(array: ValueOrArray, index: Expr, surely: Surely) -> list[int]:
    """The numbers that an index may be; one outside the array is refused."""
    if not isinstance(array, tuple):
        raise TypeClash("this is one value and has no elements")
    if index.sort != INT or index.shape:
        raise TypeClash(f"the number of an element is an integer, but this is of sort {index.sort}")
    last = len(array) - 1
    if isinstance(index, Const):
        if not 0 <= index.value <= last:
            raise TypeClash(f"there is no element {index.value}: the array has elements 0 to {last}")
        return [int(index.value)]
    outside = build.disj(build.compare("<", index, 0), build.compare("<", last, index))
    if not surely.excludes(outside):
        what = f"this index may be outside the array, which has elements 0 to {last}"
        raise TypeClash(f"{what}: declare narrower ranges of its variables, or say in the guard that it is inside")
    return list(range(last + 1))


def _chosen(index: Expr, places: Sequence[int], values: Sequence[ValueOrArray]) -> ValueOrArray:
    """The value at the place that an index names, element by element where these are arrays."""
    first = values[0]
    if isinstance(first, tuple):
        return tuple(_chosen(index, places, [_part(one, number) for one in values]) for number in range(len(first)))
    cases = [*map(Fraction, places[:-1]), None]
    return build.switch(index, cases, [one_value(value) for value in values])


def _part(array: ValueOrArray, number: int) -> ValueOrArray:
    if not isinstance(array, tuple) or number >= len(array):
        raise TypeClash("the elements of an array of arrays have the same length")
    return array[number]


def _size(value: ValueOrArray) -> int:
    return sum(map(_size, value)) if isinstance(value, tuple) else 1


# Assignments ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ElementUpdate:
    """A variable gets a value where a condition is true: that an index names this element of an array."""

    variable: Var
    condition: Expr
    value: Expr


def element_updates(
    target: ValueOrArray, indices: Sequence[Expr], value: ValueOrArray, surely: Surely, condition: Expr = TRUE
) -> Iterator[ElementUpdate]:
    """What an assignment to a variable, an array or an element of one gives to each variable."""
    if indices:
        index, *others = indices
        places = _places(target, index, surely)
        assert isinstance(target, tuple)
        for place in places:
            here = condition if isinstance(index, Const) else build.conj(condition, build.eq(index, place))
            yield from element_updates(target[place], others, value, surely, here)
    elif isinstance(target, tuple):
        if not isinstance(value, tuple) or len(value) != len(target):
            raise TypeClash(f"an array of {len(target)} elements keeps this length, and is given another value")
        for part, given in zip(target, value, strict=True):
            yield from element_updates(part, (), given, surely, condition)
    else:
        surely.repetition.take(1)
        assert isinstance(target, Var)
        yield ElementUpdate(target, condition, _of_sort(one_value(value), target.sort))


def _of_sort(value: Expr, sort: Sort) -> Expr:
    if join(value.sort, sort) != sort:
        raise TypeClash(f"an expression of sort {sort} is expected, but this is of sort {value.sort}")
    return value


def clashes(others: Sequence[ElementUpdate], one: ElementUpdate, surely: Surely) -> bool:
    """Whether an update of a variable may happen together with another one."""
    return not all(surely.excludes(build.conj(other.condition, one.condition)) for other in others)


def united(updates: Sequence[ElementUpdate]) -> Expr:
    """The next value of a variable, of whose updates at most one happens."""
    value: Expr = updates[0].variable
    for update in updates:
        value = build.if_(update.condition, update.value, value)
    return value


# Names ----------------------------------------------------------------------------------------------------------------


def brackets(place: tuple[int, ...]) -> str:
    """`[2][0]`, as elements are named."""
    return "".join(f"[{number}]" for number in place)


def nested(parts: Mapping[tuple[int, ...], ValueOrArray]) -> ValueOrArray:
    """An array from its elements by their places."""
    if () in parts:
        return parts[()]
    inner: dict[int, dict[tuple[int, ...], ValueOrArray]] = {}
    for (number, *rest), value in parts.items():
        inner.setdefault(number, {})[tuple(rest)] = value
    return tuple(nested(inner[number]) for number in range(len(inner)))
