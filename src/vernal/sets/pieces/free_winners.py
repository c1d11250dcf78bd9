"""A step with free winners: every argmax may take any of its values, whatever the scores are.

The paths of the system are among its paths (OVER), and nothing of a network is left in it but where its outputs are
used otherwise. What such steps cannot break from some states on, no policy breaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from vernal.model.closed_graph import ClosedStep
from vernal.model.expr import Argmax, Choose, Const, Expr
from vernal.model.graph import order, rewrite


def values(winner: Argmax) -> tuple[Expr, ...]:
    """What an argmax can be, in the order of its scores."""
    return tuple(Const((), winner.sort, (), (Fraction(index),)) for index in range(winner.args[0].size))


def has_winners(step: ClosedStep) -> bool:
    """Whether an argmax takes part in the step."""
    return any(isinstance(node, Argmax) for node in order(step.roots))


class FreeWinners:
    """The step in which every argmax is a choice."""

    def __init__(self, step: ClosedStep) -> None:
        self.original = step
        actions, lets = (dict(zip(part, _freed([*part.values()]), strict=True)) for part in (step.actions, step.lets))
        self.step = ClosedStep(
            step.state,
            step.memory,
            actions,
            lets,
            tuple(_freed(step.next_state)),
            tuple(_freed(step.next_memory)),
            _freed([step.enabled])[0],
            {},
        )


def _freed(roots: Sequence[Expr]) -> list[Expr]:
    return rewrite(roots, freed)


def freed(node: Expr) -> Expr | None:
    """A choice in the place of an argmax; both have the same occurrence, so one of them is one decision everywhere."""
    return Choose(values(node), node.sort, (), node.occurrence) if isinstance(node, Argmax) else None
