"""Network queries: read as written, refused by name, and answered only with points that everybody accepts."""

from __future__ import annotations

import gzip
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.formats import samples
from tests.portion import some
from tests.work import calls_of
from vernal.engines.check import ask, asked_of
from vernal.errors import FormatError, InputError, ParseError, Stopped
from vernal.evidence.knowledge import Known, Open
from vernal.evidence.result import Result
from vernal.formats.vnnlib.query import Query
from vernal.formats.vnnlib.reader import parse_query, read_query
from vernal.logic.formula import Formula
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.queries.answer import QueryStatus
from vernal.queries.model import NetworkModel, load_model
from vernal.queries.question import cases
from vernal.queries.verify import verify
from vernal.queries.witness_points import decimal, inside
from vernal.run.budget import Budget

Function = Callable[[Sequence[Fraction]], list[Fraction]]

ONE = "(declare-const X_0 Real)\n(declare-const Y_0 Real)\n"
TWO = """
(vnnlib-version <2.0>)
(declare-network N (declare-input X Real [1,2]) (declare-output Y Real [1,1]))
"""
UNIT = "(assert (>= X_0 0)) (assert (<= X_0 1))\n"


def save_layers(folder: Path, *layers: tuple[list[list[float]], list[float]]) -> Path:
    """A network of dense layers with ReLU between them."""
    nodes = []
    tensors: dict[str, samples.Array] = {}
    for index, (weight, bias) in enumerate(layers):
        tensors |= {f"W{index}": np.array(weight, np.float32), f"b{index}": np.array(bias, np.float32)}
        target = "y" if index == len(layers) - 1 else f"h{index}"
        source = "x" if index == 0 else f"r{index - 1}"
        nodes.append(helper.make_node("Gemm", [source, f"W{index}", f"b{index}"], [target], transB=1))
        if target != "y":
            nodes.append(helper.make_node("Relu", [target], [f"r{index}"]))
    return samples.save(samples.model(nodes, tensors, shape=("N", len(layers[0][0][0]))), folder)


@pytest.fixture
def tent(tmp_path: Path) -> Path:
    """y = 1 - |x|, of one input."""
    return save_layers(tmp_path, ([[1], [-1]], [0, 0]), ([[-1, -1]], [1]))


def answer(text: str, file: Path) -> tuple[QueryStatus, tuple[Fraction, ...] | None]:
    query = parse_query(text)
    found = verify(query, load_model(query, file), Budget(30))
    return found.status, found.values


# Reading --------------------------------------------------------------------------------------------------------------


def test_both_versions_say_the_same() -> None:
    one = parse_query(
        "(declare-const X_0 Real) (declare-const X_1 Real) (declare-const Y_0 Real)"
        "(assert (and (<= (* 2 X_0) 1.5) (or (> Y_0 (+ X_1 1e-1)) (= X_1 (- 3)))))"
    )
    two = parse_query(f"{TWO} (assert (and (<= (* 2 X[0,0]) 1.5) (or (> Y[0, 0] (+ X [0,1] 0.1)) (== X[0,1] -3))))")
    assert one.assertions == two.assertions
    assert (one.version, one.names) == ("1", ("X_0", "X_1", "Y_0"))
    assert (two.version, two.network, two.names) == ("2.0", "N", ("X[0,0]", "X[0,1]", "Y[0,0]"))


def test_terms_are_what_arithmetic_makes_of_them() -> None:
    query = parse_query(f"{ONE}(assert (= (- (* 2 X_0 3) (+ X_0 1) (- Y_0) 4) (* 0 Y_0)))")
    (equation,) = query.assertions
    assert query.satisfied((Fraction(1), Fraction(0)))  # 6x - x - 1 + y - 4 = 0
    assert not query.satisfied((Fraction(1), Fraction(1, 10**30)))
    assert equation == parse_query(f"{ONE}(assert (= (+ (* 5 X_0) Y_0) 5))").assertions[0]


