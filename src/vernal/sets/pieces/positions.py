"""Batches at a position: sets of states with one discrete state, divided by what decisions can come out as.

The atoms of the formula, the guard and the next values are specialised to the discrete state and to every decision that
is taken, until what is left is affine (or has bounds) in the numbers of the state. How a batch is divided by a decision
and moved by a step is up to its space: affine pieces and regions share all of this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

from vernal.errors import VernalError
from vernal.model.closed_graph import ClosedStep
from vernal.model.expr import Argmax, Choose, Const, Decision, Expr, Var
from vernal.model.graph import draws
from vernal.model.initial import Box
from vernal.model.partial_evaluation import next_decision, specialiser
from vernal.model.sorts import INT, REAL
from vernal.model.tick import Tick
from vernal.model.traits import nonlinear_node
from vernal.sets.pieces.decisions import Layout, outcomes
from vernal.sets.pieces.samples import Assumptions
from vernal.sets.pieces.trails import Taken
from vernal.sets.search import Stage

DiscreteState = tuple[
    Fraction | None, ...
]  # the value of each state variable that is a constant of the piece; None for others


class NotExplorable(VernalError):
    """This way of exploring cannot go on; the message says why."""


class Sized(Protocol):
    def __len__(self) -> int: ...


B = TypeVar("B", bound=Sized)


@dataclass(frozen=True)
class Key:
    """What the pieces of a batch have in common."""

    discrete: DiscreteState
    parameters: int = 0


class Batches(Protocol[B]):
    """A kind of batch: how it is divided by a decision, and moved by a step in which every decision is taken."""

    def divide(self, decision: Expr, layout: Layout, batch: B) -> Sequence[tuple[int, B]]: ...

    def move(self, position: Position[B], discrete: DiscreteState, numbers: Sequence[Expr]) -> tuple[Key, B] | None: ...


def nonlinear_step(step: ClosedStep) -> Expr | None:
    """The first operator of a step that is not piecewise linear."""
    return nonlinear_node([*step.next_state, *step.next_memory])


class StepGraph:
    """What an exploration asks at every position: atoms, guard and next values, as expressions over the state."""

    def __init__(self, step: ClosedStep, atoms: Sequence[Expr], tick: Tick) -> None:
        self.step, self.tick = step, tick
        self.atoms = {atom: place for place, atom in enumerate(atoms)}
        self.specialise = step.once(specialiser)
        self.roots = [*(step.resolve(atom) for atom in atoms), step.enabled, *step.next_state, *step.next_memory]
        self.nonlinear = step.once(nonlinear_step)  # the first operator that is not piecewise linear
        self.names = {node.occurrence.serial: name for node, name in step.names.items()}

    def name(self, decision: Decision) -> str:
        """Under which name a trace records a decision."""
        return self.names[decision.occurrence.serial]

    def known(self, discrete: DiscreteState) -> dict[Expr, Expr]:
        """The discrete part of a state as constants."""
        pairs = zip(self.step.inputs, discrete, strict=True)
        return {node: Const((), node.sort, (), (value,)) for node, value in pairs if value is not None}

    def layout(self, discrete: DiscreteState) -> Layout:
        """The numbers of a state whose discrete part is this."""
        nodes = tuple(n for n, value in zip(self.step.inputs, discrete, strict=True) if value is None)
        return Layout(nodes, self.tick)

    def value(self, expression: Expr, discrete: DiscreteState) -> Expr:
        """An expression over state, actions and lets, where the discrete part of the state is known."""
        return self.specialise([self.step.resolve(expression)], self.known(discrete))[0]

    def discrete(self, box: Box) -> DiscreteState:
        """The discrete part of an initial box: labels, truth values, and integers that are known."""
        return tuple(_constant(box, node) for node in self.step.inputs)


def _constant(box: Box, node: Var) -> Fraction | None:
    if node.sort == REAL or node.shape:
        return None
    low, high = box.ends[node][0]
    if low != high:
        raise NotExplorable(f"{node.name} starts with several discrete values in one box")
    return low


@dataclass(frozen=True)
class Position(Generic[B]):
    """A batch on its way through the decisions of one position."""

    stage: Stage
    graph: StepGraph
    batches: Batches[B]
    layout: Layout
    here: tuple[Expr, ...]  # atoms, guard and next values, as far as they are decided
    batch: B
    taken: Taken = ()  # choices and winners
    asked: Assumptions = ()  # what was decided here, and how

    @property
    def discrete(self) -> DiscreteState:
        key = self.stage.key
        assert isinstance(key, Key)
        return key.discrete

    # Dividing

    def decide(self, atom: Expr, *, only_truth: bool) -> Iterator[tuple[bool, Position[B]]]:
        """The parts in which an atom is true or false.

        Where only its truth matters, it is asked as one: not how each comparison in it comes about.
        """
        at = self.graph.atoms[atom]
        value = self.here[at]
        if only_truth and next_decision([value]) not in (None, value) and not draws([value]):
            for index, batch in self.batches.divide(value, self.layout, self.batch):
                yield bool(index), replace(self, batch=batch, asked=(*self.asked, (value, index)))
            return
        for part in self._decided([at]):
            yield _truth(part.here[at]), part

    def enabled(self) -> Iterator[tuple[bool, Position[B]]]:
        """The parts from which there is a step, and those where paths end."""
        guard = len(self.graph.atoms)
        for part in self._decided([guard]):
            yield _truth(part.here[guard]), part

    def _decided(self, wanted: Sequence[int]) -> Iterator[Position[B]]:
        """The parts in which nothing is left to decide about some of the expressions."""
        stack = [self]
        while stack:
            self.graph.tick()
            position = stack.pop()
            decision = next_decision([position.here[at] for at in wanted])
            if decision is None:
                yield position
            else:
                stack += [part for part in position._branches(decision) if len(part.batch)]

    def _branches(self, decision: Expr) -> list[Position[B]]:
        if isinstance(decision, Choose):
            name = self.graph.name(decision)
            chosen = {i: self.graph.specialise(self.here, {decision: option}) for i, option in existing(decision)}
            return [replace(self, here=here, taken=(*self.taken, (name, i))) for i, here in chosen.items()]
        options = outcomes(decision)
        branches = []
        for index, batch in self.batches.divide(decision, self.layout, self.batch):
            winner = ((self.graph.name(decision), index),) if isinstance(decision, Argmax) else ()
            here = self.graph.specialise(self.here, {decision: options[index]})
            asked = (*self.asked, (decision, index))
            branches.append(replace(self, here=here, batch=batch, taken=(*self.taken, *winner), asked=asked))
        return branches

    # Moving

    def moves(self) -> Iterator[tuple[Key, B]]:
        """Every decision taken, the next state is affine or bounded, and its discrete part constant."""
        first = len(self.graph.atoms) + 1
        for part in self._decided(range(first, len(self.here))):
            discrete, numbers = part._next_values(part.here[first:])
            moved = self.batches.move(part, discrete, numbers)
            if moved is not None:
                yield moved

    def _next_values(self, following: Sequence[Expr]) -> tuple[DiscreteState, list[Expr]]:
        """The discrete part of the next state, and the expressions of the others."""
        pairs = list(zip(self.graph.step.inputs, following, strict=True))
        discrete = tuple(_discrete_value(node, value) for node, value in pairs)
        return discrete, [value for (_, value), known in zip(pairs, discrete, strict=True) if known is None]


def _truth(node: Expr) -> bool:
    if not isinstance(node, Const):
        raise NotExplorable("a condition is not decided by comparisons, argmax and choices alone")
    return bool(node.value)


def existing(choice: Choose) -> list[tuple[int, Expr]]:
    """The options that exist once it is decided which do."""
    absent = {index for index, guard in enumerate(choice.guards) if not _truth(guard)}
    return [(index, option) for index, option in enumerate(choice.options) if index not in absent]


def _discrete_value(node: Expr, value: Expr) -> Fraction | None:
    """The value of a variable that is a constant of the piece; reals and memories are always kept as numbers."""
    if node.sort == REAL or node.shape:
        return None
    if isinstance(value, Const):
        return value.value
    if node.sort != INT:
        raise NotExplorable("a discrete value is not decided by comparisons, argmax and choices alone")
    return None


def position(graph: StepGraph, batches: Batches[B], stage: Stage, batch: B) -> Position[B]:
    """A batch that has just come to a stage."""
    assert isinstance(stage.key, Key)
    here = graph.specialise(graph.roots, graph.known(stage.key.discrete))
    return Position(stage, graph, batches, graph.layout(stage.key.discrete), here, batch)
