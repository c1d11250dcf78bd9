"""Affine hybrid automata followed by flowpipes: those of files, and those that stand for a flow.

Flowpipes are followed from parts of the initial set. Where that of a part leaves the claim open, that of its centre
says why: if the centre is proven, the part is too large, and is halved; if not, it waits for shorter steps, or for a
tighter automaton. What is proven stays so. Flowpipes are OVER: so a claim of all executions is proven, and never
refuted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from vernal.engines.flow.template import chosen
from vernal.engines.options import FlowpipeOptions
from vernal.engines.pipe_maker import FollowedFlow, FoundPipe
from vernal.engines.refusals import of_automata
from vernal.errors import Stopped
from vernal.evidence.flowpipe import Flowpipe, joined
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.evidence.pipe_judge import PIPE_DIRECTION, PipeJudge
from vernal.evidence.result import Assurance
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.question import Question
from vernal.logic.task import MAX_ABSTRACTED
from vernal.model.hybrid import HybridAutomaton
from vernal.model.motion import Modes
from vernal.model.system import Model
from vernal.run.budget import Budget
from vernal.sets.flow_starts import StartBoxes, halved, start_boxes
from vernal.sets.zonotopes.pipe import pipe

MAX_HALVING_ROUNDS = 2  # of halving what is open, before a tighter automaton
LAST_ROUNDS = 4  # with the tightest, in ever shorter steps
TRIED_CENTRES = 3  # of parts that are open, before they are halved again and again
MOST_PARTS = 256  # of the initial set that are open at one time
FEW_VARIABLES = 3  # of which an octagon costs hardly more than a box
MAX_PIPES = 3  # of which each has steps of half the length
NO_END = "is for claims with a last time"
LEFT_OPEN = "its flowpipes leave the claim open"


class ModeEngine:
    """Claims about all executions of an affine hybrid automaton."""

    name = "modes"

    def __init__(self, options: FlowpipeOptions | None = None) -> None:
        self.options = options or FlowpipeOptions()

    def takes(self, question: Question) -> str | None:
        """Claims about automata."""
        return of_automata(question) or (NO_END if question.claim.is_endless else None)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """A proof by flowpipes, or until when the claim is proven."""
        if (refused := self.takes(question)) is not None:
            return Open(engine=self.name, reason=refused)
        pipes = ModePipes(self.name, question, self.options.directions, budget)
        try:
            known = pipes.attempt(question, budget)
            return known if isinstance(known, Proof) else pipes.attempt(question, budget)
        except Stopped as stop:
            return pipes.open(stop.reason)

    def flowpipes(self, asked: FollowedFlow, budget: Budget) -> Iterator[FoundPipe]:
        """Flowpipes from all initial states, in ever shorter steps."""
        modes, boxes, step = _modes(asked.flow), start_boxes(asked.flow), None
        for _ in range(MAX_PIPES):
            corners = zip(boxes.lower, boxes.upper, strict=True)
            found = joined([_followed(modes, ends, asked.horizon, asked.directions, budget, step) for ends in corners])
            if found is None or not len(found.times):
                return
            yield FoundPipe(found)
            step = 0.5 * float(found.times[0, 1] - found.times[0, 0])
            boxes = halved(asked.flow, boxes) if 2 * len(boxes) <= asked.parts else boxes


def _modes(model: Model) -> Modes:
    assert isinstance(model.motion, Modes), "whoever asks has an automaton"
    return model.motion


def _followed(
    modes: Modes,
    ends: tuple[Floats, Floats],
    horizon: Fraction | float,
    directions: Floats,
    budget: Budget,
    step: float | None,
) -> Flowpipe:
    """A flowpipe of the executions that count, from a box."""
    kept = np.array(modes.kept, dtype=bool) if modes.kept else None
    tick = budget.check
    return pipe(modes.automaton, ends, horizon, directions, tick, step=step, kept=kept, blocking=modes.may_block)


@dataclass(frozen=True, slots=True)
class PipeEffort:
    """How carefully flowpipes are followed: how often a step is halved, and whether more directions are bounded."""

    halvings: int
    careful: bool


class ModePipes:
    """Flowpipes through an automaton, or through several in the place of one flow: what is proven, and what is open."""

    def __init__(self, name: str, asked: Question, choice: str, budget: Budget) -> None:
        """`choice` says in which directions sets are bounded."""
        self.name, self.question, self.budget = name, asked, budget
        self.judge = PipeJudge(asked, budget.check)
        many = len(asked.model.state) > MAX_ABSTRACTED
        self.directions = {careful: chosen(asked, choice, careful=careful and not many) for careful in (False, True)}
        self.boxes = start_boxes(asked.model)  # parts of the initial set that are open
        self.latest: Modes | None = None
        self.seconds = 0.0
        self.counts = {"flowpipes": 0, "segments": 0}
        self.proven: float | None = None
        self.margin = math.inf  # of what is proven, at least
        self.best = -math.inf  # of everything, at least, in the best round
        self.pipes: list[tuple[HybridAutomaton, Flowpipe]] = []  # by which parts are proven
        self.step = 2.0**-10  # of the flowpipes, before it is halved; the first of them chooses it

    def takes(self, question: Question) -> str | None:
        """Automata."""
        return of_automata(question)

    def attempt(self, question: Question, budget: Budget) -> Known:
        """What stays open with this automaton; one that is asked about again is followed in ever shorter steps."""
        modes = _modes(question.model)
        again = modes is self.latest
        self.latest = modes
        self.boxes = self._in_short_steps(modes, self.boxes) if again else self._left(modes, self.boxes)
        return self.open(LEFT_OPEN) if len(self.boxes) else self._proof()

    def _left(self, modes: Modes, boxes: StartBoxes) -> StartBoxes:
        """What stays open of some parts, after those that are only too large were halved some times."""
        effort = PipeEffort(0, len(modes.automaton.variables) <= FEW_VARIABLES)
        waiting, since = boxes[:0], list[float | None]()  # for a tighter automaton, and until when they are proven
        weakest = math.inf  # of what waits
        for _ in range(MAX_HALVING_ROUNDS):
            left, times, least = self._open(modes, boxes, effort)
            self._note([*since, *times], min(least, weakest))
            large = np.array([self._is_large(modes, left[i : i + 1], effort) for i in range(len(left))], dtype=bool)
            waiting, weakest = waiting.joined(left[~large]), min(weakest, least)
            since += [time for time, halve in zip(times, large, strict=True) if not halve]
            boxes = halved(self.question.model, left[large])
            if not len(boxes) or len(boxes) + len(waiting) > MOST_PARTS:
                break
        return waiting.joined(boxes)

    def _in_short_steps(self, modes: Modes, boxes: StartBoxes) -> StartBoxes:
        """What stays open in ever shorter steps; all, where the shortest do not prove the centres of some parts."""
        places = np.unique(np.linspace(0, len(boxes) - 1, TRIED_CENTRES).astype(np.intp))
        finest = PipeEffort(LAST_ROUNDS - 1, careful=True)
        if not all(self._is_large(modes, boxes[np.array([place])], finest) for place in places):
            return boxes  # the pipes of parts are no narrower
        for number in range(1, LAST_ROUNDS):
            parts = halved(self.question.model, boxes)
            if len(parts) > MOST_PARTS:
                break
            boxes, times, least = self._open(modes, parts, PipeEffort(number, careful=True))
            self._note(times, least)
            if not len(boxes):
                break
        return boxes

    def _open(
        self, modes: Modes, boxes: StartBoxes, effort: PipeEffort
    ) -> tuple[StartBoxes, list[float | None], float]:
        """The parts that flowpipes leave open, until when each is proven, and their least margin.

        The pipes of the others are kept.
        """
        left, times, least = np.zeros(len(boxes), dtype=bool), list[float | None](), math.inf
        for index in range(len(boxes)):
            found = self._pipe(modes, boxes[index : index + 1], effort)
            if self.judge.of(self.question.claim.normal, found) is True:
                self.pipes.append((modes.automaton, found))
                self.margin = min(self.margin, max(self.judge.margin(self.question.claim.normal, found), 0.0))
            else:
                left[index] = True
                times.append(self.judge.proven_until(found))
                least = min(least, self.judge.margin(self.question.claim.normal, found))
        return boxes[left], times, least

    def _is_large(self, modes: Modes, box: StartBoxes, effort: PipeEffort) -> bool:
        """Whether a part that is open has a centre that is not."""
        centre = 0.5 * box.lower + 0.5 * box.upper
        found = self._pipe(modes, StartBoxes(centre, centre), effort)
        return self.judge.of(self.question.claim.normal, found) is True

    def _pipe(self, modes: Modes, box: StartBoxes, effort: PipeEffort) -> Flowpipe:
        self.budget.check()
        self.counts["flowpipes"] += 1
        self.budget.progress(f"flowpipe {self.counts['flowpipes']}", None)
        started = time.process_time()
        directions = self.directions[effort.careful]
        step = None if not effort.halvings else self.step * 0.5**effort.halvings
        corners = box.lower[0], box.upper[0]
        found = _followed(modes, corners, self.question.claim.last_time, directions, self.budget, step)
        if step is None:
            self.step = float(found.times[0, 1] - found.times[0, 0]) if len(found.times) else self.step
        self.seconds += time.process_time() - started
        self.counts["segments"] += len(found.times)
        return found

    def _note(self, times: list[float | None], least: float) -> None:
        """Until when and by what margin the claim is proven of all parts, from those that are left."""
        self.best = max(self.best, min(least, self.margin))
        if times and all(until is not None for until in times):
            self.proven = max(self.proven or 0.0, min(until for until in times if until is not None))

    def _proof(self) -> Proof:
        pipe = joined([_located(*each, self.pipes[-1][0]) for each in self.pipes])
        return Proof(
            engine=self.name,
            direction=PIPE_DIRECTION,
            assurance=Assurance.RIGOROUS,
            margin=self.margin if self.judge.measures else None,
            evidence=pipe,
            empty=pipe is None or not len(pipe.times),
            statistics=self.statistics,
        )

    def open(self, reason: str) -> Open:
        """What is known when nothing is decided."""
        return Open(
            engine=self.name,
            reason=reason,
            proven_time=self.proven or None,
            margin=self.best if -math.inf < self.best < 0 else None,
            statistics=self.statistics,
        )

    @property
    def statistics(self) -> dict[str, int | float | str]:
        return {**self.counts, "propagation seconds": round(self.seconds, 3)}


def _located(automaton: HybridAutomaton, found: Flowpipe, latest: HybridAutomaton) -> Flowpipe:
    """A flowpipe whose locations are those of the latest automaton, or none."""
    return found if automaton is latest else replace(found, sets=replace(found.sets, labels=found.sets.labels[:, :0]))
