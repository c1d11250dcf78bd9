"""The automata of a JANI model: locations, local variables and edges, each read over the names it sees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

from vernal.errors import NameUnknown, nearest
from vernal.formats.jani.arrays import ElementUpdate, Surely, ValueOrArray, brackets, clashes, element_updates, united
from vernal.formats.jani.declarations import DeclaredVariable, all_values, as_names, read_transients, read_variables
from vernal.formats.jani.entries import JsonEntry
from vernal.formats.jani.expressions import (
    Names,
    made,
    read_condition,
    read_constant,
    read_expression,
    read_target,
    read_value,
)
from vernal.model import build
from vernal.model.build import TRUE
from vernal.model.expr import Const, Expr
from vernal.model.numbers import show
from vernal.model.sorts import REAL, enum
from vernal.model.system import Variable
from vernal.printable import shortened

SHOWN_DIGITS = 40  # of a number in a message

Updates = Mapping[str, Expr]  # by the variable's name in the system; what is not named keeps its value


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an edge leads with positive probability: the next values of what it assigns."""

    updates: Updates
    entry: JsonEntry


@dataclass(frozen=True, slots=True)
class ProcessEdge:
    """An edge of one automaton: its action (None where it is silent), its guard and where it leads."""

    action: str | None
    guard: Expr
    destinations: tuple[Destination, ...]


@dataclass(frozen=True, slots=True)
class TransientValue:
    """What a transient variable is at a location."""

    here: Expr  # that the automaton is there
    value: Expr


@dataclass(frozen=True, slots=True)
class Process:
    """An automaton: its place (None where it has one location only), its own variables, its edges."""

    name: str
    place: DeclaredVariable | None
    locations: tuple[str, ...]
    variables: Mapping[str, DeclaredVariable]  # by the name in the file
    edges: tuple[ProcessEdge, ...]
    restriction: Expr  # on its initial states
    transients: Mapping[str, tuple[TransientValue, ...]] = field(default_factory=dict)  # by the transient variable
    own_transients: Mapping[str, Const] = field(default_factory=dict)  # what its own have by themselves, by name

    @property
    def declared(self) -> tuple[DeclaredVariable, ...]:
        """What it adds to the state."""
        return (*([self.place] if self.place else []), *self.variables.values())

    def at(self, entry: JsonEntry, location: str) -> Expr:
        """The condition that it is at a location."""
        return at_location(self.place, self.index(entry, location))

    def index(self, entry: JsonEntry, location: str) -> int:
        """The number of a location."""
        return location_index(entry, location, self.locations)


def at_location(place: DeclaredVariable | None, index: int) -> Expr:
    if place is None:
        return TRUE
    return build.eq(place.variable.var, Const((), place.variable.sort, (), (Fraction(index),)))


def location_index(entry: JsonEntry, location: str, known: tuple[str, ...]) -> int:
    if location not in known:
        raise entry.error(f"there is no location {location!r}{nearest(location, known)}", NameUnknown)
    return known.index(location)


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """A name that is not taken: the wanted one, or with underscores behind it."""
    name, others = wanted, set(taken)
    while name in others:
        name += "_"
    return name


# Reading --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an automaton sees: actions, constants, and the variables of the model."""

    actions: frozenset[str]
    constants: Names
    variables: Mapping[str, DeclaredVariable]
    taken: frozenset[str]  # names of the state that other automata have
    transients: Mapping[str, Const]  # variables that are no part of the state
    surely: Surely = field(default_factory=Surely)


