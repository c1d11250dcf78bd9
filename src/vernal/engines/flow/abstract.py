"""The engine of neural abstractions: a network in the place of the flow, its automaton, and flowpipes through that.

Ever tighter networks are learned and certified; each becomes an affine hybrid automaton, through which flowpipes are
followed from parts of the initial set. Where the flowpipe of a part leaves the claim open, that of its centre says why:
if the centre is proven, the part is too large, and is halved; if not, it waits for a tighter network. What is proven
stays so. Everything is OVER: an automaton has at least the trajectories of the flow, and a flowpipe contains all of
these. So a claim of all trajectories is proven, and never refuted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from vernal.engines.flow.monotone import kept_sides
from vernal.engines.flow.pipe_maker import FollowedFlow, FoundPipe
from vernal.engines.flow.starts import StartBoxes, halved, start_boxes
from vernal.engines.flow.template import chosen
from vernal.engines.options import AbstractionOptions
from vernal.engines.refusals import in_seconds
from vernal.errors import Stopped
from vernal.evidence.flowpipe import Flowpipe, joined
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.evidence.neural import NeuralAbstraction
from vernal.evidence.pipe_judge import PipeJudge
from vernal.evidence.result import Assurance
from vernal.logic.question import Question
from vernal.logic.task import MAX_ABSTRACTED, AbstractionSettings, Transitions
from vernal.model.hybrid import HybridAutomaton
from vernal.model.system import Model
from vernal.model.tick import Tick
from vernal.reduce.neural.abstraction import abstractions
from vernal.reduce.neural.coverage import covers
from vernal.reduce.neural.partition import DIRECTION, automaton_of
from vernal.run.budget import Budget
from vernal.sets.zonotopes.pipe import pipe

MOST_NETWORKS = 6  # each with half the error of the one before
MAX_HALVING_ROUNDS = 2  # of halving what is open, before a tighter network
LAST_ROUNDS = 4  # with the tightest, in ever shorter steps
MOST_PARTS = 256  # of the initial set that are open at one time
FEW_VARIABLES = 3  # of which an octagon costs hardly more than a box
TOO_LOOSE = "its flowpipes leave the claim open; the tightest network has an error of {}"


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
        return in_seconds(question)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof, or until when it is proven, and by which network."""
        search = AbstractionSearch(question, self.options, budget)
        try:
            found = search.run()
        except Stopped as stop:
            return search.open(stop.reason)
        return search.open(search.reason) if found is None else found

    def flowpipes(self, asked: FollowedFlow, budget: Budget) -> Iterator[FoundPipe]:
        """Flowpipes from all initial states, through ever tighter networks"""
        flow, tick = asked.flow, budget.check
        boxes = start_boxes(flow)
        for abstraction in abstractions(flow, asked.settings, tick):
            automaton = abstract_automaton(flow, abstraction, _transitions(self.options, asked.settings), tick)
            corners = zip(boxes.lower, boxes.upper, strict=True)
            found = joined([pipe(automaton, ends, asked.horizon, asked.directions, tick) for ends in corners])
            if found is None:
                return
            yield FoundPipe(found, replace(abstraction, automaton=automaton, flow=flow))


def _transitions(options: AbstractionOptions, settings: AbstractionSettings) -> Transitions:
    """Those that are asked for, or those of the task."""
    return options.transitions or settings.transitions or Transitions.FACET


def abstract_automaton(
    flow: Model, abstraction: NeuralAbstraction, transitions: Transitions, tick: Tick
) -> HybridAutomaton:
    """The automaton of an abstraction, with the names of the flow; that it covers the region is checked."""
    names = tuple(variable.name for variable in flow.state)
    made = automaton_of(abstraction, name=flow.name, variables=names, transitions=transitions, tick=tick)
    if not covers(made, tick):
        raise Stopped("the regions of the network do not cover the region of interest")
    return made


@dataclass(frozen=True, slots=True)
class PipeEffort:
    """How carefully flowpipes are followed: how often a step is halved, and whether more directions are bounded."""

    halvings: int
    careful: bool


