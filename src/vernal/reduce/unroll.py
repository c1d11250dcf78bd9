"""Unrolling: k steps of the closed loop as one graph over the initial state, the memories' starts and the draws."""

from __future__ import annotations

from collections.abc import Sequence

from vernal.model.expr import Expr
from vernal.model.graph import fresh, substitute
from vernal.model.system import System
from vernal.reduce.base import Direction


class Unrolling:
    """The positions of a path, extended as far as anyone asks. Draws of step t are occurrences of their own.

    Since nodes are interned, an atom asked at position t shares the actions and lets that the step from t computes.
    """

    direction = Direction.EXACT

    def __init__(self, system: System) -> None:
        self.system = system
        self._positions: list[dict[Expr, Expr]] = [{var: var for var in system.step.inputs}]

    def position(self, t: int) -> dict[Expr, Expr]:
        """State and memory variables at position t, as expressions over the inputs of the unrolling."""
        while len(self._positions) <= t:
            self._extend()
        return self._positions[t]

    def _extend(self) -> None:
        step = self.system.step
        after = self._place([*step.next_state, *step.next_memory], len(self._positions) - 1)
        self._positions.append(dict(zip(step.inputs, after, strict=True)))

    def _place(self, expressions: Sequence[Expr], t: int) -> list[Expr]:
        return substitute(fresh(expressions, t), self.position(t))

    def at(self, expression: Expr, t: int) -> Expr:
        """An expression over state variables, actions and lets, read at position t."""
        return self._place([self.system.step.resolve(expression)], t)[0]

    def enabled(self, t: int) -> Expr:
        """Whether a transition leaves position t."""
        return self._place([self.system.step.enabled], t)[0]
