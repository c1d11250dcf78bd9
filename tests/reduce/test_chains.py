"""Random chains of reductions on random finite systems: what they decide is what brute force says.

And the test can fail: a reduction whose direction is declared better than it is gets caught by the same comparison.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice, product
from pathlib import Path

import pytest

from tests.brute import TooLarge, ValueUndefined
from tests.explicit_oracle import FiniteOracle
from tests.graph_loops import SMALL, endless_formula, graph_loop, integer_network
from tests.loops import MODE, condition
from tests.planning_loops import planning_case
from tests.systems import make
from vernal import reduce
from vernal.engines.base import Engine
from vernal.engines.chain import Chain
from vernal.engines.explicit.engine import Explicit
from vernal.engines.explicit.first_step import FirstStep
from vernal.engines.paths.engine import Paths
from vernal.errors import VernalError
from vernal.evidence.belief import believed, confirmed
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.interpret.rounded.float_formats import deployment
from vernal.logic.direction import Direction
from vernal.logic.formula import Always, And, Atom, Bound, Next, Not, Quantifier
from vernal.logic.normal import quantifiers
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.agent import make_agent
from vernal.model.expr import Expr, Role
from vernal.model.sorts import INT
from vernal.model.system import System
from vernal.reduce import backward
from vernal.reduce.backward import ONE_STEP, Backward
from vernal.reduce.constant_atoms import ConstantAtoms
from vernal.reduce.counted_marks import CountedMarks
from vernal.reduce.deployed import Deployed
from vernal.reduce.growing_bounds import GrowingBounds, GrowingDepth
from vernal.reduce.initial_cover import InitialParts, SingleStarts
from vernal.reduce.prompt_claims import PromptClaims
from vernal.reduce.reduction import Entailment, Reduction, Subquestion, first_decided
from vernal.reduce.restriction import DecidedDraws, rewritten
from vernal.reduce.universal_claims import BrokenByAll, DeniedByAll, KeptByAll, KeptByNone, KeptByOne
from vernal.run.budget import Budget
from vernal.sets.pieces.free_winners import freed, has_winners


class AnyWinner:
    """A reduction that is OVER, which no engine uses: every argmax may take any of its values."""

    name = "any winner"
    direction = Direction.OVER
    is_joint = False

    def takes(self, question: Question) -> str | None:
        return None if has_winners(question.system.step) else "no argmax takes part in a step"

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        yield Subquestion(replace(question, model=rewritten(question.system, freed)), self.direction)

    def lift(self, question: Question, found: Sequence[Known]) -> Known:
        return first_decided(found)


REDUCTIONS: tuple[Reduction, ...] = (
    AnyWinner(),
    Backward(),
    BrokenByAll(),
    ConstantAtoms(),
    CountedMarks(2),
    DecidedDraws(),
    Deployed(deployment("float32")),
    GrowingBounds(),
    GrowingDepth(3),
    InitialParts(3),
    KeptByAll(),
    KeptByNone(),
    KeptByOne(),
    PromptClaims((1, 3)),
    SingleStarts(8),
    DeniedByAll(),
)
OF_FLOWS = {"KeptFaces", "LearnedModes", "RegionFirst"}  # whose trajectories tests/engines/flow compares
KINDS = ((Quantifier.ALL,), (Quantifier.SOME,), tuple(Quantifier), (None,))
LONGEST = 3


def questions(seeds: range, *, steered: bool = False) -> Iterator[tuple[int, random.Random, Question]]:
    """Small systems with formulas of all kinds, with or without bounds."""
    for seed in seeds:
        rng = random.Random(seed)
        system = policy_loop(rng) if steered else graph_loop(rng, SMALL)
        yield seed, rng, Question(system, endless_formula(rng, system, rng.choice(KINDS), depth=1))


def policy_loop(rng: random.Random, starts: int = 1) -> System:
    """A number that a policy moves up or down, or leaves as it is."""
    x, act = build.var("x", INT), build.var("pilot", MODE, role=Role.ACTION)
    pilot = make_agent("pilot", [integer_network(rng, 1, len(MODE.labels))], [x], "argmax", labels=MODE)
    moves = [build.clip(x + rng.choice((-1, 0, 1)), -2, 2) for _ in MODE.labels]
    cases = [Fraction(label) for label in range(len(MODE.labels))]
    first = {rng.randint(-2, 2) for _ in range(starts)}
    return make({"x": first}, {"x": build.switch(act, cases, moves)}, sorts={"x": INT}, agents=[pilot])


def truth(question: Question) -> bool | None:
    """Whether the claim holds, by brute force; None where that takes too long, or a value is undefined."""
    try:
        return FiniteOracle(question.system, question.formula).holds()
    except (TooLarge, ValueUndefined):
        return None


def known_by(chain: Chain, question: Question) -> Known:
    """What is believed of a chain's answer, as a result would say it."""
    try:
        known = chain.attempt(question, Budget(timeout=5))
    except VernalError as error:
        return Open(engine=chain.name, reason=str(error))
    return confirmed(question, believed(question.claim, known))


