"""The engine `auto`: the engines that fit the question, cheapest first, until one decides it."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from vernal.engines.answers import believed
from vernal.engines.base import Engine, within
from vernal.engines.bounds.engine import SMOOTH, Bounds, Effort, effort
from vernal.engines.deepening.engine import Deepening
from vernal.engines.deepening.glance import FewSets
from vernal.engines.explicit.engine import Explicit
from vernal.engines.explicit.size import declared_states, is_discrete, is_enumerable
from vernal.engines.falsify.engine import Falsify
from vernal.engines.induction.engine import Induction
from vernal.engines.invariants.engine import Invariants
from vernal.engines.knowledge import Known, Open
from vernal.engines.lasso.engine import Lasso
from vernal.engines.liveness.engine import Liveness, patient_methods, quick_methods
from vernal.engines.options import BoundsOptions, DepthOptions
from vernal.engines.paths.engine import Paths
from vernal.engines.split.engine import BranchAndBound
from vernal.logic.claim import Claim, always
from vernal.logic.formula import Formula
from vernal.logic.progress import waits
from vernal.logic.question import Question
from vernal.logic.safety import safety_claim
from vernal.model.system import System
from vernal.run.budget import Budget

BRIEF = 2.0  # seconds for a proof by bounds before all paths are tried: over a long horizon bounds take long to fail
LONGER = 20.0  # the same for a nonlinear loop, as long as every second round settles half of its boxes
BOXES_BEFORE_PATHS = 128  # boxes of a nonlinear loop, before all paths are tried
FEW_STATES = 20_000  # of a discrete system: so many are looked at one by one before anything else is tried
MANY_STATES = 5_000_000  # where its ranges allow no more, all are looked at before all paths are
ROUND_SECONDS = (1.0, 6.0, 40.0)  # for each engine in each round, of a claim without a bound
SHARE_OF_GLANCE, GLANCE = 0.1, 0.8  # the share of the time that is left, and the most seconds, for a glance
MUCH_SPARE = 0.8  # of its time left: an engine for claims without a bound that has come to its end
FURTHER = 50  # times the depth, for simulations of claims without a bound
INTERVALS = Bounds(BoundsOptions(tighten=False), patience=1, most=1)  # one look at the whole


class Turn(NamedTuple):
    """An engine, its share of the time that is left, and the most seconds it may have.

    An engine that ends by itself with more than the share `spare` of its time left has no second turn.
    """

    engine: Engine
    share: float
    most: float = inf
    spare: float = 1.0


class Portfolio:
    """A few states one by one, simulations, bounds in a hurry, all paths, bounds with patience, all states, search."""

    name = "auto"

    def __init__(self, options: DepthOptions = DepthOptions()) -> None:
        """`options` are those of the engines for claims without a bound."""
        self.options = options

    def attempt(self, question: Question, budget: Budget) -> Known:
        """What the first engine knows that decides the question; else what all of them leave open."""
        left_open: list[Open] = []
        ended: set[str] = set()  # the engines that came to an end without an answer
        for turn in self._turns(question):
            if budget.left <= 0:
                break
            if turn.engine.name in ended:
                continue
            part = budget.part(turn.share, turn.most)
            time = part.left
            known = believed(question.claim, within(turn.engine, question, part))
            if not isinstance(known, Open):
                return known
            if (1.0 if time == inf else part.left / time) > turn.spare:
                ended.add(turn.engine.name)
            left_open.append(known)
        return _combine(left_open, None if budget.left > 0 else f"timeout after {budget.timeout:g} s")

    def _turns(self, question: Question) -> list[Turn]:
        first = first_states(question.system)
        if question.claim.horizon is None:
            return [*first, *endless(question, self.options)]
        return [*first, *with_split(question, stages(question.system))]


def stages(system: System) -> list[Turn]:
    """Engines in their order, each with its share of the time that is left and the most it may have.

    Of a nonlinear loop neither boxes nor pieces are exact. Where a claim has room, plain intervals show it in no time;
    which of the others closes it first is not known beforehand: bounds go on as long as cutting helps, and after all
    paths have most of the time that is left.
    """
    limits = effort(system)
    early, late = graphs(system)
    glance = Turn(Falsify(generations=0), 0.5)  # it ends by itself, and soon
    last = Turn(Falsify(), 1.0)
    if limits == Effort():
        patient = Turn(Bounds(), 0.5, spare=0.0)
        return [glance, Turn(Bounds(), 0.4, BRIEF, 0.0), *early, Turn(Paths(), 0.8), patient, *late, last]
    hurried = Bounds() if limits == SMOOTH else Bounds(patience=2, most=BOXES_BEFORE_PATHS, share=0.5)
    return [
        Turn(INTERVALS, 0.2),
        glance,
        Turn(hurried, 0.4, LONGER, 0.0 if hurried.patience is None else 1.0),
        *early,
        Turn(Paths(), 0.5),
        Turn(Bounds(), 0.9),
        *late,
        last,
    ]


def with_split(question: Question, turns: list[Turn]) -> list[Turn]:
    """Branch and bound after a glance at single runs, where only initial states are asked about."""
    if question.claim.horizon or question.claim.mentions_some:
        return turns
    last_glance = next(number for number, turn in enumerate(turns) if isinstance(turn.engine, Falsify))
    return [*turns[: last_glance + 1], Turn(BranchAndBound(), 0.8), *turns[last_glance + 1 :]]


def first_states(system: System) -> list[Turn]:
    """A discrete system may have few states, and is then decided whatever is asked; no other system is looked at so."""
    return [Turn(Explicit(FEW_STATES), 0.2, BRIEF)] if is_discrete(system) else []


def graphs(system: System) -> tuple[list[Turn], list[Turn]]:
    """All states one by one, before all paths where the ranges say that this will do, or after everything else.

    A graph that may have no end is not waited for.
    """
    if is_discrete(system) and declared_states(system) <= MANY_STATES:
        return [Turn(Explicit(), 0.6)], []
    return [], [Turn(Explicit(), 0.5, BRIEF)] if is_enumerable(system) else []


def endless(question: Question, options: DepthOptions) -> list[Turn]:
    """Engines for claims without a bound, round by round with more time: which of them decides is not known before.

    Those that come to their end are not asked again.
    """
    early, late = graphs(question.system)
    methods = fitting(question, options)
    turns = [Turn(Falsify(generations=0), 0.1, BRIEF), *glances(question, options)]
    for number, seconds in enumerate(ROUND_SECONDS):
        share = 1 / (len(methods) * (len(ROUND_SECONDS) - number))
        turns += [Turn(engine, share, seconds, MUCH_SPARE) for engine in methods]
        turns += (early, [Turn(far_ahead(options), 0.3, seconds)], late)[number]
    return turns


def glances(question: Question, options: DepthOptions) -> list[Turn]:
    """What takes little work and decides most small systems: tried before anything is tried with patience.

    An invariant comes first where it can decide: it is evidence that can be checked again.
    """
    paths = deciding(question)
    if not paths:
        return []
    kept = [brief(Invariants(), 0.5)] if _is_kept(question) else []
    turns = [*kept, brief(FewSets(options.depth))]
    if any(always(path) is not None for path in paths):
        turns.append(brief(Induction()))
    if any(map(waits, paths)):
        sets, boxes, delay = (Liveness([method]) for method in quick_methods())
        turns += [brief(sets), brief(boxes, 0.5), brief(delay), brief(Lasso(options))]
    return turns


def brief(engine: Engine, part: float = 1.0) -> Turn:
    """A glance, or a part of one."""
    return Turn(engine, SHARE_OF_GLANCE, part * GLANCE)


def fitting(question: Question, options: DepthOptions) -> list[Engine]:
    """The engines for claims without a bound that can be of help: what is kept, and what has to come at last."""
    paths = deciding(question)
    methods: list[Engine] = [Invariants()] if _is_kept(question) else []
    if any(always(path) is not None for path in paths):
        methods.append(Induction())
    methods.append(Deepening(options))
    if not paths or any(map(waits, paths)):
        methods += [Lasso(options), Liveness(patient_methods())]
    return methods


def deciding(question: Question) -> list[Formula]:
    """The formulas of all paths that decide the claim: itself, or one that proves and one that refutes it."""
    claim = question.claim
    return [path for path in (claim.sufficient, claim.opposite if claim.mentions_some else None) if path is not None]


def _is_kept(question: Question) -> bool:
    """Whether an invariant can prove the claim, or refute it."""
    return any(safety_claim(Claim(path), total=question.is_total) is not None for path in deciding(question))


def far_ahead(options: DepthOptions) -> Engine:
    """Simulations over many more steps than sets of states can be followed."""
    return Deepening(DepthOptions(FURTHER * options.depth), [Falsify(generations=0)])


def _combine(left_open: list[Open], stopped: str | None) -> Open:
    """What all engines together leave open: their reasons, and the most that one of them proved."""
    last = left_open[-3 if len(left_open) > 4 else -2 :]
    reasons = dict.fromkeys(f"{known.engine}: {known.reason}" for known in last)
    reason = "; ".join([*([stopped] if stopped else []), *reasons]) or "nothing was tried"
    proven = max((known.proven_steps for known in left_open if known.proven_steps is not None), default=None)
    statistics = {key: value for known in left_open for key, value in known.statistics.items()}
    notes = tuple(dict.fromkeys(note for known in left_open for note in known.notes))
    return Open(engine="auto", reason=reason, proven_steps=proven, statistics=statistics, notes=notes)
