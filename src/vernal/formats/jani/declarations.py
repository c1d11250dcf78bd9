"""Declarations of a JANI model: constants, which may be set from outside, and bounded variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from vernal.errors import InputError, NameUnknown, TypeClash, UnsupportedOperator, nearest
from vernal.formats.jani.arrays import ValueOrArray, brackets, nested
from vernal.formats.jani.entries import JsonEntry, shown
from vernal.formats.jani.expressions import Names, read_constant, read_value
from vernal.model import build
from vernal.model.expr import Const, Expr
from vernal.model.initial import OneOf, Span, Start, start_among
from vernal.model.sorts import BOOL, INT, REAL, Kind, Sort, join
from vernal.model.system import Variable

TYPES = 'bool, {"kind": "bounded", "base": "int" or "real", "lower-bound": ..., "upper-bound": ...}, or arrays of these'
BASES = {"int": INT, "real": REAL}  # of bounded variables

LARGEST_INTEGER = 2**53  # beyond it floats skip integers

ConstantValues = Mapping[str, Fraction | bool]  # constants set from outside


@dataclass(frozen=True, slots=True)
class DeclaredVariable:
    """A variable of the model with its initial value, if it has one; `start` is where nothing else is said."""

    variable: Variable
    initial: Fraction | None
    place: tuple[int, ...] = ()  # of an element of an array

    @property
    def start(self) -> Start:
        return whole_range(self.variable) if self.initial is None else OneOf((self.initial,))


def whole_range(variable: Variable) -> Start:
    """All values of a variable."""
    if variable.sort.values is not None:
        return start_among(variable.sort.values, variable.sort)
    assert variable.lower is not None
    assert variable.upper is not None
    return Span(variable.lower, variable.upper)


# Constants ------------------------------------------------------------------------------------------------------------


def read_constants(model: JsonEntry, given: ConstantValues) -> dict[str, Const]:
    """Every constant with its value: the file's, or the one given from outside."""
    entries = model.items("constants")
    declared = [entry.text("name") for entry in entries]
    for name in given:
        if name not in declared:
            raise NameUnknown(f"{model.file}: $.constants: there is no constant {name!r}{nearest(name, declared)}")
    known: dict[str, Const] = {}
    for entry, name in zip(entries, declared, strict=True):
        if name in known:
            entry.refuse(f"the constant {name!r} is declared twice")
        known[name] = _constant(entry, name, known, given)
    return known


def _constant(entry: JsonEntry, name: str, known: Names, given: ConstantValues) -> Const:
    sort = _constant_sort(entry["type"])
    if name in given:
        told = given[name]
        value = build.const(bool(told) if sort == BOOL and told in (0, 1) else told)
        assert isinstance(value, Const)
        if join(value.sort, sort) != sort:
            raise entry.error(f"the constant {name!r} is of sort {sort}, but {shown(given[name])} is given", TypeClash)
        return value
    written = entry.get("value")
    if written is None:
        entry.refuse(f"the constant {name!r} has no value; set it with --constant {name}=VALUE")
    return read_constant(written, known, sort)


def _constant_sort(entry: JsonEntry) -> Sort:
    match entry.value:
        case "int" | {"base": "int"}:
            return INT
        case "bool":
            return BOOL
        case "real" | {"base": "real"}:
            return REAL
    raise entry.error(f"a constant of type {shown(entry.value)} is not supported; supported: int, bool, real")


# Variables ------------------------------------------------------------------------------------------------------------


def read_transients(owner: JsonEntry, names: Names) -> dict[str, Const]:
    """The transient variables of a model or of an automaton, no part of a state: the value that each has by itself."""
    found: dict[str, Const] = {}
    for entry in owner.items("variables"):
        if not entry.flag("transient"):
            continue
        name = entry.text("name")
        if name in found or name in names:
            entry.refuse(f"the name {name!r} is declared twice")
        if entry.get("initial-value") is None:
            entry.refuse(
                f"the transient variable {name!r} needs an initial-value, which it has wherever nothing else is said"
            )
        sort = _constant_sort(entry["type"])
        value = read_constant(entry["initial-value"], names, sort)
        found[name] = Const((), sort, (), value.values)
    return found


def read_variables(owner: JsonEntry, names: Names) -> dict[str, DeclaredVariable]:
    """The variables of a model or of an automaton; those that are transient are left out."""
    found: dict[str, DeclaredVariable] = {}
    declared = set(names)
    for entry in owner.items("variables"):
        name = entry.text("name")
        if name in declared:
            entry.refuse(f"the name {name!r} is declared twice")
        if entry.flag("transient"):
            continue
        declared.add(name)
        for one in _elements(entry, name, names) if _is_array(entry["type"]) else [_plain(entry, name, names)]:
            if one.place and one.variable.name in declared:
                entry.refuse(f"the name {one.variable.name!r} of an element is that of a variable")
            declared.add(one.variable.name)
            found[one.variable.name] = one
    return found


def _plain(entry: JsonEntry, name: str, names: Names) -> DeclaredVariable:
    variable = _variable(entry["type"], name, names)
    return DeclaredVariable(variable, _initial(entry.get("initial-value"), variable, names))


