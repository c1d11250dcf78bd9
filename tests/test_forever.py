"""The known answers of the twenty systems, tried by naive means: simulation, and enumeration of finite systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.forever.answers import ANSWERS, SYSTEMS, Right, tasks
from benchmarks.forever.make import networks
from tests.brute import Brute, State
from tests.portion import every
from vernal.evidence.result import HOLDS, Verdict
from vernal.formats.onnx.writer import write_onnx
from vernal.interpret import concrete
from vernal.logic.formula import Always, And, Atom, Eventually, Formula, Implies, Not, Or, Quantifier
from vernal.logic.normal import atoms, strip_quantifiers
from vernal.logic.semantics import evaluate
from vernal.logic.task import Task
from vernal.model.expr import Choose, Expr
from vernal.model.system import System
from vernal.simulate.runs import Plan, Runs, StepSimulator, pick, random_plan

STEPS = 80
LEVELS = (0.0, 0.25, 0.5, 0.75, 0.999)  # of every draw, at every step: lowest, ..., highest
CLOSED = 1e-3  # two states that are this close are taken for one: this is simulation
OPERATORS = ("G", "F", "U", "R", "W", "G F", "F G", "->", "AF", "AG", "EG", "EF")
FOUND = {task.system.name: (task, right) for task, right in tasks()}


def is_branching(formula: Formula) -> bool:
    """Whether the formula is about states with several futures, not about paths."""
    return strip_quantifiers(formula) != formula


def questions(branching: bool) -> list[tuple[str, str]]:
    return [
        (name, asked)
        for name, (task, right) in FOUND.items()
        for asked in right
        if is_branching(task.properties[asked]) is branching
    ]


# Simulation -----------------------------------------------------------------------------------------------------------


def all_runs(system: System) -> Iterator[Runs]:
    """Random runs, then runs that draw alike at every step; all of them begin with the corners."""
    rng, simulator = np.random.default_rng(0), StepSimulator(system, STEPS)
    plan = random_plan(system, 12, STEPS, rng, corners=True)
    yield simulator.run(plan)
    for level in LEVELS if plan.decisions else ():
        same = {
            node: pick(node, np.full_like(drawn, level)) if isinstance(node, Choose) else np.full_like(drawn, level)
            for node, drawn in plan.decisions.items()
        }
        yield simulator.run(Plan(plan.first, same))


def loop(runs: Runs, row: int) -> int | None:
    """The last earlier position that the last one returns to, memory included."""
    parts = [*runs.state.values(), *runs.memory.values()]
    past = np.concatenate([part[row].reshape(STEPS + 1, -1) for part in parts], axis=1)
    (found,) = np.nonzero(np.abs(past[:-1] - past[-1]).max(axis=1) <= CLOSED)
    return int(found[-1]) if len(found) else None


@dataclass
class Simulated:
    """Formulas along runs."""

    task: Task
    runs: Runs
    loops: list[int | None]  # of each run that was followed to the last step
    known: dict[Expr, NDArray[np.bool_]]

    def truth(self, formula: Formula, row: int) -> bool | None:
        """By what was seen of a run: until it ends, or round its loop, or as far as it was followed."""
        for atom in atoms(formula):
            self.known.setdefault(atom, self._along(atom))
        length = int(self.runs.lengths[row])
        back = self.loops[row] if length == STEPS + 1 else None
        seen = length if back is None else STEPS  # the last position is where the loop begins again
        return evaluate(
            formula, lambda atom, t: bool(self.known[atom][row, t]), seen, loop=back, complete=length <= STEPS
        )

    def _along(self, atom: Expr) -> NDArray[np.bool_]:
        (resolved,) = [self.task.system.step.resolve(atom)]
        columns = []
        for t in range(STEPS + 1):
            (value,) = concrete.evaluate([resolved], self.runs.inputs(t))
            columns.append(np.broadcast_to(value, (self.runs.plan.runs,)))
        return np.stack(columns, axis=1).astype(bool)


NEVER_SHOWN = {  # kept for ever by states that never come back: no finite run shows it
    ("doubling", "positive"),
    ("doubling", "stays_far"),
    ("drifting", "positive"),
    ("drifting", "stays_far"),
}


@pytest.fixture(scope="module")
def simulated() -> Callable[[str], list[Simulated]]:
    made: dict[str, list[Simulated]] = {}

    def of(name: str) -> list[Simulated]:
        if name not in made:
            task, _ = FOUND[name]
            made[name] = [
                Simulated(task, runs, [loop(runs, row) for row in range(runs.plan.runs)], {})
                for runs in all_runs(task.system)
            ]
        return made[name]

    return of


@pytest.mark.parametrize(("name", "asked"), every(2, questions(branching=False)))
def test_simulation_agrees(name: str, asked: str, simulated: Callable[[str], list[Simulated]]) -> None:
    """A violated property is false on a run, one that holds on none, and true on some run that ends or closes."""
    task, right = FOUND[name]
    formula = task.properties[asked]
    truths = (one.truth(formula, row) for one in simulated(name) for row in range(one.runs.plan.runs))
    if right[asked].verdict is not HOLDS:
        assert False in truths, right[asked].why  # found as soon as a run shows it
        return
    seen = set(truths)
    assert False not in seen, right[asked].why
    assert (True in seen) == ((name, asked) not in NEVER_SHOWN)


# Enumeration ----------------------------------------------------------------------------------------------------------


def states(brute: Brute) -> list[State]:
    found = dict.fromkeys(brute.starts())
    waiting = list(found)
    while waiting:
        for after in brute.successors(waiting.pop()):
            if after not in found:
                found[after] = None
                waiting.append(after)
    return list(found)


def satisfying(brute: Brute, every: list[State], formula: Formula) -> set[State]:
    """The states at which a CTL formula is true: the fixpoints of the textbook, for the operators the table uses."""
    match formula:
        case Atom(expr):
            return {state for state in every if brute.truth(expr, state)}
        case Not(arg):
            return set(every) - satisfying(brute, every, arg)
        case And(args):
            return set.intersection(*(satisfying(brute, every, arg) for arg in args))
        case Or(args):
            return set.union(*(satisfying(brute, every, arg) for arg in args))
        case Implies(p, q):
            return (set(every) - satisfying(brute, every, p)) | satisfying(brute, every, q)
        case Eventually(arg, _, quantifier):
            return until(brute, every, satisfying(brute, every, arg), quantifier)
        case Always(arg, _, quantifier):
            other = Quantifier.SOME if quantifier is Quantifier.ALL else Quantifier.ALL
            return set(every) - until(brute, every, set(every) - satisfying(brute, every, arg), other)
    raise AssertionError(f"{formula} is not among the operators of the table")


def until(brute: Brute, every: list[State], goal: set[State], quantifier: Quantifier | None) -> set[State]:
    """The states from which all paths, or some path, come to the goal: the least fixpoint."""
    reached, before = set(goal), set[State]()
    needed = all if quantifier is Quantifier.ALL else any
    while reached != before:
        before = set(reached)
        for state in every:
            after = brute.successors(state)
            if after and needed(one in before for one in after):
                reached.add(state)
    return reached


@pytest.mark.parametrize(("name", "asked"), questions(branching=True))
def test_enumeration_agrees(name: str, asked: str) -> None:
    task, right = FOUND[name]
    formula = task.properties[asked]
    brute = Brute(task.system, formula)
    every = states(brute)
    holds = set(brute.starts()) <= satisfying(brute, every, formula)
    assert holds is (right[asked].verdict is HOLDS), right[asked].why


def test_the_table_has_twenty_systems_and_every_operator() -> None:
    assert len(ANSWERS) == 20
    asked: dict[str, set[Verdict]] = {}
    for task, right in FOUND.values():
        for name, formula in task.properties.items():
            for shape in shapes(str(formula)):
                asked.setdefault(shape, set()).add(right[name].verdict)
    assert all(len(asked[shape]) == 2 for shape in OPERATORS)


def shapes(text: str) -> Iterator[str]:
    """The operators of a printed formula."""
    words = text.replace("(", " ").replace(")", " ").split()
    yield from words
    yield from (f"{one} {two}" for one, two in pairwise(words))


def test_networks_are_those_of_the_script(tmp_path: Path) -> None:
    for name, network in networks().items():
        write_onnx(network, tmp_path / f"{name}.onnx")
        assert (tmp_path / f"{name}.onnx").read_bytes() == (SYSTEMS.parent / f"{name}.onnx").read_bytes()


def test_every_answer_has_a_reason() -> None:
    assert all(isinstance(one, Right) and one.why for right in ANSWERS.values() for one in right.values())
