"""Flows replaced by affine hybrid automata: networks with certified errors, each with the partition of its region.

An automaton has at least the trajectories of the flow (OVER): so what all of its trajectories keep, those of the flow
keep. Which sides of the region the flow never leaves is said with it, and only executions that keep them count. Ever
tighter networks are asked about, and the tightest once more, for whoever can try harder.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from vernal.errors import Stopped
from vernal.evidence.knowledge import Known
from vernal.evidence.neural import NeuralAbstraction
from vernal.interpret.sampled.plant import plant_of
from vernal.logic.direction import Direction
from vernal.logic.question import Question
from vernal.logic.task import Transitions
from vernal.model.hybrid import HybridAutomaton
from vernal.model.motion import Modes, Rates
from vernal.model.system import Model
from vernal.model.tick import Tick
from vernal.reduce.neural.abstraction import abstractions
from vernal.reduce.neural.coverage import covers
from vernal.reduce.neural.partition import automaton_of
from vernal.reduce.reduction import Subquestion, first_decided
from vernal.run.budget import Budget
from vernal.sets.monotone import kept_sides

MOST_NETWORKS = 6  # each with half the error of the one before
NO_RATES = "not supported: only rates are learned"


class LearnedModes:
    """The same claim of an automaton in the place of the flow, tighter from one to the next; and what was learned."""

    name = "neural abstraction"
    direction = Direction.OVER
    is_joint = False

    def __init__(self, transitions: Transitions | None = None) -> None:
        """`transitions`: between which regions of a network trajectories may change, if the task is not to say it."""
        self.transitions = transitions
        self.latest: NeuralAbstraction | None = None
        self.count, self.seconds = 0, 0.0  # networks, and what it took to divide their regions

    def takes(self, question: Question) -> str | None:
        return None if isinstance(question.model.motion, Rates) else NO_RATES

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        tightest: Subquestion | None = None
        kept = tuple(kept_sides(plant_of(question.model)).tolist())
        for abstraction in islice(abstractions(question.model, question.settings, budget.check), MOST_NETWORKS):
            budget.progress(f"a network with an error of {shown_error(abstraction)}", None)
            modes = Modes(self._automaton(question, abstraction, budget.check), kept, may_block=False)
            asked = replace(question, model=replace(question.model, motion=modes))
            tightest = Subquestion(asked, self.direction)
            yield tightest
        if tightest is not None:
            yield tightest

    def _automaton(self, question: Question, abstraction: NeuralAbstraction, tick: Tick) -> HybridAutomaton:
        started = time.process_time()
        transitions = transitions_of(question, self.transitions)
        automaton = abstract_automaton(question.model, abstraction, transitions, tick)
        self.seconds += time.process_time() - started
        self.count += 1
        self.latest = replace(abstraction, automaton=automaton, flow=question.model)
        return automaton

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        return first_decided(found)


def transitions_of(question: Question, asked: Transitions | None) -> Transitions:
    """Those that are asked for, or those of the task."""
    return asked or question.settings.transitions or Transitions.FACET


def abstract_automaton(
    flow: Model, abstraction: NeuralAbstraction, transitions: Transitions, tick: Tick
) -> HybridAutomaton:
    """The automaton of an abstraction, with the names of the flow; that it covers the region is checked."""
    names = tuple(variable.name for variable in flow.state)
    made = automaton_of(abstraction, name=flow.name, variables=names, transitions=transitions, tick=tick)
    if not covers(made, tick):
        raise Stopped("the regions of the network do not cover the region of interest")
    return made


def shown_error(abstraction: NeuralAbstraction) -> str:
    """The certified error of each coordinate, in a few digits."""
    return ", ".join(f"{error:.3g}" for error in abstraction.error)