def wrong(chain: Chain, question: Question) -> bool | None:
    """Whether a chain decides a question the wrong way; None where it does not decide it, or nobody knows."""
    known = known_by(chain, question)
    expected = None if isinstance(known, Open) else truth(question)
    return None if expected is None else isinstance(known, Proof) is not expected


def test_every_reduction_is_asked() -> None:
    folder = Path(reduce.__file__).parent
    found = {
        node.name
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
        and {"takes", "apply", "lift"} <= {getattr(one, "name", "") for one in node.body}
    }
    assert found - {"Reduction"} == {type(one).__name__ for one in REDUCTIONS[1:]} | OF_FLOWS


def test_random_chains_agree_with_brute_force() -> None:
    decided: dict[int, int] = {}
    for seed, rng, question in questions(range(600)):
        length = rng.randint(1, LONGEST)
        first = rng.choice([one for one in REDUCTIONS if one.takes(question) is None])
        chain = Chain((first, *(rng.choice(REDUCTIONS) for _ in range(length - 1))), Explicit())
        found = wrong(chain, question)
        assert not found, f"seed {seed}: {chain} on {question.formula}"
        if found is not None:
            decided[length] = decided.get(length, 0) + 1
    assert all(decided.get(length, 0) > 5 for length in range(1, LONGEST + 1)), decided


OF_FINITE = [one for one in REDUCTIONS if not isinstance(one, Deployed)]  # whose errors are no finite choice


@pytest.mark.parametrize("reduction", OF_FINITE, ids=lambda one: one.name)
def test_every_reduction_decides_something_and_nothing_wrong(reduction: Reduction) -> None:
    verdicts = set()
    for seed, _, question in questions(range(400), steered=isinstance(reduction, AnyWinner)):
        if reduction.takes(question) is None:
            found = wrong(Chain((reduction,), Explicit()), question)
            assert not found, f"seed {seed}: {question.formula}"
            verdicts.add(found)
        if False in verdicts and seed > 30:
            break
    assert False in verdicts


class DrawsDecidedExactly(DecidedDraws):
    """A fault: as if deciding draws left all paths."""

    direction = Direction.EXACT


class DrawsDecidedOver(DecidedDraws):
    """A fault, and of claims of all paths, which the reduction does not take."""

    direction = Direction.OVER

    def takes(self, question: Question) -> str | None:
        return None


class AnyWinnerUnder(AnyWinner):
    """A fault: as if there were no more paths than before."""

    direction = Direction.UNDER


class AnyWinnerExactly(AnyWinner):
    """A fault: as if the policy did not matter."""

    direction = Direction.EXACT


class DelaysThatRefute(PromptClaims):
    """A fault: as if what is claimed within a delay were all that is claimed."""

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        for sub in super().apply(question, budget):
            yield replace(sub, entails=Entailment.NEGATES)


class FirstStartOnly(SingleStarts):
    """A fault: as if the first initial state stood for all of them."""

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        return islice(super().apply(question, budget), 1)


class OneWitnessForAll(KeptByOne):
    """A fault: as if one path had to show all that is claimed of some."""

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        for sub in super().apply(question, budget):
            yield replace(sub, entails=Entailment.NEGATES)


class OneStepForAll(Backward):
    """A fault: as if the first step were all that is claimed."""

    def apply(self, question: Question, budget: Budget) -> Iterator[Subquestion]:
        for sub in super().apply(question, budget):
            yield replace(sub, entails=Entailment.SAME)


FAULTS = (
    FirstStartOnly(8),
    DrawsDecidedExactly(),
    DrawsDecidedOver(),
    AnyWinnerUnder(),
    AnyWinnerExactly(),
    DelaysThatRefute((1, 3)),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: type(one).__name__)
def test_a_direction_that_is_declared_too_well_is_caught(fault: Reduction) -> None:
    for _, rng, question in questions(range(600), steered=isinstance(fault, AnyWinner)):
        others = tuple(rng.choice(REDUCTIONS) for _ in range(rng.randint(0, 1)))
        if wrong(Chain((fault, *others), Explicit()), question):
            return
    pytest.fail("nobody noticed")


def kept_questions(seeds: range, bound: Bound, *, steered: bool) -> Iterator[Question]:
    """That a condition on states is kept, of systems with choices, guards or policies, from several starts."""
    for seed in seeds:
        rng = random.Random(seed)
        system = policy_loop(rng, starts=3) if steered else graph_loop(rng, SMALL)
        states: list[Expr] = [variable.var for variable in system.state]
        yield Question(system, Always(Not(Atom(condition(rng, [rng.choice(states) for _ in range(2)], 1))), bound))


