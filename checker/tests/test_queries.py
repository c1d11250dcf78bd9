"""Certificates of network queries: which trees close which queries, and that every part of the bounds matters."""

from __future__ import annotations

import hashlib
import json
import random
from fractions import Fraction
from itertools import pairwise
from math import tanh
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vernal_check import backward, clock, queries
from vernal_check.backward import Backward, Layout, Parts
from vernal_check.check import check
from vernal_check.errors import Rejected, Unreadable
from vernal_check.networks import at_point
from vernal_check.onnx import Instruction, Network
from vernal_check.vnnlib import Query

# |x| = relu(x) + relu(-x), and |x| - |y|
ABSOLUTE = [([[1], [-1]], [0, 0]), ([[1, 1]], [0])]
DIFFERENCE = [([[1, 0], [-1, 0], [0, 1], [0, -1]], [0] * 4), ([[1, 1, -1, -1]], [0])]
BOX = "(assert (>= X_0 -1)) (assert (<= X_0 1))"


def nnet(layers: list[tuple[Any, Any]]) -> str:
    """A file in the text format, without means and ranges."""
    sizes = [len(layers[0][0][0]), *(len(shift) for _, shift in layers)]
    lines = [f"{len(layers)},{sizes[0]},{sizes[-1]},{max(sizes)},", ",".join(map(str, sizes)), "0,"]
    lines += ["0," * sizes[0]] * 2 + ["0," * (sizes[0] + 1)] * 2
    for weights, shift in layers:
        lines += [",".join(map(str, row)) for row in weights] + [str(b) for b in shift]
    return "\n".join(lines) + "\n"


def declared(inputs: int, outputs: int = 1) -> str:
    names = [*(f"X_{i}" for i in range(inputs)), *(f"Y_{i}" for i in range(outputs))]
    return " ".join(f"(declare-const {name} Real)" for name in names)


def said(folder: Path, layers: list[tuple[Any, Any]], query: str, lines: list[Any], **header: Any) -> str:
    """What the checker says of the trees of a query."""
    network, file = folder / "n.nnet", folder / "q.vnnlib"
    network.write_text(nnet(layers))
    file.write_text(f"{declared(len(layers[0][0][0]), len(layers[-1][1]))}\n{query}\n")
    named = [{"file": one.name, "sha256": hashlib.sha256(one.read_bytes()).hexdigest()} for one in (file, network)]
    head = {"certificate": 1, "semantics": "query-1", "task": {**named[0], "networks": named[1:]}, "formula": "unsat"}
    head |= {"property": None, "verdict": "unsat", "variables": [], **header}
    certificate = folder / "q.certificate"
    certificate.write_text("".join(f"{json.dumps(line)}\n" for line in [head, *lines]))
    clock.limit(20)
    try:
        return str(check(certificate)).split()[0]
    except Rejected:
        return "rejected"
    except Unreadable as why:
        return f"unread: {why}"
    finally:
        clock.limit(None)


def of(*items: Any, alternative: int = 0) -> dict[str, Any]:
    return {"alternative": alternative, "tree": list(items)}


@pytest.mark.parametrize(
    ("asked", "lines", "expected"),
    [
        ("(assert (>= Y_0 1.001))", [of(None)], "accepted"),
        ("(assert (>= Y_0 1.001))", [], "accepted"),  # the checker cuts by itself
        ("(assert (>= Y_0 1.001))", [of(0, None, None)], "accepted"),
        ("(assert (>= Y_0 1.001))", [of(0), of(None, None)], "accepted"),  # joined by the checker
        ("(assert (>= Y_0 1.001))", [of(-1, ["f0", 1], ["", 0.5])], "accepted"),
        ("(assert (<= Y_0 -0.001))", [of(-1, None, -2, None, ["f", 3, 5])], "accepted"),
        ("(assert (>= Y_0 0))", [of(None)], "rejected"),
        ("(assert (>= Y_0 0.3)) (assert (<= Y_0 0.2))", [of(0, None, None)], "accepted"),
        ("(assert (or (>= Y_0 1.5) (<= Y_0 -0.5)))", [of(None)], "accepted"),
        ("(assert (or (>= Y_0 1.5) (>= Y_0 0.0)))", [of(None)], "rejected"),
        ("(assert (or (and (>= X_0 0.5) (<= Y_0 0.4)) (and (<= X_0 0.1) (>= Y_0 1.2))))", [], "accepted"),
        ("(assert (>= Y_0 (* 2 (+ X_0 1.6))))", [], "accepted"),
        ("(assert (>= Y_0 (* 2 (- X_0 0.1))))", [], "rejected"),
        ("(assert (> X_0 2))", [], "accepted"),  # vacuous
    ],
)
def test_what_is_accepted_of_an_absolute_value(asked: str, lines: list[Any], expected: str, tmp_path: Path) -> None:
    assert said(tmp_path, ABSOLUTE, f"{BOX} {asked}", lines) == expected


