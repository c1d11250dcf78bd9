"""The clock: `t`, the seconds since a path began, where a model in continuous time names it and nothing else is `t`.

It is a state variable that starts at 0 and has rate 1. No path ends by it: claims that look beyond its range are
refused before anything is asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from vernal.errors import InputError
from vernal.model import build
from vernal.model.expr import Expr, Var
from vernal.model.graph import variables
from vernal.model.initial import Init, OneOf
from vernal.model.motion import Rates, Sampled
from vernal.model.sorts import REAL
from vernal.model.system import Fields, Model, Variable

CLOCK = "t"
LAST_TIME = Fraction(2**40)
LONGEST_GRID = Fraction(2**20)  # seconds between instants: any number of samples that is followed ends long before

AnyModel = TypeVar("AnyModel", bound=Model)


def clock() -> Variable:
    """The variable that the clock is."""
    return Variable(CLOCK, REAL, Fraction(0), LAST_TIME, enforced=True)


def clock_name(taken: Collection[str]) -> dict[str, Expr]:
    """The name of the clock, where it is nothing else's."""
    return {} if CLOCK in taken else {CLOCK: clock().var}


def names_clock(roots: Iterable[Expr]) -> bool:
    """Whether some expression speaks of it."""
    return clock().var in variables(list(roots))


def clock_of(model: Model) -> Var | None:
    """The clock of a model that has one."""
    return clock().var if clock() in model.state else None


def with_clock(fields: Fields) -> Fields:
    """The fields of a model with a clock, where they name it and have none."""
    model = Model(*fields)
    told = clocked(model, said_of(model))
    return told.name, told.state, told.init, told.motion, told.agents, told.lets


def said_of(model: Model) -> list[Expr]:
    """Everything that is written of how a model moves."""
    said = [*model.rates.values(), *model.next.values(), model.enabled, *model.signals.values()]
    return said + [node for agent in model.agents for node in (agent.action, *agent.observe)]


def clocked(model: AnyModel, roots: Iterable[Expr]) -> AnyModel:
    """The model with a clock, where these expressions name it and it has none."""
    if any(variable.name == CLOCK for variable in model.state) or not names_clock(roots):
        return model
    motion = model.motion
    assert isinstance(motion, Rates | Sampled)
    moving = replace(motion, rates={**motion.rates, CLOCK: build.const(1)})
    init = Init({**model.init.starts, CLOCK: OneOf((Fraction(0),))}, model.init.where)
    return replace(model, state=(*model.state, clock()), init=init, motion=moving)


def refuse_late(model: Model, last: Fraction | None) -> None:
    """An error for a question that looks beyond what the clock tells."""
    if clock_of(model) is None:
        return
    if (last is not None and last > LAST_TIME) or (model.grid is not None and model.grid > LONGEST_GRID):
        raise InputError("times of this size are too large where the clock is named; choose another unit of time")
