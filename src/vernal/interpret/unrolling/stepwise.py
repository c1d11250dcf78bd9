"""Unrolling: k steps of the closed loop as one graph over the initial state, the memories' starts and the draws."""

from __future__ import annotations

from collections.abc import Sequence

from vernal.logic.direction import Direction
from vernal.model.closed_graph import ClosedStep
from vernal.model.expr import Expr
from vernal.model.graph import fresh
from vernal.model.tick import Tick, idle


class Unrolling:
    """The positions of a path, extended on demand. Draws of step t are occurrences of their own.

    Since nodes are interned, an atom asked at position t shares the actions and lets that the step from t computes.
    """

    direction = Direction.EXACT

    def __init__(self, step: ClosedStep) -> None:
        self.step = step
        self._positions: list[dict[Expr, Expr]] = [{var: var for var in step.inputs}]
        self._read: dict[tuple[Expr, int], Expr] = {}

    def position(self, t: int, tick: Tick = idle) -> dict[Expr, Expr]:
        """State and memory variables at position t, as expressions over the inputs of the unrolling."""
        while len(self._positions) <= t:
            self._extend(tick)
        return self._positions[t]

    def _extend(self, tick: Tick) -> None:
        after = self._place([*self.step.next_state, *self.step.next_memory], len(self._positions) - 1, tick)
        self._positions.append(dict(zip(self.step.inputs, after, strict=True)))

    def _place(self, expressions: Sequence[Expr], t: int, tick: Tick) -> list[Expr]:
        return fresh(expressions, t, self.position(t, tick), tick)

    def at(self, expression: Expr, t: int, tick: Tick = idle) -> Expr:
        """An expression over state variables, actions and lets, read at position t."""
        if (expression, t) not in self._read:
            self._read[expression, t] = self._place([self.step.resolve(expression)], t, tick)[0]
        return self._read[expression, t]

    def enabled(self, t: int, tick: Tick = idle) -> Expr:
        """Whether a transition leaves position t."""
        return self.at(self.step.enabled, t, tick)