@pytest.mark.parametrize("engine", [Explicit(), FirstStep()], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("steered", [False, True])
def test_back_from_a_failure_comes_every_start_that_may_fail(steered: bool, engine: Engine) -> None:
    verdicts = []
    for question in kept_questions(range(80), ONE_STEP, steered=steered):
        known, expected = known_by(Chain((Backward(),), engine), question), truth(question)
        if expected is not None and not isinstance(known, Open):
            assert isinstance(known, Proof) is expected, question.formula
            assert not isinstance(known, Proof) or not known.empty
            verdicts.append(expected)
    assert min(verdicts.count(True), verdicts.count(False)) > 10


@pytest.mark.parametrize("engine", [Explicit(), FirstStep()], ids=lambda one: type(one).__name__)
def test_back_from_what_is_unsafe_in_planning_models(engine: Engine) -> None:
    """Operators with guards, some of them silent, under a policy: what `explicit` says of all starts, from the few."""
    verdicts = []
    for seed in range(60):
        case = planning_case(random.Random(seed))
        question = Question(case.system, Always(Not(Atom(case.unsafe)), ONE_STEP))
        known, whole = (known_by(chain, question) for chain in (Chain((Backward(),), engine), Chain((), Explicit())))
        if not isinstance(known, Open) and not isinstance(whole, Open):
            assert type(known) is type(whole), f"seed {seed}: {question.formula}"
            verdicts.append(isinstance(known, Proof))
    assert min(verdicts.count(True), verdicts.count(False)) > 10


def as_onnx(question: Question) -> Question:
    """The same question, as if its networks came from ONNX files, with the ranges that are kept."""
    system = question.system
    agents = [
        replace(one, networks=tuple(replace(n, operators=("Gemm",)) for n in one.networks)) for one in system.agents
    ]
    state = tuple(replace(one, lower=Fraction(-2), upper=Fraction(2)) for one in system.state)
    return replace(question, model=replace(system, agents=tuple(agents), state=state))


def test_rounding_errors_decide_nothing_wrong() -> None:
    """Scores are integers: only ties are closer than the errors, and these are free anyway."""
    chain, verdicts = Chain((Deployed(deployment("float32")),), Paths()), []
    for question in map(as_onnx, kept_questions(range(30), Bound(Fraction(0), Fraction(2)), steered=True)):
        assert chain.takes(question) is None
        known, expected = known_by(chain, question), truth(question)
        if expected is not None and not isinstance(known, Open):
            assert isinstance(known, Proof) is expected, question.formula
            verdicts.append(expected)
    assert min(verdicts.count(True), verdicts.count(False)) > 5


def test_one_step_is_not_all_that_is_claimed() -> None:
    """What fails at step 2 may do so from a start that the first step cannot take to it."""
    x = build.var("x", INT)
    system = make({"x": {0, 9}}, {"x": build.clip(x + 1, 0, 2)}, sorts={"x": INT})
    question = Question(replace(system, init=replace(system.init, where=(x < 9,))), Always(Atom(x < 2)))
    assert wrong(Chain((OneStepForAll(),), Explicit()), question)
    known = known_by(Chain((Backward(),), Explicit()), question)
    assert isinstance(known, Open)
    assert known.proven_steps == 1


def test_a_choice_that_is_forgotten_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backward, "_cases", lambda condition, tick: [])
    chain = Chain((Backward(),), Explicit())
    assert any(wrong(chain, question) for question in kept_questions(range(80), ONE_STEP, steered=True))


def test_two_paths_may_show_what_no_single_one_does() -> None:
    """`EX x = 1 & EX x = 0` is true of a walk that chooses: that no path keeps both refutes nothing."""
    x = build.var("x", INT)
    system = make({"x": {0}}, {"x": build.clip(x + build.choose(0, 1), 0, 1)}, sorts={"x": INT})
    ends = [Next(Atom(build.compare("==", x, end)), quantifier=Quantifier.SOME) for end in (0, 1)]
    question = Question(system, And(tuple(ends)))
    assert wrong(Chain((OneWitnessForAll(),), Explicit()), question)
    assert not wrong(Chain((KeptByOne(),), Explicit()), question)


def test_a_chain_of_opposite_directions_decides_no_claim_about_paths() -> None:
    chain = Chain((AnyWinner(), DecidedDraws()), Explicit())
    assert chain.direction is Direction.NEITHER
    for seed, _, question in questions(range(120), steered=True):
        if quantifiers(question.formula):
            assert isinstance(known_by(chain, question), Open), f"seed {seed}: {question.formula}"


def test_a_chain_is_as_good_as_the_weakest_of_its_reductions() -> None:
    for one, two in product(REDUCTIONS, repeat=2):
        chain = Chain((one, two), Explicit())
        assert chain.direction is one.direction.then(two.direction)
        assert str(chain) == f"{one.name}, {two.name}, explicit"
