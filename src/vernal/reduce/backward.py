"""Back from what must not happen: the initial states from which one step may break a claim, whatever policies decide.

From all others no path breaks `G[0,1] p`: the condition that p fails is read after a step in which every argmax is
free, one case for each combination of choices, and cases that no initial state satisfies are left out. What is left are
the states at which the policy has to be asked. They are few where a claim is about something rare, and there may be
millions of others. The paths from them are those of the system (EXACT); a path that breaks `G[0,1] p` breaks `G p`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from vernal.evidence.knowledge import Known, Open, Proof
from vernal.interpret.discrete.initial_states import has_start, is_solvable
from vernal.interpret.unrolling.stepwise import Unrolling
from vernal.logic.claim import position_expression
from vernal.logic.direction import Direction
from vernal.logic.formula import Always, Bound
from vernal.logic.normal import Logic, classify
from vernal.logic.question import Question
from vernal.logic.times import STEPS_ONLY, Time
from vernal.model import build
from vernal.model.build import FALSE, TRUE
from vernal.model.expr import Affine, And, Between, Choose, Draw, Expr
from vernal.model.graph import decisions, draws, order, substitute, variables
from vernal.model.initial import Init
from vernal.model.path_ends import may_end
from vernal.model.system import System
from vernal.model.tick import Tick
from vernal.model.traits import may_be_undefined
from vernal.reduce.reduction import Entailment, Subquestion, first_decided
from vernal.run.budget import Budget
from vernal.sets.finite.size import is_discrete
from vernal.sets.pieces.free_winners import FreeWinners

MAX_CASES = 1_000  # combinations of choices
MAX_NODES = 2_000  # of the condition of one step
ONE_STEP = Bound(Fraction(0), Fraction(1))
NOT_KEPT = "not supported by this engine: the claim is not that a condition on states is kept from the first step on"
NOT_DISCRETE = "not supported by this engine: some variable is no integer, label or truth value"
TOO_MANY = "not supported by this engine: what a step does has too many cases, or depends on the numbers of a network"


@dataclass(frozen=True)
class Backward:
    """The claim about the first step from those initial states at which only the policy can keep it."""

    name = "backward"
    direction = Direction.EXACT
    is_joint = False

    def takes(self, question: Question) -> str | None:
        if question.time is not Time.STEPS:
            return STEPS_ONLY
        if not is_discrete(question.system):
            return NOT_DISCRETE
        return NOT_KEPT if _kept(question) is None else None

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        kept, system = _kept(question), question.system
        assert kept is not None
        found = _before(system, build.negate(position_expression(kept.arg)), budget.check)
        if found is None:
            return
        where = (*system.init.where, build.disj(*found))
        asked = replace(question, model=system.starting(Init(system.init.starts, where)), formula=kept)
        same = question.claim.horizon is not None and question.claim.horizon <= 1
        entails = Entailment.SAME if same else Entailment.FOLLOWS
        yield Subquestion(asked, self.direction, entails, proven_steps=1)

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        """What is known of some initial states: no margin, no evidence and no list of states of all of them."""
        known = first_decided(found, nothing=TOO_MANY)
        if isinstance(known, Proof):
            return replace(known, margin=None, evidence=None, empty=False, seen=None)
        return replace(known, margin=None, seen=None) if isinstance(known, Open) else replace(known, seen=None)


def _kept(question: Question) -> Always | None:
    """What is claimed of the first two positions, where it is a condition on states; None for other claims."""
    match None if question.claim.mentions_some else question.claim.linear:
        case Always(arg=arg, bound=bound) as path if bound.lower == 0 and bound.upper != 0:
            of_states = classify(arg) is Logic.STATE and not decisions(question.atoms.values())
            return replace(path, bound=ONE_STEP) if of_states else None
    return None


def _before(system: System, failure: Expr, tick: Tick) -> list[Expr] | None:
    """Conditions one of which is true at every initial state that may fail now or after a step; None if too many."""
    unrolling = system.step.once(FreeWinners).step.once(Unrolling)
    stepped = build.conj(unrolling.enabled(0), unrolling.at(failure, 1))
    cases = _cases(stepped, tick)
    if cases is None:
        return None
    now = unrolling.at(failure, 0)
    found = [replace(system.initial, where=(*system.init.where, case)) for case in (now, *cases)]
    states = {variable.var for variable in system.state}
    if not all(is_solvable(one) and states.issuperset(variables(one.where)) for one in found):
        return None
    return [one.where[-1] for one in found if has_start(one, tick)]


def _cases(condition: Expr, tick: Tick) -> list[Expr] | None:
    """The condition for each combination of choices, each once; None where there are too many, or it may be undefined.

    Nor where the numbers of a network are in it, since solving it would take long.
    """
    found, waiting = dict[Expr, None](), [condition]
    while waiting:
        tick()
        case = waiting.pop()
        nodes = order([case])
        if len(nodes) > MAX_NODES or len(found) + len(waiting) > MAX_CASES:
            return None
        if any(isinstance(node, Affine | Between) or may_be_undefined(node) for node in nodes):
            return None
        drawn = next(iter(draws([case])), None)
        if drawn is None:
            found[case] = None
        else:
            waiting += [option for option in _options(case, drawn) if option is not FALSE]
    return list(found)


def _options(case: Expr, drawn: Draw) -> Iterator[Expr]:
    """The condition with each option in the place of a choice.

    Where it is certain that some guard is true, an option that does not exist need not be looked at.
    """
    assert isinstance(drawn, Choose)
    some = build.disj(*drawn.guards) if drawn.guarded else TRUE
    if not drawn.guarded or not (some in _conjuncts(case) or not may_end(drawn)):
        yield from (substitute([case], {drawn: option})[0] for option in drawn.options)
        return
    for option, guard in zip(drawn.written, drawn.guards, strict=True):
        yield build.conj(guard, substitute([case], {drawn: option, some: TRUE})[0])


def _conjuncts(condition: Expr) -> set[Expr]:
    found, waiting = set[Expr](), [condition]
    while waiting:
        node = waiting.pop()
        waiting += node.args if isinstance(node, And) else ()
        found.add(node)
    return found
