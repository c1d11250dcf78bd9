"""A system with its draws decided once and for all: every choice takes one option, every disturbance one value.

Its paths are paths of the system, but not all of them (UNDER): what all of them keep, some path of the system keeps. An
option that does not exist somewhere gives way to the first that does, as in every other place, so a step is enabled
where it was before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from vernal.evidence.knowledge import Known, Open
from vernal.interpret.sampled.held_questions import asks_open_actions
from vernal.interpret.sampled.plant import plant_of
from vernal.logic.direction import Direction
from vernal.logic.formula import Quantifier
from vernal.logic.question import Question
from vernal.model.expr import Between, Choose, Expr
from vernal.model.graph import decisions, rewrite
from vernal.model.held_loop import loop_of
from vernal.model.motion import Sampled, Step
from vernal.model.system import Agent, Model
from vernal.reduce.reduction import Subquestion, first_decided
from vernal.run.budget import Budget

M = TypeVar("M", bound=Model)

MAX_RESTRICTIONS = 6
RESTRICTED = 0.5  # the share of the time that is left for each
NOT_RESTRICTED = "not supported by this engine: draws are decided only for claims of some path that ask about no action"


@dataclass(frozen=True)
class Restriction(Generic[M]):
    """A model that always decides alike, and how it does, in words."""

    system: M
    decided: str


@dataclass(frozen=True)
class DecidedDraws:
    """The same claim of the system with its draws decided, in one way after the other."""

    name = "decided draws"
    direction = Direction.UNDER
    is_joint = False

    def takes(self, question: Question) -> str | None:
        of_some = question.claim.quantifiers == {Quantifier.SOME}
        return None if of_some and may_restrict(question) else NOT_RESTRICTED

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        loop = loop_of(question.model)
        for one in restrictions(loop or question.model, MAX_RESTRICTIONS):
            asked = replace(question, model=one.system if loop is None else plant_of(one.system).flow)
            notes = (f"some path keeps it: one on which {one.decided}",)
            yield Subquestion(asked, self.direction, share=RESTRICTED, notes=notes)

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        known = first_decided(found)
        return replace(known, reason="") if isinstance(known, Open) else known  # a wrong guess says nothing


def may_restrict(question: Question) -> bool:
    """Whether no action is asked about that a draw leaves open: there the claim is one for every action."""
    loop = loop_of(question.model)
    if loop is not None:
        return not asks_open_actions(question.model, question.atoms.values())
    return not decisions([*question.atoms.values(), question.model.step.enabled])


def restrictions(system: M, most: int) -> Iterator[Restriction[M]]:
    """The system with the same option for every choice, and every disturbance in the middle or at one end."""
    draws = [node for node in system.step.names if isinstance(node, Choose | Between)]
    options = max((len(node.options) for node in draws if isinstance(node, Choose)), default=0)
    shares: Sequence[str | None] = MIDDLE_AND_ENDS if any(isinstance(node, Between) for node in draws) else (None,)
    found = [(index, share) for share in shares for index in (range(options) if options else (None,))]
    for index, share in found[:most] if draws else ():
        yield Restriction(rewritten(system, _decide(index or 0, share)), _said(index, share))


MIDDLE, FIRST, SECOND = "middle", "first end", "second end"
MIDDLE_AND_ENDS = (MIDDLE, FIRST, SECOND)


def _said(index: int | None, share: str | None) -> str:
    parts = [f"every choice takes option {index}"] if index is not None else []
    return " and ".join([*parts, *([f"every disturbance is the {share} of its interval"] if share else [])])


def _decide(index: int, share: str | None) -> Callable[[Expr], Expr | None]:
    def change(node: Expr) -> Expr | None:
        if isinstance(node, Choose):
            return node.options[min(index, len(node.options) - 1)]
        if isinstance(node, Between):
            low, high = node.args
            return {FIRST: low, SECOND: high}.get(str(share), (low + high) / 2)
        return None

    return change


def rewritten(system: M, change: Callable[[Expr], Expr | None]) -> M:
    """The system, or the loop that samples, with every expression changed."""

    def all_of(expressions: Sequence[Expr]) -> tuple[Expr, ...]:
        return tuple(rewrite(expressions, change))

    def named(expressions: Mapping[str, Expr]) -> dict[str, Expr]:
        return dict(zip(expressions, all_of(list(expressions.values())), strict=True))

    enabled = all_of([system.step.enabled])[0]  # with what is asked of choices that are decided now
    motion: Step | Sampled = Step(named(system.motion.next), enabled)
    if isinstance(system.motion, Sampled):
        loop = system.motion
        motion = Sampled(loop.every, named(loop.rates), named(loop.next), enabled, named(loop.signals))
    return replace(
        system,
        motion=motion,
        lets=named(system.lets),
        agents=tuple(_agent(agent, all_of) for agent in system.agents),
    )


def _agent(agent: Agent, all_of: Callable[[Sequence[Expr]], tuple[Expr, ...]]) -> Agent:
    slots = tuple(replace(slot, next=all_of([slot.next])[0]) for slot in agent.slots)
    return replace(agent, observe=all_of(agent.observe), action=all_of([agent.action])[0], slots=slots)
