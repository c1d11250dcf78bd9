"""Arrays in a task's tables: an entry for `d` speaks of all its components, one for `"d[3]"` of a single one.

A component is a state variable of its own, so that an entry ends as one value for each variable it speaks of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vernal.errors import NameUnknown, ParseError, TypeClash, nearest
from vernal.formats.task.expressions import Reader, Skip
from vernal.formats.task.names import Owner, Use
from vernal.formats.task.places import Path
from vernal.model.components import COMPONENT
from vernal.model.expr import Expr
from vernal.model.system import Variable


def component_names(name: str, size: int) -> list[str]:
    """`d[0]`, `d[1]`, ..."""
    return [f"{name}[{index}]" for index in range(size)]


def base_of(name: str) -> str:
    """The array that a component belongs to; any other name as it is."""
    found = COMPONENT.fullmatch(name)
    return found[1] if found else name


def spoken_of(reader: Reader, path: Path, entries: Iterable[str], state: Mapping[str, Variable]) -> list[Variable]:
    """The variables that the entry at a path speaks of: one, or the components of an array."""
    name = str(path[-1])
    base = base_of(name)
    if reader.owners.get(base) is not Owner.STATE:
        known = [n for n, owner in reader.owners.items() if owner is Owner.STATE]
        raise NameUnknown(
            f"there is no state variable {name!r}{nearest(name, known)}", place=reader.places.key_place(path)
        )
    if name in reader.arrays:
        return [state[part] for part in component_names(name, len(reader.arrays[name]))]
    if base in reader.broken or (name == base and name not in state):
        raise Skip
    if name not in state:
        raise NameUnknown(_no_component(reader, name, base), place=reader.places.key_place(path))
    if name != base and base in entries:
        message = f"{name!r} is given twice: by itself, and as a component of {base!r}"
        raise ParseError(message, place=reader.places.key_place(path))
    return [state[name]]


def _no_component(reader: Reader, name: str, base: str) -> str:
    if base not in reader.arrays:
        return f"there is no {name!r}: {base!r} is a single value and has no components"
    return f"there is no {name!r}: the array {base!r} has components 0 to {len(reader.arrays[base]) - 1}"


def check_entries(variables: Sequence[Variable], entries: Sequence[object]) -> None:
    """As many entries as an array has components."""
    array, size = base_of(variables[0].name), len(variables)
    if len(entries) != size:
        raise TypeClash(f"{array!r} has {size} components, 0 to {size - 1}, but here are {len(entries)} entries")


def values_of(reader: Reader, path: Path, value: object, variables: Sequence[Variable], use: Use) -> list[Expr]:
    """One expression for each variable that an entry speaks of; it may draw, and draws are named for the variable."""
    name, sort = str(path[-1]), variables[0].sort
    if isinstance(value, list):
        if name not in reader.arrays:
            raise TypeClash(f"{name!r} is one value, but this is an array", place=reader.places.value_place(path))
        check_entries(variables, value)
        entries = enumerate(zip(variables, value, strict=True))
        return [reader.expression((*path, n), text, use, draws=v.name, expected=sort) for n, (v, text) in entries]
    if name not in reader.arrays:
        return [reader.expression(path, value, use, draws=name, expected=sort)]
    if not isinstance(value, str):
        raise TypeClash(f"{name!r} is an array of {len(variables)}; give each of its components a {use.what} value")
    return reader.components(path, use, sort, len(variables), draws=name)


def without_entry(reader: Reader, entries: Mapping[str, object], lost: set[Path], table: str) -> list[str]:
    """The variables, or arrays, of which a table says nothing."""
    missing: list[str] = []
    given = {*entries, *(str(path[-1]) for path in lost if path[:-1] == (table,))}
    partly = {base_of(name) for name in given if name != base_of(name)}
    for name, owner in reader.owners.items():
        if owner is not Owner.STATE or name in given:
            continue
        if name not in partly:
            missing.append(name)
        elif name in reader.arrays:
            missing += [part for part in component_names(name, len(reader.arrays[name])) if part not in given]
    return missing