def test_decimals_are_exact_and_order_of_declaration_does_not_matter() -> None:
    query = parse_query(
        "; a comment\n(declare-fun Y_0 () Real)(declare-fun X_0 () Real)(assert (< X_0 0.1))(check-sat)"
    )
    assert query.satisfied((Fraction(1, 10) - Fraction(1, 10**40), Fraction(0)))
    assert not query.satisfied((Fraction(1, 10), Fraction(0)))


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("", None, "empty"),
        ("(assert", "1:1", "no input before it asserts"),
        (f"{ONE}(assert", "3:1", "never closed"),
        (f"{ONE}(assert (<= X_0", "3:9", "never closed"),
        (f"{ONE}(assert (<= X_0 1)))", "3:20", "command in brackets"),
        (f"{ONE}(assert )", "3:1", "takes one constraint"),
        (f"{ONE}(assert (<= X_0 1) (<= X_0 2))", "3:1", "takes one constraint"),
        (f"{ONE}(assert ((<= X_0 1)))", "3:9", "operator is expected"),
        (f"{ONE}(assert (<= X_0 1]))", "3:18", "without '['"),
        (f'{ONE}(assert (<= X_0 "1"))', "3:17", "no place"),
        ("hello", "1:1", "command in brackets"),
        (f'{ONE}(assert "x', "3:9", "no end"),
        (ONE, "1:1", "asserts nothing"),
        (f"{ONE}(assert (<= X_1 0))", "3:13", "did you mean"),
        (f"{ONE}(assert (<= X_0 1e9999))", "3:17", "too large"),
        (f"{ONE}(assert (<= (* {'X_0 ' * 17}) 1))", "3:13", "too high a degree"),
        (f"{ONE}(assert (<= (* {'1e400 ' * 20}) X_0))", "3:13", "beyond all bounds"),
        (f"{ONE}(assert (<= (/ 1 X_0) 1))", "3:13", "divides by numbers"),
        (f"{ONE}(assert (<= (/ X_0 0) 1))", "3:13", "other than 0"),
        (f"{ONE}(assert (<= X_0 1))(declare-const X_1 Real)", "3:20", "before the first assertion"),
        (f"{ONE}(assert (<= X_0 1))(check-sat)(assert (<= X_0 1))", "3:31", "nothing may follow"),
        (f"{ONE}(assert (not (<= X_0 1)))", "3:9", "turn the comparison round"),
        (f"{ONE}(assert (<= X_0 1 2))", "3:9", "two terms, not 3"),
        (f"{ONE}(assert (<= X_0 (<= 1 2)))", "3:9", "takes numbers"),
        (f"{ONE}(assert (and X_0))", "3:9", "joins constraints"),
        (f"{ONE}(assert (+ X_0 1))", "3:9", "this is a number"),
        (f"{ONE}(assert (sin X_0))", "3:9", "'sin' is not supported"),
        (f"{ONE}(push 1)", "3:1", "'push' is not supported"),
        (f"{ONE}(assert (<= X_0[0] 1))", "3:13", "neither a number nor declared"),
        (f"{ONE}(assert {'(and ' * 600}(<= X_0 1){')' * 600})", "3:2504", "nested deeper"),
        ("(declare-const Z Real)", "1:16", "cannot be declared"),
        ("(declare-const X_0 Int)", "1:20", "not supported; variables are Real"),
        ("(declare-const X_0 Real)(declare-const X_0 Real)", "1:40", "twice"),
        ("(declare-const X_1 Real)(declare-const Y_0 Real)(assert (<= X_1 1))", "1:1", "X_0 is not"),
        ("(declare-const X_0 Real)(assert (<= X_0 1))", "1:1", "no output"),
        (f"{ONE}{TWO}", "4:1", "comes once, first"),
        (f"{TWO}(declare-const X_0 Real)", "4:1", "but the query is VNN-LIB 2.0"),
        (f"{TWO}(assert (<= X[0] 1))", "4:13", "no element of X, which has the shape [1,2]"),
        (f"{TWO}(assert (<= X[0,2] 1))", "4:13", "no element of X"),
        (f"{TWO}(assert (<= X[0,a] 1))", "4:17", "whole numbers"),
        (f"{TWO}(assert (<= [0] 1))", "4:13", "follow the name"),
        (f"{TWO}(assert (<= X[0,,1] 1))", "4:17", "whole numbers"),
        (f"{TWO}(assert (<= X[0,1 1))", "4:19", "whole numbers"),
        (f"{TWO}{TWO.split('>)')[1]}", "5:1", "second network"),
        ("(vnnlib-version <3.0>)", "1:17", "'<3.0>' is not supported"),
        ("(declare-network N (declare-input X float32 [1]))", "1:37", "'float32' is not supported"),
        ('(declare-network N (declare-hidden H Real [1] "h"))', "1:20", "hidden nodes (declare-hidden) are not"),
        ("(declare-network N (equal-to M))", "1:20", "networks equal to others (equal-to) are not"),
        ("(declare-network N (declare-input X Real [1]) (declare-input Z Real [1]))", "1:47", "second input"),
        ("(declare-network N (declare-input X Real [1]))", "1:1", "no output"),
        ("(declare-network N (declare-input X Real))", "1:20", "NAME Real [1,5]"),
        ("(declare-network (declare-input X Real [1]))", "1:18", "name of a network"),
        ("(declare-network)", "1:1", "name of a network"),
    ],
)
def test_what_is_wrong_is_said_at_its_place(text: str, place: str | None, words: str) -> None:
    with pytest.raises(ParseError) as error:
        parse_query(text, "q.vnnlib")
    assert words in str(error.value)
    assert place is None or str(error.value).startswith(f"q.vnnlib:{place}: ")


