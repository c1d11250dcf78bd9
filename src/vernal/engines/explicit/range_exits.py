"""What an enumeration has seen of declared ranges: which are left at a reachable state, and when first."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from vernal.engines.explicit.graph import Graph
from vernal.evidence.knowledge import SeenStates
from vernal.interpret.numbers.rounding import Mask
from vernal.model.sorts import REAL
from vernal.model.system import System, Variable
from vernal.sets.declared_ranges import ranged_variables
from vernal.sets.finite.columns import LARGEST_INTEGER, Columns
from vernal.sets.finite.table import Codes


def seen_states(system: System, columns: Columns, graph: Graph) -> SeenStates:
    """The variables with a value outside their range at a state of the graph, each with the fewest steps to one."""
    exits: dict[str, int] = {}
    for variable in ranged_variables(system):
        outside = _outside(variable, columns, graph.rows)
        if outside.any():
            exits[variable.name] = int(graph.depth[outside].min())
    return SeenStates(exits, graph.within)


def _outside(variable: Variable, columns: Columns, rows: Codes) -> Mask:
    """The states at which a component of a variable is outside its range."""
    codes = rows[:, list(columns.places[variable.var])]
    wrong: Mask
    if variable.sort == REAL:  # entries are numbers of values
        wrong = np.array([_is_outside(value, variable) for value in columns.rationals.values], dtype=bool)[codes]
    else:
        low, high = _integers(variable)
        wrong = (codes < low) | (codes > high)
    outside: Mask = np.logical_or.reduce(wrong, axis=1)
    return outside


def _is_outside(value: Fraction, variable: Variable) -> bool:
    below = variable.lower is not None and value < variable.lower
    return below or (variable.upper is not None and value > variable.upper)


def _integers(variable: Variable) -> tuple[int, int]:
    """The first and the last integer of a range, as far as states are enumerated at all."""
    low = -LARGEST_INTEGER if variable.lower is None else max(math.ceil(variable.lower), -LARGEST_INTEGER)
    high = LARGEST_INTEGER if variable.upper is None else min(math.floor(variable.upper), LARGEST_INTEGER)
    return min(low, LARGEST_INTEGER + 1), max(high, -LARGEST_INTEGER - 1)
