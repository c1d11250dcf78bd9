"""Better lower bounds by gradient ascent over the free choices of `tuned_bounds`.

The gradient needs no recording of operations: a bound is the value of the relaxed graph at one point (`behind`), so its
derivative by a slope is the coefficient that arrived at the activation times the value of its argument there, and its
derivative by a multiplier is the value of what it multiplies.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from vernal.interpret.linear import choice
from vernal.interpret.linear.bounds import Linear
from vernal.interpret.linear.rows import lower_bounds
from vernal.interpret.linear.tuned_bounds import TunedRows, Tuning, behind, branch_losses
from vernal.interpret.numbers.rounding import TINY, Array, gamma
from vernal.model.expr import Expr

MOMENTUM, SPREAD = 0.9, 0.99  # how much of the mean of gradients, and of their squares, is kept (Kingma and Ba, 2015)
FIRST_STEP, DECAY = 0.25, 0.9  # of the range of a share, and how steps shrink


@dataclass(frozen=True, slots=True, eq=False)
class TunedBound:
    """A lower bound for each group, and where it comes from."""

    low: Array  # (groups,)
    slopes: Array  # (groups, inputs)
    point: Array  # (groups, inputs): where the relaxed graph attains it
    coefficients: Mapping[Expr, Array]  # by activation, (groups, components): what arrived at it
    values: Mapping[Expr, Array]  # by node on the way, (groups, components): its value in the relaxed graph
    losses: Mapping[Expr, Array]  # by branching on the way, (groups, components): what its relaxation costs at most
    gradient: Tuning


class WeightedRows:
    """Weighted sums of conditions, one for each group, over the boxes of a `Linear`."""

    def __init__(
        self,
        linear: Linear,
        matrices: Mapping[Expr, Array],
        constants: Array,
        index: Array,
        phases: Mapping[Expr, Array],
    ) -> None:
        """Condition k is matrices[:, k] . nodes + constants[:, k] <= 0; `index` has the box of each group.

        The first axis of matrices (groups, conditions, components) and constants (groups, conditions) has one entry
        where all groups have the same. `phases` are by node, (boxes, components): see `TunedRows`.
        """
        self.linear, self.index, self.phases = linear, index, phases
        self.backend = linear.backend
        self.matrices = matrices
        self.constants = constants
        choice.prepare(linear, matrices)
        self.aside = _aside(linear, matrices, phases)
        if self.aside:
            choice.prepare(linear, self.aside)

    def bound(self, tuning: Tuning) -> TunedBound:
        """The lower bounds of a tuning, and their gradient."""
        tuning = tuning.admitted(self.backend)
        with np.errstate(all="ignore"):
            rows = self._rows(tuning)
            low = lower_bounds(rows)[:, 0]
            point, values = behind(rows)
            return TunedBound(
                low,
                self._slopes(rows),
                point,
                self._coefficients(rows),
                values,
                branch_losses(rows, values),
                self._gradient(rows, values),
            )

    def _rows(self, tuning: Tuning) -> TunedRows:
        """Weighted sums, with the rounding of the sums paid for."""
        backend, graph, w = self.backend, self.linear.graph, tuning.weights
        slack = 2.0 * gamma(w.shape[-1] + 4)
        size = slack * backend.dot(w, abs(self.constants))
        for node, matrix in self.matrices.items():
            sizes = graph.sizes[node]
            own = sizes if sizes.shape[0] == 1 else sizes[self.index]
            size = size + slack * (1.0 + 2.0 * gamma(node.size + 4)) * backend.dot(times(w, abs(matrix)), own)
        constant = backend.down(backend.dot(w, self.constants) - size - TINY)
        rows = TunedRows(graph, self.index, constant[:, None], tuning, self.phases)
        for node, matrix in self.matrices.items():
            rows.push(node, times(w, matrix)[:, None, :])
        for node in self.aside:
            rows.push(node, self.backend.zeros((len(self.index), 1, node.size)))
        rows.run()
        return rows

    def _slopes(self, rows: TunedRows) -> Array:
        count = self.linear.inputs.count
        made = self.backend.array(np.zeros((len(self.index), count)))
        if rows.coefficients is not None:
            made[:, : rows.coefficients.shape[-1]] = rows.coefficients[:, 0, :]
        return made

    def _coefficients(self, rows: TunedRows) -> dict[Expr, Array]:
        return {node: L[:, 0, :] for node, L in rows.way if node in rows.lines}

    def _gradient(self, rows: TunedRows, values: Mapping[Expr, Array]) -> Tuning:
        shares: dict[Expr, Array] = {}
        came = dict(rows.way)
        for node, line in rows.lines.items():
            (arg,) = node.args
            steep = self.backend.positive(came[node][:, 0, :]) * values[arg] * (1.0 - line.flat)
            steep = self.backend.where(line.tuned, steep, 0.0)
            shares[arg] = shares[arg] + steep if arg in shares else steep
        phases = {n: -rows.take(phase) * values[n] for n, phase in self.phases.items() if n in values}
        weights = self.constants + sum(
            (times(values[n], m.swapaxes(1, 2)) for n, m in self.matrices.items()), start=0.0
        )
        return Tuning(shares, phases, weights)


def _aside(linear: Linear, matrices: Mapping[Expr, Array], phases: Mapping[Expr, Array]) -> list[Expr]:
    """Nodes with phases that no row comes by on its own: pivots of branches, whose values are used nowhere else."""
    missing = set(phases) - set(matrices)
    if not missing:
        return []
    reached = passed(linear, matrices)
    return [node for node in phases if node in missing and node not in reached]


def passed(linear: Linear, seeds: Iterable[Expr], ends: Container[Expr] = ()) -> set[Expr]:
    """The nodes that rows from these come by; they go no further than the `ends`."""
    found: set[Expr] = set()
    waiting = list(seeds)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            if node in ends:
                continue
            rule = linear.graph.rules.get(node)
            same = linear.graph.same.get(node)
            waiting += [same] if same is not None else node.args if rule is None else rule.args
    return found


def times(rows: Array, matrices: Array) -> Array:
    """(groups, n) times (groups or 1, n, m)."""
    made = rows @ matrices[0] if matrices.shape[0] == 1 else (rows[:, None, :] @ matrices)[:, 0, :]
    return cast(Array, made)


class Ascent:
    """Steps along the gradient in the manner of Adam, each number with its own size, best bounds kept."""

    def __init__(self, rows: WeightedRows, start: Tuning, fixed: Array) -> None:
        """`fixed`: (groups, conditions), the weights that stay as they are (of conditions that are not to be used)."""
        self.rows, self.backend, self.fixed = rows, rows.backend, fixed
        self.tuning = start.admitted(self.backend)
        self.best_tuning, self.best = self.tuning, rows.bound(self.tuning)
        self._now = self.best
        self._memory: dict[tuple[str, Expr | None], tuple[Array, Array]] = {}
        self.count = 0

    def step(self) -> None:
        """One step uphill."""
        self.count += 1
        rate = FIRST_STEP * DECAY ** (self.count - 1)
        gradient, old = self._now.gradient, self.tuning
        scales = self._scales()
        self.tuning = Tuning(
            {
                n: x + rate * self._move("share", n, gradient.shares[n]) if n in gradient.shares else x
                for n, x in old.shares.items()
            },
            {
                n: x + rate * scales[n] * self._move("phase", n, gradient.multipliers[n])
                if n in gradient.multipliers
                else x
                for n, x in old.multipliers.items()
            },
            self.backend.where(
                self.fixed, old.weights, old.weights + rate * self._move("weight", None, gradient.weights)
            ),
        ).admitted(self.backend)
        self._now = self.rows.bound(self.tuning)
        self._keep()

    def _scales(self) -> dict[Expr, Array]:
        """Multipliers are measured by the largest coefficient that passes their nodes."""
        made = {}
        for node in self.tuning.multipliers:
            users = [L for user, L in self._now.coefficients.items() if user.args[0] is node]
            largest = [
                abs(L).max(-1)[..., None] if self.backend.native else self.backend.xp.amax(abs(L), -1)[..., None]
                for L in users
            ]
            made[node] = sum(largest[1:], largest[0]) if largest else self.backend.array(np.ones((1, 1)))
        return made

    def _move(self, kind: str, node: Expr | None, gradient: Array) -> Array:
        """The direction of the mean of past gradients, each component relative to its usual size."""
        gradient = self.backend.where(self.backend.xp.isfinite(gradient), gradient, 0.0)
        mean, square = self._memory.get((kind, node), (0.0 * gradient, 0.0 * gradient))
        mean = MOMENTUM * mean + (1.0 - MOMENTUM) * gradient
        square = SPREAD * square + (1.0 - SPREAD) * gradient * gradient
        self._memory[kind, node] = mean, square
        right = mean / (1.0 - MOMENTUM**self.count)
        return right / (self.backend.xp.sqrt(square / (1.0 - SPREAD**self.count)) + 1e-12)

    def _keep(self) -> None:
        """The better of the best so far and the newest, group by group."""
        better = self._now.low > self.best.low
        if not self.backend.some(better):
            return
        column = better[:, None]
        pick = self.backend.where

        def merged(new: Mapping[Expr, Array], old: Mapping[Expr, Array]) -> dict[Expr, Array]:
            return {node: pick(column, new[node], x) if node in new else x for node, x in old.items()}

        new, old = self._now, self.best
        self.best = replace(
            old,
            low=pick(better, new.low, old.low),
            slopes=pick(column, new.slopes, old.slopes),
            point=pick(column, new.point, old.point),
            coefficients=merged(new.coefficients, old.coefficients),
            values=merged(new.values, old.values),
            losses=merged(new.losses, old.losses),
        )
        now, before = self.tuning, self.best_tuning
        self.best_tuning = Tuning(
            merged(now.shares, before.shares),
            merged(now.multipliers, before.multipliers),
            pick(column, now.weights, before.weights),
        )