def test_products_and_quotients_are_polynomials() -> None:
    query = parse_query(f"{ONE}(assert (= (* (+ X_0 1) (- X_0 1) Y_0) (/ (* 3 X_0 X_0) 2 -1)))")
    point = (Fraction(2), Fraction(-2))  # 3 * y against -6
    assert query.satisfied(point)
    assert not query.satisfied((Fraction(2), Fraction(2)))
    assert parse_query(f"{ONE}(assert (< (- (* X_0 Y_0) (* Y_0 X_0)) 1))").assertions == (
        parse_query(f"{ONE}(assert (< 0 1))").assertions
    )


@pytest.mark.parametrize("text", ["0.1", "-.5", "+3.", "1e-3", "-2.50E+2", "7e3", "0", "-0.0", "00.10"])
def test_numbers_are_the_rationals_they_write(text: str) -> None:
    query = parse_query(f"{ONE}(assert (= X_0 {text})) (assert (= (+ X_0) {text}))")
    assert query.satisfied((Fraction(text), Fraction(0)))
    assert query.assertions[0] == query.assertions[1]


def test_short_and_long_ways_of_reading_agree() -> None:
    """A comparison of two words is found by one expression; brackets and comments around make it a general one."""
    short = parse_query(f"{ONE}(assert (>= X_0 0.5))(assert (or (< Y_0 1) (!= X_0 Y_0)))")
    long = parse_query(
        f"{ONE}(assert ; why\n ( ; not\n >= (+ X_0 0) (* 1 0.5)))(assert (or (< (+ Y_0) 1)(!= X_0 (- Y_0 0))))"
    )
    assert short.assertions == long.assertions
    spaced = parse_query(f"{TWO}(assert (<= X [0, 1] 3)) (assert (<= X[00,1] 3))")
    assert spaced.assertions[0] == spaced.assertions[1] == parse_query(f"{TWO}(assert (<= X[0,1] 3))").assertions[0]


def test_reading_looks_at_the_clock() -> None:
    looks = itertools.count()

    def late() -> None:
        if next(looks) > 20:
            raise Stopped("timeout")

    bounds = "(assert (<= X_0 1))" * 30
    with pytest.raises(Stopped):
        parse_query(f"{ONE}{bounds}", tick=late)
    looks = itertools.count()
    with pytest.raises(Stopped):  # one assertion of thousands of pieces
        parse_query(f"{ONE}(assert (or {'(<= X_0 (+ 1 2))' * 3000}))", tick=late)
    query = parse_query(f"{ONE}{bounds}")
    looks = itertools.count()
    with pytest.raises(Stopped):
        cases(query, late)


def test_work_grows_with_the_length_of_the_text() -> None:
    """A query and one twice as long; quadratic work would be four times as much."""

    def work(inputs: int) -> int:
        lines = [f"(declare-const X_{i} Real)" for i in range(inputs)]
        lines += [f"(assert (<= X_{i} 0.{i}1))\n(assert (>= X_{i} -0.{i}))" for i in range(inputs)]
        text = "\n".join(["(declare-const Y_0 Real)", *lines, "(assert (<= Y_0 0))"])
        return calls_of(lambda: cases(parse_query(text)))

    assert work(600) < 2.2 * work(300)


