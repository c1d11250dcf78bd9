"""Seeded faults, as data: each makes an engine say *holds* of a claim that is false; `vernal-check` must not be fooled.

A fault is a patch of one function of Vernal and a question whose answer it turns around.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from vernal.engines.explicit.enumeration import Enumeration
from vernal.engines.induction.engine import InductionSearch
from vernal.engines.liveness.cycles import MarkedGraph
from vernal.evidence.knowledge import Proof
from vernal.evidence.result import Assurance
from vernal.formats import networks as readers
from vernal.formats.onnx import products
from vernal.formats.task import agents
from vernal.interpret.numbers import enclosures
from vernal.interpret.numbers.rounding import Mask
from vernal.logic import expressions, normal
from vernal.logic.claim import Claim
from vernal.logic.direction import Direction
from vernal.logic.formula import Bound
from vernal.model import build
from vernal.model.initial import OneOf
from vernal.sets import initial_boxes
from vernal.sets.finite.graph_product import GraphProduct
from vernal.sets.finite.points import Points


@dataclass(frozen=True)
class Fault:
    """A fault, and a question that it answers wrongly."""

    name: str
    seed: Callable[[pytest.MonkeyPatch], None]
    task: str
    formula: str
    engine: str = "explicit"

    def __str__(self) -> str:
        return self.name


def task(state: str, init: str, after: str, more: str = "") -> str:
    return f"vernal = 1\n[state]\n{state}\n[init]\n{init}\n{more}\n[environment.next]\n{after}\n"


def _option_lost(patch: pytest.MonkeyPatch) -> None:
    def choose(*options: Any, name: str = "choose") -> Any:
        return original(*options[:-1], name=name) if len(options) > 1 else original(*options, name=name)

    original = build.choose
    patch.setattr(build, "choose", choose)


def _start_lost(patch: pytest.MonkeyPatch) -> None:
    def starts(self: Enumeration) -> Any:
        rows = original(self)
        return rows[:-1] if len(rows) > 1 else rows

    original = Enumeration._starts
    patch.setattr(Enumeration, "_starts", starts)


def _horizon_off_by_one(patch: pytest.MonkeyPatch) -> None:
    def horizon(self: Claim) -> int | None:
        found = normal.horizon(self.formula)
        return None if found is None else found - 1

    def steps(bound: Bound) -> tuple[int, int | None]:
        lower, upper = normal.steps(bound)
        return lower, None if upper is None else upper - 1

    patch.setattr(Claim, "horizon", property(horizon))
    patch.setattr("vernal.sets.finite.fixpoints.steps", steps)


def _strict_for_non_strict(patch: pytest.MonkeyPatch) -> None:
    def compare(op: str, x: Any, y: Any) -> Any:
        return original({"<": "<=", ">": ">="}.get(op, op), x, y)

    original = build.compare
    patch.setattr(build, "compare", compare)


def _tie_dropped(patch: pytest.MonkeyPatch) -> None:
    def winners(self: Points, node: Any, batch: Any) -> Mask:
        found = original(self, node, batch)
        first: Mask = np.zeros_like(found)
        first[np.arange(len(found)), found.argmax(axis=1)] = True
        return first

    original = Points.winners
    patch.setattr(Points, "winners", winners)


def _else_for_then(patch: pytest.MonkeyPatch) -> None:
    def conditional(p: Any, a: Any, b: Any) -> Any:
        return original(p, b, a)

    original = build.if_
    patch.setattr(build, "if_", conditional)


def _mark_lost(patch: pytest.MonkeyPatch) -> None:
    def none_with_all_marks(self: GraphProduct, component: Any, taken: Any, count: int) -> Mask:
        return np.zeros(count, bool)

    patch.setattr(GraphProduct, "_with_all_marks", none_with_all_marks)


def _max_for_min(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(expressions.PLAIN, "min", build.maximum)


def _wrong_sign(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(build, "neg", lambda x: build.add(x, 0))


def _rounded_up(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(expressions.PLAIN, "floor", lambda x: build.neg(build.floor(build.neg(x))))


def _condition_lost(patch: pytest.MonkeyPatch) -> None:
    def choose(*options: Any, name: str = "choose") -> Any:
        return original(*(getattr(option, "value", option) for option in options), name=name)

    original = build.choose
    patch.setattr(build, "choose", choose)


def _interval_halved(patch: pytest.MonkeyPatch) -> None:
    def between(low: Any, high: Any, *more: Any, **named: Any) -> Any:
        return original(low, build.mul(high, Fraction(1, 2)), *more, **named)

    original = build.between
    patch.setattr(build, "between", between)


def _box_lost(patch: pytest.MonkeyPatch) -> None:
    def half(model: Any, *more: Any) -> Any:
        found = original(model, *more)
        x = model.state[0].var
        return replace(found, boxes=tuple(box.halves(x, 0)[0] for box in found.boxes))

    original = initial_boxes.initial_boxes
    for user in ("bounds.engine", "covers", "split.engine"):
        patch.setattr(f"vernal.engines.{user}.initial_boxes", half, raising=False)


def _axis_swapped(patch: pytest.MonkeyPatch) -> None:
    def turned(call: Any, value: Any, name: str) -> Any:
        return original(call, value, name) if name == "transA" else value

    original = products._turned
    patch.setattr(readers, "_remembered", readers._remembered.__wrapped__)
    patch.setattr(products, "_turned", turned)


def _memory_at_zero(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(agents, "_memory_start", lambda *_: OneOf((Fraction(0),)))


def _base_lost(patch: pytest.MonkeyPatch) -> None:
    def based(self: InductionSearch, k: int, seconds: float) -> Proof:
        return Proof(engine="induction", direction=Direction.EXACT, assurance=Assurance.EXACT)

    patch.setattr(InductionSearch, "_based", based)


def _cycle_overlooked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MarkedGraph, "has_fair_cycle", lambda self: False)


def _quotient_rounded_up(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(expressions.PRODUCTS, "//", lambda x, y: build.neg(build.quotient(build.neg(x), y)))


def _extremum_dropped(patch: pytest.MonkeyPatch) -> None:
    """Sine and cosine only between their values at the ends of an interval."""

    def wave(backend: Any, name: Any, lower: Any, upper: Any, first: Any, last: Any) -> Any:
        return np.minimum(first[0], last[0]), np.maximum(first[1], last[1])

    patch.setattr(enclosures, "_wave", wave)


HALVING = task('x = "real"', "x = 0", 'x = "x / 2 + choose(0, 1)"')
LEVELS = task('n = "int [0, 9]"', 'n = "{0, 1, 5}"', 'n = "n"')
COUNTER = task('n = "int [0, 99]"', "n = 0", 'n = "n + 1"')
FLAG = task('x = "real"', "x = 1", 'x = "if(x > 1, 0, x)"')
TIED = task(
    'x = "int [0, 9]"',
    "x = 0",
    'x = "x + who"',
    '[agents.who]\npolicy = "tie.onnx"\nobserve = ["x"]\nact = "argmax"\n',
)

RISING = task('x = "int"', "x = 0", 'x = "min(x + 1, 3)"')
MIRROR = task('x = "real"', "x = 1", 'x = "-x"')
FLOOR = task('x = "real"\nn = "int"', "x = 0.5\nn = 1", 'n = "floor(x)"')
GUARDED = task('n = "int"', "n = 0", 'n = "n + choose(1 when n < 2, 0)"')
NOISY = task('x = "real"', "x = 0", 'x = "x / 2 + between(0, 1)"')
SPREAD = task('x = "real"', 'x = "[0, 1]"', 'x = "x"')

TURNED = task(
    'x = "real"\ny = "real"',
    "x = 0\ny = 1",
    'x = "who[0]"\ny = "who[1]"',
    '[agents.who]\npolicy = "turned.onnx"\nobserve = ["x", "y"]\nact = "raw"\n',
)
FUSE = task(
    'x = "real"',
    "x = 0",
    'x = "x + who"',
    '[agents.who]\npolicy = "fuse.onnx"\nobserve = ["x"]\nact = "raw"\nmemory = 3\n',
)
FAR = task('x = "real"', 'x = "[2, 3]"', 'x = "x / 2"')
TURNS = task('x = "real"', 'x = "[0, 1]"', 'x = "1 - x"')
WAVES = task('x = "real"\ny = "real"', 'x = "[0, 3]"\ny = 0', 'y = "sin(x)"')
HALVED = task('n = "int"', "n = 3", 'n = "n // 2"')

FAULTS = (
    Fault("an option lost", _option_lost, HALVING, "G[0,6] (x <= 1.5)"),
    Fault("an option lost, for all time", _option_lost, HALVING, "G (x <= 1.5)", "auto"),
    Fault("an initial state lost", _start_lost, LEVELS, "G (n <= 4)"),
    Fault("a horizon off by one", _horizon_off_by_one, COUNTER, "G[0,5] (n <= 4)"),
    Fault("strict for non-strict", _strict_for_non_strict, FLAG, "G (x > 0) & F (x > 1)"),
    Fault("a tie dropped", _tie_dropped, TIED, "G[0,1] (x == 0)"),
    Fault("else for then", _else_for_then, FLAG, "F (x == 0)"),
    Fault("a mark lost in the product", _mark_lost, task('n = "int"', "n = 0", 'n = "1 - n"'), "F G (n == 0)"),
    Fault("max for min", _max_for_min, RISING, "F[0,5] (x > 3)"),
    Fault("a wrong sign", _wrong_sign, MIRROR, "G (x == 1)"),
    Fault("rounded up", _rounded_up, FLOOR, "G (n == 1)"),
    Fault("a condition lost", _condition_lost, GUARDED, "EF[0,6] (n == 4)"),
    Fault("half of a disturbance", _interval_halved, NOISY, "G[0,3] (x <= 1.2)", "bounds"),
    Fault("an initial box lost", _box_lost, SPREAD, "G[0,2] (x <= 0.6)", "bounds"),
    Fault("an axis swapped in the reader", _axis_swapped, TURNED, "G[0,2] (x <= 0.5)", "bounds"),
    Fault("a memory that starts at zero", _memory_at_zero, FUSE, "G[0,5] (x <= 2)", "bounds"),
    Fault("an extremum dropped", _extremum_dropped, WAVES, "G[0,2] (y <= 0.5)", "bounds"),
    Fault("the base of an induction lost", _base_lost, FAR, "G (x <= 1)", "induction"),
    Fault("a cycle overlooked", _cycle_overlooked, TURNS, "F G (x <= 0.6)", "liveness"),
    Fault("a quotient of integers rounded up", _quotient_rounded_up, HALVED, "G (n >= 1)"),
)
