"""The engine of neural abstractions: a network in the place of the flow, its automaton, and flowpipes through that.

Ever tighter networks are learned and certified; each becomes an affine hybrid automaton, through which flowpipes are
followed from parts of the initial set. Where the flowpipe of a part leaves the claim open, that of its centre says why:
if the centre is proven, the part is too large, and is halved; if not, it waits for a tighter network. What is proven
stays so. Automata and flowpipes are OVER (`reduce.neural.learned_modes`): so a claim of all trajectories is proven, and
never refuted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from vernal.engines.chain import Chain
from vernal.engines.flow.monotone import kept_sides
from vernal.engines.flow.template import chosen
from vernal.engines.options import AbstractionOptions
from vernal.engines.pipe_maker import FollowedFlow, FoundPipe
from vernal.engines.refusals import in_seconds
from vernal.errors import Stopped
from vernal.evidence.flowpipe import Flowpipe, joined
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.evidence.neural import NeuralAbstraction
from vernal.evidence.pipe_judge import PIPE_DIRECTION, PipeJudge
from vernal.evidence.result import Assurance
from vernal.logic.question import Question
from vernal.logic.task import MAX_ABSTRACTED, Transitions
from vernal.model.held_loop import loop_of
from vernal.model.hybrid import HybridAutomaton
from vernal.model.motion import Modes, Sampled
from vernal.reduce.neural.abstraction import abstractions
from vernal.reduce.neural.learned_modes import LearnedModes, abstract_automaton, shown_error
from vernal.run.budget import Budget
from vernal.sets.flow_starts import StartBoxes, halved, start_boxes
from vernal.sets.zonotopes.pipe import pipe

MAX_HALVING_ROUNDS = 2  # of halving what is open, before a tighter network
LAST_ROUNDS = 4  # with the tightest, in ever shorter steps
MOST_PARTS = 256  # of the initial set that are open at one time
FEW_VARIABLES = 3  # of which an octagon costs hardly more than a box
TOO_LOOSE = "its flowpipes leave the claim open; the tightest network has an error of {}"


NO_LOOPS = "not supported by this engine: no network stands for a loop that samples; try --engine flowpipe"


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
        return in_seconds(question) or (NO_LOOPS if isinstance(question.model.motion, Sampled) else None)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof, or until when it is proven, and by which network."""
        if (refused := self.takes(question)) is not None:
            return Open(engine=self.name, reason=refused)
        learned = LearnedModes(self.options.transitions)
        pipes = ModePipes(question, learned, self.options, budget)
        try:
            known = Chain((learned,), pipes).attempt(question, budget)
        except Stopped as stop:
            return pipes.open(stop.reason)
        return known if isinstance(known, Proof) else pipes.open(pipes.reason)

    def flowpipes(self, asked: FollowedFlow, budget: Budget) -> Iterator[FoundPipe]:
        """Flowpipes from all initial states, through ever tighter networks"""
        if loop_of(asked.flow) is not None:
            raise Stopped(NO_LOOPS)
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


@dataclass(frozen=True, slots=True)
class PipeEffort:
    """How carefully flowpipes are followed: how often a step is halved, and whether more directions are bounded."""

    halvings: int
    careful: bool


