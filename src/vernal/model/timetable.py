"""When things happen in a loop that samples: jumps, delayed actions that come into force, readings.

The grid is the greatest common divisor of all periods. At each of its instants, in this order, variables jump (but not
at the first), actions whose delay is over come into force, and agents whose period it is read the state and act.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from heapq import merge
from itertools import count, groupby
from math import lcm

from vernal.model.held_loop import loop_of
from vernal.model.motion import common_period
from vernal.model.system import Agent, Model


@dataclass(frozen=True, slots=True)
class Instant:
    """What happens at one time: first the jump, then what comes into force, then who reads."""

    time: Fraction
    jumps: bool  # the variables of `next`
    arriving: tuple[str, ...]  # agents whose last action comes into force only now
    acting: tuple[str, ...]  # agents that read; without a delay their action is in force at once
    position: bool  # whether it is an instant of the grid


def instants(model: Model) -> Iterator[Instant]:
    """All instants from time 0 on, without an end; of a flow the first alone, at which nothing happens."""
    if model.grid is None:
        yield Instant(Fraction(0), jumps=False, arriving=(), acting=(), position=True)
        return
    periods = {agent.name: _period(model, agent) for agent in model.agents}
    delays = [(_late(agent, periods[agent.name])) for agent in model.agents if agent.delay]
    grid = (_grid_of(model) * k for k in count())
    for time, same in groupby(merge(grid, *delays)):
        del same  # several agents' delays may be over at once
        yield _instant(model, periods, time)


def _instant(model: Model, periods: dict[str, Fraction], time: Fraction) -> Instant:
    motion = model.motion
    assert motion.every is not None
    jumps = bool(motion.next) and time > 0 and divides(motion.every, time)
    arriving = [one.name for one in model.agents if one.delay and _arrives(one, periods[one.name], time)]
    acting = [one.name for one in model.agents if divides(periods[one.name], time)]
    return Instant(time, jumps, tuple(arriving), tuple(acting), divides(_grid_of(model), time))


def _arrives(agent: Agent, period: Fraction, time: Fraction) -> bool:
    return time >= agent.delay and divides(period, time - agent.delay)


def _late(agent: Agent, period: Fraction) -> Iterator[Fraction]:
    """The times at which an agent's actions come into force."""
    return (agent.delay + period * k for k in count())


def divides(period: Fraction, time: Fraction) -> bool:
    """Whether a time is a multiple of a period."""
    return (time / period).denominator == 1


def _grid_of(model: Model) -> Fraction:
    assert model.grid is not None, "a model without a grid has no instants"
    return model.grid


def _period(model: Model, agent: Agent) -> Fraction:
    return _grid_of(model) if agent.every is None else agent.every


def unit_of(model: Model) -> Fraction:
    """The longest time of which all times between instants are multiples; a second, where there are none."""
    return common_period([model.grid or Fraction(1), *(agent.delay for agent in model.agents if agent.delay)])


def repeat_period(model: Model) -> Fraction | None:
    """After which everything that instants do begins anew; None of a flow, which has no instants."""
    loop = loop_of(model)
    if loop is None or loop.grid is None:
        return None
    periods = [agent.every or loop.grid for agent in loop.agents]
    periods += [loop.motion.every or loop.grid] if loop.motion.next else []
    return loop.grid * lcm(*(int(period / loop.grid) for period in periods))