def as_names(variables: Mapping[str, DeclaredVariable]) -> dict[str, ValueOrArray]:
    """What the names of variables stand for: of an array, its elements."""
    parts: dict[str, dict[tuple[int, ...], ValueOrArray]] = {}
    for name, one in variables.items():
        parts.setdefault(name.removesuffix(brackets(one.place)), {})[one.place] = one.variable.var
    return {name: nested(own) for name, own in parts.items()}


def all_values(variables: Iterable[DeclaredVariable]) -> dict[Expr, Start]:
    """What each variable may be in any state."""
    return {one.variable.var: whole_range(one.variable) for one in variables}


# Arrays ---------------------------------------------------------------------------------------------------------------


def _is_array(entry: JsonEntry) -> bool:
    return isinstance(entry.value, dict) and entry.value.get("kind") == "array"


def _elements(entry: JsonEntry, name: str, names: Names) -> Iterator[DeclaredVariable]:
    """A variable for each element; how many there are the initial value says."""
    kind, depth = entry["type"], 0
    while _is_array(kind):
        kind, depth = kind["base"], depth + 1
    written = entry.get("initial-value")
    if written is None:
        entry.refuse(f"the array {name!r} needs an initial-value, which says how many elements it has")
    for place, value in _leaves(written, read_value(written, names), depth):
        variable = _variable(kind, f"{name}{brackets(place)}", names)
        if not isinstance(value, Const) or join(value.sort, variable.sort) != variable.sort:
            raise written.error(f"a constant of sort {variable.sort} is expected for {variable.name!r}", TypeClash)
        check_value(written, variable, value.value)
        yield DeclaredVariable(variable, value.value, place)


def _leaves(entry: JsonEntry, value: ValueOrArray, depth: int) -> Iterator[tuple[tuple[int, ...], Expr]]:
    """The elements of an array of so many dimensions, with their places."""
    if isinstance(value, tuple) != (depth > 0):
        raise entry.error("the initial value has not as many dimensions as the type", TypeClash)
    if isinstance(value, tuple):
        if len({len(part) if isinstance(part, tuple) else 0 for part in value}) > 1:
            raise entry.error("the elements of an array of arrays have the same length", TypeClash)
        for number, part in enumerate(value):
            yield from (((number, *rest), leaf) for rest, leaf in _leaves(entry, part, depth - 1))
    else:
        yield (), value


# One variable ---------------------------------------------------------------------------------------------------------


def _variable(entry: JsonEntry, name: str, names: Names) -> Variable:
    if entry.value == "bool":
        return Variable(name, BOOL)
    base = entry.value.get("base") if isinstance(entry.value, dict) and entry.value.get("kind") == "bounded" else None
    sort = BASES.get(base) if isinstance(base, str) else None
    if sort is None:
        raise entry.error(_refused_type(name, entry.value), UnsupportedOperator)
    lower, upper = (_bound(entry, key, name, names, sort) for key in ("lower-bound", "upper-bound"))
    if lower > upper:
        entry.refuse(f"the range [{lower}, {upper}] of {name!r} holds no {'integer' if sort == INT else 'number'}")
    return Variable(name, sort, lower, upper, enforced=True)


def _bound(entry: JsonEntry, key: str, name: str, names: Names, sort: Sort) -> Fraction:
    bound = entry.get(key)
    if bound is None:
        entry.refuse(f"the variable {name!r} has no {key}; numbers need both bounds")
    value = read_constant(bound, names, sort).value
    if sort == INT and abs(value) > LARGEST_INTEGER:
        bound.refuse(f"the {key} of {name!r} is beyond 2^53, from where on floating point does not count integers")
    return value


def _refused_type(name: str, written: object) -> str:
    what = written.get("base") if isinstance(written, dict) and written.get("kind") == "bounded" else written
    if isinstance(what, dict):
        what = what.get("kind", what)
    kinds = {"int": "an integer without bounds", "real": "a real variable without bounds"}
    known = kinds.get(what) if isinstance(what, str) else None
    return f"{name!r} is {known or f'of type {shown(what)}'}, which is not supported; supported: {TYPES}"


def _initial(entry: JsonEntry | None, variable: Variable, names: Names) -> Fraction | None:
    if entry is None:
        return None
    value = read_constant(entry, names, variable.sort).value
    check_value(entry, variable, value)
    return value


def check_value(entry: JsonEntry, variable: Variable, value: Fraction) -> None:
    """A value of a variable is inside its range."""
    if variable.sort.is_number and not (variable.lower or 0) <= value <= (variable.upper or 0):
        entry.refuse(f"{value} is outside the range [{variable.lower}, {variable.upper}] of {variable.name!r}")


def setting(name: str, text: str) -> Fraction | bool:
    """The value of a constant as written on the command line: a number, true or false."""
    if text in ("true", "false"):
        return text == "true"
    from vernal.logic.elaboration import Scope, expression
    from vernal.logic.syntax import Source

    value = expression(Source(text, f"--constant {name}"), Scope())
    if not isinstance(value, Const) or value.sort.kind is Kind.ENUM:
        raise InputError(f"--constant {name}={text}: a number, true or false is expected")
    return value.value
