"""The region of a flow as a claim: whether a trajectory leaves it can be asked where there is something around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import isfinite

import numpy as np

from vernal.errors import InputError
from vernal.interpret.interval import evaluate
from vernal.interpret.numbers.rounding import float_above, float_below
from vernal.interpret.sampled.held_questions import flow_of
from vernal.interpret.sampled.plant import plant_of, set_of
from vernal.interpret.value_sets import Finite, Range, Value
from vernal.model.expr import Expr, Var
from vernal.model.sorts import REAL
from vernal.model.system import Model, Variable
from vernal.sets.operator_domains import first_gap

IN_RANGE = "in_range"  # the built-in property that every declared range is kept
WIDER = tuple(Fraction(1, n) for n in (8, 64, 512))  # shares of a range; the first with defined rates is taken


def asked_model(model: Model, name: str | None) -> Model:
    """The model that a property is asked of: of a flow whose region is asked about, the same in a wider one.

    A trajectory is followed in the wider region, too, so that one that leaves the narrower one is seen to: solutions
    are continuous, and those of both flows are the same until then. Of a loop that samples, the wider one contains
    whatever a jump makes of the narrower one, so that what leaves by a jump is seen, too.
    """
    return around_region(model) if name == IN_RANGE and _has_surroundings(model) else model


def refuse_region(model: Model) -> None:
    """An error for a model in continuous time of which nothing is known around its region."""
    if not _has_surroundings(model):
        raise InputError(
            f"the ranges of {model.motion.noun} are the region in which paths are followed, and nothing is around it; "
            "the scope of every verdict says until when all provably stay inside"
        )


def _has_surroundings(model: Model) -> bool:
    """Whether it flows: rates are known around a region, too."""
    return model.motion.rates is not None


def around_region(model: Model) -> Model:
    """What flows, in a region that is a little wider on every side, and contains what jumps make of the narrower."""
    jumps = _jumps(model)
    for share in WIDER:
        wider = replace(model, state=tuple(_wider(variable, share, jumps) for variable in model.state))
        flow = flow_of(wider)
        if any(var.sort != REAL for var in flow.vars) or not first_gap(list(flow.vector_field), flow.vars, flow.region):
            return wider
    raise InputError("whether trajectories leave the region cannot be asked: the rates are not defined all around it")


def _jumps(model: Model) -> Mapping[Var, tuple[float, float]]:
    """The ends of what variables are after a jump from anywhere in the region."""
    if model.grid is None:
        return {}
    plant = plant_of(flow_of(model))
    box: dict[Expr, Value] = {
        var: set_of(var.sort, np.array([float_below(low)]), np.array([float_above(high)]))
        for var, (low, high) in zip(plant.flow.vars, plant.flow.region, strict=True)
    }
    return {
        var: _ends(var, value) for var, value in zip(plant.jump, evaluate(list(plant.jump.values()), box), strict=True)
    }


def _ends(var: Var, value: Value) -> tuple[float, float]:
    match value:
        case Range(lower, upper):
            ends = float(np.min(lower)), float(np.max(upper))
        case Finite(_, values):
            ends = float_below(min(values)), float_above(max(values))
        case _:
            ends = 0.0, 1.0
    if not all(map(isfinite, ends)):
        raise InputError(f"whether paths leave the region cannot be asked: a jump of {var.name!r} may have any value")
    return ends


def _wider(variable: Variable, share: Fraction, jumps: Mapping[Var, tuple[float, float]]) -> Variable:
    """The variable with a wider range, which contains what jumps make of it."""
    if variable.lower is None or variable.upper is None:
        return variable
    ends = [variable.lower, variable.upper, *map(Fraction, jumps.get(variable.var, ()))]
    more = share * (variable.upper - variable.lower) if variable.var.sort == REAL else Fraction(1)
    return replace(variable, lower=min(ends) - more, upper=max(ends) + more)