def read_process(entry: JsonEntry, around: Surroundings) -> Process:
    """One automaton of a model."""
    name = entry.text("name")
    taken = {*around.taken, *around.variables, *around.constants, *around.transients}
    own = _own_variables(entry, name, around, taken)
    locations = _locations(entry)
    taken.update(declared.variable.name for declared in own.values())
    place = _place(entry, name, locations, taken)
    called = _own_transients(entry, name, around, own, taken)
    variables = {**around.variables, **own}
    targets = as_names(variables)
    names = {**around.constants, **targets}
    seen = (*variables.values(), *([place] if place else []))
    surely = replace(around.surely, starts=all_values(seen))
    hidden = frozenset({**around.transients, **called}) - own.keys()
    reader = EdgeReader(locations, place, targets, names, around.actions, hidden, surely)
    edges = tuple(reader.read(edge) for edge in entry.items("edges"))
    known = {**{key: (key, value) for key, value in around.transients.items()}, **called}
    transients = _transient_values(entry, names, known, surely, partial(at_location, place))
    restriction = entry.get("restrict-initial")
    kept = TRUE if restriction is None else read_condition(restriction, names, surely)
    return Process(name, place, locations, own, edges, kept, transients, dict(called.values()))


NamedTransients = Mapping[str, tuple[str, Const]]  # by the name in the file: the one in the system, and the value


def _own_transients(
    entry: JsonEntry, name: str, around: Surroundings, own: Mapping[str, DeclaredVariable], taken: set[str]
) -> NamedTransients:
    """Those that an automaton has itself; one whose name is taken elsewhere is called `automaton.name`."""
    names = {**around.constants, **around.transients, **as_names({**around.variables, **own})}
    found: dict[str, tuple[str, Const]] = {}
    for key, value in read_transients(entry, names).items():
        renamed = free_name(f"{name}.{key}" if key in taken else key, taken)
        taken.add(renamed)
        found[key] = renamed, value
    return found


def _transient_values(
    entry: JsonEntry, names: Names, known: NamedTransients, surely: Surely, at: Callable[[int], Expr]
) -> dict[str, tuple[TransientValue, ...]]:
    """What transient variables are at the locations of an automaton, by their names in the system."""
    found: dict[str, tuple[TransientValue, ...]] = {}
    for index, location in enumerate(entry.items("locations")):
        given: set[str] = set()
        for item in location.items("transient-values"):
            name = item.text("ref")
            if name not in known:
                raise item["ref"].error(f"there is no transient variable {name!r}{nearest(name, known)}", NameUnknown)
            if name in given:
                item.refuse(f"{name!r} is given two values at once")
            given.add(name)
            called, default = known[name]
            value = read_expression(item["value"], names, default.sort, surely.under(at(index)))
            found[called] = (*found.get(called, ()), TransientValue(at(index), value))
    return found


def _own_variables(entry: JsonEntry, name: str, around: Surroundings, taken: set[str]) -> dict[str, DeclaredVariable]:
    """Local variables; one whose name is taken elsewhere is called `automaton.name` in the system."""
    elements = {key: one.variable.var for key, one in around.variables.items()}
    own = read_variables(entry, {**around.constants, **around.transients, **elements, **as_names(around.variables)})
    places: dict[str, list[str]] = {}  # of each array; "" of what is none
    for key, one in own.items():
        behind = brackets(one.place)
        places.setdefault(key.removesuffix(behind), []).append(behind)
    renamed = {key: _free_names(name, key, behind, taken) for key, behind in places.items()}
    found: dict[str, DeclaredVariable] = {}
    for key, one in own.items():
        behind = brackets(one.place)
        variable = replace(one.variable, name=f"{renamed[key.removesuffix(behind)]}{behind}")
        found[key] = replace(one, variable=variable)
    return found


def _free_names(owner: str, wanted: str, behind: Sequence[str], taken: set[str]) -> str:
    """A name for a variable of an automaton, or for an array, none of whose elements has a name that is taken."""
    name = f"{owner}.{wanted}" if any(f"{wanted}{place}" in taken for place in behind) else wanted
    while any(f"{name}{place}" in taken - {f"{wanted}{place}"} for place in behind):
        name += "_"
    return name


def _locations(entry: JsonEntry) -> tuple[str, ...]:
    found: list[str] = []
    for location in entry.items("locations"):
        if location.get("time-progress") is not None:
            location.refuse("time progress of locations is not supported")
        name = location.text("name")
        if name in found:
            location.refuse(f"the location {name!r} is declared twice")
        found.append(name)
    if not found:
        entry.refuse("the automaton has no location")
    return tuple(found)


