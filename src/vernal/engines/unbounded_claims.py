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
from vernal.engines.explicit.engine import Explicit
from vernal.engines.falsify.engine import Falsify
from vernal.engines.falsify.long_runs import FarRuns
from vernal.engines.induction.engine import Induction
from vernal.engines.invariants.engine import Invariants
from vernal.engines.lasso.engine import Lasso
from vernal.engines.liveness.engine import Liveness
from vernal.engines.operator_ends import operator_ends
from vernal.engines.options import DepthOptions
from vernal.engines.refusals import deciding, of_what_is_kept
from vernal.engines.turns import BRIEF_SECONDS, Turn, graphs
from vernal.logic.progress import waits
from vernal.logic.question import Question
from vernal.model.graph import order
from vernal.model.system import System
from vernal.model.traits import branches, nonlinear_node

ROUND_SECONDS = (1.5, 2.5, 6.0, 15.0, 40.0)  # for each engine in each round, of a claim without a bound
ANEW_ROUNDS = 2  # from one round to the next of those that begin anew in each
SHARE_OF_GLANCE, GLANCE = 0.1, 0.8  # the share of the time that is left, and the most seconds, for a glance
KEPT_GLANCE = 0.75  # of a glance, for invariants
COMPONENTS_OF_A_GLANCE = 8  # of an affine loop, for which rows of its claim are pulled back in the time of a glance
FIRST_STEP_SECONDS = 10.0  # for the first step of a finite system with many states
STATES_SECONDS, CELLS_SECONDS = 1.0, 2.0  # for states one by one and cells of predicates, where both fit a question
CELLS_TURN = 3.0  # times the turn of others, in each round
FURTHER = 50  # times the depth, for simulations of claims without a bound


class RoundEngines(NamedTuple):
    """Engines that have a glance and then turns in rounds; one that came to its end in the glance has none."""

    lasso: Lasso  # begins anew in each
    invariants: Invariants  # goes on, as all that follow
    induction: Induction
    predicates: Engine
    states: Explicit  # one by one, where predicates tell them apart: there are finitely many
    far: Engine  # simulations over many steps

    def waits(self, engine: Engine) -> bool:
        """Whether an engine goes on where it was: it plans with all the time there is, and tries no little of all."""
        return engine in self[1:]


def endless(attempts: Attempts, options: DepthOptions) -> Iterator[Turn]:
    """Engines for claims without a bound, round by round with more time: which of them decides is not known before.

    Those that come to their end are not asked again.
    """
    question = attempts.question
    induction, predicates = composition.induction(), composition.predicates()
    shared = RoundEngines(Lasso(options), Invariants(), induction, predicates, Explicit(), far_ahead(question, options))
    early, late = graphs(question.system, shared.states, waits=True)
    if question.predicates:  # somebody thought of an abstraction
        yield Turn(shared.predicates, 0.6, waits=True)
    has_cells = shared.predicates.takes(question) is None
    yield Turn(Falsify(generations=0), 0.1, GLANCE if has_cells else BRIEF_SECONDS)
    backward = composition.backward()
    if not early and backward.takes(question) is None:
        yield Turn(backward, 0.3, FIRST_STEP_SECONDS, waits=True)
    yield from one_by_one(shared, states=bool(early), has_cells=has_cells)
    yield from glances(question, options, shared)
    yield Turn(operator_ends(), 0.1, BRIEF_SECONDS)  # after those whose proofs come with an invariant
    methods = fitting(question, options, shared)
    for number, seconds in enumerate(ROUND_SECONDS):
        methods = [one for one in methods if not attempts.has_ended(one)]
        now = [one for one in methods if shared.waits(one) or number % ANEW_ROUNDS == 0]
        if number:  # of bounded integers what a short turn of the others left open is most often for cells to decide
            now.sort(key=lambda one: one is not shared.predicates)
        parts = [CELLS_TURN if engine is shared.predicates else 1.0 for engine in now]
        for place, engine in enumerate(now):  # one more share is for what follows the round
            share = parts[place] / (sum(parts[place:]) + 1)
            yield Turn(engine, share, parts[place] * seconds, waits=shared.waits(engine))
        yield from early if number == 0 else ()
    yield from late


def one_by_one(shared: RoundEngines, *, states: bool, has_cells: bool) -> list[Turn]:
    """Of finitely many states all there are, then cells of predicates: what boxes and pieces say of them is little.

    Both go on in the rounds. `states`: ranges say that these are no more than can be looked at.
    """
    first = [Turn(shared.states, SHARE_OF_GLANCE, STATES_SECONDS, waits=True)] if states or has_cells else []
    return [*first, *([Turn(shared.predicates, 0.3, CELLS_SECONDS, waits=True)] if has_cells else [])]


def glances(question: Question, options: DepthOptions, shared: RoundEngines) -> list[Turn]:
    """What takes little work and decides most small systems: tried before anything is tried with patience.

    An invariant comes first where it can decide: it is evidence that can be checked again.
    """
    paths = deciding(question)
    if not paths:
        return []
    patience = rows_to_pull_back(question.system)
    kept = [first(shared.invariants, patience)] if any(of_what_is_kept(question, path) for path in paths) else []
    induction = [] if shared.induction.takes(question) else [first(shared.induction)]
    turns = [*kept, brief(FewSets(options.depth)), *induction]
    if not any(map(waits, paths)):
        return [*turns, first(shared.far)]
    walk = Turn(FirstWalk(options.depth), SHARE_OF_GLANCE, GLANCE, once=True)
    sets, boxes, delay = (Liveness([method]) for method in composition.quick_methods())
    never = [] if kept or shared.invariants.takes(question) else [first(shared.invariants)]
    return [*kept, walk, *turns[len(kept) :], brief(sets), brief(boxes, 0.5), brief(delay), brief(shared.lasso), *never]


def rows_to_pull_back(system: System) -> float:
    """How much of a glance invariants have: of an affine loop rows of the claim decide most, and there may be many."""
    moves = [*system.step.next_state, *system.step.next_memory]
    if nonlinear_node(moves) is not None or any(map(branches, order(moves))):
        return KEPT_GLANCE
    return max(KEPT_GLANCE, sum(var.size for var in system.step.state) / COMPONENTS_OF_A_GLANCE)


def brief(engine: Engine, part: float = 1.0) -> Turn:
    """A glance, or a part of one."""
    return Turn(engine, SHARE_OF_GLANCE * max(part, 1.0), part * GLANCE)


def first(engine: Engine, part: float = 0.5) -> Turn:
    """The same of one that goes on later, and loses nothing if it is short."""
    return brief(engine, part)._replace(waits=True)


def fitting(question: Question, options: DepthOptions, shared: RoundEngines) -> list[Engine]:
    """The engines for claims without a bound that can be of help: what is kept, and what has to come at last."""
    paths = deciding(question)
    methods: list[Engine] = [shared.invariants, shared.induction, shared.predicates, composition.deepening(options)]
    methods += [] if shared.predicates.takes(question) else [shared.states]
    if any(map(waits, paths)):
        methods += [shared.lasso, Liveness(composition.patient_methods())]
    return [engine for engine in (*methods, shared.far) if engine.takes(question) is None]


def far_ahead(question: Question, options: DepthOptions) -> Engine:
    """Simulations over many more steps than sets of states can be followed."""
    if question.claim.mentions_some:
        return Deepening(DepthOptions(FURTHER * options.depth), [Falsify(generations=0)])
    return FarRuns(FURTHER * options.depth)