def test_files_may_be_compressed_but_not_damaged(tmp_path: Path) -> None:
    text = f"{ONE}{UNIT}(assert (<= Y_0 0))"
    file = tmp_path / "q.vnnlib.gz"
    file.write_bytes(gzip.compress(text.encode()))
    assert read_query(file).assertions == parse_query(text).assertions
    file.write_bytes(gzip.compress(text.encode())[:-12])
    with pytest.raises(FormatError, match="damaged gzip"):
        read_query(file)
    file.write_bytes(b"\xff(assert)")
    with pytest.raises(FormatError, match="not UTF-8"):
        read_query(file)


# Questions ------------------------------------------------------------------------------------------------------------


def test_alternatives_among_inputs_are_split_and_those_among_outputs_are_not() -> None:
    query = parse_query(
        f"{ONE}(assert (or (and (>= X_0 0) (<= X_0 1) (>= Y_0 2)) (and (>= X_0 3) (< X_0 4))"
        "  (and (>= X_0 5) (<= X_0 4))))"
        "(assert (or (<= Y_0 1) (>= Y_0 X_0)))"
    )
    first, second = cases(query)  # the third box is empty
    assert (first.box, len(first.where), len(first.claims)) == (((Fraction(0), Fraction(1)),), 0, 2)
    assert (second.box, len(second.where), len(second.claims)) == (((Fraction(3), Fraction(4)),), 1, 1)


def test_inputs_without_bounds_are_refused() -> None:
    with pytest.raises(InputError, match="X_0 has no lower bound; every input needs"):
        cases(parse_query(f"{ONE}(assert (<= X_0 1)) (assert (<= (+ X_0 Y_0) 1))"))


def test_too_many_alternatives_are_refused() -> None:
    choice = "(assert (or (<= X_0 1) (<= X_0 2)))"
    with pytest.raises(InputError, match="too many combinations"):
        cases(parse_query(f"{ONE}{UNIT}{choice * 40}"))


# Answers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ("(> Y_0 1)", QueryStatus.UNSAT),
        ("(>= Y_0 1)", QueryStatus.SAT),
        ("(= Y_0 1)", QueryStatus.SAT),
        ("(< Y_0 0)", QueryStatus.UNSAT),
        ("(<= Y_0 0)", QueryStatus.SAT),
        ("(!= (+ X_0 Y_0) 1)", QueryStatus.UNSAT),
        ("(< X_0 0)", QueryStatus.UNSAT),
        ("(<= X_0 0)", QueryStatus.SAT),
        ("(and (> X_0 0.25) (< X_0 0.5))", QueryStatus.SAT),
        ("(or (> Y_0 1) (< Y_0 0) (< 1 0))", QueryStatus.UNSAT),
        ("(or (> Y_0 1) (< 0 1))", QueryStatus.SAT),
        ("(or (and (< X_0 0.5) (< Y_0 0.5)) (and (> X_0 0.5) (> Y_0 0.5)))", QueryStatus.UNSAT),
    ],
)
def test_strict_and_not_strict(constraint: str, expected: QueryStatus, tent: Path) -> None:
    text = f"{ONE}{UNIT}(assert {constraint})"
    status, values = answer(text, tent)
    assert status is expected
    if values is not None:
        assert parse_query(text).satisfied(values)


def random_network(draw: random.Random, folder: Path, sizes: Sequence[int]) -> tuple[Path, Function]:
    """Small whole weights: floats and rationals agree on them."""
    layers = [
        ([[draw.randint(-3, 3) for _ in range(a)] for _ in range(b)], [draw.randint(-2, 2) for _ in range(b)])
        for a, b in itertools.pairwise(sizes)
    ]

    def compute(point: Sequence[Fraction]) -> list[Fraction]:
        values = list(point)
        for number, (weight, bias) in enumerate(layers):
            sums = [
                sum((w * v for w, v in zip(row, values, strict=True)), Fraction(b))
                for row, b in zip(weight, bias, strict=True)
            ]
            values = sums if number == len(layers) - 1 else [max(v, Fraction(0)) for v in sums]
        return values

    return save_layers(
        folder, *(([list(map(float, row)) for row in w], list(map(float, b))) for w, b in layers)
    ), compute


