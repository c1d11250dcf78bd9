"""Programs for claims about states: a point is an initial state at which the claim fails, computed again exactly.

What is encoded is the condition of `reduce.tree_conditions`, with a copy of the step for each way it can go where all
successors are asked about. A point of the program gives an initial state and the draws that are left free; the
condition is then evaluated in rationals. That all programs are infeasible proves the claim of every initial state.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from vernal.engines.programs.program import DIGITS, ProgramPoint, Solving
from vernal.evidence.candidates import path_of
from vernal.evidence.knowledge import Candidate
from vernal.evidence.trace import Trace
from vernal.interpret import exact
from vernal.interpret.exact import Given
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.claim import Claim
from vernal.logic.direction import Direction
from vernal.logic.question import Question
from vernal.model.build import TRUE
from vernal.model.expr import Argmax, Between, Choose, Expr
from vernal.model.graph import decisions, order
from vernal.model.initial import Valuation
from vernal.model.traits import is_rational
from vernal.reduce.tree_conditions import TreeCondition

EXCLUDED = "that it fails was computed at this state, over all paths from it"
OPEN_ACTIONS = "a claim about states that asks about a choice, or a guard that depends on one"


def asks_states(claim: Claim) -> bool:
    """Whether no single path decides a claim: both quantifiers, or alternatives of which each looks ahead."""
    if len(claim.quantifiers) > 1:
        return True
    return (claim.opposite if claim.mentions_some else claim.linear) is None


def tree_refusal(question: Question) -> str | None:
    """Why a claim about states is not asked; actions that are asked about would have to belong to the positions."""
    asked = [*question.atoms.values(), question.system.step.enabled]
    return OPEN_ACTIONS if decisions(asked) else None


@dataclass(frozen=True)
class TreeSolving(Solving):
    """The programs of a condition over a tree, and the condition itself."""

    condition: Expr = field(default=TRUE, kw_only=True)

    @property
    def direction(self) -> Direction:
        return TreeCondition.direction

    @property
    def is_rational(self) -> bool:
        """Whether the condition is computed in rationals, without enclosures."""
        return all(map(is_rational, order([self.condition])))

    def _replay(self, found: ProgramPoint, point: Floats) -> Trace | None:
        for digits in DIGITS:
            self.budget.check()
            first = found.first(point, digits)
            if self._fails(first, found, point, digits):
                return self._position(first)
        return None

    def _fails(self, first: Valuation, found: ProgramPoint, point: Floats, digits: int | None) -> bool:
        """Whether the condition is true of a state and the draws of a point, exactly."""
        taken: dict[Expr, Given] = {
            node: found.decision(node, node.occurrence, point, digits)
            for node in decisions([self.condition])
            if isinstance(node, Choose | Between | Argmax)
        }
        inputs: dict[Expr, Given] = {var: value if var.shape else value[0] for var, value in first.items()}
        (truth,) = exact.run([self.condition], inputs, taken, lenient=True, tick=self.budget.check).values
        return truth is True

    def _position(self, first: Valuation) -> Trace | None:
        """The state as a path of one position; None where it is no initial state after all."""
        defaults = dict.fromkeys(self.system.step.names.values(), 0)
        return path_of(self.system, Candidate(*self.system.pack(first), [defaults], 0), self.budget.check)
