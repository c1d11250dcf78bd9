"""Many questions in common batches get the answers they get one by one, which are right."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from tests.engines.split.test_split import EPSILON, corners, graph, random_box
from tests.polygons import PlainNetwork, least, random_network
from vernal.engines.check import asked_of, find_engine
from vernal.engines.composition import split
from vernal.engines.paths.engine import Paths
from vernal.engines.question_batches import check_questions
from vernal.engines.split.question_batch import decide_together, families
from vernal.evidence.knowledge import Counterexample, Proof
from vernal.evidence.result import HOLDS, VIOLATED, Verdict
from vernal.logic.formula import And, Atom, Formula, Not
from vernal.logic.question import Question
from vernal.model import build
from vernal.model.expr import Expr
from vernal.model.initial import Init, Span
from vernal.model.sorts import REAL, enum
from vernal.model.system import System, Variable
from vernal.run.budget import Budget

VARIABLES = tuple(Variable(name, REAL) for name in "xy")
INPUTS: list[Expr] = [variable.var for variable in VARIABLES]
SIGNS = {True: "<", False: "<="}


def starting(box: list[tuple[Fraction, Fraction]], where: tuple[Expr, ...] = ()) -> Init:
    return Init({name: Span(*ends) for name, ends in zip("xy", box, strict=True)}, where)


def asked(network: PlainNetwork, claim: Formula, box: list[tuple[Fraction, Fraction]]) -> Question:
    return Question(System("plain", VARIABLES, starting(box), {}), claim)


@pytest.mark.parametrize("activation", ["relu", "max"])
@pytest.mark.parametrize("widths", [(6,), (8, 8), (12, 12)], ids=str)
def test_thresholds_and_boxes_of_one_network(widths: tuple[int, ...], activation: str) -> None:
    """A batch of boxes, each with a threshold of its own beside the least value there, strict or not."""
    draw = random.Random(str(widths))
    network = random_network(draw, widths, activation)
    output = graph(network, INPUTS)
    questions, expected = [], []
    for _ in range(6):
        box = random_box(draw)
        value, _ = least(network, corners(box))
        offset, strict = draw.choice([-EPSILON, EPSILON]), draw.random() < 0.5
        claim = Atom(build.compare(SIGNS[strict], value + offset, output))
        questions.append(asked(network, claim, box))
        expected.append(HOLDS if offset < 0 else VIOLATED)
    found = check_questions(questions, split(), Budget(20))
    alone = [asked_of(find_engine("split"), question, Budget(20)) for question in questions]
    assert [result.verdict for result in found] == expected == [result.verdict for result in alone]
    assert len(families(questions, Budget())) == 1


def scores(draw: random.Random) -> Expr:
    """Three networks of the same inputs, one after the other."""
    parts = [graph(random_network(draw, (6, 6), "relu"), INPUTS) for _ in range(3)]
    return build.concat(*parts)


@pytest.mark.parametrize("seed", range(4))
def test_which_score_wins_is_asked_of_all_boxes_at_once(seed: int) -> None:
    """Questions about different winners are one family; answers are those of the engine that is asked alone."""
    draw = random.Random(seed)
    winner = build.argmax(scores(draw))
    questions = []
    for _ in range(6):
        low = [Fraction(draw.randint(-8, 8), 4) for _ in "xy"]
        box = [(end, end + Fraction(draw.randint(1, 4), 8)) for end in low]
        claim = Not(Atom(build.eq(winner, draw.randrange(3))))
        questions.append(Question(System("scores", VARIABLES, starting(box), {}), claim))
    assert len(families(questions, Budget())) == 1
    found = check_questions(questions, Paths(), Budget(20))
    alone = [asked_of(Paths(), question, Budget(20)) for question in questions]
    assert [result.verdict for result in found] == [result.verdict for result in alone]
    assert {result.verdict for result in found} == {HOLDS, VIOLATED}


def test_questions_of_different_shape_are_families_of_their_own() -> None:
    draw = random.Random(5)
    network, box = random_network(draw, (6, 6), "relu"), random_box(draw)
    value, _ = least(network, corners(box))
    output = graph(network, INPUTS)
    below, above = (Atom(build.compare("<=", value + way * EPSILON, output)) for way in (-1, 1))
    x = INPUTS[0]
    inside = build.compare("<=", x, box[0][0])
    system = System("plain", VARIABLES, starting(box), {})
    questions = [
        Question(system, below),
        Question(system, And((below, above))),
        Question(system.starting(starting(box, (inside,))), below),
        Question(system, above),
    ]
    assert [len(family) for family in families(questions, Budget())] == [2, 1, 1]
    verdicts = [result.verdict for result in check_questions(questions, split(), Budget(20))]
    assert verdicts == [HOLDS, VIOLATED, HOLDS, VIOLATED]


def hard(draw: random.Random, count: int) -> list[Question]:
    network = random_network(draw, (12, 12), "relu")
    output = graph(network, INPUTS)
    boxes = [random_box(draw) for _ in range(count)]
    values = [least(network, corners(box))[0] for box in boxes]
    claims = [Atom(build.compare("<=", value - EPSILON, output)) for value in values]
    return [asked(network, claim, box) for claim, box in zip(claims, boxes, strict=True)]


def test_a_question_that_takes_many_boxes_is_left_to_others() -> None:
    questions = hard(random.Random(2), 6)
    all_of_them = decide_together(questions, Budget(20), most=10_000)
    few = decide_together(questions, Budget(20), most=20)
    assert sorted(all_of_them) == list(range(6))
    assert set(few) < set(all_of_them)
    assert all(isinstance(known.known, Proof) for known in all_of_them.values())


def test_the_first_that_is_refuted_ends_the_work() -> None:
    draw = random.Random(4)
    network = random_network(draw, (8, 8), "relu")
    output = graph(network, INPUTS)
    questions = []
    for _ in range(8):
        box = random_box(draw)
        value, _ = least(network, corners(box))
        questions.append(asked(network, Atom(build.compare("<", value + 1, output)), box))
    found = decide_together(questions, Budget(20), first=True)
    assert any(isinstance(known.known, Counterexample) for known in found.values())


def test_what_is_decided_before_the_time_is_up_stays_decided() -> None:
    """A clock that jumps: whatever is known by then is right, and the rest is not said to be."""
    questions = hard(random.Random(3), 8)
    counts = []
    for ticks in (*range(1, 300, 15), 100_000):
        calls = [0]

        def clock(calls: list[int] = calls, ticks: int = ticks) -> float:
            calls[0] += 1
            return 0.0 if calls[0] <= ticks else 100.0

        found = decide_together(questions, Budget(50, started=0.0, clock=clock))
        assert all(isinstance(known.known, Proof) for known in found.values())
        counts.append(len(found))
    assert (counts[0], counts[-1]) == (0, len(questions))


@pytest.mark.parametrize("seed", range(3))
def test_margins_are_those_of_each_question(seed: int) -> None:
    draw = random.Random(seed)
    network = random_network(draw, (8, 8), "relu")
    output = graph(network, INPUTS)
    boxes = [random_box(draw) for _ in range(6)]
    values = [least(network, corners(box))[0] for box in boxes]
    claims = [Atom(build.compare("<=", value - 1 - number, output)) for number, value in enumerate(values)]
    questions = [asked(network, claim, box) for claim, box in zip(claims, boxes, strict=True)]
    for number, (known, _) in decide_together(questions, Budget(20)).items():
        assert isinstance(known, Proof)
        assert known.margin is not None
        assert np.isfinite(known.margin)
        assert known.margin <= 1 + number + 1e-9


LABELS = enum("HIGH", "LOW")
Y = INPUTS[1]


def high(rival: Fraction) -> Expr:
    """Two scores of y: one that is 1/2 at least, and a constant."""
    return build.concat(build.absolute(Y) + build.absolute(Y - Fraction(1, 2)), build.const(rival))


@pytest.mark.parametrize(("rival", "expected"), [(Fraction(2, 5), HOLDS), (Fraction(3, 5), VIOLATED)])
def test_a_winner_with_a_label_has_rows(rival: Fraction, expected: Verdict) -> None:
    """What is asked of a label is what is asked of its index."""
    labelled, plain = build.argmax(high(rival), LABELS), build.argmax(high(rival))
    system = System("labels", VARIABLES, starting([(Fraction(0), Fraction(1)), (Fraction(-1), Fraction(1))]), {})
    claims = [Atom(build.eq(labelled, build.label(LABELS, "HIGH"))), Atom(build.eq(plain, 0))]
    questions = [Question(system, claim) for claim in (*claims, *map(Not, claims))]
    (family,) = families(questions, Budget())
    assert all(clauses.differences and not clauses.fixed for _, _, clauses in family)
    verdicts = [result.verdict for result in check_questions(questions, split(), Budget(20))]
    assert verdicts == [expected, expected, VIOLATED, VIOLATED]


def test_conditions_without_slopes_are_cut_across_every_input() -> None:
    """Who wins depends on y alone, which is not the first input, and the condition has no rows that would say so."""
    other = build.label(LABELS, "HIGH")
    chosen = build.if_(
        build.compare("<", INPUTS[0], build.const(100)), build.argmax(high(Fraction(2, 5)), LABELS), other
    )
    claim = Atom(build.eq(chosen, other))
    boxes = [[(Fraction(n), Fraction(n + 1)), (Fraction(-1), Fraction(1))] for n in range(24)]
    questions = [Question(System("chosen", VARIABLES, starting(box), {}), claim) for box in boxes]
    ((_, _, clauses), *_) = families(questions, Budget())[0]
    assert clauses.fixed
    assert not clauses.differences
    found = decide_together(questions, Budget(20))
    assert sorted(found) == list(range(24))
    assert all(isinstance(known.known, Proof) for known in found.values())