class ModePipes:
    """Flowpipes through automata in the place of one flow: what they leave open of it, and what is proven."""

    name = NeuralEngine.name

    def __init__(self, flow: Question, learned: LearnedModes, options: AbstractionOptions, budget: Budget) -> None:
        self.question, self.learned, self.budget = flow, learned, budget
        self.judge = PipeJudge(flow, budget.check)
        self.directions = {careful: chosen(flow, options.directions, careful=careful) for careful in (False, True)}
        self.kept = kept_sides(flow.model)
        self.boxes = start_boxes(flow.model)  # parts of the initial set that are open
        self.latest: HybridAutomaton | None = None
        self.seconds = 0.0
        self.counts = {"flowpipes": 0, "segments": 0}
        self.proven: float | None = None
        self.margin = math.inf  # of what is proven, at least
        self.pipes: list[tuple[HybridAutomaton, Flowpipe]] = []  # by which parts are proven
        self.step = 2.0**-10  # of the flowpipes, before it is halved; the first of them chooses it

    def takes(self, question: Question) -> str | None:
        """Automata."""
        return None if isinstance(question.model.motion, Modes) else "is for automata"

    def attempt(self, question: Question, budget: Budget) -> Known:
        """What stays open with this automaton; one that is asked about again is followed in ever shorter steps."""
        assert isinstance(question.model.motion, Modes)
        automaton, again = question.model.motion.automaton, question.model.motion.automaton is self.latest
        self.latest = automaton
        self.boxes = self._in_short_steps(automaton, self.boxes) if again else self._left(automaton, self.boxes)
        return self.open(self.reason) if len(self.boxes) else self._proof()

    def _left(self, automaton: HybridAutomaton, boxes: StartBoxes) -> StartBoxes:
        """What stays open of some parts, after those that are only too large were halved some times."""
        effort = PipeEffort(0, len(automaton.variables) <= FEW_VARIABLES)
        waiting, since = boxes[:0], list[float | None]()  # for a tighter network, and until when they are proven
        for _ in range(MAX_HALVING_ROUNDS):
            left, times = self._open(automaton, boxes, effort)
            self._note([*since, *times])
            large = np.array([self._is_large(automaton, left[i : i + 1], effort) for i in range(len(left))], dtype=bool)
            waiting = waiting.joined(left[~large])
            since += [time for time, halve in zip(times, large, strict=True) if not halve]
            boxes = halved(self.question.model, left[large])
            if not len(boxes) or len(boxes) + len(waiting) > MOST_PARTS:
                break
        return waiting.joined(boxes)

    def _in_short_steps(self, automaton: HybridAutomaton, boxes: StartBoxes) -> StartBoxes:
        """What stays open in ever shorter steps."""
        for number in range(1, LAST_ROUNDS):
            parts = halved(self.question.model, boxes)
            if len(parts) > MOST_PARTS:
                break
            boxes, times = self._open(automaton, parts, PipeEffort(number, careful=True))
            self._note(times)
            if not len(boxes):
                break
        return boxes

    def _open(
        self, automaton: HybridAutomaton, boxes: StartBoxes, effort: PipeEffort
    ) -> tuple[StartBoxes, list[float | None]]:
        """The parts that flowpipes leave open, and until when each is proven; the pipes of the others are kept."""
        left, times = np.zeros(len(boxes), dtype=bool), list[float | None]()
        for index in range(len(boxes)):
            found = self._pipe(automaton, boxes[index : index + 1], effort)
            if self.judge.of(self.question.claim.normal, found) is True:
                self.pipes.append((automaton, found))
                self.margin = min(self.margin, max(self.judge.margin(self.question.claim.normal, found), 0.0))
            else:
                left[index] = True
                times.append(self.judge.proven_until(found))
        return boxes[left], times

    def _is_large(self, automaton: HybridAutomaton, box: StartBoxes, effort: PipeEffort) -> bool:
        """Whether a part that is open has a centre that is not."""
        centre = 0.5 * box.lower + 0.5 * box.upper
        found = self._pipe(automaton, StartBoxes(centre, centre), effort)
        return self.judge.of(self.question.claim.normal, found) is True

    def _pipe(self, automaton: HybridAutomaton, box: StartBoxes, effort: PipeEffort) -> Flowpipe:
        self.budget.check()
        self.counts["flowpipes"] += 1
        self.budget.progress(f"flowpipe {self.counts['flowpipes']}", None)
        started = time.process_time()
        directions = self.directions[effort.careful]
        step = None if not effort.halvings else self.step * 0.5**effort.halvings
        corners = box.lower[0], box.upper[0]
        found = pipe(
            automaton, corners, self.question.claim.last_time, directions, self.budget.check, step=step, kept=self.kept
        )
        if step is None:
            self.step = float(found.times[0, 1] - found.times[0, 0]) if len(found.times) else self.step
        self.seconds += time.process_time() - started
        self.counts["segments"] += len(found.times)
        return found

    def _note(self, times: list[float | None]) -> None:
        """Until when the claim is proven of all parts, from the times of those that are left."""
        if times and all(until is not None for until in times):
            self.proven = max(self.proven or 0.0, min(until for until in times if until is not None))

    def _proof(self) -> Proof:
        pipe = joined([_located(*each, self.pipes[-1][0]) for each in self.pipes])
        return Proof(
            engine=NeuralEngine.name,
            direction=PIPE_DIRECTION,
            assurance=Assurance.RIGOROUS,
            margin=self.margin,
            evidence=pipe,
            abstraction=self.abstraction,
            statistics=self.statistics,
        )

    def open(self, reason: str) -> Open:
        """What is known when nothing is decided."""
        return Open(
            engine=NeuralEngine.name,
            reason=reason,
            proven_time=self.proven or None,
            abstraction=self.abstraction,
            statistics=self.statistics,
        )

    @property
    def abstraction(self) -> NeuralAbstraction | None:
        """The latest that was learned."""
        return self.learned.latest

    @property
    def reason(self) -> str:
        return TOO_LOOSE.format("none" if self.abstraction is None else shown_error(self.abstraction))

    @property
    def statistics(self) -> dict[str, int | float | str]:
        own: dict[str, int | float | str] = {"networks": self.learned.count, **self.counts}
        own |= {"partition seconds": round(self.learned.seconds, 3), "propagation seconds": round(self.seconds, 3)}
        if self.abstraction is None:
            return own
        automaton = self.abstraction.automaton
        if automaton is not None:
            own |= {"regions": len(automaton.locations), "transitions": len(automaton.crossings)}
        return {**self.abstraction.statistics, "error": shown_error(self.abstraction), **own}


def _located(automaton: HybridAutomaton, found: Flowpipe, latest: HybridAutomaton) -> Flowpipe:
    """A flowpipe whose locations are those of the latest automaton, or none."""
    return found if automaton is latest else replace(found, locations=np.full_like(found.locations, -1))
