"""Faults: which decision of a policy was wrong, as data; `fault_questions` says how it is found out.

Of each decision along a path that violates a claim it is asked what would have come of every other action. *Kept*
means: the agent takes the other action once, all other agents and all that follows go by the policies as they are, and
whatever is drawn, the claim is true on every path that begins so. A position is *lost* where no path of the model keeps
the claim although agents may take any actions, now and later, and whatever is drawn: from there on nobody could have
helped. Between the last decision that one other action mends and the first position that is lost there may be positions
that several other actions mend, or fortunate draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from vernal.evidence.trace import Trace
from vernal.logic.formula import Formula
from vernal.logic.task import Task
from vernal.model.hooks import hook
from vernal.model.sorts import Sort
from vernal.reduce.free_actions import deciders


class Effect(StrEnum):
    """What would have come of other actions; equal to its word."""

    KEPT = "kept"
    BROKEN = "broken"
    STOPPED = "stopped"  # there is no step after this action: the path would end
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class OtherAction:
    """Another action at one position, and what would have come of it: kept on all paths, or broken on some path."""

    action: int
    effect: Effect
    reason: str | None = None  # why unknown
    engine: str | None = None  # that answered


@dataclass(frozen=True, slots=True)
class AgentDecision:
    """What an agent did at one position, and what else it could have done."""

    position: int
    agent: str
    taken: int
    alternatives: tuple[OtherAction, ...]

    def with_effect(self, effect: Effect) -> tuple[int, ...]:
        """The other actions of which this would have come."""
        return tuple(one.action for one in self.alternatives if one.effect is effect)

    @property
    def mended_by(self) -> tuple[int, ...]:
        """The actions that would have kept the claim: where there are any, this decision was a fault."""
        return self.with_effect(Effect.KEPT)


@dataclass(frozen=True, slots=True)
class Prospect:
    """Whether some actions and draws keep the claim from a position on; where none do (broken), it is lost."""

    position: int
    effect: Effect
    actions: Mapping[str, int] = field(default_factory=dict)  # where some do: the first of such actions, by agent
    reason: str | None = None  # why unknown


@dataclass(frozen=True)
class Faults:
    """Every decision along a path that violates a claim, from the first to the last, and which positions are lost."""

    task: Task
    formula: Formula
    name: str | None  # of the property
    trace: Trace = field(repr=False)
    decisions: tuple[AgentDecision, ...]
    prospects: tuple[Prospect, ...]

    @property
    def last(self) -> AgentDecision | None:
        """The last decision that another action is known to mend."""
        return next((one for one in reversed(self.decisions) if one.mended_by), None)

    @property
    def last_hope(self) -> Prospect | None:
        """The last position from which some actions and draws are known to keep the claim."""
        return next((one for one in reversed(self.prospects) if one.effect is Effect.KEPT), None)

    @property
    def lost_from(self) -> int | None:
        """The first position that is known to be lost; so are all that follow."""
        return next((one.position for one in self.prospects if one.effect is Effect.BROKEN), None)

    @property
    def is_decided(self) -> bool:
        """Whether every question was answered."""
        effects = [one.effect for each in self.decisions for one in each.alternatives]
        return Effect.UNKNOWN not in [*effects, *(one.effect for one in self.prospects)]

    def sort(self, agent: str) -> Sort:
        """The sort of an agent's action."""
        return deciders(self.task.system)[agent].sort

    def __repr__(self) -> str:
        mended = sum(bool(one.mended_by) for one in self.decisions)
        return f"<Faults: another action mends {mended} of {len(self.decisions)} decisions>"

    def __str__(self) -> str:
        return str(hook("faults_text")(self))

    def _repr_html_(self) -> str:
        return str(hook("show_faults")(self))
