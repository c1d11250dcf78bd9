"""The region of a flow as a claim: whether a trajectory leaves it can be asked where there is something around it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from vernal.errors import InputError
from vernal.model.system import Model, Variable
from vernal.sets.operator_domains import first_gap

IN_RANGE = "in_range"  # the built-in property that every declared range is kept
WIDER = tuple(Fraction(1, n) for n in (8, 64, 512))  # shares of a range; the first with defined rates is taken


def asked_model(model: Model, name: str | None) -> Model:
    """The model that a property is asked of: of a flow whose region is asked about, the same in a wider one.

    A trajectory is followed in the wider region, too, so that one that leaves the narrower one is seen to: solutions
    are continuous, and those of both flows are the same until then.
    """
    return around_region(model) if name == IN_RANGE and _has_surroundings(model) else model


def refuse_region(model: Model) -> None:
    """An error for a model in continuous time of which nothing is known around its region."""
    if not _has_surroundings(model):
        raise InputError(
            f"the ranges of {model.motion.noun} are the region in which paths are followed, which cannot be asked yet; "
            "the scope of every verdict says until when all provably stay inside"
        )


def _has_surroundings(model: Model) -> bool:
    """Whether it flows, and nothing else: rates are known around a region, too."""
    return model.motion.rates is not None and model.grid is None


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