def random_query(draw: random.Random, inputs: int, outputs: int, products: bool = False) -> Query:
    names = [f"X_{i}" for i in range(inputs)] + [f"Y_{i}" for i in range(outputs)]

    def term() -> str:
        if products and draw.random() < 0.6:
            return f"(/ (* {draw.choice(names)} {draw.randint(-2, 2)} {draw.choice(names)}) {draw.choice((2, -4))})"
        return f"({draw.choice('+-')} (* {draw.randint(-2, 2)} {draw.choice(names)}) {draw.choice(names)})"

    def constraint(depth: int) -> str:
        if depth == 0 or draw.random() < 0.4:
            return f"({draw.choice(['<', '<=', '>', '>=', '=', '!='])} {term()} {draw.randint(-6, 6)})"
        return f"({draw.choice(['and', 'or'])} {constraint(depth - 1)} {constraint(depth - 1)})"

    ends = [sorted((draw.randint(-2, 1), draw.randint(-1, 3))) for _ in range(inputs)]
    lines = [f"(declare-const {name} Real)" for name in names]
    lines += [f"(assert (and (<= {low} X_{i}) (<= X_{i} {high})))" for i, (low, high) in enumerate(ends)]
    return parse_query("\n".join([*lines, f"(assert {constraint(2)})"]))


@pytest.mark.parametrize(("products", "least"), [(False, 0.85), (True, 0.6)])
def test_no_answer_is_wrong_on_random_queries(products: bool, least: float, tmp_path: Path) -> None:
    """`sat` satisfies the query as written, `unsat` has no solution on a grid; most queries are decided."""
    draw = random.Random(5)
    grid = [Fraction(i, 4) for i in range(-8, 13)]
    decided = 0
    for _ in range(some(40)):
        inputs, outputs = draw.randint(1, 2), draw.randint(1, 2)
        file, compute = random_network(draw, tmp_path, (inputs, 3, outputs))
        query = random_query(draw, inputs, outputs, products)
        found = verify(query, load_model(query, file), Budget(4 if products else 10))
        if found.values is not None:
            point = found.values[:inputs]
            assert query.satisfied(found.values)
            assert query.satisfied((*point, *compute(point)))
        if found.status is QueryStatus.UNSAT:
            assert not any(query.satisfied((*p, *compute(p))) for p in itertools.product(grid, repeat=inputs))
        decided += found.status in (QueryStatus.SAT, QueryStatus.UNSAT)
    assert decided >= least * some(40)


def test_the_network_has_to_fit(tent: Path) -> None:
    with pytest.raises(InputError, match="has 1 inputs, but the query declares 2"):
        load_model(parse_query(f"{TWO}(assert (<= X[0,0] 1))"), tent)
    named = '(declare-network N (declare-input X Real [1] "in") (declare-output Y Real [1] "y")) (assert (<= X[0] 1))'
    with pytest.raises(InputError, match="no node 'in' for X"):
        load_model(parse_query(named), tent)


