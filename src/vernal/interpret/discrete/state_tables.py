"""Conditions that list states: `x == 0 & y == 1 | x == 2 & y == 3 | ...`, read as a table of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from vernal.model.expr import And, Compare, Const, Expr, Or, Var

DomainPlaces = NDArray[np.int64]  # places of values in the domains of variables, one row for each box

FEW_STATES = 64  # up to which a list of states is a condition like any other


@dataclass(frozen=True, eq=False)
class ListedStates:
    """Values of some variables, a row for each state."""

    variables: tuple[Expr, ...]
    rows: NDArray[np.int64]

    def within(self, domains: Sequence[Sequence[int]]) -> DomainPlaces:
        """The places of the values in these domains, each state once; states with other values are left out."""
        places = np.empty_like(self.rows)
        kept = np.ones(len(self.rows), bool)
        for column, domain in enumerate(domains):
            values = np.array(domain, np.int64)
            found = np.searchsorted(values, self.rows[:, column]).clip(max=max(len(values) - 1, 0))
            kept &= (values[found] if len(values) else found + np.inf) == self.rows[:, column]
            places[:, column] = found
        return np.unique(places[kept], axis=0)


@lru_cache(maxsize=8)
def listed_states(condition: Expr) -> ListedStates | None:
    """The states that a condition lists; None where a part does not give every variable one value."""
    parts = condition.args if isinstance(condition, Or) else ()
    if len(parts) < FEW_STATES:
        return None
    columns: dict[Expr, int] = {}
    values: dict[Expr, tuple[Expr, int]] = {}
    rows: list[list[int]] = []
    for part in parts:
        row = [0] * len(_equations(parts[0]))
        named: set[Expr] = set()
        for equation in _equations(part):
            known = values.get(equation) or _equation(equation)
            if known is None or columns.setdefault(known[0], len(columns)) >= len(row):
                return None
            values[equation] = known
            named.add(known[0])
            row[columns[known[0]]] = known[1]
        if len(named) != len(row):
            return None
        rows.append(row)
    return ListedStates(tuple(columns), np.array(rows, np.int64))


def _equations(part: Expr) -> tuple[Expr, ...]:
    return part.args if isinstance(part, And) else (part,)


def _equation(node: Expr) -> tuple[Expr, int] | None:
    match node:
        case Compare(op="==", args=(Var() as var, Const(values=(value,)))) if value.denominator == 1:
            return var, int(value)
    return None
