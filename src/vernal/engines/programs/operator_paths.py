"""Paths of so many steps as a condition on their states: the first, a step by some operator after the other, the last.

A state has unknowns of its own at every position, and which operator is taken is one more. Which labels and truth
values can be met at a position follows from those before; operators that need others are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from vernal.evidence.knowledge import Candidate
from vernal.interpret.smt import PartialSpan, Script
from vernal.model import build
from vernal.model.build import FALSE
from vernal.model.expr import Const, Expr, Role, Var
from vernal.model.graph import substitute, variables
from vernal.model.initial import OneOf, Span, Start
from vernal.model.partial_evaluation import specialise
from vernal.model.sorts import INT
from vernal.model.system import System
from vernal.model.tick import Tick
from vernal.reduce.operators import StepOperator, mentions_network, operators, ways_to_fail
from vernal.solvers.base import GrowingScript, SmtSolved

MetLabels = dict[Expr, frozenset[Fraction]]  # of variables with labels and truth values, which are met at a position


class OperatorPaths:
    """All paths of one length to a position that breaks a claim; the length grows."""

    direction = Script.direction  # the transitions of a step are exactly those of its operators

    def __init__(self, system: System, keep: Expr, tick: Tick) -> None:
        self.system = system
        self.operators = operators(system.step, tick)
        self.failing = ways_to_fail(system.step.resolve(keep), tick)
        self.starts: dict[Expr, Sequence[Start | PartialSpan]] = dict(system.initial.starts)
        self.conditions: list[Expr] = [*system.init.where]
        self.positions: list[dict[Expr, Expr]] = [{var: var for var in system.step.state}]
        self.met = [_labels(system)]

    @property
    def length(self) -> int:
        return len(self.positions) - 1

    def go_on(self) -> bool:
        """One more step; False where no operator can be taken any more."""
        taken = [number for number, one in enumerate(self.operators) if self._can_be_met(one)]
        if not taken:
            return False
        self.met.append(self._labels_after([self.operators[number] for number in taken]))
        there: dict[Expr, Expr] = {var: self._copy(var) for var in self.system.step.state}
        which = self._chosen("operator", len(self.operators))
        ways = [(number, self._step(self.operators[number], there)) for number in taken]
        self.conditions.append(_one_of(which, ways))
        self.positions.append(there)
        return True

    def failure(self) -> Expr:
        """That the present position breaks the claim."""
        which = self._chosen("failure", len(self.failing))
        return _one_of(which, [(number, self._says(one)) for number, one in enumerate(self.failing)])

    @property
    def asks_networks(self) -> bool:
        """Whether a step or a failure depends on the numbers of a network."""
        return any(operator.winners or operator.comparisons for operator in (*self.operators, *self.failing)) or any(
            mentions_network(value) for operator in self.operators for value in operator.updates.values()
        )

    def candidate(self, script: Script, values: Mapping[str, Fraction]) -> Candidate:
        """The path of a model, as its first state and its decisions."""
        first: dict[Expr, list[Fraction]] = {
            var: [values[name] for name in script.names[var]] for var in self.system.step.state if var in script.names
        }
        made = [self.operators[self._number("operator", t, script, values)] for t in range(self.length)]
        made.append(self.failing[self._number("failure", self.length, script, values)])
        defaults = dict.fromkeys(self.system.step.names, 0)
        return Candidate(
            *self.system.pack(self.system.initial.nearest(first)),
            [{**defaults, **one.decisions} for one in made],
            self.length,
        )

    # Unknowns ---------------------------------------------------------------------------------------------------------

    def _copy(self, var: Var) -> Expr:
        """A variable at the next position; of labels and truth values is known which can be met there."""
        copy = build.var(f"{len(self.positions)} {var.name}", var.sort, var.shape, Role.INPUT)
        labels = self.met[-1].get(var)
        self.starts[copy] = (PartialSpan(None, None) if labels is None else OneOf(tuple(sorted(labels))),)
        return copy

    def _chosen(self, what: str, count: int) -> Expr:
        """Which of so many is taken at the present position."""
        which = _numbered(what, self.length)
        self.starts[which] = (Span(Fraction(0), Fraction(count)),)
        return which

    def _number(self, what: str, position: int, script: Script, values: Mapping[str, Fraction]) -> int:
        (name,) = script.names[_numbered(what, position)]
        return int(values[name])

    # Steps ------------------------------------------------------------------------------------------------------------

    def _step(self, operator: StepOperator, there: Mapping[Expr, Expr]) -> Expr:
        """That an operator is taken here and leads there."""
        here = self.positions[-1]
        changed = substitute(list(operator.updates.values()), here)
        after = {**here, **dict(zip(operator.updates, changed, strict=True))}
        return build.conj(self._says(operator), *(build.eq(there[var], after[var]) for var in there))

    def _says(self, operator: StepOperator) -> Expr:
        """That the guard is true at the present position, and the policy says so."""
        scores = (part for argmax, winner in operator.winners for part in _wins(argmax.args[0], winner))
        return substitute([build.conj(operator.guard, *operator.comparisons, *scores)], self.positions[-1])[0]

    def _can_be_met(self, operator: StepOperator) -> bool:
        """Whether each variable has a label with which the guard is not false."""
        met = self.met[-1]
        return all(
            any(specialise([operator.guard], {var: _constant(var, label)})[0] is not FALSE for label in met[var])
            for var in variables([operator.guard])
            if var in met
        )

    def _labels_after(self, taken: Sequence[StepOperator]) -> MetLabels:
        """The labels after one of some operators."""
        return {var: frozenset().union(*(self._labels_of(var, one) for one in taken)) for var in self.met[-1]}

    def _labels_of(self, var: Expr, operator: StepOperator) -> frozenset[Fraction]:
        """The labels of a variable after an operator, from each that it may have before."""
        found = frozenset[Fraction]()
        for label in self.met[-1][var]:
            known = {var: _constant(var, label)}
            guard, value = specialise([operator.guard, operator.updates.get(var, var)], known)
            if guard is not FALSE:
                found |= frozenset([value.value]) if isinstance(value, Const) else _all_labels(var)
        return found


class PathQuery:
    """The paths as a script that grows with them, and the solver it stays with."""

    def __init__(self, paths: OperatorPaths, asked: GrowingScript, tick: Tick, digits: int | None = None) -> None:
        self.paths, self.asked = paths, asked
        self.script = Script(paths.starts, tick, digits)
        self.required = self.sent = 0  # conditions that are in the script, and lines that the solver has

    def ask(self, time_limit: float, tick: Tick) -> SmtSolved:
        """Whether there is a path of the present length."""
        for condition in self.paths.conditions[self.required :]:
            self.script.require(condition)
        self.required = len(self.paths.conditions)
        (broken,) = self.script.need(self.paths.failure())
        assumed = self.script.unknown("Bool")
        self.script.claim(f"(=> {assumed} {broken})")
        more, self.sent = self.script.lines[self.sent :], len(self.script.lines)
        return self.asked.check("\n".join(more), self.script.unknowns, time_limit, tick, [assumed])


def _labels(system: System) -> MetLabels:
    """The labels and truth values of the initial states."""
    found: MetLabels = {}
    for var in system.step.state:
        (start,) = system.initial.starts[var]
        if var.sort.values is not None and isinstance(start, OneOf):
            found[var] = frozenset(start.values)
    return found


def _all_labels(var: Expr) -> frozenset[Fraction]:
    assert var.sort.values is not None
    return frozenset(map(Fraction, range(len(var.sort.values))))


def _numbered(what: str, position: int) -> Expr:
    return build.var(f"{what} {position}", INT, (), Role.INPUT)


def _one_of(which: Expr, ways: Sequence[tuple[int, Expr]]) -> Expr:
    return build.disj(*(build.conj(build.eq(which, number), way) for number, way in ways))


def _wins(scores: Expr, winner: int) -> Iterator[Expr]:
    """That no score is above one of them."""
    for other in range(scores.size):
        if other != winner:
            yield build.compare("<=", build.component(scores, other), build.component(scores, winner))


def _constant(var: Expr, value: Fraction) -> Expr:
    return Const((), var.sort, (), (value,))
