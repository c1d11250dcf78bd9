"""Bounds by interval arithmetic alone, with the interface of `Linear`, for comparison with linear bounds.

Bound propagation through time has an interval and a linear form (M. Hosseini et al., AAMAS 2025, Algorithm 1; an atom
c.x <= d is bounded by c+.u - c-.l, not by c.u as printed there). Linear bounds know how values depend on each other,
intervals do not: x - x over [0, 1] is [-1, 1] here. Direction OVER like all bounds.
"""

from __future__ import annotations

import numpy as np

from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.forms import Form
from vernal.interpret.linear.rows import Seeds
from vernal.interpret.numbers.rounding import Array
from vernal.interpret.value_sets import Value, as_range, meet
from vernal.model.expr import Expr


class Plain(Linear):
    """A range for each node from the ranges of its arguments; nothing is substituted, nothing tightened."""

    def tighten(self, node: Expr, open_components: Array | None = None) -> None:
        """A range stays as it is."""

    def lower(self, seeds: Seeds, constants: Array, index: Array | None) -> Array:
        """No bound on sums: the ranges of intervals stay."""
        return self.backend.xp.zeros_like(constants) - np.inf

    def slopes(self, node: Expr, index: Array | None = None) -> Array:
        """Intervals do not know what depends on what."""
        groups = self.batch if index is None else len(index)
        return self.backend.array(np.zeros((groups, node.size, self.inputs.count)))

    def _number(self, node: Expr) -> None:
        value = self._by_intervals(node)
        if node in self.rewritten:
            value = meet(self.backend, as_range(self.backend, value), self.number(self.rewritten[node]))
        self._store(node, value)

    def _store(self, node: Expr, value: Value, form: Form | None = None, size: Array | None = None) -> None:
        self.values[node] = value
