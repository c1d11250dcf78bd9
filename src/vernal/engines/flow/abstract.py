"""The engine of neural abstractions: a network in the place of the flow, its automaton, and flowpipes through that.

Ever tighter networks are learned and certified; each becomes an affine hybrid automaton, through which flowpipes are
followed from parts of the initial set. A part whose flowpipe leaves the claim open is halved and followed again, in
shorter steps; what stays open after some rounds waits for a tighter network. Everything is OVER: an automaton has at
least the trajectories of the flow, and a flowpipe contains all of these. So a claim of all trajectories is proven, and
never refuted.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from vernal.engines.flow.affine.pipe import pipe
from vernal.engines.flow.judge import PipeJudge
from vernal.engines.flow.starts import StartBoxes, halved, start_boxes
from vernal.engines.flow.template import chosen
from vernal.engines.knowledge import Known, Open, Proof
from vernal.engines.options import AbstractionOptions
from vernal.errors import Stopped
from vernal.evidence.flowpipe import Flowpipe
from vernal.evidence.neural import NeuralAbstraction
from vernal.evidence.result import Assurance
from vernal.logic.timed import FlowQuestion
from vernal.model.hybrid import HybridAutomaton
from vernal.reduce.base import Direction
from vernal.reduce.neural.abstraction import abstractions
from vernal.reduce.neural.partition import automaton_of
from vernal.run.budget import Budget

ROUNDS = 3  # of halving what is open, before a tighter network
LAST_ROUNDS = 8  # with the tightest
MOST_PARTS = 256  # of the initial set that are open at one time
TOO_LOOSE = "its flowpipes leave the claim open; the tightest network has an error of {}"


class NeuralEngine:
    """Claims about all trajectories, by neural abstractions."""

    name = "abstraction"

    def __init__(self, options: AbstractionOptions | None = None) -> None:
        self.options = options or AbstractionOptions()

    def attempt(self, question: FlowQuestion, budget: Budget) -> Known:
        """A proof, or until when it is proven, and by which network."""
        search = AbstractionSearch(question, self.options, budget)
        try:
            found = search.run()
        except Stopped as stop:
            return search.open(stop.reason)
        return search.open(search.reason) if found is None else found


@dataclass(frozen=True, slots=True)
class PipeEffort:
    """How carefully flowpipes are followed: how often a step is halved, and whether more directions are bounded."""

    halvings: int
    careful: bool


class AbstractionSearch:
    """One question: networks, automata and flowpipes so far."""

    def __init__(self, question: FlowQuestion, options: AbstractionOptions, budget: Budget) -> None:
        self.question, self.options, self.budget = question, options, budget
        self.judge = PipeJudge(question, budget.check)
        self.abstraction: NeuralAbstraction | None = None
        self.seconds = {"partition": 0.0, "flowpipe": 0.0}
        self.counts = {"networks": 0, "flowpipes": 0, "segments": 0}
        self.proven: float | None = None
        self.step = 2.0**-10  # of the flowpipes, before it is halved; the first of them chooses it

    def run(self) -> Proof | None:
        """A proof by the first network that is tight enough."""
        latest: HybridAutomaton | None = None
        for abstraction in abstractions(self.question.flow, self.question.settings, self.budget.check):
            self.counts["networks"] += 1
            latest = self._automaton(abstraction)
            found = self._followed(latest, 0, ROUNDS)
            if found is not None:
                return self._proof(found)
        if latest is None:
            return None
        found = self._followed(latest, ROUNDS, LAST_ROUNDS)
        return None if found is None else self._proof(found)

    def _automaton(self, abstraction: NeuralAbstraction) -> HybridAutomaton:
        self.budget.progress(f"a network with an error of {_shown(abstraction)}", None)
        started = time.process_time()
        flow = self.question.flow
        names = tuple(variable.name for variable in flow.state)
        automaton = automaton_of(
            abstraction,
            name=flow.name,
            variables=names,
            transitions=self.options.transitions,
            tick=self.budget.check,
        )
        self.seconds["partition"] += time.process_time() - started
        self.abstraction = replace(abstraction, automaton=automaton, flow=flow)
        return automaton

    def _followed(self, automaton: HybridAutomaton, first: int, last: int) -> list[Flowpipe] | None:
        """Flowpipes by which all parts of the initial set keep the claim; None if some part stays open."""
        flow, proven = self.question.flow, list[Flowpipe]()
        parts = start_boxes(flow)
        for number in range(last):
            effort = PipeEffort(max(0, number - 1), number > 0)
            if number < first:  # was tried before
                parts = halved(flow, parts)
                continue
            left, times = np.zeros(len(parts), dtype=bool), list[float | None]()
            for index in range(len(parts)):
                found = self._pipe(automaton, parts, index, effort)
                if self.judge.of(self.question.normal, found) is True:
                    proven.append(found)
                else:
                    left[index] = True
                    times.append(self.judge.proven_until(found))
            self._note(times)
            parts = halved(flow, parts[left]) if left.any() else parts[left]
            if not len(parts):
                return proven
            if len(parts) > MOST_PARTS:
                return None
        return None

    def _pipe(self, automaton: HybridAutomaton, parts: StartBoxes, index: int, effort: PipeEffort) -> Flowpipe:
        self.budget.check()
        self.counts["flowpipes"] += 1
        self.budget.progress(f"flowpipe {self.counts['flowpipes']}", None)
        started = time.process_time()
        directions = chosen(self.question, self.options.directions, careful=effort.careful)
        step = None if not effort.halvings else self.step * 0.5**effort.halvings
        corners = parts.lower[index], parts.upper[index]
        found = pipe(automaton, corners, self.question.horizon, directions, self.budget.check, step=step)
        if step is None:
            self.step = float(found.times[0, 1] - found.times[0, 0]) if len(found.times) else self.step
        self.seconds["flowpipe"] += time.process_time() - started
        self.counts["segments"] += len(found.times)
        return found

    def _note(self, times: list[float | None]) -> None:
        """Until when the claim is proven of all parts, from the times of those that are left."""
        if times and all(until is not None for until in times):
            self.proven = max(self.proven or 0.0, min(until for until in times if until is not None))

    def _proof(self, pipes: list[Flowpipe]) -> Proof:
        return Proof(
            engine=NeuralEngine.name,
            direction=Direction.OVER,
            assurance=Assurance.RIGOROUS,
            evidence=joined(pipes),
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
        own |= {f"seconds of {name}": round(spent, 3) for name, spent in self.seconds.items()}
        if self.abstraction is None:
            return own
        automaton = self.abstraction.automaton
        if automaton is not None:
            own |= {"regions": len(automaton.locations), "transitions": len(automaton.crossings)}
        return {**self.abstraction.statistics, "error": _shown(self.abstraction), **own}


def joined(pipes: list[Flowpipe]) -> Flowpipe | None:
    """One flowpipe of several; all have the directions of the one that has the fewest."""
    if not pipes:
        return None
    fewest = min((found.directions for found in pipes), key=len)
    return Flowpipe(
        pipes[0].variables,
        fewest,
        np.concatenate([found.times for found in pipes]),
        np.concatenate([found.lower[:, : len(fewest)] for found in pipes]),
        np.concatenate([found.upper[:, : len(fewest)] for found in pipes]),
        np.concatenate([found.locations for found in pipes]),
        min(found.inside_until for found in pipes),
        min(found.until for found in pipes),
    )


def _shown(abstraction: NeuralAbstraction) -> str:
    return ", ".join(f"{error:.3g}" for error in abstraction.error)
