"""From the tables of a task file to a Task: each table in the order in which it can be understood."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from vernal.errors import NoOption, ParseError, TypeClash
from vernal.formats.task.agents import Draft, Library, draft, finish, read_functions
from vernal.formats.task.arrays import spoken_of, values_of
from vernal.formats.task.expressions import Reader
from vernal.formats.task.flow import (
    read_rates,
    read_region,
    read_settings,
    refuse_nonlinear,
    refuse_settings,
    refuse_steps,
    refuse_undefined,
)
from vernal.formats.task.names import FIXED, WORD, Owner, Use, mentioned
from vernal.formats.task.places import Path
from vernal.formats.task.schema import TaskTable
from vernal.formats.task.state import define, read_constants, read_init, read_parameters, read_state
from vernal.logic.formula import Formula
from vernal.logic.scope import drawn_lets
from vernal.logic.syntax import Identifier
from vernal.logic.task import InputFile, Task
from vernal.model.agent import remembered
from vernal.model.build import TRUE
from vernal.model.checks import check_next
from vernal.model.components import arrays_of, index_ranges
from vernal.model.declare import let_var
from vernal.model.expr import Expr
from vernal.model.flow import Flow
from vernal.model.index_range import index_range
from vernal.model.network import Network
from vernal.model.sorts import INT
from vernal.model.system import Agent, Init, System, Variable

WORLD = frozenset(Owner) - {Owner.MEMORY}
LET, NEXT, ENABLED = (Use(what, WORLD) for what in ("a let", "next", "enabled"))
PROPERTY = Use("a property", frozenset(Owner))
PREDICATE = Use("a predicate", FIXED | {Owner.STATE})
ASKED = ("parameters", "init", "properties", "predicates")  # tables that do not say how the system moves
MAX_SHARED = 8  # systems of one file that are remembered

ParameterValues: TypeAlias = tuple[tuple[str, Fraction], ...]


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


@dataclass(frozen=True, slots=True)
class Made:
    """A system with what it was made of."""

    quantities: Quantities
    dynamics: Dynamics
    system: System


@dataclass(frozen=True, slots=True)
class Shared:
    """The systems made from one file so far, by the values of the parameters that their dynamics mention."""

    mentioned: frozenset[str]
    made: dict[ParameterValues, Made] = field(default_factory=dict)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Shared:
        """Every word in the tables that say how the system moves, whatever it turns out to mean there."""
        moving = [table for name, table in document.items() if name not in ASKED]
        return cls(frozenset(word for text in _texts(moving) for word in WORD.findall(text)))

    def key(self, values: Mapping[str, Fraction]) -> ParameterValues:
        return tuple((name, value) for name, value in values.items() if name in self.mentioned)

    def keep(self, key: ParameterValues, made: Made) -> None:
        self.made[key] = made
        if len(self.made) > MAX_SHARED:
            del self.made[next(iter(self.made))]


def _texts(document: object) -> Iterator[str]:
    """Every string of nested arrays and tables."""
    waiting: list[object] = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)


def build_task(
    reader: Reader,
    table: TaskTable,
    parameters: Mapping[str, object],
    lost: set[Path],
    library: Library,
    source: InputFile,
    shared: Shared,
) -> Task:
    """Read every table, collect every problem, and put together what there is."""
    values: dict[str, Fraction] = read_parameters(reader, parameters)
    if table.flow is not None or ("flow",) in lost:
        return build_flow(reader, table, values, lost, library, source)
    refuse_settings(reader, table)
    key = shared.key(values)
    made = shared.made.get(key)
    quantities = made.quantities if made else read_quantities(reader, table, library)
    reader.names.update(quantities.names)
    reader.functions.update(quantities.functions)
    reader.arrays.update(arrays_of(quantities.state.values()))
    reader.ranges.update(index_ranges(quantities.state.values()))
    init = read_init(reader, table.init, quantities.state, lost)
    dynamics = made.dynamics if made else read_dynamics(reader, table, quantities)
    reader.names.update(dynamics.names)
    reader.ranges.update(index_ranges(quantities.state.values(), dynamics.agents, dynamics.lets))
    properties = read_properties(reader, table.properties, dynamics.lets)
    predicates = read_predicates(reader, table.predicates)
    reader.done()
    system = made.system.starting(init) if made else _system(reader, table.name, init, quantities, dynamics)
    shared.keep(key, made or Made(quantities, dynamics, system))
    known = {**{name: reader.names[name] for name in values}, **quantities.constants}
    inputs = tuple(quantities.library.inputs.values())
    return Task(system, properties, values, known, dict(reader.functions), source, inputs, predicates)


def _system(reader: Reader, name: str, init: Init, quantities: Quantities, moves: Dynamics) -> System:
    """The system, with its step: what is wrong with a choice only the whole of it tells."""
    state = tuple(quantities.state.values())
    system = System(name, state, init, moves.next, moves.agents, moves.lets, moves.enabled)
    try:
        system.step  # noqa: B018 - made once and kept
    except NoOption as error:
        raise error.at(reader.place(_drawn_at(error.choice, moves))) from None
    return system


def _drawn_at(draw: str, moves: Dynamics) -> Path:
    """The definition that a draw is named for."""
    if draw in moves.lets:
        return ("environment", "let", draw)
    return ("environment", "next", draw) if {draw, f"{draw}[0]"} & moves.next.keys() else ("agents", draw)


def read_quantities(reader: Reader, table: TaskTable, library: Library) -> Quantities:
    """Constants, networks and state variables."""
    before = set(reader.names)
    constants = read_constants(reader, table.constants)
    read_functions(reader, table.networks, library)
    state = read_state(reader, table.state)
    return Quantities(constants, dict(reader.functions), state, library, _added(reader, before))


def read_dynamics(reader: Reader, table: TaskTable, known: Quantities) -> Dynamics:
    """Agents and environment."""
    before = set(reader.names)
    drafts = [draft(reader, name, entry, known.state, known.library) for name, entry in table.agents.items()]
    lets = read_lets(reader, ("environment", "let"), table.environment.let)
    agents = read_agents(reader, drafts, lets)
    following = read_next(reader, table.environment.next, known.state)
    enabled = read_enabled(reader, table.environment.enabled, lets)
    return Dynamics(agents, {**lets, **remembered(agents)}, following, enabled, _added(reader, before))


def _added(reader: Reader, before: set[str]) -> dict[str, Expr]:
    return {name: node for name, node in reader.names.items() if name not in before}


def build_flow(
    reader: Reader,
    table: TaskTable,
    values: Mapping[str, Fraction],
    lost: set[Path],
    library: Library,
    source: InputFile,
) -> Task:
    """The task of a flow."""
    quantities = read_quantities(reader, table, library)
    reader.arrays.update(arrays_of(quantities.state.values()))
    refuse_steps(reader, table)
    region = read_region(reader, quantities.state)
    init = read_init(reader, table.init, quantities.state, lost)
    refuse_nonlinear(reader, table.init, init)
    lets = read_lets(reader, ("flow", "let"), table.flow_lets)
    rates = read_rates(reader, table, quantities.state, lets, region)
    properties = read_properties(reader, table.properties, lets, discrete=False)
    refuse_undefined(reader, properties, lets, region)
    settings = read_settings(reader, table.abstraction, list(quantities.state))
    reader.done()
    flow = Flow(table.name, tuple(quantities.state.values()), init, rates, lets)
    known = {**{name: reader.names[name] for name in values}, **quantities.constants}
    inputs = tuple(quantities.library.inputs.values())
    return Task(flow, properties, values, known, dict(reader.functions), source, inputs, settings=settings)


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
    reader: Reader, properties: Mapping[str, str], lets: Mapping[str, Expr], *, discrete: bool = True
) -> dict[str, Formula]:
    """Formulas over state variables, actions and lets without draws."""
    formulas: dict[str, Formula] = {}
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
            formulas[name] = reader.formula(path, PROPERTY, drawn, discrete=discrete)
    return formulas


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
