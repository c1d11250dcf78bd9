"""What answers to other questions say of one: as much as direction and entailment allow, and never more."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from tests.cases import read
from vernal.engines.chain import Chain, InOrder, Prover
from vernal.engines.check import parse_formula
from vernal.engines.explicit.engine import Explicit
from vernal.engines.paths.engine import Paths
from vernal.errors import Stopped
from vernal.evidence.invariant import Invariant
from vernal.evidence.knowledge import Counterexample, FailingState, Known, Open, Proof, Subject
from vernal.evidence.replay import run
from vernal.evidence.result import Assurance
from vernal.logic.direction import Direction
from vernal.logic.question import Question
from vernal.reduce.initial_cover import SingleStarts
from vernal.reduce.reduction import Entailment, Subquestion, carried
from vernal.reduce.universal_claims import KeptByOne
from vernal.run.budget import Budget
from vernal.sets.exact.space import ExactSpace
from vernal.sets.pieces.space import AffineSpace

WALK = '[state]\nx = "int"\n[init]\nx = "{0, 1}"\n[environment.next]\nx = "clip(x + choose(0, 1), 0, 3)"\n'
PROOF = Proof(engine="test", direction=Direction.EXACT, assurance=Assurance.EXACT, subject=Subject.STATES)


def asked(text: str, model: str = WALK) -> Question:
    task = read(model)
    return Question(task.system, parse_formula(task, text))


def of(question: Question, known: Known, entails: Entailment, direction: Direction = Direction.EXACT) -> Known:
    """What an answer to the claim that x is at least 0 says of a question."""
    other = replace(question, formula=asked("G (x >= 0)").formula)
    return carried(question, Subquestion(other, direction, entails), known, Budget())


@pytest.mark.parametrize(
    ("entails", "kind"),
    [
        (Entailment.SAME, Proof),
        (Entailment.IMPLIES, Proof),
        (Entailment.FOLLOWS, Open),
        (Entailment.NEGATES, FailingState),
    ],
)
def test_a_proof_carries_over_by_what_it_entails(entails: Entailment, kind: type[Known]) -> None:
    assert isinstance(of(asked("G (x >= 0)"), PROOF, entails), kind)


@pytest.mark.parametrize("entails", [Entailment.IMPLIES, Entailment.NEGATES])
def test_a_claim_of_fewer_paths_entails_nothing_of_all(entails: Entailment) -> None:
    assert isinstance(of(asked("G (x >= 0)"), PROOF, entails, Direction.UNDER), Open)


def test_directions_compose_where_the_claim_is_the_same() -> None:
    over = replace(PROOF, direction=Direction.OVER)
    for direction in Direction:
        known = of(asked("G (x >= 0)"), over, Entailment.SAME, direction)
        assert isinstance(known, Proof)
        assert known.direction is Direction.OVER.then(direction)


def test_a_path_refutes_only_what_is_false_on_it() -> None:
    question = asked("G (x <= 0)")
    for last, kind in ((Fraction(0), Open), (Fraction(1), Counterexample)):
        path = run(question.system, {"x": last}, [{}], 0)
        found = Counterexample(engine="test", trace=path)
        for entails in Entailment:
            assert isinstance(of(question, found, entails), kind), entails


def test_a_state_that_is_none_of_the_question_shows_nothing() -> None:
    question = asked("EF (x >= 9)")
    elsewhere = asked("EF (x >= 9)", WALK.replace("{0, 1}", "{2, 3}"))
    shown = run(elsewhere.system, {"x": Fraction(2)}, [{}], 0)
    known = FailingState(
        engine="test", trace=shown, direction=Direction.EXACT, assurance=Assurance.EXACT, excluded_by="all of them"
    )
    assert isinstance(carried(question, Subquestion(elsewhere, Direction.EXACT), known, Budget()), Open)


def test_evidence_about_another_system_is_left_out() -> None:
    question, other = asked("G (x >= 0)"), asked("G (x >= 0)", WALK.replace("choose(0, 1)", "1"))
    proof = replace(PROOF, evidence=Invariant(("x",), ()))
    kept = carried(question, Subquestion(replace(question), Direction.EXACT), proof, Budget())
    left_out = carried(question, Subquestion(other, Direction.OVER), proof, Budget())
    assert isinstance(kept, Proof)
    assert kept.evidence is proof.evidence
    assert isinstance(left_out, Proof)
    assert left_out.evidence is None


# Chains ---------------------------------------------------------------------------------------------------------------


def test_a_chain_says_why_it_does_not_take_a_question() -> None:
    chain, question = Chain((KeptByOne(),), Explicit()), asked("G (x >= 0)")
    reason = chain.takes(question)
    known = chain.attempt(question, Budget())
    assert isinstance(known, Open)
    assert known.reason == reason


def test_one_start_that_stays_open_ends_it_and_says_nothing_of_the_others() -> None:
    seen = []

    def proven_for_a_while(question: Question, budget: Budget) -> Known:
        seen.append(question)
        return Open(engine="test", reason="too long", proven_steps=3, margin=-1.0)

    known = Chain((SingleStarts(2),), Prover("test", proven_for_a_while)).attempt(asked("G (x >= 0)"), Budget())
    assert isinstance(known, Open)
    assert (len(seen), known.reason, known.proven_steps, known.margin) == (1, "too long", None, None)


@pytest.mark.parametrize(("start", "kind"), [("0", Proof), ("{0, 1}", Open)])
def test_a_witness_proves_a_claim_of_some_path_from_one_start(start: str, kind: type[Known]) -> None:
    question = asked("EF (x >= 3)", WALK.replace("{0, 1}", start))
    path = run(question.system, {"x": Fraction(0)}, [{"x": 1}] * 4, 3)
    known = of(question, Counterexample(engine="test", trace=path), Entailment.NEGATES)
    assert isinstance(known, kind)
    assert not isinstance(known, Proof) or known.direction is Direction.UNDER


def test_what_is_unrelated_proves_nothing() -> None:
    for text in ("G (x >= 0)", "EF (x >= 9)"):
        assert isinstance(of(asked(text), PROOF, Entailment.UNRELATED), Open)


def test_engines_in_order_go_on_after_one_that_was_stopped() -> None:
    def stops(question: Question, budget: Budget) -> Known:
        raise Stopped("enough")

    question = asked("G (x >= 0)")
    assert isinstance(InOrder("both", (Prover("first", stops), Explicit())).attempt(question, Budget()), Proof)
    known = InOrder("one", (Prover("first", stops),)).attempt(question, Budget())
    assert isinstance(known, Open)
    assert known.reason == "enough"


def test_what_the_direction_does_not_allow_is_asked_of_the_next_engine() -> None:
    def too_few_paths(question: Question, budget: Budget) -> Known:
        return replace(PROOF, direction=Direction.UNDER)

    few = Prover("few", too_few_paths)
    question = asked("G (x <= 2)")
    assert isinstance(InOrder("both", (few, Explicit())).attempt(question, Budget()), Counterexample)
    assert isinstance(InOrder("one", (few,)).attempt(question, Budget()), Open)


def test_what_exact_sets_prove_of_some_path_stays_proven() -> None:
    """From infinitely many starts, and by no path of all: the direction is that of the sets that `paths` used."""
    model = WALK.replace('"int"', '"real"').replace("{0, 1}", "[0, 1]")
    for text, kind in (("EF[0,2] (x >= 1)", Proof), ("EF[0,1] (x >= 1.5)", FailingState)):
        known = Paths().attempt(asked(text, model), Budget())
        assert isinstance(known, kind)
        assert known.direction is ExactSpace.direction
    batches = Paths().attempt(asked("AG[0,2] (x <= 3)", model), Budget())
    assert isinstance(batches, Proof)
    assert batches.direction is AffineSpace.direction
