"""The region of a flow as a claim: whether a trajectory leaves it can be asked where there is something around it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from vernal.errors import InputError
from vernal.interpret.domains import first_gap
from vernal.model.motion import Rates
from vernal.model.system import Model, Variable

IN_RANGE = "in_range"  # the built-in property that every declared range is kept
WIDER = tuple(Fraction(1, n) for n in (8, 64, 512))  # shares of a range; the first with defined rates is taken


def asked_model(model: Model, name: str | None) -> Model:
    """The model that a property is asked of: of a flow whose region is asked about, the same in a wider one.

    A trajectory is followed in the wider region, too, so that one that leaves the narrower one is seen to: solutions
    are continuous, and those of both flows are the same until then.
    """
    return around_region(model) if name == IN_RANGE and isinstance(model.motion, Rates) else model


def around_region(flow: Model) -> Model:
    """The flow in a region that is a little wider on every side."""
    for share in WIDER:
        wider = replace(flow, state=tuple(_wider(variable, share) for variable in flow.state))
        if first_gap(list(wider.vector_field), wider.vars, wider.region) is None:
            return wider
    raise InputError("whether trajectories leave the region cannot be asked: the rates are not defined all around it")


def _wider(variable: Variable, share: Fraction) -> Variable:
    assert variable.lower is not None
    assert variable.upper is not None
    more = share * (variable.upper - variable.lower)
    return replace(variable, lower=variable.lower - more, upper=variable.upper + more)
