"""What the engine `liveness` is asked with: every state of a finite system, and invariants that are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from tests.brute import Brute, State
from tests.explicit_oracle import listed
from vernal.engines.check import find_engine
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.evidence.result import Assurance
from vernal.logic.direction import Direction
from vernal.logic.formula import Always, And, Atom, Bound, Formula, Not, Or
from vernal.logic.question import Question
from vernal.logic.semantics import evaluate
from vernal.model import build as b
from vernal.model.expr import Expr
from vernal.model.initial import Start
from vernal.model.system import Init, System
from vernal.run.budget import Budget

MAX_STATES = 3000


# Engines for `G p` ----------------------------------------------------------------------------------------------------


class AllStates:
    """Decides `G p` on a finite system by visiting every position that can be reached."""

    name = "all states"

    def takes(self, question: Question) -> str | None:
        return None

    def attempt(self, question: Question, budget: Budget) -> Known:
        claimed = question.formula
        assert isinstance(claimed, Always)
        assert claimed.bound.lower == 0  # a proof for all time is one up to every bound
        return self._visit(Brute(listed(question.system), claimed, limit=400_000), claimed.arg)

    def _visit(self, brute: Brute, kept: Formula) -> Known:
        found = set(brute.starts())
        waiting = list(found)
        while waiting:
            state = waiting.pop()
            if not is_true(brute, kept, state):
                return Open(engine=self.name, reason="a state breaks it")
            fresh = set(brute.successors(state)) - found
            found |= fresh
            waiting.extend(fresh)
            if len(found) > MAX_STATES:
                return Open(engine=self.name, reason="too many states")
        return Proof(engine=self.name, direction=Direction.EXACT, assurance=Assurance.EXACT)


def is_true(brute: Brute, formula: Formula, state: State) -> bool:
    """A formula without temporal operators at a position."""
    value = evaluate(formula, lambda atom, _: brute.truth(atom, state), 1, complete=True)
    assert value is not None
    return value


@dataclass
class GivenInvariant:
    """Proves `G p` by an invariant that it is given: the initial states are in it, a step stays in it, it implies p.

    All three are asked of `paths`, about systems that begin anywhere in the invariant, inside a box.
    """

    invariant: Callable[[System], Formula]
    box: Mapping[str, Start]
    name: str = "given invariant"

    def takes(self, question: Question) -> str | None:
        return None

    def attempt(self, question: Question, budget: Budget) -> Known:
        system, kept = question.system, question.formula
        assert isinstance(kept, Always)
        inside = self.invariant(system)
        inner = system.starting(Init({**system.init.starts, **self.box}, (_expression(inside),)))
        one_step = Bound(Fraction(0), Fraction(1))
        questions = [
            Question(system, inside),
            Question(inner, Always(And((inside, kept.arg)), Bound(Fraction(0), Fraction(0)))),
            Question(inner, Always(inside, one_step)),
        ]
        for asked in questions:
            known = find_engine("paths").attempt(asked, budget)
            if not isinstance(known, Proof):
                return Open(engine=self.name, reason=f"{asked.formula}: {known}")
        return Proof(engine=self.name, direction=Direction.OVER, assurance=Assurance.RIGOROUS)


def _expression(formula: Formula) -> Expr:
    match formula:
        case Atom(expr):
            return expr
        case Not(arg):
            return b.negate(_expression(arg))
        case And(args):
            return b.conj(*map(_expression, args))
        case Or(args):
            return b.disj(*map(_expression, args))
    raise AssertionError(formula)