def test_shapes_have_to_fit(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    file = samples.save(samples.model(nodes, shape=(1, 2, 3), rank=3), tmp_path)
    query = "(declare-network N (declare-input X Real [{}]) (declare-output Y Real [6])) (assert (<= X[0,0] 1))"
    load_model(parse_query(query.format("2,3")), file)
    with pytest.raises(InputError, match=r"X has the shape \[3, 2\], but the network's is \[1, 2, 3\]"):
        load_model(parse_query(query.format("3,2")), file)


# Two judges -----------------------------------------------------------------------------------------------------------


def judged(tent: Path, accepts: Callable[[Fraction], bool]) -> tuple[Query, NetworkModel]:
    """The tent, with a float network that is right where `accepts` and otherwise far off."""
    query = parse_query(f"{ONE}{UNIT}(assert (>= Y_0 0.5))")

    def runtime(point: Sequence[Fraction]) -> list[Fraction] | None:
        return [1 - abs(point[0]) if accepts(point[0]) else Fraction(-9)]

    return query, replace(load_model(query, tent), runtime=runtime)


def test_a_point_is_found_that_satisfies_both(tent: Path) -> None:
    query, model = judged(tent, lambda x: x.denominator != 1 and x != Fraction(1, 2))
    found = verify(query, model, Budget(10))
    assert found.status is QueryStatus.SAT
    assert found.values is not None
    assert 0 < found.values[0] < Fraction(1, 2)


def test_disagreement_is_unknown_with_the_reason(tent: Path) -> None:
    query, model = judged(tent, lambda x: False)
    found = verify(query, model, Budget(10))
    assert (found.status, found.values) == (QueryStatus.UNKNOWN, None)
    assert "over the reals" in (found.reason or "")


def test_a_float_network_alone_convinces_nobody(tmp_path: Path) -> None:
    """In float32, 1 + x is 1 for a tiny x; over the reals it is more, and the query asks for less or equal."""
    file = save_layers(tmp_path, ([[1.0]], [1.0]))
    status, _ = answer(f"{ONE}(assert (= X_0 1e-12)) (assert (<= Y_0 1))", file)
    assert status is QueryStatus.UNSAT
    query = parse_query(f"{ONE}(assert (= X_0 1e-12)) (assert (> Y_0 1))")
    found = verify(query, load_model(query, file), Budget(10))
    assert found.status is QueryStatus.UNKNOWN


def test_without_onnxruntime_it_is_said(tent: Path) -> None:
    query = parse_query(f"{ONE}{UNIT}(assert (= Y_0 1))")
    model = replace(load_model(query, tent), runtime=None, why_none="not here")
    found = verify(query, model, Budget(10))
    assert (found.status, found.values) == (QueryStatus.SAT, (Fraction(0), Fraction(1)))
    assert found.notes == ("not replayed in floating point: not here",)


def test_time_is_up(tent: Path) -> None:
    query = parse_query(f"{ONE}{UNIT}(assert (> Y_0 1))")
    late = Budget(1, started=0.0, clock=lambda: 5.0)
    found = verify(query, load_model(query, tent), late)
    assert (found.status, found.reason) == (QueryStatus.TIMED_OUT, "timeout after 1 s")


@pytest.mark.parametrize(("alternatives", "expected"), [(1, QueryStatus.UNSAT), (2, QueryStatus.TIMED_OUT)])
def test_a_proof_that_takes_all_the_time_is_still_a_proof(
    alternatives: int, expected: QueryStatus, tent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def slow(*arguments: Any) -> Result:
        result = ask(*arguments)
        now[0] = 5.0
        return result

    monkeypatch.setattr("vernal.queries.witness_points.ask", slow)
    choice = " ".join(["(<= X_0 0.5)", "(>= X_0 0.5)"][:alternatives])
    query = parse_query(f"{ONE}{UNIT}(assert (or {choice})) (assert (> Y_0 2))")
    budget = Budget(1, started=0.0, clock=lambda: now[0])
    assert verify(query, load_model(query, tent), budget, "paths").status is expected


@pytest.mark.parametrize("threshold", ["0.96", "1.04"])
def test_alternatives_are_asked_together(threshold: str, tent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty boxes next to each other: the answer is that of the whole, and no box is asked by itself."""
    monkeypatch.setattr("vernal.queries.witness_points.ask", lambda *_: pytest.fail("asked one by one"))
    boxes = " ".join(f"(and (>= X_0 {k / 40}) (<= X_0 {(k + 1) / 40}))" for k in range(40))
    query = parse_query(f"{ONE}{UNIT}(assert (or {boxes})) (assert (> Y_0 {threshold}))")
    found = verify(query, load_model(query, tent), Budget(20))
    assert found.status is (QueryStatus.SAT if threshold < "1" else QueryStatus.UNSAT)


def test_what_is_open_has_time_of_its_own(tent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the first alternative takes all of its time, the second has as much, and the first is asked again."""
    monkeypatch.setattr("vernal.queries.verify.decide_together", lambda *_, **__: {})
    now: list[float] = [0.0]
    seen: list[tuple[Fraction, float]] = []

    def slow(task: Task, formula: Formula, name: None, engine: str, budget: Budget) -> Result:
        seen.append((task.system.init.starts["X_0"].ends[0], budget.left))
        if seen[-1][0] == 0:
            now[0] += budget.left
            return asked_of(Never(), Question(task.system, formula), budget)
        return ask(task, formula, name, engine, replace(budget, clock=lambda: 0.0))

    monkeypatch.setattr("vernal.queries.witness_points.ask", slow)
    query = parse_query(f"{ONE}{UNIT}(assert (or (<= X_0 0.5) (>= X_0 0.5))) (assert (> Y_0 2))")
    found = verify(query, load_model(query, tent), Budget(10, started=0.0, clock=lambda: now[0]))
    assert [(start, round(left, 3)) for start, left in seen] == [(0, 5), (Fraction(1, 2), 2.5), (0, 5)]
    assert found.status is QueryStatus.TIMED_OUT


class Never:
    """An engine that knows nothing."""

    name = "never"

    def takes(self, question: Question) -> str | None:
        return None

    def attempt(self, question: Question, budget: Budget) -> Known:
        return Open(engine=self.name, reason="not today", notes=("d >= 9 is proven, d >= 10 was asked",))


def test_what_was_proven_is_said(tent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(task: Task, formula: Formula, name: None, engine: str, budget: Budget) -> Result:
        return asked_of(Never(), Question(task.system, formula), budget)

    monkeypatch.setattr("vernal.queries.witness_points.ask", nothing)
    query = parse_query(f"{ONE}{UNIT}(assert (> Y_0 2))")
    found = verify(query, load_model(query, tent), Budget(10))
    assert (found.status, found.reason) == (QueryStatus.UNKNOWN, "not today")
    assert found.notes == ("d >= 9 is proven, d >= 10 was asked",)


def test_an_empty_box_is_unsat_and_said_to_be_vacuous(tent: Path) -> None:
    query = parse_query(f"{ONE}(assert (>= X_0 1)) (assert (<= X_0 0)) (assert (<= Y_0 9))")
    found = verify(query, load_model(query, tent), Budget(10))
    assert found.status is QueryStatus.UNSAT
    assert found.notes[0].startswith("vacuous")


@pytest.mark.parametrize(
    ("value", "low", "high", "expected"),
    [
        ("1/3", "0", "1", "0.33333334"),
        ("1/3", "0", "1/3", "0.3333333"),
        ("0.1", "0.1", "0.1", "0.1"),
        ("0.12345678901", "0.12345678901", "0.12345678901", "0.12345678901"),
        ("1e50", "0", "1e60", "1e50"),
    ],
)
def test_floats_are_chosen_inside_the_bounds(value: str, low: str, high: str, expected: str) -> None:
    found = inside(Fraction(value), Fraction(low), Fraction(high), np.float32)
    assert found == Fraction(expected)
    assert Fraction(decimal(found)) == found


def test_numbers_beyond_all_floats_are_printed() -> None:
    """Weights of 1e308 make outputs that no float holds."""
    assert Fraction(decimal(Fraction(-(10**400)))) == -(10**400)
    assert Fraction(decimal(Fraction(10**400, 3))) == round(Fraction(10**400, 3))
    assert Fraction(decimal(Fraction(10**5000))) == 10**5000
    assert decimal(Fraction(10**5000, -3)).startswith("-3.333333333333333")


def test_long_decimals_are_printed_to_the_end() -> None:
    value = Fraction(-1, 2**70)
    assert Fraction(decimal(value)) == value
    assert Fraction(decimal(Fraction("0.12345678901234567890123"))) == Fraction("0.12345678901234567890123")
    assert decimal(Fraction(1, 3)) == "0.3333333333333333"


@pytest.mark.data
def test_can_a_network_give_an_advisory_somewhere_in_a_box(data: Path) -> None:
    """A grid in floating point finds no advisory that `unsat` excludes, and every `sat` is replayed."""
    draw = random.Random(3)
    names = [*(f"X_{i}" for i in range(3)), *(f"Y_{i}" for i in range(9))]
    declared = "".join(f"(declare-const {name} Real)" for name in names)
    decided = 0
    for _ in range(12):
        file, advisory = data / "vcas" / f"vcas_{draw.randint(1, 9)}.onnx", draw.randrange(9)
        low = np.array([draw.randint(-50, 50) / 100 for _ in range(3)])
        high = low + np.array([0.02, 0.05, 0.05])
        box = "".join(
            f"(assert (and (>= X_{i} {a!r}) (<= X_{i} {b!r})))"
            for i, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True))
        )
        wins = " ".join(f"(>= Y_{advisory} Y_{j})" for j in range(9) if j != advisory)
        status, _ = answer(f"{declared}{box}(assert (and {wins}))", file)
        decided += status in (QueryStatus.SAT, QueryStatus.UNSAT)
        grid = low + (high - low) * np.array(list(itertools.product((0.1, 0.5, 0.9), repeat=3)))
        (scores,) = samples.session(file).run(None, {"input": grid.astype(np.float32)})
        assert status is not QueryStatus.UNSAT or advisory not in np.asarray(scores).argmax(axis=1)
    assert decided >= 10
