"""The engine `auto`: the engines that fit the question, cheapest first, until one decides it.

Each has a share of the time. Of a timeout nothing is given away: engines that were cut short have further turns, as
long as one of them gets clearly more time than it had, and the rest goes to simulations with other seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf
from typing import NamedTuple

from vernal.engines.attempts import Attempts
from vernal.engines.base import Engine
from vernal.engines.bounds.engine import SMOOTH, Bounds, Effort, effort
from vernal.engines.deepening.engine import Deepening
from vernal.engines.deepening.glance import FewSets, FirstWalk
from vernal.engines.explicit.engine import Explicit
from vernal.engines.explicit.size import declared_states, is_discrete, is_enumerable
from vernal.engines.falsify.engine import Falsify
from vernal.engines.falsify.far import FarRuns
from vernal.engines.falsify.reseeded import Reseeded
from vernal.engines.induction.engine import Induction
from vernal.engines.invariants.engine import Invariants
from vernal.engines.knowledge import Known, Open
from vernal.engines.lasso.engine import Lasso
from vernal.engines.liveness.engine import Liveness, patient_methods, quick_methods
from vernal.engines.options import BoundsOptions, DepthOptions
from vernal.engines.paths.engine import Paths
from vernal.engines.predicates.engine import Predicates
from vernal.engines.split.engine import BranchAndBound
from vernal.logic.claim import Claim, always
from vernal.logic.formula import Formula
from vernal.logic.progress import waits
from vernal.logic.question import Question
from vernal.logic.safety import excluding, safety_claim
from vernal.model.system import System
from vernal.run.budget import Budget
from vernal.run.shares import further_turn

BRIEF = 2.0  # seconds for a proof by bounds before all paths are tried: over a long horizon bounds take long to fail
LONGER = 20.0  # the same for a nonlinear loop, as long as every second round settles half of its boxes
BOXES_BEFORE_PATHS = 128  # boxes of a nonlinear loop, before all paths are tried
FEW_STATES = 20_000  # of a discrete system: so many are looked at one by one before anything else is tried
MANY_STATES = 5_000_000  # where its ranges allow no more, all are looked at before all paths are
ROUND_SECONDS = (1.0, 6.0, 40.0)  # for each engine in each round, of a claim without a bound
SHARE_OF_GLANCE, GLANCE = 0.1, 0.8  # the share of the time that is left, and the most seconds, for a glance
FURTHER = 50  # times the depth, for simulations of claims without a bound
INTERVALS = Bounds(BoundsOptions(tighten=False), patience=1, most=1)  # one look at the whole


class Turn(NamedTuple):
    """An engine, its share of the time that is left, and the most seconds of work it may have.

    One that is asked `once` has no further turn when it was cut short: another engine does the same, and more.
    """

    engine: Engine
    share: float
    most: float = inf
    once: bool = False


class Portfolio:
    """A few states one by one, simulations, bounds in a hurry, all paths, bounds with patience, all states, search."""

    name = "auto"

    def __init__(self, options: DepthOptions = DepthOptions()) -> None:
        """`options` are those of the engines for claims without a bound."""
        self.options = options

    def attempt(self, question: Question, budget: Budget) -> Known:
        """What the first engine knows that decides the question; else what all of them leave open."""
        attempts = Attempts(question, budget)
        return decided(attempts, self._turns(attempts))

    def _turns(self, attempts: Attempts) -> Iterator[Turn]:
        question = attempts.question
        yield from first_states(question.system)
        if question.claim.horizon is None:
            yield from endless(attempts, self.options)
        else:
            yield from with_split(question, stages(question.system))
        if attempts.budget.timeout is not None:
            yield from further(attempts)


def decided(attempts: Attempts, turns: Iterable[Turn]) -> Known:
    """Turn after turn, until an engine decides the question or the time is up."""
    budget = attempts.budget
    for turn in turns:
        if budget.left <= 0:
            break
        if attempts.has_ended(turn.engine):
            continue
        part = budget.part(turn.share, turn.most * attempts.slowdown)
        known = attempts.ask(turn.engine, part, again=not turn.once)
        if not isinstance(known, Open):
            return known
    return attempts.open()


def further(attempts: Attempts) -> Iterator[Turn]:
    """The rest of the time for engines that were cut short; where none would come further, chance is given more."""
    while turn := further_turn(attempts.cut_short, attempts.budget.left):
        yield Turn(*turn)
    if attempts.cut_short:
        yield Turn(Reseeded(), 1.0)


def stages(system: System) -> list[Turn]:
    """Engines in their order, each with its share of the time that is left and the most it may have.

    Of a nonlinear loop neither boxes nor pieces are exact. Where a claim has room, plain intervals show it in no time;
    which of the others closes it first is not known beforehand: bounds go on as long as cutting helps, and after all
    paths have most of the time that is left.
    """
    limits = effort(system)
    early, late = graphs(system)
    bounds = Bounds()
    glance = Turn(Falsify(generations=0), 0.5)  # it ends by itself, and soon
    last = Turn(Falsify(), 1.0)
    if limits == Effort():
        return [glance, Turn(bounds, 0.4, BRIEF), *early, Turn(Paths(), 0.8), Turn(bounds, 0.5), *late, last]
    hurried = Bounds(patience=2, most=BOXES_BEFORE_PATHS, share=0.5)
    return [
        Turn(INTERVALS, 0.2, once=True),
        glance,
        Turn(bounds, 0.4, LONGER) if limits == SMOOTH else Turn(hurried, 0.4, LONGER, once=True),
        *early,
        Turn(Paths(), 0.4),
        Turn(bounds, 0.5),
        *late,
        last,
    ]


def with_split(question: Question, turns: list[Turn]) -> list[Turn]:
    """Branch and bound before all else, where only initial states are asked about: it looks at single states itself."""
    if question.claim.horizon or question.claim.mentions_some:
        return turns
    return [Turn(BranchAndBound(), 0.8), *turns]


def first_states(system: System) -> list[Turn]:
    """A discrete system may have few states, and is then decided whatever is asked; no other system is looked at so."""
    return [Turn(Explicit(FEW_STATES), 0.2, BRIEF, once=True)] if is_discrete(system) else []


def graphs(system: System) -> tuple[list[Turn], list[Turn]]:
    """All states one by one, before all paths where the ranges say that this will do, or after everything else.

    A graph that may have no end is not waited for.
    """
    if is_discrete(system) and declared_states(system) <= MANY_STATES:
        return [Turn(Explicit(), 0.6)], []
    return [], [Turn(Explicit(), 0.5, BRIEF)] if is_enumerable(system) else []


class RoundEngines(NamedTuple):
    """Engines that have a glance and then a turn in every round; one that came to its end in the glance has none."""

    invariants: Invariants
    induction: Induction
    lasso: Lasso
    far: Engine  # simulations over many steps


def endless(attempts: Attempts, options: DepthOptions) -> Iterator[Turn]:
    """Engines for claims without a bound, round by round with more time: which of them decides is not known before.

    Those that come to their end are not asked again.
    """
    question = attempts.question
    shared = RoundEngines(Invariants(), Induction(), Lasso(options), far_ahead(question, options))
    early, late = graphs(question.system)
    if question.predicates:  # somebody thought of an abstraction
        yield Turn(Predicates(), 0.6)
    yield Turn(Falsify(generations=0), 0.1, BRIEF)
    yield from glances(question, options, shared)
    methods = fitting(question, options, shared)
    for number, seconds in enumerate(ROUND_SECONDS):
        methods = sorted((one for one in methods if not attempts.has_ended(one)), key=attempts.uses_everything)
        rounds = len(ROUND_SECONDS) - number
        for place, engine in enumerate(methods):
            yield Turn(engine, 1 / (len(methods) * rounds - place), seconds)
        yield from ([*early, Turn(shared.far, 0.3, ROUND_SECONDS[1])], [Turn(shared.far, 0.4)], late)[number]


def glances(question: Question, options: DepthOptions, shared: RoundEngines) -> list[Turn]:
    """What takes little work and decides most small systems: tried before anything is tried with patience.

    An invariant comes first where it can decide: it is evidence that can be checked again.
    """
    paths = deciding(question)
    if not paths:
        return []
    kept = [brief(shared.invariants, 0.75)] if _is_kept(question) else []
    induction = [brief(shared.induction)] if any(always(path) is not None for path in paths) else []
    turns = [*kept, brief(FewSets(options.depth)), *induction]
    if not any(map(waits, paths)):
        return [*turns, brief(shared.far)]
    walk = Turn(FirstWalk(options.depth), SHARE_OF_GLANCE, GLANCE, once=True)
    sets, boxes, delay = (Liveness([method]) for method in quick_methods())
    never = [brief(shared.invariants)] if _is_excludable(question) else []
    return [*kept, walk, *turns[len(kept) :], brief(sets), brief(boxes, 0.5), brief(delay), brief(shared.lasso), *never]


def brief(engine: Engine, part: float = 1.0) -> Turn:
    """A glance, or a part of one."""
    return Turn(engine, SHARE_OF_GLANCE, part * GLANCE)


def fitting(question: Question, options: DepthOptions, shared: RoundEngines) -> list[Engine]:
    """The engines for claims without a bound that can be of help: what is kept, and what has to come at last."""
    paths = deciding(question)
    methods: list[Engine] = [shared.invariants] if _is_kept(question) or _is_excludable(question) else []
    if any(always(path) is not None for path in paths):
        methods.append(shared.induction)
    if is_discrete(question.system) and _is_kept(question):
        methods.append(Predicates())
    methods.append(Deepening(options))
    if not paths or any(map(waits, paths)):
        methods += [shared.lasso, Liveness(patient_methods())]
    return methods


def deciding(question: Question) -> list[Formula]:
    """The formulas of all paths that decide the claim: itself, or one that proves and one that refutes it."""
    claim = question.claim
    return [path for path in (claim.sufficient, claim.opposite if claim.mentions_some else None) if path is not None]


def _is_kept(question: Question) -> bool:
    """Whether an invariant can prove the claim, or refute it."""
    return any(safety_claim(Claim(path), total=question.is_total) is not None for path in deciding(question))


def _is_excludable(question: Question) -> bool:
    """Whether an invariant can refute the claim, on every path at once."""
    never = excluding(question.claim)
    return never is not None and safety_claim(Claim(never), total=question.is_total) is not None


def far_ahead(question: Question, options: DepthOptions) -> Engine:
    """Simulations over many more steps than sets of states can be followed."""
    if question.claim.mentions_some:
        return Deepening(DepthOptions(FURTHER * options.depth), [Falsify(generations=0)])
    return FarRuns(FURTHER * options.depth)
