"""Whether there is an initial state at all, where constraints cut the initial set."""

from __future__ import annotations

from contextlib import suppress

from vernal.errors import Stopped
from vernal.interpret.discrete.initial_states import has_start, is_solvable
from vernal.interpret.symbolic.execute import NotPiecewiseLinear
from vernal.model import build
from vernal.model.system import Model
from vernal.run.budget import Budget
from vernal.sets.core.inquiry import possible
from vernal.sets.exact.loop import Loop


def is_empty(system: Model, budget: Budget) -> bool | None:
    """Whether the constraints leave no initial state; None where that could not be found out."""
    if not system.init.where:
        return False
    try:
        if is_solvable(system.initial):
            return not has_start(system.initial, budget.check)
        return next(Loop(system, (), budget.check).starts(), None) is None
    except NotPiecewiseLinear:
        return _empty_by_bounds(system, budget)
    except Stopped:
        return None


def _empty_by_bounds(system: Model, budget: Budget) -> bool | None:
    found = None
    with suppress(Stopped):
        found = possible(build.conj(*system.init.where), system, budget)
    return None if found is None else not found