@pytest.mark.parametrize(
    "asked",
    ["(assert (>= Y_0 1))", "(assert (<= Y_0 0))", "(assert (= Y_0 0.7))", "(assert (and (>= Y_0 1) (<= X_0 -1)))"],
)
def test_solutions_on_the_border_are_not_denied(asked: str, tmp_path: Path) -> None:
    assert not said(tmp_path, ABSOLUTE, f"{BOX} {asked}", [of(None)]).startswith("accepted")


@pytest.mark.parametrize(
    "lines",
    [
        [of(None, None)],
        [of(1, None, None)],
        [of(-3, None, None)],
        [of("f")],
        [of([1])],
        [of(0.5, None, None)],
        [of(True, None, None)],
        [of(None, alternative=1)],
        [{"tree": [None]}],
        [[None]],
    ],
)
def test_trees_that_are_none_are_not_accepted(lines: list[Any], tmp_path: Path) -> None:
    assert said(tmp_path, ABSOLUTE, f"{BOX} (assert (>= Y_0 2))", lines).startswith("unread")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("(assert (>= Y_0 2)) (assert (<= X_0 1))", "two ends"),
        (f"{BOX} (assert (>= (* X_0 X_0) 2))", "linear"),
        (f"{BOX} (assert (>= Y_1 2))", "declared"),
        (f"{BOX} (assert (not (>= Y_0 2)))", "condition"),
        (f"{BOX} (assert (>= Y_0 2)", "closed"),
        (f"{BOX} (assert (>= Y_0 1e999999))", "element"),
        ("(" * 100, "too deep"),
        (f"{BOX} (assert (>= Y_0 2)) (declare-const X_1 Real)", "inputs"),
    ],
)
def test_queries_that_are_not_read(query: str, why: str, tmp_path: Path) -> None:
    assert why in said(tmp_path, ABSOLUTE, query, [])


def test_another_query_than_the_one_named_is_not_checked(tmp_path: Path) -> None:
    task = {"file": "q.vnnlib", "sha256": "0", "networks": [{"file": "n.nnet", "sha256": "0"}]}
    assert "changed" in said(tmp_path, ABSOLUTE, f"{BOX} (assert (>= Y_0 2))", [], task=task)


# Bounds ---------------------------------------------------------------------------------------------------------------


def random_network(draw: random.Random) -> Network:
    sizes = [draw.choice([1, 2, 3]), *(draw.choice([2, 5]) for _ in range(draw.choice([1, 2, 3]))), 2]
    steps = list[Instruction]()
    for below, above in pairwise(sizes):
        rows = tuple(tuple((j, Fraction(draw.randrange(-9, 10), 7)) for j in range(below)) for _ in range(above))
        shift = tuple(Fraction(draw.randrange(-9, 10), 7) for _ in range(above))
        steps.append(Instruction("affine", (len(steps),), rows, shift, below))
        kind = draw.choice(["relu", "relu", "leaky"])
        steps.append(Instruction(kind, (len(steps),), scale=Fraction(kind == "leaky", 4)))
    if draw.random() < 0.5:  # around what came before
        steps += [Instruction("add", (len(steps), len(steps) - 1), scale=Fraction(-1))]
        steps += [Instruction("join", (len(steps), len(steps) - 2))]
    return Network(sizes[0], tuple(steps), 2 + 2 * (steps[-1].kind == "join"))


def arguments(network: Network, point: list[Fraction]) -> list[Fraction]:
    """What the rectifiers are given at a point, one after the other."""
    found = list[Fraction]()
    for number, step in enumerate(network.instructions):
        if step.kind in ("relu", "leaky"):
            made = Network(network.size, network.instructions[:number] or (Instruction("same", (0,)),))
            found += [form.value for form in at_point(made, point)]
    return found


@pytest.mark.parametrize("seed", range(30))
def test_no_point_is_below_a_bound(seed: int) -> None:
    """Whatever slopes and factors are given, in every part that the sides of rectifiers leave."""
    draw = random.Random(seed)
    network = random_network(draw)
    layout, generator = Layout(network), np.random.default_rng(seed)
    low = generator.integers(-8, 4, (3, network.size)) / 4
    sides = generator.choice([-1.0, 0, 0, 0, 1], (3, layout.rectifiers))
    slopes, factors = generator.uniform(-0.5, 1, sides.shape), generator.uniform(0, 2, sides.shape) * sides
    parts = Parts(low, low + generator.integers(0, 9, low.shape) / 4, sides, slopes, factors)
    rows = generator.integers(-8, 9, (3, network.outputs)) / 4
    bounds = Backward(layout, parts)
    found = bounds.bound({len(network.instructions): rows}, np.zeros(3), use_factors=True)[0]
    inside = 0
    for part, _ in ((part, n) for part in range(3) for n in range(40)):
        share = generator.choice([0.0, 0.25, 0.5, 1.0], network.size)
        point = [Fraction(x) for x in (parts.low[part] + share * (parts.high[part] - parts.low[part])).tolist()]
        if any(side * x < 0 for side, x in zip(sides[part].tolist(), arguments(network, point), strict=True)):
            continue
        inside += 1
        outputs = [form.value for form in at_point(network, point)]
        assert not bounds.empty[part]
        for row, bound in zip(rows.tolist(), found[part].tolist(), strict=True):
            assert sum(Fraction(a) * y for a, y in zip(row, outputs, strict=True)) >= Fraction(bound)
    assert inside or sides.any()


