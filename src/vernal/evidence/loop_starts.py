"""First positions of a loop that samples, and the same loop from one of them alone."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from vernal.evidence.trace import Trace, components
from vernal.evidence.trajectory import precisions, trajectory
from vernal.evidence.walk import NotAPath
from vernal.interpret.demand import Given
from vernal.interpret.sampled.plant import plant_of
from vernal.model.expr import Between, Choose, Expr
from vernal.model.initial import Box, Init, OneOf, Span, Start
from vernal.model.sorts import REAL
from vernal.model.system import Model
from vernal.model.tick import Tick, idle


def first_positions(flow: Model, box: Box, tick: Tick = idle) -> Iterator[Trace]:
    """Trajectories of one position from the centre and two corners of a box, as far as these are initial states.

    Draws take their first option, or the value nearest to 0.
    """
    step = plant_of(flow).model.step
    given: dict[Expr, Given] = {node: Fraction(0) for node in step.names if isinstance(node, Between)}
    given |= {node: 0 for node in step.names if isinstance(node, Choose)}
    corners = [{var: tuple(ends[side] for ends in entry) for var, entry in box.ends.items()} for side in (0, 1)]
    for point in (box.middle(), *corners):
        first = {var.name: point[var][0] for var in flow.vars}
        for precision in precisions(flow):
            try:
                yield trajectory(flow, first, (Fraction(0),), (given,), precision, tick).trace
                break
            except NotAPath:
                continue


def starting_at(flow: Model, trace: Trace) -> Model:
    """The loop from the first position of a trajectory alone."""
    step, plant = trace.steps[0], plant_of(flow)
    values = {name: components(value)[0] for name, value in step.state.items()}
    for name, own in plant.memory.items():
        values |= {var.name: value for var, value in zip(own, components(step.memory[name]), strict=True)}
    points: dict[str, Start] = {}
    for var in flow.vars:
        value = values.get(var.name)
        if isinstance(value, Fraction):
            points[var.name] = Span(value, value) if var.sort == REAL else OneOf((value,))
    return flow.starting(Init({**flow.init.starts, **points}, ()))
