"""Atoms that are true, or false, in every state that is ever reached: exact ends of their sides say so.

`x <= 0.6` is true wherever x is `clip(..., -1, 0.6)`, and `tanh(x) < 1` everywhere. No bound in floating point shows
that, since there is no room: 0.6 is no float. The claim with these atoms replaced says the same of all paths (EXACT).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vernal.evidence.knowledge import Known, Proof
from vernal.interpret.ends import EndsProgram, precedes
from vernal.logic.direction import Direction
from vernal.logic.formula import Always, Atom, Eventually, Formula, Next, operands
from vernal.logic.normal import FALSITY, TRUTH, fold, order, rebuild, steps
from vernal.logic.question import Question
from vernal.logic.times import STEPS_ONLY, Time
from vernal.logic.vacuity import simplified
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.model.tick import Tick
from vernal.reduce.invariant_ranges import KnownEnds, lasting_ends, later_ends
from vernal.reduce.reduction import Subquestion, first_decided
from vernal.run.budget import Budget

MAX_TIGHTENING_STEPS = 8  # steps after which ends are taken to be as good as they get
OF_SOME = "not supported by this engine: a claim of some path"  # that paths exist is another question
NOTHING = "the claim does not follow from the least and greatest values of clip, min, max, tanh and the like"


@dataclass(frozen=True)
class ConstantAtoms:
    """The claim of all paths without the atoms that have one truth value in all states."""

    name = "constant atoms"
    direction = Direction.EXACT
    is_joint = False

    def takes(self, question: Question) -> str | None:
        if question.time is not Time.STEPS:
            return STEPS_ONLY
        return OF_SOME if question.claim.mentions_some else None

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        left, said = settled(question, budget.check)
        if said:
            notes = (f"the operators of the model alone say: {', '.join(said)}",)
            yield Subquestion(left, self.direction, notes=notes)

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        """The margin of what is left is none of the claim: an atom that is always true may be so by less."""
        known = first_decided(found, nothing=NOTHING)
        return replace(known, margin=None) if isinstance(known, Proof) else known


def settled(question: Question, tick: Tick) -> tuple[Question, list[str]]:
    """The question that is left when atoms are replaced that have one truth value wherever they are asked about.

    And these, said in words; if there are none, the question is left as it is.
    """
    first = {id(node): step for node, step in _first_steps(question.formula) if isinstance(node, Atom)}
    asked = dict.fromkeys((node.expr, first[id(node)]) for node in order(question.formula) if isinstance(node, Atom))
    known = _known(question, list(asked), tick)

    def replaced(node: Formula, args: tuple[Formula, ...]) -> Formula:
        if not isinstance(node, Atom):
            return rebuild(node, args)
        truth = known.get((node.expr, first[id(node)]))
        return node if truth is None else TRUTH if truth else FALSITY

    if not known:
        return question, []
    said = [f"{Atom(atom)} is always {str(truth).lower()}{_since(step)}" for (atom, step), truth in known.items()]
    return replace(question, formula=simplified(fold(question.formula, replaced))), said


def _since(step: int) -> str:
    return f" from step {step} on" if step else ""


def _known(question: Question, asked: Sequence[tuple[Expr, int]], tick: Tick) -> dict[tuple[Expr, int], bool]:
    """The atoms that have one truth value from a step on."""
    numeric = [(atom, step) for atom, step in asked if _compares_numbers(question.atoms[atom])]
    if not numeric:
        return {}
    ends = [lasting_ends(question.system, tick)]
    for _ in range(max(step for _, step in numeric)):
        ends.append(later_ends(question.system, ends[-1], tick))
    found = {(atom, step): truth_within(question.atoms[atom], ends[step]) for atom, step in numeric}
    return {place: truth for place, truth in found.items() if truth is not None}


def _first_steps(formula: Formula) -> list[tuple[Formula, int]]:
    """Every sub-formula, and a step before which it is not asked about."""
    first: dict[int, int] = {id(formula): 0}
    nodes = order(formula)[::-1]  # users before operands
    for node in nodes:
        later = min(first[id(node)] + _skipped(node), MAX_TIGHTENING_STEPS)
        for arg in operands(node):
            first[id(arg)] = min(first.get(id(arg), MAX_TIGHTENING_STEPS), later)
    return [(node, first[id(node)]) for node in nodes]


def _skipped(node: Formula) -> int:
    """How many steps an operator lets pass before it asks anything."""
    match node:
        case Next(count=count):
            return count
        case Always(bound=bound) | Eventually(bound=bound):
            return steps(bound)[0]
    return 0


def _compares_numbers(node: Expr) -> bool:
    return isinstance(node, e.Compare) and all(arg.sort.is_number and not arg.shape for arg in node.args)


def truth_within(node: Expr, ends: KnownEnds) -> bool | None:
    """The truth value of a comparison of numbers between these ends, where it has one."""
    if not _compares_numbers(node):
        return None
    assert isinstance(node, e.Compare)
    left, right = EndsProgram(node.args).reached(ends)
    match node.op:
        case "<":
            return _either(precedes(left, right, strictly=True), precedes(right, left, strictly=False))
        case "<=":
            return _either(precedes(left, right, strictly=False), precedes(right, left, strictly=True))
    apart = precedes(left, right, strictly=True) or precedes(right, left, strictly=True)
    equal = precedes(left, right, strictly=False) and precedes(right, left, strictly=False)
    return _either(equal, apart) if node.op == "==" else _either(apart, equal)


def _either(true: bool, false: bool) -> bool | None:
    return True if true else False if false else None
