"""Linear bounds whose slopes are improved where two scores are nearly told apart.

The lower lines of activations are chosen once for all rows that come by. A difference of scores that is below zero by
little may be above it with slopes of its own: a few steps uphill gain about a twentieth of its range in wide policies,
where a cut of six components gains no more and costs a whole round. Narrow layers are bounded again as fast.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from vernal.interpret.linear import choice
from vernal.interpret.linear.ascent import Ascent, WeightedRows, passed
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.tuned_bounds import TUNABLE, Tuning
from vernal.interpret.numbers.rounding import Array
from vernal.model.expr import Expr

MAX_GAP = 0.08  # of the range of a difference: what it may lack
ASCENT_STEPS = 4  # uphill
MIN_LAYER_WIDTH = 64  # activations of a layer: below, a round of all boxes costs hardly more than a step uphill
GROUPS = 512  # rows that are improved together


class Sloped(Linear):
    """`Linear` with slopes of their own for differences of scores that are nearly decided."""

    def exceeds(self, node: Expr, rows: Array, index: Array) -> Array:
        """Whether a row times a node is certainly above zero, with better slopes where it nearly is."""
        if self.mode != "backward" or not self.backend.native:
            return super().exceeds(node, rows, index)
        both = np.stack([rows, -rows], axis=1)
        low, high = self.lower({node: both}, np.zeros(both.shape[:2]), index).T * np.array([[1.0], [-1.0]])
        found = low > 0
        (near,) = np.nonzero(~found & (-low <= MAX_GAP * (high - low)))
        free = self._free_slopes(node) if len(near) else []
        if max((arg.size for arg in free), default=0) >= MIN_LAYER_WIDTH:
            for start in range(0, len(near), GROUPS):
                own = near[start : start + GROUPS]
                found[own] = self._best(node, rows[own], index[own], free) > 0
        return cast(Array, found)

    def _free_slopes(self, node: Expr) -> list[Expr]:
        """The arguments of activations that rows from a node come by, and that are linear in no piece."""
        choice.prepare(self, [node])
        rules = self.graph.rules
        way = passed(self, [node], self.forms)
        return [part.args[0] for part in way if isinstance(part, TUNABLE) and not rules[part].exact]

    def _best(self, node: Expr, rows: Array, index: Array, free: list[Expr]) -> Array:
        """(groups,): lower bounds after a few steps from the slopes that all rows have."""
        groups = len(index)
        shares = {arg: np.broadcast_to(self._steeper(arg, index), (groups, arg.size)) for arg in free}
        weighted = WeightedRows(self, {node: rows[:, None, :]}, np.zeros((groups, 1)), index, {})
        ascent = Ascent(weighted, Tuning(shares, {}, np.ones((groups, 1))), np.ones((groups, 1), dtype=bool))
        for _ in range(ASCENT_STEPS):
            if bool((ascent.best.low > 0).all()):
                break
            ascent.step()
        return ascent.best.low

    def _steeper(self, arg: Expr, index: Array) -> Array:
        """1 where the range of an argument reaches further above zero than below, else 0."""
        x = self.number(arg)
        low, high = (end if end.shape[0] == 1 else end[index] for end in (x.lower, x.upper))
        return np.where(high > -low, 1.0, 0.0)
