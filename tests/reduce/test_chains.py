"""Random chains of reductions on random finite systems: what they decide is what brute force says.

And the test can fail: a reduction whose direction is declared better than it is gets caught by the same comparison.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from tests.brute import TooLarge, ValueUndefined
from tests.explicit_oracle import FiniteOracle
from tests.graph_loops import SMALL, endless_formula, graph_loop, integer_network
from tests.loops import MODE
from tests.systems import make
from vernal.engines.chain import Chain
from vernal.engines.explicit.engine import Explicit
from vernal.errors import VernalError
from vernal.evidence.belief import believed, confirmed
from vernal.evidence.knowledge import Known, Open, Proof
from vernal.logic.direction import Direction
from vernal.logic.formula import Quantifier
from vernal.logic.normal import quantifiers
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.agent import make_agent
from vernal.model.expr import Role
from vernal.model.sorts import INT
from vernal.model.system import System
from vernal.reduce.any_winner import AnyWinner
from vernal.reduce.constant_atoms import ConstantAtoms
from vernal.reduce.counted_marks import CountedMarks
from vernal.reduce.growing_bounds import GrowingBounds, GrowingDepth
from vernal.reduce.initial_cover import InitialParts
from vernal.reduce.prompt_claims import PromptClaims
from vernal.reduce.reduction import Entailment, Reduction, Subquestion
from vernal.reduce.restriction import DecidedDraws
from vernal.reduce.universal_claims import BrokenByAll, KeptByAll, KeptByNone
from vernal.run.budget import Budget

REDUCTIONS: tuple[Reduction, ...] = (
    AnyWinner(),
    BrokenByAll(),
    ConstantAtoms(),
    CountedMarks(2),
    DecidedDraws(),
    GrowingBounds(),
    GrowingDepth(3),
    InitialParts(3),
    KeptByAll(),
    KeptByNone(),
    PromptClaims((1, 3)),
)
KINDS = ((Quantifier.ALL,), (Quantifier.SOME,), tuple(Quantifier), (None,))
LONGEST = 3


def questions(seeds: range, *, steered: bool = False) -> Iterator[tuple[int, random.Random, Question]]:
    """Small systems with formulas of all kinds, with or without bounds."""
    for seed in seeds:
        rng = random.Random(seed)
        system = policy_loop(rng) if steered else graph_loop(rng, SMALL)
        yield seed, rng, Question(system, endless_formula(rng, system, rng.choice(KINDS), depth=1))


def policy_loop(rng: random.Random) -> System:
    """A number that a policy moves up or down, or leaves as it is."""
    x, act = build.var("x", INT), build.var("pilot", MODE, role=Role.ACTION)
    pilot = make_agent("pilot", [integer_network(rng, 1, len(MODE.labels))], [x], "argmax", labels=MODE)
    moves = [build.clip(x + rng.choice((-1, 0, 1)), -2, 2) for _ in MODE.labels]
    cases = [Fraction(label) for label in range(len(MODE.labels))]
    return make({"x": {rng.randint(-2, 2)}}, {"x": build.switch(act, cases, moves)}, sorts={"x": INT}, agents=[pilot])


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


@pytest.mark.parametrize("reduction", REDUCTIONS, ids=lambda one: one.name)
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


FAULTS = (
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
