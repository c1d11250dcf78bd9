"""The engine of neural abstractions: a network in the place of the flow, its automaton, and flowpipes through that.

Ever tighter networks are learned and certified; each becomes an affine hybrid automaton, through which flowpipes are
followed from what is still open of the initial set (`modes`). Automata and flowpipes are OVER
(`reduce.neural.learned_modes`): so a claim of all trajectories is proven, and never refuted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vernal.engines.chain import Chain
from vernal.engines.flow.modes import NO_END, ModePipes
from vernal.engines.options import AbstractionOptions
from vernal.engines.pipe_maker import FollowedFlow, FoundPipe
from vernal.engines.refusals import in_seconds
from vernal.errors import Stopped
from vernal.evidence.flowpipe import joined
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.logic.question import Question
from vernal.logic.task import MAX_ABSTRACTED, Transitions
from vernal.model.clock import clock_of
from vernal.model.held_loop import loop_of
from vernal.reduce.neural.abstraction import abstractions
from vernal.reduce.neural.learned_modes import LearnedModes, abstract_automaton, shown_error
from vernal.run.budget import Budget
from vernal.sets.flow_starts import start_boxes
from vernal.sets.zonotopes.pipe import pipe

TOO_LOOSE = "its flowpipes leave the claim open; the tightest network has an error of {}"


NO_CLOCK = "a network stands for rates in a bounded region, and the clock has none: declare t with a range and rate 1"
NO_LOOPS = "is for flows without instants: no network stands for a loop that samples"


class NeuralEngine:
    """Claims about all trajectories, by neural abstractions."""

    name = "abstraction"

    def __init__(self, options: AbstractionOptions | None = None) -> None:
        self.options = options or AbstractionOptions()

    def takes(self, question: Question) -> str | None:
        """Claims about flows of a few variables."""
        count = len(question.model.state)
        if count > MAX_ABSTRACTED and in_seconds(question) is None:
            few = f"takes at most {MAX_ABSTRACTED} variables, which is what is practical"
            return f"{few}, and this flow has {count}; try --engine flowpipe"
        if clock_of(question.model) is not None:
            return NO_CLOCK
        if question.claim.is_endless and in_seconds(question) is None:
            return NO_END
        return in_seconds(question) or (NO_LOOPS if question.model.grid is not None else None)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof, or until when it is proven, and by which network."""
        if (refused := self.takes(question)) is not None:
            return Open(engine=self.name, reason=refused)
        learned = LearnedModes(self.options.transitions)
        pipes = ModePipes(self.name, question, self.options.directions, budget)
        try:
            known = Chain((learned,), pipes).attempt(question, budget)
            reason = TOO_LOOSE.format("none" if learned.latest is None else shown_error(learned.latest))
        except Stopped as stop:
            known, reason = pipes.open(stop.reason), stop.reason
        known = known if isinstance(known, Proof) else pipes.open(reason)
        return replace(known, abstraction=learned.latest, statistics=_statistics(learned, pipes))

    def flowpipes(self, asked: FollowedFlow, budget: Budget) -> Iterator[FoundPipe]:
        """Flowpipes from all initial states, through ever tighter networks"""
        if loop_of(asked.flow) is not None:
            raise Stopped(NO_LOOPS)
        if clock_of(asked.flow) is not None:
            raise Stopped(NO_CLOCK)
        flow, tick = asked.flow, budget.check
        boxes = start_boxes(flow)
        transitions = self.options.transitions or asked.settings.transitions or Transitions.FACET
        for abstraction in abstractions(flow, asked.settings, tick):
            automaton = abstract_automaton(flow, abstraction, transitions, tick)
            corners = zip(boxes.lower, boxes.upper, strict=True)
            found = joined([pipe(automaton, ends, asked.horizon, asked.directions, tick) for ends in corners])
            if found is None:
                return
            yield FoundPipe(found, replace(abstraction, automaton=automaton, flow=flow))


def _statistics(learned: LearnedModes, pipes: ModePipes) -> dict[str, int | float | str]:
    own: dict[str, int | float | str] = {"networks": learned.count, **pipes.statistics}
    own["partition seconds"] = round(learned.seconds, 3)
    if learned.latest is None:
        return own
    automaton = learned.latest.automaton
    if automaton is not None:
        own |= {"regions": len(automaton.locations), "transitions": len(automaton.crossings)}
    return {**learned.latest.statistics, "error": shown_error(learned.latest), **own}
