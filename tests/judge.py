"""Is an answer wrong? Each family of random questions has its own way to know."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from tests.affine_loops import affine_formula, affine_loop, affine_truth
from tests.brute import Brute, TooLarge, ValueUndefined
from tests.explicit_oracle import FiniteOracle
from tests.graph_loops import graph_formula, graph_loop
from tests.hard_loops import any_start, gridded, hard_formula, hard_loop, walk
from tests.huge_loops import huge_formula, huge_loop
from tests.jani_starts import drawn
from tests.network_questions import network_claim, network_system, plain, truth
from tests.observer_loops import is_exceeded, observer_formula, observer_loop
from tests.relay_loops import is_broken, relay_formula, relay_loop
from tests.sampling import Oracle
from tests.wild_loops import close_formula, curved_loop, memory_loop
from vernal.engines.check import parse_formula
from vernal.evidence import confirm
from vernal.evidence.invariant import Invariant
from vernal.evidence.judgement import Judgement, Rejected
from vernal.evidence.recheck import recheck
from vernal.evidence.recheck_paths import excludes
from vernal.evidence.replay import verify
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.evidence.trace import Trace
from vernal.logic.claim import Claim
from vernal.logic.formula import Formula, Not, Quantifier
from vernal.logic.normal import horizon, is_ctl, quantifiers
from vernal.logic.progress import on_paths
from vernal.model.expr import Between
from vernal.model.system import Init, OneOf, System

LIMIT = 20_000  # evaluations and paths of brute force, for one question
GRAPH_LIMIT = 6_000  # evaluations of brute force that opens a finite system
STARTS, WALKS, FEW_WALKS = 12, 40, 4  # tried for a question with intervals
DEEPEST = 6  # steps that brute force looks ahead

Make = Callable[[random.Random], tuple[System, Formula]]


def _made(loop: Callable[[random.Random], System], claim: Callable[[random.Random, System], Formula]) -> Make:
    def make(rng: random.Random) -> tuple[System, Formula]:
        system = loop(rng)
        return system, claim(rng, system)

    return make


def _planning(rng: random.Random) -> tuple[System, Formula]:
    model = drawn(rng)
    task = model.task()
    return task.system, parse_formula(task, model.claim)


FAMILIES: dict[str, Make] = {
    "finite": _made(lambda rng: hard_loop(rng, intervals=False), hard_formula),
    "intervals": _made(lambda rng: hard_loop(rng, intervals=True), hard_formula),
    "recurrent": _made(memory_loop, close_formula),
    "nonlinear": _made(curved_loop, close_formula),
    "huge": _made(huge_loop, huge_formula),
    "graphs": _made(graph_loop, graph_formula),
    "affine": _made(affine_loop, affine_formula),
    "relays": _made(relay_loop, relay_formula),
    "observers": _made(observer_loop, observer_formula),
    "networks": _made(network_system, network_claim),
    "starts": _planning,
}


@dataclass(frozen=True)
class Instance:
    """A system, a formula, and the seed that makes both again."""

    seed: int
    system: System
    formula: Formula
    family: str

    def __str__(self) -> str:
        return f"seed {self.seed} ({self.family}): {self.formula}"


def instance(seed: int, family: str) -> Instance:
    """The same for the same seed."""
    return Instance(seed, *FAMILIES[family](random.Random(seed)), family)


class Judge:
    """What is wrong with the answers to one question."""

    def __init__(self, question: Instance) -> None:
        self.question = question
        self.skipped = False  # whether some answer was too large to be judged
        self.oracle = Oracle(question.system, question.formula, question.seed)
        self.known: dict[object, str | None] = {}

    def problems(self, results: dict[str, Result]) -> Iterator[tuple[str, str]]:
        """(engine, what is wrong with its answer)."""
        for name, result in results.items():
            yield from ((name, why) for why in evidence_problems(self.question, result))
        decided = {name: result for name, result in results.items() if result.verdict is not UNKNOWN}
        yield from self._bound_problems({name: one for name, one in results.items() if name not in decided})
        if len({result.verdict for result in decided.values()}) > 1:
            said = ", ".join(f"{name} {result.verdict.value}" for name, result in decided.items())
            yield from ((name, f"contradiction: {said}") for name in decided)
        for name, result in decided.items():
            why = self._problem(result)
            if why is not None:
                yield name, why

    def _problem(self, result: Result) -> str | None:
        if self.question.family in ("recurrent", "nonlinear"):
            return self.oracle.problem(result)
        if self.question.family == "affine":
            return self._affine_problem(result)
        if self.question.family == "relays":
            return self._long_runs_problem(result, is_broken)
        if self.question.family == "observers":
            return self._long_runs_problem(result, is_exceeded)
        if self.question.family == "networks":
            return self._network_problem(result)
        if self.question.family == "starts":
            return self._enumerated_problem(result)
        first = result.trace.steps[0] if result.trace is not None and result.verdict is VIOLATED else None
        key = result.verdict, str(first)
        if key not in self.known:
            check = self._finite_problem if self.question.family in ("finite", "graphs") else self._interval_problem
            self.known[key] = check(result)
        return self.known[key]

    def _finite_problem(self, result: Result) -> str | None:
        """Brute force knows; for all time, a naive checker on the graph that it finds."""
        graphs = self.question.family == "graphs"
        truth = self._on_graph() if graphs else self._brute(self.question.system, LIMIT)
        if truth is None:
            return None
        return None if truth is (result.verdict is HOLDS) else f"{result.verdict.value}, but it is {truth}"

    def _enumerated_problem(self, result: Result) -> str | None:
        """The drawn model, enumerated without Vernal."""
        if "truth" not in self.known:
            model = drawn(random.Random(self.question.seed))
            self.known["truth"] = "holds" if model.holds() else "violated"
            self.known["starts"] = None if model.starts else "none"
        empty = any("there is no initial state" in note for note in result.notes)
        if result.verdict is HOLDS and empty is not (self.known["starts"] == "none"):
            return f"initial states: {self.known['starts'] or 'some'}, but the notes are {result.notes}"
        return None if result.verdict.value == self.known["truth"] else f"it {self.known['truth']}"

    def _affine_problem(self, result: Result) -> str | None:
        """The analytic answer, where it is clear."""
        truth = affine_truth(self.question.system, self.question.formula)
        if truth is None:
            self.skipped = True
        elif truth is not (result.verdict is HOLDS):
            return f"{result.verdict.value}, but it is {truth}"
        return None

    def _long_runs_problem(self, result: Result, broken_by_runs: Callable[[System, Formula], bool]) -> str | None:
        """Long runs, which break what is too small; a violation is shown by its trace."""
        broken = result.verdict is HOLDS and broken_by_runs(self.question.system, self.question.formula)
        return "holds, but long runs break it" if broken else None

    def _network_problem(self, result: Result) -> str | None:
        """Z3's answer, where it has one; and what thousands of points say of the margin."""
        if "truth" not in self.known:
            said = truth(plain(self.question.system))
            self.known["truth"] = None if said is None else "holds" if said else "violated"
        self.skipped |= self.known["truth"] is None
        if self.known["truth"] not in (None, result.verdict.value):
            return f"{result.verdict.value}, but Z3 says {self.known['truth']}"
        return self.oracle.problem(result)

    def _bound_problems(self, undecided: dict[str, Result]) -> Iterator[tuple[str, str]]:
        """A run that was stopped may give the best bound it has: no point may have a smaller margin."""
        if self.question.family != "networks":
            return
        for name, result in undecided.items():
            sample = self.oracle.sample
            if result.margin is not None and result.margin > sample.least + sample.slack:
                yield name, f"stopped with the bound {result.margin}, but a point has {sample.least}"

    def _brute(self, system: System, limit: int) -> bool | None:
        try:
            return Brute(system, self.question.formula, limit).holds(self.question.formula)
        except ValueUndefined:
            return None
        except TooLarge:
            self.skipped = True
            return None

    def _on_graph(self) -> bool | None:
        try:
            return FiniteOracle(self.question.system, self.question.formula, GRAPH_LIMIT).holds()
        except ValueUndefined:
            return None
        except TooLarge:
            self.skipped = True
            return None

    def _interval_problem(self, result: Result) -> str | None:
        """Starts one by one; with disturbances only some paths, which can refute claims of all of them."""
        system, formula = self.question.system, self.question.formula
        rng = random.Random(self.question.seed)
        if result.verdict is VIOLATED:
            assert result.trace is not None
            first = {name: v for name, v in result.trace.steps[0].state.items() if isinstance(v, Fraction)}
            return "it holds at the state shown" if self._truth_at(first, LIMIT) is True else None
        for first in [any_start(rng, system) for _ in range(STARTS)]:
            if self._truth_at(first, LIMIT // STARTS) is False:
                return f"holds, but not from {', '.join(f'{n} = {v}' for n, v in first.items())}"
        if Quantifier.SOME in quantifiers(formula):
            return None
        reach = horizon(formula) or 0
        paths = (walk(rng, system, reach) for _ in range(WALKS if reach <= DEEPEST else FEW_WALKS))
        false = any(path is not None and confirm.truth(path, formula) is False for path in paths)
        return "holds, but not on a random path" if false else None

    def _truth_at(self, first: dict[str, Fraction], limit: int) -> bool | None:
        """The exact truth at one start; with disturbances only what some of the paths can show."""
        if (horizon(self.question.formula) or 0) > DEEPEST:
            return None
        system, kinds = self.question.system, quantifiers(self.question.formula)
        starts = {name: OneOf((value,)) for name, value in first.items()}
        alone = replace(system, init=Init(starts, system.init.where))
        exact = not has_disturbances(system)
        truth = self._brute(alone if exact else gridded(alone), limit)
        shows_false = exact or Quantifier.SOME not in kinds
        shows_true = exact or (is_ctl(self.question.formula) and kinds == {Quantifier.SOME})
        return truth if (shows_true if truth else shows_false) else None


def evidence_problems(question: Instance, result: Result) -> Iterator[str]:
    """A violation has a trace, and a trace replays and shows what it is said to show."""
    asked, trace = question.formula, result.trace
    if isinstance(result.evidence, Invariant):
        checked = recheck(question.system, Claim(asked), result.evidence)
        if checked.judgement is Judgement.REJECTED:
            yield f"its invariant is rejected: {checked.reason}"
    if trace is None:
        if result.verdict is VIOLATED:
            yield "violated without a trace"
        return
    if not verify(question.system, trace).accepted:
        yield "the trace does not replay"
    if result.verdict is VIOLATED and result.invariant is not None:
        yield from exclusion_problems(question, trace, result.invariant)
        return
    shown = confirm.truth(trace, asked, question.system)
    if result.verdict is VIOLATED and on_paths(asked) is not None and shown is not False:
        yield "the trace does not violate the formula"
    if result.verdict is HOLDS and on_paths(Not(asked)) is not None and shown is not True:
        yield "the trace is no witness"


def has_disturbances(system: System) -> bool:
    """Whether there is a draw from an interval."""
    return any(isinstance(node, Between) for node in system.step.names)


def exclusion_problems(question: Instance, trace: Trace, invariant: Invariant) -> Iterator[str]:
    """A state from which every path stays in an invariant, in which the claim fails."""
    try:
        checked = excludes(question.system, question.formula, trace, invariant)
    except Rejected as problem:
        yield f"its invariant excludes nothing: {problem}"
        return
    if checked.judgement is Judgement.REJECTED:
        yield f"its invariant is rejected: {checked.reason}"
