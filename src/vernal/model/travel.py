"""Graphs that travel: data of ours, with every node it holds, as plain data and back.

`flatten` writes any of our frozen dataclasses (a graph's roots, a formula, a system, a task, a result) as a table with
one row for each object, arguments before users, and `restore` builds the same again: nodes come back as their interned
selves, so that what was equal before is equal after. The table holds lists, strings and integers, which JSON can say.
Workers and clusters send it, and pickling goes by way of it, since the depth of a graph does not matter here. Operators
are not known by name: the fields of a dataclass are all that counts.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vernal.errors import FormatError
from vernal.model.expr import Expr, Matrix, Occurrence
from vernal.model.portable import Portable
from vernal.model.sorts import Sort

PlainData = None | bool | int | str | list["PlainData"]

PACKAGE = "vernal."
BY_VALUE = (Matrix, Occurrence, Sort)  # equal ones share a row; of other objects each has its own
ATOMS = frozenset({type(None), bool, int, str})


def flatten(value: object) -> PlainData:
    """Our data as plain data: the table of its objects, and the value in terms of them."""
    return _Table().written(value)


def canonical(roots: Sequence[Expr]) -> PlainData:
    """A graph as plain data that is alike for graphs built alike, as when one task is read twice.

    Draws are told apart, but neither their names nor their serial numbers are said. It cannot be restored.
    """
    return _Table(anonymous=True).written(tuple(roots))


def restore(data: Any) -> Any:
    """What was flattened; an error where the data is nothing that `flatten` has written."""
    try:
        rows, value = data
        made: list[object] = []
        for name, *entries in rows:
            made.append(_made(_kind(name), [_read(entry, made) for entry in entries]))
        return _read(value, made)
    except (ArithmeticError, AttributeError, ImportError, LookupError, TypeError, ValueError) as error:
        raise FormatError(f"this is no flattened data of Vernal ({type(error).__name__}: {error})") from None


# Writing --------------------------------------------------------------------------------------------------------------


class _Table:
    """The rows of a table as it is written, and where each object stands in it."""

    def __init__(self, *, anonymous: bool = False) -> None:
        self.anonymous = anonymous  # occurrences are told apart by their rows alone
        self.rows: list[PlainData] = []
        self.places: dict[object, int] = {}

    def written(self, value: object) -> PlainData:
        for thing in self._order(value):
            held = () if self.anonymous and isinstance(thing, Occurrence) else _parts(thing)
            row: list[PlainData] = [_name(thing.__class__), *map(self._entry, held)]
            self.places[self._key(thing)] = len(self.rows)
            self.rows.append(row)
        return [self.rows, self._entry(value)]

    def _order(self, value: object) -> Iterator[Any]:
        """Every object in a value, parts before wholes, each once."""
        seen: set[object] = set()
        stack = [(thing, False) for thing in reversed(list(_objects(value)))]
        while stack:
            thing, ready = stack.pop()
            if ready:
                yield thing
            elif (key := self._key(thing)) not in seen:
                seen.add(key)
                stack.append((thing, True))
                stack.extend((part, False) for part in reversed(list(_objects(_parts(thing)))))

    def _key(self, thing: object) -> object:
        if self.anonymous and isinstance(thing, Occurrence):
            return thing.serial, thing.step
        return thing if isinstance(thing, BY_VALUE) else id(thing)

    def _entry(self, value: object) -> PlainData:
        if type(value) in ATOMS:
            return value  # type: ignore[return-value]
        match value:
            case Enum():
                return ["enum", _name(type(value)), value.name]
            case np.generic():
                return self._entry(value.item())
            case bool() | int() | str():  # of a subclass
                return value
            case float():
                return ["float", value.hex()]
            case Fraction():  # in hexadecimal, which knows no limit of digits
                return ["ratio", f"{value.numerator:x}/{value.denominator:x}"]
            case np.ndarray():
                return ["array", value.dtype.str, list(value.shape), base64.b64encode(value.tobytes()).decode()]
            case tuple():
                return ["tuple", *map(self._entry, value)]
            case list():
                return ["list", *map(self._entry, value)]
            case frozenset():
                return ["frozenset", *map(self._entry, value)]
            case Mapping():
                return ["dict", *([self._entry(key), self._entry(item)] for key, item in value.items())]
        return ["row", self.places[self._key(value)]]


def _objects(value: object) -> Iterator[Any]:
    """The objects a value holds, looking through containers."""
    match value:
        case None | str() | int() | float() | Fraction() | Enum() | np.generic() | np.ndarray():
            return
        case tuple() | list() | frozenset():
            yield from (thing for item in value for thing in _objects(item))
        case Mapping():
            yield from (thing for pair in value.items() for thing in _objects(pair))
        case _:
            yield value


def _parts(thing: Any) -> tuple[object, ...]:
    if isinstance(thing, Matrix):
        return (thing.array,)
    return tuple(getattr(thing, name) for name in _fields(thing.__class__))


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """The fields that travel: those it is made from."""
    if not is_dataclass(kind):
        raise TypeError(f"a {kind.__name__} is no plain data and cannot travel")
    return tuple(entry.name for entry in fields(kind) if entry.init and entry.metadata.get("travels", True))


@cache
def _name(kind: type) -> str:
    if not kind.__module__.startswith(PACKAGE):
        raise TypeError(f"a {kind.__name__} is no data of Vernal and cannot travel")
    return f"{kind.__module__.removeprefix(PACKAGE)}:{kind.__qualname__}"


# Reading --------------------------------------------------------------------------------------------------------------


@cache
def _kind(name: str) -> Any:
    """A class of ours by its name; data can name nothing else."""
    module, _, attribute = name.partition(":")
    kind = getattr(import_module(PACKAGE + module), attribute)
    if not (is_dataclass(kind) or isinstance(kind, type(Enum)) or kind is Matrix):
        raise TypeError(f"{name} is no kind of data")
    return kind


def _made(kind: Any, values: Sequence[object]) -> object:
    if kind is Matrix:
        return Matrix(*values)  # type: ignore[arg-type]
    return kind(**dict(zip(_fields(kind), values, strict=True)))


def _read(entry: Any, made: Sequence[object]) -> Any:
    if not isinstance(entry, list):
        return entry
    tag, *rest = entry
    match tag, rest:
        case "row", [int(place)] if place >= 0:
            return made[place]
        case "float", [str(text)]:
            return float.fromhex(text)
        case "ratio", [str(text)]:
            above, _, below = text.partition("/")
            return Fraction(int(above, 16), int(below, 16))
        case "enum", [str(name), str(member)]:
            return _kind(name)[member]
        case "array", [str(dtype), list(shape), str(text)]:
            return _array(dtype, shape, text)
        case "dict", pairs:
            return {_read(key, made): _read(item, made) for key, item in pairs}
    return CONTAINERS[tag](_read(item, made) for item in rest)


def _array(dtype: str, shape: Sequence[Any], text: str) -> NDArray[Any]:
    if np.dtype(dtype).hasobject:
        raise TypeError(f"an array of {dtype} is no plain data")
    return np.frombuffer(base64.b64decode(text, validate=True), dtype).reshape(shape).copy()


CONTAINERS: Mapping[str, Callable[[Iterable[Any]], Any]] = {"tuple": tuple, "list": list, "frozenset": frozenset}

Portable.flatten, Portable.restore = flatten, restore
