"""Affine hybrid automata in files: JSON, and models of SpaceEx.

    write_automaton(automaton, "jet.xml")
    automaton = read_automaton("jet.json")

Both forms hold every float as it is: what is read is what was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from vernal.errors import FormatError
from vernal.formats.limits import DEFAULT, ReadLimits
from vernal.formats.networks import read_parsed
from vernal.interpret.numbers.rounding import Floats
from vernal.model.hybrid import Crossing, Facets, HybridAutomaton, Location
from vernal.run.output import write_bytes

VERSION = 1
SUFFIXES = (".json", ".xml")
MAX_VARIABLES = 64

NumberList = Annotated[list[float], Meta(description="numbers, each a float exactly")]


class FacetsTable(Struct, forbid_unknown_fields=True):
    """The points x with normals x <= offsets."""

    normals: list[NumberList]
    offsets: NumberList


class LocationTable(Struct, forbid_unknown_fields=True):
    """Inside its invariant the state moves by x' = matrix x + drift + d."""

    name: str
    invariant: FacetsTable
    matrix: list[NumberList]
    drift: NumberList


class CrossingTable(Struct, forbid_unknown_fields=True):
    """A change of location inside the guard; locations are counted from 0."""

    source: int
    target: int
    guard: FacetsTable


class AutomatonTable(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """An affine hybrid automaton over a box, with disturbances |d_i| <= radius_i; and what is asked of it, if it is."""

    automaton: Annotated[int, Meta(description="the number 1, the version of the format")]
    name: str
    variables: list[str]
    lower: NumberList
    upper: NumberList
    radius: NumberList
    locations: list[LocationTable]
    crossings: list[CrossingTable]
    init: Annotated[dict[str, NumberList], Meta(description="[lower, upper] of variables that start in a part")] = {}
    properties: Annotated[dict[str, str], Meta(description="formulas by name, in seconds")] = {}


def write_automaton(automaton: HybridAutomaton, path: str | Path, *, horizon: Fraction | None = None) -> None:
    """Write an automaton as `.json` or `.xml` (SpaceEx); the horizon bounds the clock of the latter.

    Example: `vn.write_automaton(automaton, "jet.xml", horizon=Fraction(2))`
    """
    file = Path(path)
    match file.suffix.lower():
        case ".json":
            write_bytes(file, automaton_json(automaton))
        case ".xml":
            from vernal.formats.spaceex.writer import spaceex_model

            write_bytes(file, spaceex_model(automaton, horizon).encode())
        case suffix:
            raise FormatError(f"hybrid automata are written as .json or .xml (SpaceEx), not as {suffix or file.name!r}")


def read_automaton(path: str | Path, *, limits: ReadLimits = DEFAULT) -> HybridAutomaton:
    """The automaton in a file: `.json`, or a SpaceEx model (`.xml`), whose clock is left out.

    Example: `vn.read_automaton("jet.json")`
    """
    file = Path(path)
    match file.suffix.lower():
        case ".json":
            return read_parsed(file, parse_automaton)
        case ".xml":
            from vernal.formats.spaceex.reader import parse_spaceex

            return read_parsed(file, lambda content: parse_spaceex(content, limits).automaton)
        case suffix:
            raise FormatError(f"{file}: hybrid automata are read from .json and .xml (SpaceEx), not from {suffix!r}")


def automaton_json(automaton: HybridAutomaton) -> bytes:
    """The automaton as JSON; floats are written with as many digits as they need."""
    table = AutomatonTable(
        VERSION,
        automaton.name,
        list(automaton.variables),
        _plain(automaton.lower),
        _plain(automaton.upper),
        _plain(automaton.radius),
        [
            LocationTable(one.name, _facets_table(one.invariant), _plain(one.matrix), _plain(one.drift))
            for one in automaton.locations
        ],
        [CrossingTable(one.source, one.target, _facets_table(one.guard)) for one in automaton.crossings],
    )
    return msgspec.json.format(msgspec.json.encode(table), indent=1) + b"\n"


def _plain(array: Floats) -> Any:
    """Nested lists of floats; minus zero is zero."""
    return (array + 0.0).tolist()


def _facets_table(facets: Facets) -> FacetsTable:
    return FacetsTable(_plain(facets.normals), _plain(facets.offsets))


def parse_automaton(content: bytes) -> HybridAutomaton:
    """The automaton in a JSON text; whatever does not fit together is refused."""
    return automaton_of(decoded(content))


def decoded(content: bytes) -> AutomatonTable:
    """A JSON text of the right shape."""
    try:
        table = msgspec.json.decode(content, type=AutomatonTable)
    except msgspec.DecodeError as error:
        raise FormatError(f"no hybrid automaton: {error}; evidence is for `vernal replay`") from None
    if table.automaton != VERSION:
        raise FormatError(f"version {table.automaton} of hybrid automata; this Vernal reads version {VERSION}")
    return table


def automaton_of(table: AutomatonTable) -> HybridAutomaton:
    """The automaton of a table, if its parts fit together."""
    n = len(table.variables)
    if len(set(table.variables)) < n:
        raise FormatError("two variables have the same name")
    if not 0 < n <= MAX_VARIABLES:
        raise FormatError(f"{n} variables; from 1 to {MAX_VARIABLES} are read")
    locations = [_location(one, n, f"locations[{i}]") for i, one in enumerate(table.locations)]
    crossings = [_crossing(one, n, len(locations), f"crossings[{i}]") for i, one in enumerate(table.crossings)]
    ends = [_vector(getattr(table, name), n, name) for name in ("lower", "upper", "radius")]
    if not ((ends[0] <= ends[1]).all() and (ends[2] >= 0).all()):
        raise FormatError("lower has to be at most upper, and radius at least 0")
    return HybridAutomaton(
        table.name, tuple(table.variables), ends[0], ends[1], ends[2], tuple(locations), tuple(crossings)
    )


def _location(table: LocationTable, n: int, place: str) -> Location:
    return Location(
        table.name,
        _facets(table.invariant, n, f"{place}.invariant"),
        _matrix(table.matrix, n, n, f"{place}.matrix"),
        _vector(table.drift, n, f"{place}.drift"),
    )


def _crossing(table: CrossingTable, n: int, count: int, place: str) -> Crossing:
    if not (0 <= table.source < count and 0 <= table.target < count):
        raise FormatError(f"{place}: from location {table.source} to {table.target}, but there are {count} (from 0 on)")
    return Crossing(table.source, table.target, _facets(table.guard, n, f"{place}.guard"))


def _facets(table: FacetsTable, n: int, place: str) -> Facets:
    m = len(table.offsets)
    return Facets(_matrix(table.normals, m, n, f"{place}.normals"), _vector(table.offsets, m, f"{place}.offsets"))


def _matrix(rows: Sequence[Sequence[float]], m: int, n: int, place: str) -> Floats:
    if len(rows) != m or any(len(row) != n for row in rows):
        raise FormatError(f"{place}: not {m} rows of {n} numbers")
    return _finite(np.array(rows, dtype=np.float64).reshape(m, n), place)


def _vector(values: Sequence[float], n: int, place: str) -> Floats:
    if len(values) != n:
        raise FormatError(f"{place}: {len(values)} numbers instead of {n}")
    return _finite(np.array(values, dtype=np.float64), place)


def _finite(numbers: Floats, place: str) -> Floats:
    if not np.isfinite(numbers).all():
        raise FormatError(f"{place}: a number beyond all floats")
    return numbers
