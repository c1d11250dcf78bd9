"""Claims of some path, reduced to claims of all paths, which more engines can prove.

What all paths keep, some path keeps: `AG p` proves `EG p`, `AG AF p` proves `AG EF p`. And where all paths keep the
opposite, none keeps the claim: `AG !p` refutes `EF p`, from all initial states or from one of them; and a path that
breaks the opposite keeps the claim. A claim of all paths is refuted so, too, where there is a path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vernal.evidence.belief import left_open
from vernal.evidence.candidates import beginning_at, states_of
from vernal.evidence.defined_values import is_defined
from vernal.evidence.knowledge import FailingState, Known, Open, Proof
from vernal.logic.direction import Direction
from vernal.logic.formula import Formula, Not, Quantifier
from vernal.logic.question import Question
from vernal.logic.safety import excluding
from vernal.model.held_loop import loop_of
from vernal.reduce.reduction import NO_STATE, ONE_WAY, Entailment, Subquestion, first_decided, invariant_of
from vernal.run.budget import Budget

WHOLE, ONE_STATE = 0.6, 0.4  # shares of the time that is left
NOTHING_SAID = "not supported by this engine: no claim of all paths proves this claim of some path, or refutes it"
NO_WITNESS = "not supported by this engine: no single path is a witness, which alone does not refute this claim"
NOT_EXCLUDED = "not supported by this engine: no claim of all paths excludes this one"
NONE_MAY_BE_UNDEFINED = "no path keeps the claim, but a value may be undefined, so that there may be no path at all"
MAY_BE_UNDEFINED = "every path keeps it, but a value may be undefined, so that there may be no path at all"


@dataclass(frozen=True)
class KeptByAll:
    """That all paths keep what is claimed of some; a proof where there is a path at all."""

    share: float = WHOLE

    name = "kept by all paths"
    direction = Direction.EXACT
    is_joint = False

    def takes(self, question: Question) -> str | None:
        return None if question.claim.sufficient is not None else NOTHING_SAID

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        formula = question.claim.sufficient
        assert formula is not None
        yield Subquestion(replace(question, formula=formula), self.direction, Entailment.IMPLIES, share=self.share)

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        (known,) = found
        formula = question.claim.sufficient
        if not isinstance(known, Proof) or formula is None:
            return not_proven(formula, "would prove it", known)
        model = loop_of(question.model) or question.model  # what agents hold is made by the loop
        return known if is_defined(model, invariant_of(known)) else left_open(known, MAY_BE_UNDEFINED)


@dataclass(frozen=True)
class KeptByNone:
    """That all paths keep the opposite of what is claimed of some: from every initial state, or from one of them."""

    name = "kept by no path"
    direction = Direction.EXACT
    is_joint = False

    def takes(self, question: Question) -> str | None:
        claim = question.claim
        only_some = claim.opposite is not None and claim.quantifiers == {Quantifier.SOME}
        return None if only_some else NOTHING_SAID

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        opposite = question.claim.opposite
        assert opposite is not None
        asked = replace(question, formula=opposite)
        yield Subquestion(asked, self.direction, Entailment.NEGATES, share=WHOLE)
        yield from from_each_start(question, opposite, self.direction, budget)

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        known = first_decided(found)
        return not_proven(question.claim.opposite, "would refute it", found[0]) if isinstance(known, Open) else known


def from_each_start(
    question: Question, opposite: Formula, direction: Direction, budget: Budget
) -> Iterator[Subquestion]:
    """That all paths keep what refutes a claim, from a few initial states, each by itself; none where there is one."""
    initial = question.model.initial
    for trace in () if initial.is_point else states_of(question, initial.hull, budget.check):
        start = beginning_at(question, trace)
        if start is None:
            return
        alone = replace(question, formula=opposite, model=start)
        yield Subquestion(alone, direction, Entailment.NEGATES, share=ONE_STATE)


@dataclass(frozen=True)
class DeniedByAll:
    """That all paths keep what makes a claim false, whatever it says of paths: as `FG !p` does `AG EF p`.

    From every initial state, or from one of them; where no value is undefined there is a path from each.
    """

    name = "denied by all paths"
    direction = Direction.EXACT
    is_joint = False

    def takes(self, question: Question) -> str | None:
        return None if question.claim.refuting is not None else NOT_EXCLUDED

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        denial = question.claim.refuting
        assert denial is not None
        yield Subquestion(replace(question, formula=denial), self.direction, Entailment.NEGATES, share=WHOLE)
        yield from from_each_start(question, denial, self.direction, budget)

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        known = first_decided(found)
        if isinstance(known, FailingState):
            defined = is_defined(loop_of(question.model) or question.model, known.invariant)
            return known if defined else left_open(known, NONE_MAY_BE_UNDEFINED)
        return not_proven(question.claim.refuting, "would refute it", found[0])


@dataclass(frozen=True)
class KeptByOne:
    """That all paths break what is claimed of some: one that does not is a witness, from the only initial state."""

    name = "kept by one path"
    direction = Direction.EXACT
    is_joint = False

    def takes(self, question: Question) -> str | None:
        return None if question.claim.quantifiers == {Quantifier.SOME} else NOTHING_SAID

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        claim = question.claim
        entails = Entailment.UNRELATED if claim.opposite is None else Entailment.NEGATES
        yield Subquestion(replace(question, formula=claim.opposite or Not(claim.path)), self.direction, entails)

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        (known,) = found
        one_way = isinstance(known, Open) and known.reason == ONE_WAY
        return left_open(known, NO_WITNESS) if one_way else known


@dataclass(frozen=True)
class BrokenByAll:
    """That all paths keep what excludes a claim of all paths, as that something never comes which has to come at last.

    Where no value on the way is undefined there is a path from every initial state; so the claim is false at each.
    """

    name = "broken by all paths"
    direction = Direction.EXACT
    is_joint = False

    def takes(self, question: Question) -> str | None:
        return None if excluding(question.claim) is not None else NOT_EXCLUDED

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        never = excluding(question.claim)
        assert never is not None
        yield Subquestion(replace(question, formula=never), self.direction, Entailment.NEGATES)

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        (known,) = found
        if isinstance(known, FailingState):
            defined = is_defined(question.system, known.invariant)
            return known if defined else left_open(known, NONE_MAY_BE_UNDEFINED)
        said = not_proven(excluding(question.claim), "would refute it", known)
        return said if said.reason or not isinstance(known, Open) else known  # nobody else has a reason to give


def not_proven(formula: Formula | None, effect: str, known: Known) -> Open:
    """That a claim of all paths is not proven; nothing where the engine does not take such claims."""
    reason = known.reason if isinstance(known, Open) else "one does not"
    if reason == NO_STATE:
        return left_open(known, reason)
    taken = not reason.startswith("not supported by this engine")
    return left_open(known, f"that all paths keep {formula} {effect}: {reason}" if taken else "")
