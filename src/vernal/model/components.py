"""Arrays of state variables: their components are variables of their own, named `d[0]`, `d[1]` and so on."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import inf

from vernal.model.expr import Expr
from vernal.model.graph import variables
from vernal.model.index_range import IndexRange, index_range
from vernal.model.network import Network
from vernal.model.sorts import INT
from vernal.model.system import Agent, Variable

COMPONENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\[(?:0|[1-9][0-9]*)\]")  # the name of a component of an array
MAX_COMPONENTS = 5000  # of the state, where it has arrays


def index_ranges(
    state: Iterable[Variable], agents: Iterable[Agent] = (), lets: Mapping[str, Expr] | None = None
) -> dict[str, IndexRange]:
    """What is known of numbers before anything runs, so that an index is known to lie inside an array."""
    numbers = (variable for variable in state if variable.sort.is_number)
    known: dict[str, IndexRange] = {
        v.name: (-inf if v.lower is None else v.lower, inf if v.upper is None else v.upper) for v in numbers
    }
    argmax = (agent for agent in agents if agent.act == "argmax" and agent.action.sort == INT)
    known |= {agent.name: winners(agent.networks[0]) for agent in argmax}
    waiting = {name: body for name, body in (lets or {}).items() if body.sort == INT and not body.shape}
    uses = {name: {v.name for v in variables([body])} & waiting.keys() for name, body in waiting.items()}
    while ready := [name for name in waiting if not uses[name] & waiting.keys()]:
        known |= {name: index_range(waiting.pop(name), known) for name in ready}
    return known


def arrays_of(state: Iterable[Variable]) -> dict[str, tuple[Expr, ...]]:
    """The variables `d[0]`, `d[1]`, ... of one sort as the array d, if there is no gap and no variable d."""
    known = {variable.name: variable.var for variable in state}
    sizes = Counter(match[1] for name in known if (match := COMPONENT.fullmatch(name)))
    names = {array: [f"{array}[{index}]" for index in range(size)] for array, size in sizes.items()}
    whole = {array for array, parts in names.items() if array not in known and known.keys() >= set(parts)}
    arrays = {array: tuple(known[name] for name in names[array]) for array in names if array in whole}
    return {array: parts for array, parts in arrays.items() if len({part.sort for part in parts}) == 1}


def winners(network: Network) -> IndexRange:
    """The first and the last output that argmax may take."""
    return Fraction(0), Fraction(network.output_size - 1)
