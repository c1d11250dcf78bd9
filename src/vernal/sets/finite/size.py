"""What can be said of the number of states before any is looked at, from the declarations alone."""

from __future__ import annotations

import math

from vernal.model.expr import Between
from vernal.model.sorts import REAL
from vernal.model.system import Span, System, Variable


def is_enumerable(system: System) -> bool:
    """Whether there are finitely many initial states, and finitely many successors of every state."""
    if any(isinstance(node, Between) for node in system.step.names):
        return False
    return all(
        var.sort != REAL or start.is_point or not isinstance(start, Span)
        for var, _, start in system.initial.components()
    )


def is_discrete(system: System) -> bool:
    """Whether it is enumerable and neither the state nor a memory has reals."""
    return all(var.sort != REAL for var in system.step.inputs) and is_enumerable(system)


def declared_states(system: System) -> float:
    """How many states the declared ranges of a discrete system allow; infinite where an integer has none.

    Ranges are not assumed: this is a guess at what is meant, and no limit on what is reached.
    """
    return math.prod(_declared_values(variable) for variable in system.state)


def _declared_values(variable: Variable) -> float:
    if variable.sort.values is not None:
        return len(variable.sort.values)
    if variable.lower is None or variable.upper is None:
        return math.inf
    return float(variable.upper - variable.lower + 1)