class Constant:
    """An attribute that cannot be changed."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __get__(self, one: object, kind: type | None = None) -> float:
        return self.value

    def __set__(self, one: object, value: float) -> None:
        """Nothing is changed."""


def weaker_lines(original: Any) -> Any:
    def lines(below: Any, above: Any, less: Any, more: Any) -> Any:
        return original(below, above, less, more * 0.5)

    return lines


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("Lines", weaker_lines),
        ("TINY", lambda _: -1e-3),
        ("Layout", lambda original: type("Layout", (original,), {"roundings": Constant(-1e-3)})),
    ],
)
def test_what_is_computed_matters(name: str, change: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a part of the lemma a query with a solution on the border would be accepted."""
    box = f"{BOX} (assert (>= X_1 -1)) (assert (<= X_1 1))"
    asked = [f"{box} (assert (>= Y_0 1))", f"{box} (assert (<= Y_0 -1))"]
    assert not any(said(tmp_path, DIFFERENCE, one, []).startswith("accepted") for one in asked)
    for module in (backward, queries):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, change(getattr(module, name)))
    assert any(said(tmp_path, DIFFERENCE, one, []).startswith("accepted") for one in asked)


def test_strict_and_other_comparisons_are_read() -> None:
    text = declared(1) + "(assert (< X_0 1)) (assert (> X_0 0)) (assert (== Y_0 (/ X_0 2))) (check-sat)"
    (only,) = Query(text.encode()).alternatives()
    assert only.box == ((Fraction(0), Fraction(1)),)
    assert only.whole.holds({("X", 0): Fraction(1, 2), ("Y", 0): Fraction(1, 4)})
    assert not only.whole.holds({("X", 0): Fraction(1), ("Y", 0): Fraction(1, 2)})


def forward(network: Network, point: list[float]) -> list[float]:
    """The outputs in plain floats."""
    vectors = [point]
    for step in network.instructions:
        (given,) = (vectors[number] for number in step.inputs)
        if step.kind == "affine":
            made = [
                sum(float(a) * given[j] for j, a in row) + float(b)
                for row, b in zip(step.rows, step.shift, strict=True)
            ]
        else:
            made = [tanh(x) if step.kind == "tanh" else (1 + tanh(x / 2)) / 2 for x in given]
        vectors.append(made)
    return vectors[-1]


@pytest.mark.parametrize("seed", range(20))
def test_no_point_is_below_a_bound_around_curves(seed: int) -> None:
    draw, generator, steps = random.Random(seed), np.random.default_rng(seed), list[Instruction]()
    sizes, scale = [2, 4, 3, 2], draw.choice([1, 3, 40])
    for below, above in pairwise(sizes):
        rows = tuple(
            tuple((j, Fraction(draw.randrange(-9, 10) * scale, 7)) for j in range(below)) for _ in range(above)
        )
        shift = tuple(Fraction(draw.randrange(-9, 10), 7) for _ in range(above))
        steps.append(Instruction("affine", (len(steps),), rows, shift, below))
        steps.append(Instruction(draw.choice(["tanh", "sigmoid"]), (len(steps),)))
    layout = Layout(Network(2, tuple(steps), 2))
    low, width = generator.uniform(-2, 1, (6, 2)), generator.choice([0.0, 1e-3, 0.1, 1.0, 3.0], (6, 1))
    nothing = np.zeros((6, 0))
    bounds = Backward(layout, Parts(low, low + width, nothing, nothing, nothing))
    sums = generator.normal(size=(3, 2))
    found = bounds.bound({len(steps): sums}, np.zeros(3))[0]
    for part in range(6):
        for _ in range(40):
            share = generator.choice([0.0, 0.5, 1.0, generator.uniform()], 2)
            outputs = forward(layout.network, (low[part] + share * width[part]).tolist())
            assert (sums @ outputs >= found[part] - 1e-12).all()
    if scale == 1:  # and they are not far below
        assert np.abs(sums @ forward(layout.network, low[0].tolist()) - found[0]).max() < 0.02 or width[0, 0] > 1e-3
