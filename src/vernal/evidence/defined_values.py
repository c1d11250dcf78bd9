"""Whether every state has a next one: no value on the way is undefined.

A proof takes what is undefined for anything at all, which is right for claims of all paths. That some path exists needs
more: an operator that is not defined everywhere (a quotient, a logarithm) must have a value.
"""

from __future__ import annotations

from vernal.evidence.invariant import Invariant
from vernal.model.expr import Expr
from vernal.model.graph import order
from vernal.model.system import Model
from vernal.model.traits import may_be_undefined


def is_defined(system: Model, invariant: Invariant | None) -> bool:
    """Whether every step has a value: operators are defined everywhere, or their values have ends in the invariant.

    What may be undefined has no ends in any bounds, so a value that has ends is defined.
    """
    step = system.step
    if any(map(_is_partial, (*step.actions.values(), step.enabled, *step.rates))):
        return False
    following = zip(step.inputs, (*step.next_state, *step.next_memory), strict=True)
    partial = {var.name for var, node in following if _is_partial(node)}
    return not partial or (invariant is not None and all(_has_ends(invariant, name) for name in partial))


def _is_partial(root: Expr) -> bool:
    return any(map(may_be_undefined, order([root])))


def _has_ends(invariant: Invariant, name: str) -> bool:
    """Whether a variable is between two numbers in every set."""
    if name not in invariant.components:
        return False
    place = invariant.components.index(name)

    def bounds(row: tuple[object, ...]) -> bool:
        return bool(row[place]) and not any(a for i, a in enumerate(row) if i != place)

    ends = ([(low, high) for row, low, high in one.limits() if bounds(row)] for one in invariant.sets)
    return all(any(low is not None and high is not None for low, high in one) for one in ends)
