"""Invariants as JSON and back: component names, and for each set its rows and bounds in exact numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from vernal.errors import FormatError, nearest
from vernal.evidence.invariant import Invariant, StateSet
from vernal.evidence.trace_values import read_number, write_number
from vernal.model.expr import Component
from vernal.model.system import Model, System

KEYS = {"components", "prefix", "sets"}


def component_names(system: Model) -> dict[str, Component]:
    """The names under which components of state and memory appear: `x`, and `advisor.memory[0]` of an agent."""
    names: dict[str, Component] = {variable.name: (variable.var, 0) for variable in system.state}
    for agent in system.agents:
        places = [(slot.var, i) for slot in agent.slots for i in range(slot.var.size)]
        names.update({f"{agent.name}.memory[{i}]": place for i, place in enumerate(places)})
    return names


def invariant_json(invariant: Invariant) -> dict[str, Any]:
    """The invariant as a JSON object."""
    return {
        "components": list(invariant.components),
        "prefix": [[_set_json(one) for one in sets] for sets in invariant.prefix],
        "sets": [_set_json(one) for one in invariant.sets],
    }


def _set_json(one: StateSet) -> dict[str, Any]:
    return {"rows": [_numbers(row) for row in one.rows], "bounds": _numbers(one.bounds)}


def _numbers(values: Sequence[Fraction]) -> list[int | float | str]:
    return [int(x) if x.denominator == 1 and abs(x) < 2**53 else write_number(x, full=True) for x in values]


def invariant_of(document: Any, system: System) -> Invariant:
    """A recorded invariant, read against the system's names; nothing is believed of it but its form."""
    if not isinstance(document, dict) or set(document) != KEYS:
        raise FormatError(f"invariant: expected an object with {', '.join(sorted(KEYS))}")
    components, known = _list(document["components"], "components"), component_names(system)
    for name in components:
        if not isinstance(name, str) or name not in known:
            raise FormatError(f"invariant: {name!r} is not known here{nearest(str(name), known)}")
    if len(set(components)) < len(components):
        raise FormatError("invariant: a component is named twice")
    size = len(components)
    prefix = [_sets(level, size, f"prefix[{i}]") for i, level in enumerate(_list(document["prefix"], "prefix"))]
    return Invariant(tuple(components), _sets(document["sets"], size, "sets"), tuple(prefix), system)


def _sets(document: Any, size: int, where: str) -> tuple[StateSet, ...]:
    return tuple(_set(one, size, f"{where}[{i}]") for i, one in enumerate(_list(document, where)))


def _set(document: Any, size: int, where: str) -> StateSet:
    if not isinstance(document, dict) or set(document) != {"rows", "bounds"}:
        raise FormatError(f"invariant, {where}: expected an object with rows and bounds")
    rows, bounds = _list(document["rows"], f"{where}, rows"), _list(document["bounds"], f"{where}, bounds")
    if len(rows) != len(bounds):
        raise FormatError(f"invariant, {where}: {len(rows)} rows and {len(bounds)} bounds")
    made = tuple(_row(row, f"{where}, rows[{i}]") for i, row in enumerate(rows))
    if any(len(row) != size for row in made):
        raise FormatError(f"invariant, {where}: a row has a number for each of the {size} components")
    return StateSet(made, _row(bounds, f"{where}, bounds"))


def _row(document: Any, where: str) -> tuple[Fraction, ...]:
    return tuple(read_number(item, f"invariant, {where}") for item in _list(document, where))


def _list(document: Any, where: str) -> list[Any]:
    if not isinstance(document, list):
        raise FormatError(f"invariant, {where}: expected a list, not {type(document).__name__}")
    return document
