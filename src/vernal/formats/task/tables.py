"""The tables of a task file, each read by itself: quantities, lets, agents, next values, properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vernal.errors import ParseError, TypeClash
from vernal.formats.task.agents import Draft, Library, draft, finish, read_functions
from vernal.formats.task.arrays import spoken_of, values_of
from vernal.formats.task.expressions import Reader
from vernal.formats.task.names import FIXED, Owner, Use, mentioned
from vernal.formats.task.places import Path
from vernal.formats.task.schema import PropertyTable, TaskTable
from vernal.formats.task.state import define, read_constants, read_state
from vernal.logic.formula import Formula
from vernal.logic.scope import drawn_lets
from vernal.logic.syntax import Identifier
from vernal.logic.times import Time
from vernal.model.agent import remembered
from vernal.model.build import TRUE
from vernal.model.checks import check_next
from vernal.model.declare import let_var
from vernal.model.expr import Expr
from vernal.model.index_range import index_range
from vernal.model.network import Network
from vernal.model.sorts import INT
from vernal.model.system import Agent, Variable

WORLD = frozenset(Owner) - {Owner.MEMORY}
LET, NEXT, ENABLED = (Use(what, WORLD) for what in ("a let", "next", "enabled"))
PROPERTY = Use("a property", frozenset(Owner))
PREDICATE = Use("a predicate", FIXED | {Owner.STATE})


@dataclass(frozen=True, slots=True)
class Quantities:
    """What can be understood before anything moves; `names` are those it adds to the reader's."""

    constants: Mapping[str, Expr]
    functions: Mapping[str, Network]
    state: Mapping[str, Variable]
    library: Library
    names: Mapping[str, Expr]


@dataclass(frozen=True, slots=True)
class Dynamics:
    """How a system moves, wherever it starts."""

    agents: tuple[Agent, ...]
    lets: Mapping[str, Expr]
    next: Mapping[str, Expr]
    enabled: Expr
    names: Mapping[str, Expr]


def read_quantities(reader: Reader, table: TaskTable, library: Library) -> Quantities:
    """Constants, networks and state variables."""
    before = set(reader.names)
    constants = read_constants(reader, table.constants)
    read_functions(reader, table.networks, library)
    state = read_state(reader, table.state)
    return Quantities(constants, dict(reader.functions), state, library, added(reader, before))


def read_dynamics(reader: Reader, table: TaskTable, known: Quantities) -> Dynamics:
    """Agents and environment."""
    before = set(reader.names)
    drafts = [draft(reader, name, entry, known.state, known.library) for name, entry in table.agents.items()]
    lets = read_lets(reader, ("environment", "let"), table.environment.let)
    agents = read_agents(reader, drafts, lets)
    following = read_next(reader, table.environment.next, known.state)
    enabled = read_enabled(reader, table.environment.enabled, lets)
    return Dynamics(agents, {**lets, **remembered(agents)}, following, enabled, added(reader, before))


def added(reader: Reader, before: set[str]) -> dict[str, Expr]:
    return {name: node for name, node in reader.names.items() if name not in before}


def read_lets(reader: Reader, prefix: Path, lets: Mapping[str, object]) -> dict[str, Expr]:
    """Named expressions, which may use each other in any order but not in a circle."""
    values: dict[str, Expr] = {}

    def read(name: str, path: Path) -> None:
        values[name] = reader.expression(path, lets[name], LET, draws=name)
        reader.names[name] = let_var(name, values[name])
        if reader.arrays and values[name].sort == INT:
            reader.ranges[name] = index_range(values[name], reader.ranges)

    define(reader, prefix, lets, read)
    return {name: values[name] for name in lets if name in values}


def read_agents(reader: Reader, drafts: list[Draft], lets: Mapping[str, Expr]) -> tuple[Agent, ...]:
    agents: list[Agent] = []
    for entry in drafts:
        with reader.collect(("agents", entry.name)):
            agents.append(finish(reader, entry, lets))
    return tuple(agents)


def read_next(reader: Reader, following: Mapping[str, object], state: Mapping[str, Variable]) -> dict[str, Expr]:
    """The next value of each variable that changes, of the variable's own sort."""
    values: dict[str, Expr] = {}
    for name, value in following.items():
        path: Path = ("environment", "next", name)
        with reader.collect(path):
            if reader.owners.get(name) is Owner.STATE and name in reader.broken and isinstance(value, str):
                reader.expression(path, value, NEXT, draws=name)  # for what is wrong with it
            variables = spoken_of(reader, path, following, state)
            made = values_of(reader, path, value, variables, NEXT)
            for variable, node in zip(variables, made, strict=True):
                check_next(variable, node)
                values[variable.name] = node
    return values


def read_enabled(reader: Reader, enabled: object, lets: Mapping[str, Expr]) -> Expr:
    """Where the path goes on: a truth value that no draw decides."""
    path: Path = ("environment", "enabled")
    if enabled is True:  # the default, which stands nowhere in the file
        return TRUE
    with reader.collect(path):
        _refuse_drawn(reader, path, enabled, drawn_lets(lets))
        return reader.truth(path, enabled, ENABLED)
    return TRUE


def read_properties(
    reader: Reader, properties: Mapping[str, str | PropertyTable], lets: Mapping[str, Expr], times: Sequence[Time]
) -> tuple[dict[str, Formula], dict[str | None, Time]]:
    """Formulas over state variables, actions and lets without draws, and what is counted where they say it.

    `times` are the kinds of time that the task knows, first that of a property which says none.
    """
    formulas: dict[str, Formula] = {}
    said: dict[str | None, Time] = {}
    drawn = drawn_lets(lets)
    for name in properties:
        path: Path = ("properties", name)
        with reader.collect(path):
            if name == "in_range":
                message = "'in_range' is built in (it asks whether all ranges are kept); rename this property"
                raise ParseError(message, place=reader.places.key_place(path))
            if not name.strip() or not name.isprintable():
                message = f"{name!r} cannot name a property: it cannot be printed; use a printable name"
                raise ParseError(message, place=reader.places.key_place(path))
            time, at = times[0], path
            if isinstance(written := properties[name], PropertyTable):
                time = said[name] = _time(reader, (*path, "time"), written.time, times)
                at = (*path, "formula")
            formulas[name] = reader.formula(at, PROPERTY, drawn, discrete=time is not Time.SECONDS)
    return formulas, said


def _time(reader: Reader, path: Path, word: str, times: Sequence[Time]) -> Time:
    known = [str(time) for time in times]
    if word not in known:
        told = f"here bounds count {' or '.join(known)}"
        raise ParseError(f"{told}, not {word!r}", place=reader.places.value_place(path))
    return Time(word)


def read_predicates(reader: Reader, predicates: Sequence[str]) -> tuple[Expr, ...]:
    """Conditions on the state by which predicate abstraction tells states apart, each once."""
    read: list[Expr] = []
    for number, text in enumerate(predicates):
        path: Path = ("predicates", number)
        with reader.collect(path):
            read.append(reader.truth(path, text, PREDICATE))
    return tuple(dict.fromkeys(read))


def _refuse_drawn(reader: Reader, path: Path, value: object, drawn: frozenset[str]) -> None:
    """A let that draws has no value before the step is taken, so whether there is a step cannot depend on it."""
    syntax, source = reader.parse(path) if isinstance(value, str) else (None, None)
    for node in mentioned(syntax) if syntax else ():
        if isinstance(node, Identifier) and node.text in drawn and source:
            message = f"{node.text!r} draws anew at every step; whether a step is enabled cannot depend on it"
            raise TypeClash(message, place=source.place(*node.span))
