"""From the tables of a task file to a Task: each table in the order in which it can be understood."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from vernal.errors import NoOption
from vernal.formats.task.agents import Library
from vernal.formats.task.continuous import build_continuous
from vernal.formats.task.expressions import Reader
from vernal.formats.task.flow import refuse_settings
from vernal.formats.task.names import WORD
from vernal.formats.task.places import Path
from vernal.formats.task.sampled import refuse_seconds
from vernal.formats.task.schema import TaskTable
from vernal.formats.task.state import read_init, read_parameters
from vernal.formats.task.tables import (
    Dynamics,
    Quantities,
    read_dynamics,
    read_predicates,
    read_properties,
    read_quantities,
)
from vernal.logic.task import InputFile, Task
from vernal.logic.times import Time
from vernal.model.components import arrays_of, index_ranges
from vernal.model.system import Init, System

ASKED = ("parameters", "init", "properties", "predicates")  # tables that do not say how the system moves
MAX_SHARED = 8  # systems of one file that are remembered

ParameterValues: TypeAlias = tuple[tuple[str, Fraction], ...]


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
        return build_continuous(reader, table, values, lost, library, source)
    refuse_settings(reader, table)
    refuse_seconds(reader, table)
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
    properties, times = read_properties(reader, table.properties, dynamics.lets, [Time.STEPS])
    predicates = read_predicates(reader, table.predicates)
    reader.done()
    system = made.system.starting(init) if made else _system(reader, table.name, init, quantities, dynamics)
    shared.keep(key, made or Made(quantities, dynamics, system))
    known = {**{name: reader.names[name] for name in values}, **quantities.constants}
    inputs = tuple(quantities.library.inputs.values())
    made_of = (values, known, dict(reader.functions), source, inputs, predicates)
    return Task(system, properties, *made_of, times=times)


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