class AbstractionSearch:
    """One question: networks, automata and flowpipes so far."""

    def __init__(self, question: Question, options: AbstractionOptions, budget: Budget) -> None:
        self.question, self.options, self.budget = question, options, budget
        self.judge = PipeJudge(question, budget.check)
        self.directions = {careful: chosen(question, options.directions, careful=careful) for careful in (False, True)}
        self.kept = kept_sides(question.model)
        self.abstraction: NeuralAbstraction | None = None
        self.seconds = {"partition": 0.0, "propagation": 0.0}
        self.counts = {"networks": 0, "flowpipes": 0, "segments": 0}
        self.proven: float | None = None
        self.margin = math.inf  # of what is proven, at least
        self.pipes: list[tuple[HybridAutomaton, Flowpipe]] = []  # by which parts are proven
        self.step = 2.0**-10  # of the flowpipes, before it is halved; the first of them chooses it

    def run(self) -> Proof | None:
        """A proof by the first network that is tight enough for what the ones before left open."""
        latest: HybridAutomaton | None = None
        boxes = start_boxes(self.question.model)
        networks = abstractions(self.question.model, self.question.settings, self.budget.check)
        for abstraction in islice(networks, MOST_NETWORKS):
            self.counts["networks"] += 1
            latest = self._automaton(abstraction)
            boxes = self._left(latest, boxes)
            if not len(boxes):
                return self._proof()
        return self._proof() if latest is not None and self._is_proven(latest, boxes) else None

    def _automaton(self, abstraction: NeuralAbstraction) -> HybridAutomaton:
        self.budget.progress(f"a network with an error of {_shown(abstraction)}", None)
        started = time.process_time()
        transitions = _transitions(self.options, self.question.settings)
        automaton = abstract_automaton(self.question.model, abstraction, transitions, self.budget.check)
        self.seconds["partition"] += time.process_time() - started
        self.abstraction = replace(abstraction, automaton=automaton, flow=self.question.model)
        return automaton

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

    def _is_proven(self, automaton: HybridAutomaton, boxes: StartBoxes) -> bool:
        """Whether all parts keep the claim, with the tightest network and in ever shorter steps."""
        for number in range(1, LAST_ROUNDS):
            boxes = halved(self.question.model, boxes)
            if len(boxes) > MOST_PARTS:
                return False
            boxes, times = self._open(automaton, boxes, PipeEffort(number, careful=True))
            self._note(times)
            if not len(boxes):
                return True
        return False

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
        self.seconds["propagation"] += time.process_time() - started
        self.counts["segments"] += len(found.times)
        return found

    def _note(self, times: list[float | None]) -> None:
        """Until when the claim is proven of all parts, from the times of those that are left."""
        if times and all(until is not None for until in times):
            self.proven = max(self.proven or 0.0, min(until for until in times if until is not None))

    def _proof(self) -> Proof:
        return Proof(
            engine=NeuralEngine.name,
            direction=DIRECTION.then(Flowpipe.direction),
            assurance=Assurance.RIGOROUS,
            margin=self.margin,
            evidence=joined([_located(*each, self.pipes[-1][0]) for each in self.pipes]),
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
    def reason(self) -> str:
        return TOO_LOOSE.format("none" if self.abstraction is None else _shown(self.abstraction))

    @property
    def statistics(self) -> dict[str, int | float | str]:
        own: dict[str, int | float | str] = dict(self.counts)
        own |= {f"{name} seconds": round(spent, 3) for name, spent in self.seconds.items()}
        if self.abstraction is None:
            return own
        automaton = self.abstraction.automaton
        if automaton is not None:
            own |= {"regions": len(automaton.locations), "transitions": len(automaton.crossings)}
        return {**self.abstraction.statistics, "error": _shown(self.abstraction), **own}


def _located(automaton: HybridAutomaton, found: Flowpipe, latest: HybridAutomaton) -> Flowpipe:
    """A flowpipe whose locations are those of the latest automaton, or none."""
    return found if automaton is latest else replace(found, locations=np.full_like(found.locations, -1))


def _shown(abstraction: NeuralAbstraction) -> str:
    return ", ".join(f"{error:.3g}" for error in abstraction.error)
