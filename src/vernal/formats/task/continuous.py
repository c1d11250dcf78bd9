"""Tasks with `[flow]`: a flow alone, or a loop that samples it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from vernal.errors import NoOption
from vernal.formats.task.agents import Library, draft
from vernal.formats.task.expressions import Reader
from vernal.formats.task.flow import (
    read_rates,
    read_region,
    read_settings,
    refuse_nonlinear,
    refuse_predicates,
    refuse_undefined,
)
from vernal.formats.task.places import Path
from vernal.formats.task.sampled import HELD_RATE, read_timing, refuse_signals, refuse_unbounded, samples
from vernal.formats.task.schema import TaskTable
from vernal.formats.task.state import read_init
from vernal.formats.task.tables import (
    Quantities,
    read_agents,
    read_enabled,
    read_lets,
    read_next,
    read_properties,
    read_quantities,
)
from vernal.logic.formula import Formula
from vernal.logic.normal import atoms
from vernal.logic.scope import drawn_lets
from vernal.logic.task import InputFile, Task
from vernal.logic.times import Time
from vernal.model.agent import remembered
from vernal.model.clock import LAST_TIME, AnyModel, clock, clock_name, clocked, said_of
from vernal.model.components import arrays_of, index_ranges
from vernal.model.flow import Flow
from vernal.model.motion import Sampled
from vernal.model.system import Model, System

ContinuousParts = tuple[
    Model, dict[str, Formula], dict[str | None, Time]
]  # with properties, and what some of them count


def build_continuous(
    reader: Reader,
    table: TaskTable,
    values: Mapping[str, Fraction],
    lost: set[Path],
    library: Library,
    source: InputFile,
) -> Task:
    """The task of a flow, or of a loop that samples one."""
    quantities = read_quantities(reader, table, library)
    reader.arrays.update(arrays_of(quantities.state.values()))
    refuse_predicates(reader)
    settings = read_settings(reader, table.abstraction, list(quantities.state))
    make = _sampled if samples(table, reader) else _flow
    model, properties, times = make(reader, table, lost, quantities)
    known = {**{name: reader.names[name] for name in values}, **quantities.constants}
    inputs = tuple(quantities.library.inputs.values())
    made = (model, properties, values, known, dict(reader.functions), source, inputs)
    return Task(*made, settings=settings, times=times)


def _name_clock(reader: Reader, quantities: Quantities) -> None:
    """From here on `t` is the clock, unless something else of the task is called so."""
    labels = [label for variable in quantities.state.values() for label in variable.sort.labels]
    reader.names.update(clock_name([*reader.owners, *reader.names, *labels]))


def _flow(reader: Reader, table: TaskTable, lost: set[Path], quantities: Quantities) -> ContinuousParts:
    region = read_region(reader, quantities.state)
    init = read_init(reader, table.init, quantities.state, lost)
    refuse_nonlinear(reader, table.init, init)
    _name_clock(reader, quantities)
    region = region and {**{clock().var: (Fraction(0), LAST_TIME)}, **region}
    lets = read_lets(reader, ("flow", "let"), table.flow_lets)
    rates = read_rates(reader, table, quantities.state, lets, region)
    properties, times = read_properties(reader, table.properties, lets, [Time.SECONDS])
    refuse_undefined(reader, properties, lets, region)
    reader.done()
    flow = Flow(table.name, tuple(quantities.state.values()), init, rates, lets)
    return _with_clock(flow, properties), properties, times


def _sampled(reader: Reader, table: TaskTable, lost: set[Path], quantities: Quantities) -> ContinuousParts:
    state = quantities.state
    reader.ranges.update(index_ranges(state.values()))
    refuse_unbounded(reader, state)
    init = read_init(reader, table.init, state, lost)
    refuse_nonlinear(reader, table.init, init)
    _name_clock(reader, quantities)
    drafts = [draft(reader, name, entry, state, quantities.library) for name, entry in table.agents.items()]
    lets = read_lets(reader, ("environment", "let"), table.environment.let)
    signals = read_lets(reader, ("flow", "let"), table.flow_lets)
    drawn = drawn_lets(signals)
    agents, every = read_timing(reader, table, read_agents(reader, drafts, {**lets, **signals}))
    following = read_next(reader, table.environment.next, state)
    enabled = read_enabled(reader, table.environment.enabled, lets)
    refuse_signals(reader, signals, lets, following, agents)
    rates = read_rates(reader, table, state, {**lets, **signals}, None, HELD_RATE)
    named = {**lets, **{n: x for n, x in signals.items() if n not in drawn}, **remembered(agents)}
    reader.ranges.update(index_ranges(state.values(), agents, named))
    properties, times = read_properties(reader, table.properties, {**named, **signals}, [Time.SECONDS, Time.SAMPLES])
    reader.done()
    assert every is not None
    motion = Sampled(every, rates, following, enabled, {n: x for n, x in signals.items() if n in drawn})
    system = System(table.name, tuple(state.values()), init, motion=motion, agents=agents, lets=named)
    return _closed(reader, _with_clock(system, properties)), properties, times


def _with_clock(model: AnyModel, properties: Mapping[str, Formula]) -> AnyModel:
    """The model with a clock, where it or a property names it."""
    return clocked(model, [*said_of(model), *(atom for formula in properties.values() for atom in atoms(formula))])


def _closed(reader: Reader, system: System) -> System:
    """The system with its graph: what is wrong with a choice only the whole of it tells."""
    try:
        system.step  # noqa: B018 - made once and kept
    except NoOption as error:
        raise error.at(reader.place(("environment",))) from None
    return system
