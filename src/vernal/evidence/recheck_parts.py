"""What both ways to check an invariant share: the question as expressions, and the two ways not to say yes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vernal.errors import VernalError
from vernal.logic.safety import SafetyClaim
from vernal.model.expr import Component, Expr
from vernal.model.system import System
from vernal.model.tick import Tick


class NotInvariant(VernalError):
    """The sets are no invariant that proves the claim, and why."""


class CannotCheck(VernalError):
    """This way of checking does not tell, and why."""


@dataclass(frozen=True)
class Watched:
    """A system as an invariant sees it: components, their next values, the guard of a step, and what is to be kept."""

    system: System
    components: tuple[Component, ...]
    following: tuple[tuple[Expr, int], ...]  # for each component the next value, and which component of that it is
    guard: Expr
    keep: Expr
    tick: Tick

    @classmethod
    def of(cls, system: System, safety: SafetyClaim, components: Sequence[Component], tick: Tick) -> Watched:
        step = system.step
        after: dict[Expr, Expr] = dict(zip(step.inputs, (*step.next_state, *step.next_memory), strict=True))
        keep, guard = safety.closed(system)
        following = tuple((after[var], i) for var, i in components)
        return cls(system, tuple(components), following, guard, keep, tick)

    @property
    def variables(self) -> dict[Expr, list[int]]:
        """For each variable all of whose components the invariant names: at which places."""
        found: dict[Expr, dict[int, int]] = {}
        for place, (var, i) in enumerate(self.components):
            found.setdefault(var, {})[i] = place
        return {var: [own[i] for i in range(var.size)] for var, own in found.items() if len(own) == var.size}