def _place(entry: JsonEntry, name: str, locations: tuple[str, ...], taken: set[str]) -> DeclaredVariable | None:
    """The variable that says where the automaton is, by the automaton's name."""
    initial = [location_index(item, item.text(), locations) for item in entry["initial-locations"].items()]
    if not initial:
        entry["initial-locations"].refuse("the automaton has no initial location")
    if len(initial) > 1:
        entry["initial-locations"].refuse("several initial locations are not supported")
    if len(locations) == 1:
        return None
    return DeclaredVariable(Variable(free_name(name, taken), enum(*locations)), Fraction(initial[0]))


@dataclass(frozen=True, slots=True)
class EdgeReader:
    """Reads the edges of one automaton."""

    locations: tuple[str, ...]
    place: DeclaredVariable | None
    targets: Mapping[str, ValueOrArray]  # what may be assigned
    names: Names
    actions: frozenset[str]
    transients: frozenset[str]  # which are given values for the moment of an edge, and no state has these
    surely: Surely  # what is true in every state

    def read(self, entry: JsonEntry) -> ProcessEdge:
        action = entry.get("action")
        if action is not None and action.text() not in self.actions:
            raise action.error(
                f"there is no action {action.text()!r}{nearest(action.text(), self.actions)}", NameUnknown
            )
        if entry.get("rate") is not None:
            entry["rate"].refuse("rates are not supported")
        here = at_location(self.place, self._location(entry))
        guard = entry.get("guard")
        condition = TRUE if guard is None else read_condition(guard, self.names, self.surely.under(here))
        taken = build.conj(here, condition)
        leading = (self._destination(item, self.surely.under(taken)) for item in entry["destinations"].items())
        possible = tuple(destination for destination in leading if destination is not None)
        return ProcessEdge(None if action is None else action.text(), taken, possible)

    def _location(self, entry: JsonEntry) -> int:
        return location_index(entry["location"], entry.text("location"), self.locations)

    def _destination(self, entry: JsonEntry, surely: Surely) -> Destination | None:
        """None where its probability is zero."""
        if not self._is_possible(entry.get("probability")):
            return None
        updates: dict[str, Expr] = {}
        target = self._location(entry)
        if self.place is not None:
            variable = self.place.variable
            updates[variable.name] = Const((), variable.sort, (), (Fraction(target),))
        changes: dict[str, list[ElementUpdate]] = {}
        for assignment in entry.items("assignments"):
            target = assignment["ref"].value
            if isinstance(target, str) and target in self.transients:
                continue
            for change in self._changes(assignment, surely):
                own = changes.setdefault(change.variable.name, [])
                if clashes(own, change, surely):
                    assignment.refuse(f"{change.variable.name!r} may be assigned twice at once")
                own.append(change)
        updates |= {name: united(own) for name, own in changes.items()}
        return Destination(updates, entry)

    def _is_possible(self, entry: JsonEntry | None) -> bool:
        if entry is None:
            return True
        inner = entry.get("exp") if isinstance(entry.value, dict) and "op" not in entry.value else entry
        value = read_constant(inner or entry, self.names, REAL).value
        if not 0 <= value <= 1:
            entry.refuse(f"{shortened(show(value), SHOWN_DIGITS)} is no probability")
        return value > 0

    def _changes(self, entry: JsonEntry, surely: Surely) -> list[ElementUpdate]:
        """What an assignment gives to a variable, to the elements of an array, or to one of them."""
        order = entry.get("index")
        if order is not None and order.value != 0:
            order.refuse("assignments one after the other (index) are not supported: all are made at once")
        target, indices = read_target(entry["ref"], self.targets, self.names, surely)
        value = read_value(entry["value"], self.names, surely)
        return made(entry, lambda: list(element_updates(target, indices, value, surely)))
