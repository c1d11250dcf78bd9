"""Claims without a bound, for the engine `auto`: glances of many engines, then rounds with more and more time.

A module of its own, which is loaded only where it is needed: most questions have a bound, and these engines are many.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vernal.engines import composition
from vernal.engines.attempts import Attempts
from vernal.engines.base import Engine
from vernal.engines.deepening.engine import Deepening
from vernal.engines.deepening.glance import FewSets, FirstWalk
from vernal.engines.falsify.engine import Falsify
from vernal.engines.falsify.long_runs import FarRuns
from vernal.engines.induction.engine import Induction
from vernal.engines.invariants.engine import Invariants
from vernal.engines.lasso.engine import Lasso
from vernal.engines.liveness.engine import Liveness
from vernal.engines.operator_ends import operator_ends
from vernal.engines.options import DepthOptions
from vernal.engines.refusals import deciding
from vernal.engines.turns import BRIEF_SECONDS, Turn, graphs
from vernal.logic.claim import Claim, always
from vernal.logic.progress import waits
from vernal.logic.question import Question
from vernal.logic.safety import safety_claim

ROUND_SECONDS = (1.0, 6.0, 40.0)  # for each engine in each round, of a claim without a bound
SHARE_OF_GLANCE, GLANCE = 0.1, 0.8  # the share of the time that is left, and the most seconds, for a glance
FURTHER = 50  # times the depth, for simulations of claims without a bound


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
    shared = RoundEngines(Invariants(), composition.induction(), Lasso(options), far_ahead(question, options))
    early, late = graphs(question.system)
    if question.predicates:  # somebody thought of an abstraction
        yield Turn(composition.predicates(), 0.6)
    yield Turn(Falsify(generations=0), 0.1, BRIEF_SECONDS)
    yield from glances(question, options, shared)
    yield Turn(operator_ends(), 0.1, BRIEF_SECONDS)  # after those whose proofs come with an invariant
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
    sets, boxes, delay = (Liveness([method]) for method in composition.quick_methods())
    never = [] if kept or shared.invariants.takes(question) else [brief(shared.invariants)]
    return [*kept, walk, *turns[len(kept) :], brief(sets), brief(boxes, 0.5), brief(delay), brief(shared.lasso), *never]


def brief(engine: Engine, part: float = 1.0) -> Turn:
    """A glance, or a part of one."""
    return Turn(engine, SHARE_OF_GLANCE, part * GLANCE)


def fitting(question: Question, options: DepthOptions, shared: RoundEngines) -> list[Engine]:
    """The engines for claims without a bound that can be of help: what is kept, and what has to come at last."""
    paths = deciding(question)
    methods: list[Engine] = [
        shared.invariants,
        shared.induction,
        composition.predicates(),
        composition.deepening(options),
    ]
    methods = [engine for engine in methods if engine.takes(question) is None]
    if not paths or any(map(waits, paths)):
        methods += [shared.lasso, Liveness(composition.patient_methods())]
    return methods


def _is_kept(question: Question) -> bool:
    """Whether an invariant can prove the claim, or refute it."""
    return any(safety_claim(Claim(path), total=question.is_total) is not None for path in deciding(question))


def far_ahead(question: Question, options: DepthOptions) -> Engine:
    """Simulations over many more steps than sets of states can be followed."""
    if question.claim.mentions_some:
        return Deepening(DepthOptions(FURTHER * options.depth), [Falsify(generations=0)])
    return FarRuns(FURTHER * options.depth)
