"""Automata in parallel: every synchronised combination of edges and destinations is one outcome of a step.

Automata that synchronise do not ask each other: a combination exists iff each of its edges does. So where there would
be many combinations, and they double with every automaton, they are not built: the outcome stands for all of them, and
each automaton has a part in which it chooses for itself.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from vernal.errors import NameUnknown, nearest
from vernal.formats.jani.arrays import Surely
from vernal.formats.jani.automata import Destination, Process, ProcessEdge, Surroundings, Updates, read_process
from vernal.formats.jani.declarations import (
    ConstantValues,
    DeclaredVariable,
    all_values,
    as_names,
    read_constants,
    read_transients,
    read_variables,
)
from vernal.formats.jani.entries import JsonEntry, shown
from vernal.formats.jani.expressions import Names, read_condition
from vernal.model import build
from vernal.model.build import TRUE
from vernal.model.expr import Const, Expr
from vernal.model.tick import Tick, idle

KINDS = ("lts", "mdp")
MAX_COMBINED = 64  # combinations of one synchronisation vector that are outcomes of their own


@dataclass(frozen=True, slots=True)
class PartOption:
    """What one automaton may do in a synchronisation: an edge of it with one destination."""

    guard: Expr
    updates: Updates


@dataclass(frozen=True, slots=True)
class OutcomePart:
    """What one automaton adds to an outcome: one of several options, whatever other automata do."""

    automaton: str
    options: tuple[PartOption, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One way a step can go: its label (None where it is silent), its guard, and the next values of what it assigns.

    With parts it is many ways: one option of each part is taken besides.
    """

    label: str | None
    guard: Expr
    updates: Updates
    parts: tuple[OutcomePart, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanningModel:
    """A JANI model, composed: what a state is, and all outcomes there are."""

    name: str
    constants: dict[str, Const]
    variables: dict[str, DeclaredVariable]  # of the model itself, by name
    processes: tuple[Process, ...]
    actions: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    restriction: Expr  # on initial states
    entry: JsonEntry
    transients: Mapping[str, Expr]  # what transient variables are, as functions of the state

    @property
    def state(self) -> tuple[DeclaredVariable, ...]:
        """All variables: those of the model, then place and variables of each automaton."""
        own = (declared for process in self.processes for declared in process.declared)
        return (*self.variables.values(), *own)

    @property
    def names(self) -> Names:
        """What conditions about the model may name: constants and variables, under their names in the system."""
        return {**self.constants, **self.transients, **as_names({one.variable.name: one for one in self.state})}

    @property
    def surely(self) -> Surely:
        """What is true in every state."""
        return Surely(all_values(self.state))

    def process(self, entry: JsonEntry, name: str) -> Process:
        for process in self.processes:
            if process.name == name:
                return process
        known = [process.name for process in self.processes]
        raise entry.error(f"there is no automaton {name!r}{nearest(name, known)}", NameUnknown)


def read_model(model: JsonEntry, given: ConstantValues, tick: Tick = idle) -> PlanningModel:
    """A model of type lts or mdp; each destination of positive probability is one outcome."""
    if model.get("automata") is None:
        model.refuse("not a JANI model: it has no 'automata'")
    if model["type"].value not in KINDS:
        model["type"].refuse(f"models of type {shown(model['type'].value)} are not supported; supported: lts, mdp")
    constants = read_constants(model, given)
    variables = read_variables(model, constants)
    transients = read_transients(model, {**constants, **as_names(variables)})
    actions = tuple(item.text("name") for item in model.items("actions"))
    system = model["system"]
    around = Surroundings(frozenset(actions), constants, variables, frozenset(), transients)
    processes = _processes(model, system, around)
    outcomes = tuple(_ticking(_outcomes(system, processes, frozenset(actions)), tick))
    names, everywhere = {**constants, **as_names(variables)}, Surely(all_values(variables.values()))
    restriction = model.get("restrict-initial")
    kept = TRUE if restriction is None else read_condition(restriction, names, everywhere)
    whole = build.conj(kept, *(process.restriction for process in processes))
    every = {**transients, **{name: one for process in processes for name, one in process.own_transients.items()}}
    seen = {name: _transient(name, value, processes, model) for name, value in every.items()}
    return PlanningModel(model.text("name"), constants, variables, processes, actions, outcomes, whole, model, seen)


def _transient(name: str, default: Const, processes: Sequence[Process], model: JsonEntry) -> Expr:
    """What a transient variable is: what a location says where an automaton is there, else its initial value."""
    givers = [process for process in processes if name in process.transients]
    if len(givers) > 1:
        both = " and ".join(repr(process.name) for process in givers[:2])
        model["automata"].refuse(f"the automata {both} both give {name!r} values, which is not supported")
    value: Expr = default
    for process in givers:
        for given in process.transients[name]:
            value = build.if_(given.here, given.value, value)
    return value


def _processes(model: JsonEntry, system: JsonEntry, around: Surroundings) -> tuple[Process, ...]:
    entries = {entry.text("name"): entry for entry in model.items("automata")}
    found: dict[str, Process] = {}
    for element in system["elements"].items():
        name = element.text("automaton")
        if name not in entries:
            raise element.error(f"there is no automaton {name!r}{nearest(name, entries)}", NameUnknown)
        if name in found:
            element.refuse(f"the automaton {name!r} appears twice, which is not supported")
        if element.items("input-enable"):
            element.refuse("input-enable is not supported")
        states = (declared.variable.name for process in found.values() for declared in process.declared)
        values = (key for process in found.values() for key in process.own_transients)
        found[name] = read_process(entries[name], replace(around, taken=frozenset((*states, *values))))
    return tuple(found.values())


def _ticking(outcomes: Iterator[Outcome], tick: Tick) -> Iterator[Outcome]:
    for outcome in outcomes:
        tick()
        yield outcome


def _outcomes(system: JsonEntry, processes: Sequence[Process], actions: frozenset[str]) -> Iterator[Outcome]:
    vectors = system.items("syncs")
    if not vectors and any(edge.action is not None for process in processes for edge in process.edges):
        system.refuse("edges have actions, but there are no synchronisation vectors ('syncs') that let them be taken")
    for vector in vectors:
        yield from _synchronised(vector, processes, actions)
    for process in processes:
        for edge in process.edges:
            if edge.action is None:
                yield from _combined(None, [edge])


def _synchronised(vector: JsonEntry, processes: Sequence[Process], actions: frozenset[str]) -> Iterator[Outcome]:
    """What one synchronisation vector lets happen: every combination of edges with its actions."""
    wanted = vector["synchronise"].items()
    if len(wanted) != len(processes):
        vector.refuse(f"{len(wanted)} actions for {len(processes)} automata: give one, or null, for each")
    result = vector.get("result")
    for named in (*wanted, *([result] if result else [])):
        if named.value is not None and named.text() not in actions:
            raise named.error(f"there is no action {named.value!r}{nearest(named.text(), actions)}", NameUnknown)
    taking = [
        (process.name, [edge for edge in process.edges if edge.action == action.value])
        for process, action in zip(processes, wanted, strict=True)
        if action.value is not None
    ]
    if not taking:
        vector.refuse("no automaton takes part in this synchronisation")
    yield from _together(None if result is None else result.text(), taking)


def _together(label: str | None, taking: Sequence[tuple[str, Sequence[ProcessEdge]]]) -> Iterator[Outcome]:
    """One edge of each automaton: every combination where these are few, else all of them as one outcome with parts."""
    if math.prod(sum(len(edge.destinations) for edge in edges) for _, edges in taking) > MAX_COMBINED:
        yield _apart(label, taking)
        return
    for chosen in itertools.product(*(edges for _, edges in taking)):
        yield from _combined(label, chosen)


def _combined(label: str | None, edges: Sequence[ProcessEdge]) -> Iterator[Outcome]:
    guard = build.conj(*dict.fromkeys(edge.guard for edge in edges))
    for destinations in itertools.product(*(edge.destinations for edge in edges)):
        yield Outcome(label, guard, _united(destinations))


def _united(destinations: Sequence[Destination]) -> Updates:
    """The assignments of all automata at once."""
    updates: dict[str, Expr] = {}
    for destination in destinations:
        for name, value in destination.updates.items():
            if updates.setdefault(name, value) is not value:
                _refuse_conflict(destination, name)
    return updates


def _refuse_conflict(destination: Destination, name: str) -> NoReturn:
    destination.entry.refuse(f"{name!r} is assigned differently by another automaton in the same step")


def _apart(label: str | None, taking: Sequence[tuple[str, Sequence[ProcessEdge]]]) -> Outcome:
    """All combinations at once. What an automaton with one edge and one destination does is done in all of them."""
    _refuse_conflicts([[where for edge in edges for where in edge.destinations] for _, edges in taking])
    guards: list[Expr] = []
    updates: dict[str, Expr] = {}
    parts: list[OutcomePart] = []
    for name, edges in taking:
        options = tuple(PartOption(edge.guard, where.updates) for edge in edges for where in edge.destinations)
        if len(options) > 1:
            parts.append(OutcomePart(name, options))
        else:
            guards.append(options[0].guard)
            updates.update(options[0].updates)
    return Outcome(label, build.conj(*dict.fromkeys(guards)), updates, tuple(parts))


def _refuse_conflicts(destinations: Sequence[Sequence[Destination]]) -> None:
    """A variable that several automata assign has to get the same value of each, whichever edges they take."""
    values: dict[str, Expr] = {}
    assigning: dict[str, set[int]] = defaultdict(set)
    different: dict[str, Destination] = {}
    for number, own in enumerate(destinations):
        for destination in own:
            for name, value in destination.updates.items():
                assigning[name].add(number)
                if values.setdefault(name, value) is not value:
                    different[name] = destination
    for name, destination in different.items():
        if len(assigning[name]) > 1:
            _refuse_conflict(destination, name)
