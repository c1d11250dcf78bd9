"""Loops that sample in a task file: agents, or `[environment]` with a period, beside `[flow]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from vernal.errors import NameUnknown, ParseError, TypeClash, nearest
from vernal.formats.task.expressions import Reader
from vernal.formats.task.flow import RATE, refuse_regionless
from vernal.formats.task.names import FIXED, Owner, Use
from vernal.formats.task.places import Path
from vernal.formats.task.schema import AgentTable, EnvironmentTable, TaskTable
from vernal.logic.scope import drawn_lets
from vernal.model.expr import Expr, Role
from vernal.model.flow import region_problem
from vernal.model.graph import variables
from vernal.model.motion import common_period, grid_problem
from vernal.model.numbers import show
from vernal.model.sorts import REAL, Kind, Sort
from vernal.model.system import Agent, Variable

HELD_RATE = Use(RATE.what, RATE.allowed | {Owner.AGENT})
PERIOD, DELAY, START = (Use(what, FIXED) for what in ("a period", "a delay", "start"))
ONLY_BESIDE_FLOWS = "`{}` counts seconds between the actions of agents beside [flow]; in steps all agents act at each"


def samples(table: TaskTable, reader: Reader) -> bool:
    """Whether a task with a flow is a loop that samples."""
    return bool(table.agents) or any((key,) in reader.places for key in ("agents", "environment"))


def refuse_seconds(reader: Reader, table: TaskTable) -> None:
    """A problem for each period, delay or first action in a task that moves in steps."""
    paths: list[Path] = [("agents", name, key) for name in table.agents for key in ("every", "delay", "start")]
    for path in [*paths, ("environment", "every")]:
        if path in reader.places:
            message = ONLY_BESIDE_FLOWS.format(path[-1])
            reader.problems.append(ParseError(message, place=reader.places.key_place(path)))


def refuse_unbounded(reader: Reader, state: Mapping[str, Variable]) -> None:
    """A problem for each variable without a region: reals and whole numbers need a range."""
    refuse_regionless(reader, state, _region_problem)


def _region_problem(variable: Variable) -> str | None:
    if variable.sort == REAL:
        return region_problem(variable)
    if variable.sort.is_number and (variable.lower is None or variable.upper is None):
        return (
            f"{variable.name!r} has no range; beside a flow the ranges are the region in which paths are followed: "
            'declare it as "int [lower, upper]"'
        )
    return None


# Periods --------------------------------------------------------------------------------------------------------------


def read_timing(reader: Reader, table: TaskTable, agents: Sequence[Agent]) -> tuple[tuple[Agent, ...], Fraction | None]:
    """The agents with their periods, delays and first actions, and how often the environment moves."""
    every = _environment_period(reader, table.environment)
    made: list[Agent] = []
    for agent in agents:
        with reader.collect(("agents", agent.name)):
            made.append(_timed(reader, agent, table.agents[agent.name], every))
    periods = [agent.every for agent in made if agent.every is not None]
    if every is None and not table.agents and ("environment", "every") not in reader.places:
        message = "no agent acts, so that nothing says how often; give [environment] every, in seconds"
        reader.problems.append(ParseError(message, place=reader.places.key_place(("environment",))))
    _refuse_uneven(reader, [*periods, *([] if every is None else [every])])
    return tuple(made), every or (common_period(periods) if periods else None)


def _environment_period(reader: Reader, table: EnvironmentTable) -> Fraction | None:
    path: Path = ("environment", "every")
    with reader.collect(path):
        return None if table.every is None else _positive(reader, path, table.every, PERIOD)
    return None


def _positive(reader: Reader, path: Path, value: object, use: Use) -> Fraction:
    found = reader.constant(path, value, use)
    if found <= 0:
        raise TypeClash(f"{use.what} is a positive number of seconds, not {show(found)}", place=reader.place(path))
    return found


def _refuse_uneven(reader: Reader, periods: Sequence[Fraction]) -> None:
    message = grid_problem(periods)
    if message is not None:
        reader.problems.append(TypeClash(message, place=reader.places.key_place(("flow",))))


def _timed(reader: Reader, agent: Agent, table: AgentTable, every: Fraction | None) -> Agent:
    path: Path = ("agents", agent.name)
    if table.every is None and every is None:
        raise ParseError(
            f"beside [flow] an agent says how often it acts: [agents.{agent.name}] needs `every`, in seconds",
            place=reader.places.key_place(path),
        )
    period = every if table.every is None else _positive(reader, (*path, "every"), table.every, PERIOD)
    assert period is not None
    delay = _delay(reader, (*path, "delay"), table.delay, period)
    return replace(agent, every=period, delay=delay, start=_start(reader, (*path, "start"), table.start, agent, delay))


def _delay(reader: Reader, path: Path, value: object, period: Fraction) -> Fraction:
    found = Fraction(0) if value is None else reader.constant(path, value, DELAY)
    if not 0 <= found < period:
        message = f"a delay is at least 0 and shorter than the period of {show(period)} seconds, not {show(found)}"
        raise TypeClash(message, place=reader.place(path))
    return found


def _start(reader: Reader, path: Path, value: object, agent: Agent, delay: Fraction) -> tuple[Fraction, ...] | None:
    """What is in force until the first action, one number for each component."""
    if value is None:
        if delay:
            message = f"with a delay something is in force before the first action: [agents.{agent.name}] needs `start`"
            raise ParseError(message, place=reader.places.key_place(path[:-1]))
        return None
    if not delay:
        message = "without a delay the first action is in force at once, so that there is no `start`"
        raise TypeClash(message, place=reader.place(path))
    entries = value if isinstance(value, list) else [value]
    paths: list[Path] = [(*path, k) for k in range(len(entries))] if isinstance(value, list) else [path]
    if len(entries) != agent.action.size:
        message = f"start has {len(entries)} numbers, but the action has {agent.action.size} components"
        raise TypeClash(message, place=reader.place(path))
    return tuple(_value(reader, at, one, agent.action.sort) for at, one in zip(paths, entries, strict=True))


def _value(reader: Reader, path: Path, value: object, sort: Sort) -> Fraction:
    if sort.kind is not Kind.ENUM:
        return reader.constant(path, value, START)
    if value not in sort.labels:
        shown = ", ".join(sort.labels)
        message = f"start is one of the labels {shown}{nearest(str(value), sort.labels)}"
        raise NameUnknown(message, place=reader.place(path))
    return Fraction(sort.labels.index(str(value)))


# What rates may say ---------------------------------------------------------------------------------------------------


def refuse_signals(
    reader: Reader,
    signals: Mapping[str, Expr],
    lets: Mapping[str, Expr],
    following: Mapping[str, Expr],
    agents: Sequence[Agent],
) -> None:
    """A problem for each use of a signal at an instant: it has no value there, since it varies at will."""
    drawn = drawn_lets(signals)
    used: list[tuple[Path, Expr]] = [(("environment", "let", name), node) for name, node in lets.items()]
    used += [(("environment", "next", name.partition("[")[0]), node) for name, node in following.items()]
    used += [(("agents", agent.name, "observe"), node) for agent in agents for node in agent.observe]
    for path, node in used:
        named = [var.name for var in variables([node]) if var.role is Role.LET and var.name in drawn]
        if named:
            message = f"{named[0]!r} is a signal of [flow.let] that varies at will; draw it under [environment.let]"
            reader.problems.append(TypeClash(message, place=reader.place(path)))
