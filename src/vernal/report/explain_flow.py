"""A flow in words: its region, its initial states, its rates of change and its disturbances."""

from __future__ import annotations

from vernal.evidence.document_head import exact_number
from vernal.logic.task import UNSAID, Task
from vernal.model.hybrid import HybridAutomaton, Location
from vernal.model.system import Model
from vernal.report.explain import draws_table, parameters_line, shortened, state_table
from vernal.report.tables import Column, aligned

REGION = "The ranges are the region: trajectories are followed while they are in it."
MAX_LOCATIONS = 12  # that are shown
CALM = "There are no disturbances."


def explain_flow(task: Task) -> str:
    """Region and initial states, rates, disturbances, and how it is to be abstracted."""
    flow = task.flow
    count = len(flow.state)
    parts = [
        f"{task.name or 'task'}: a flow in continuous time, {count} state variable{'' if count == 1 else 's'}",
        parameters_line(task),
        state_table(flow),
        REGION,
        draws_table(flow) if flow.disturbances else CALM,
        rates_table(flow),
        _settings(task),
    ]
    return "\n\n".join(part for part in parts if part)


def explain_automaton(task: Task, automaton: HybridAutomaton) -> str:
    """Region and initial states, and what moves in each location."""
    count = len(task.model.state)
    size = f"{len(automaton.locations)} locations, {len(automaton.crossings)} crossings"
    parts = [
        f"{task.name or 'task'}: an affine hybrid automaton, {count} state variable{'' if count == 1 else 's'}, {size}",
        state_table(task.model),
        REGION,
        _locations_table(automaton),
    ]
    return "\n\n".join(parts)


def _locations_table(automaton: HybridAutomaton) -> str:
    """The locations, where each leads to, and their rates; of many, the first."""
    shown = list(enumerate(automaton.locations))[:MAX_LOCATIONS]
    names = [location.name or str(number) for number, location in enumerate(automaton.locations)]
    ways = [[names[one.target] for one in automaton.crossings if one.source == number] for number, _ in shown]
    columns = [
        Column("location", [names[number] for number, _ in shown], left=True),
        Column("leads to", [", ".join(way[:MAX_LOCATIONS]) for way in ways], left=True),
        Column("rates", [_rates(automaton, location) for _, location in shown], left=True),
    ]
    more = len(automaton.locations) - len(shown)
    return aligned(columns, width=10_000) + (f"\n... and {more} more" if more else "")


def _rates(automaton: HybridAutomaton, location: Location) -> str:
    """`dx/dt = -1 x + 2 y + 0.5, |d| <= 0.1` of each variable."""
    told = []
    for name, row, drift, radius in zip(
        automaton.variables, location.matrix, location.drift, automaton.radius, strict=True
    ):
        terms = [f"{a:.4g} {other}" for a, other in zip(row, automaton.variables, strict=True) if a]
        whole = " + ".join([*terms, *([f"{drift:.4g}"] if drift or not terms else [])])
        told.append(f"d{name}/dt = {whole}" + (f" + d, |d| <= {radius:.4g}" if radius else ""))
    return "; ".join(told)


def timing(loop: Model) -> str:
    """How often what happens, in a loop that samples."""
    assert loop.grid is not None
    told = [f"instants: every {exact_number(loop.grid)} s"]
    for agent in loop.agents:
        late = f", in force {exact_number(agent.delay)} s later" if agent.delay else ""
        told.append(f"{agent.name} acts every {exact_number(agent.every or loop.grid)} s{late}")
    return "; ".join(told)


def rates_table(flow: Model) -> str:
    """The lets and the rates of change."""
    names = [*flow.lets, *(f"d{variable.name}/dt" for variable in flow.state)]
    bodies = [*flow.lets.values(), *(flow.rates.get(variable.name) for variable in flow.state)]
    columns = [
        Column("at every time", names, left=True),
        Column("", [f"= {'0' if body is None else shortened(body)}" for body in bodies], left=True),
    ]
    return aligned(columns, width=10_000)


def _settings(task: Task) -> str:
    settings = task.settings
    if settings == UNSAID:
        return ""
    error = None if settings.error is None else ", ".join(str(exact_number(value)) for value in settings.error)
    said = {
        "widths": None if settings.widths is None else ", ".join(map(str, settings.widths)),
        "error": error,
        "samples": settings.samples,
        "rounds": settings.rounds,
        "seed": settings.seed,
        "transitions": settings.transitions,
    }
    return "abstraction: " + "; ".join(f"{name} {value}" for name, value in said.items() if value is not None)
