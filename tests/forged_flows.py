"""Flows whose every claim is known in closed form, and forged flowpipes: x' = rate (rest - x) + d, from an interval."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.forged_tasks import Parameters
from tests.forgeries import (
    Content,
    Forge,
    Workshop,
    formula_negated,
    formula_replaced,
    parameters_changed,
    task_exchanged,
    verdict_flipped,
)
from vernal.engines.check import parse_formula
from vernal.formats.task.blueprint import load
from vernal.logic.formula import Always, Eventually, Formula, Not
from vernal.logic.task import Task
from vernal.model.expr import Compare, Const

TASK = """vernal = 1
[parameters]
rest = {rest}
[state]
x = "real [-50, 50]"
[init]
x = "[{low}, {high}]"
[flow]
x = "{rate}*(rest - x) + between(-{gust}, {gust})"
"""
UNSURE = 1e-7  # closer to a limit nothing is said


@dataclass(frozen=True)
class FlowSubject:
    """All trajectories lie between two, those under the highest and under the lowest disturbance."""

    file: Path
    rate: Fraction
    gust: Fraction
    start: tuple[Fraction, Fraction]

    @cached_property
    def task(self) -> Task:
        return load(self.file, {})

    def formula(self, rng: random.Random) -> Formula:
        """`x` beside a limit that is near what is reached, at all times of a span or at one of them."""
        first = rng.choice((0, 0, Fraction(1, 2)))
        last = first + rng.choice((Fraction(1, 4), 1, 2))
        near = self.course(rng.choice((-1, 1)), float(rng.choice((first, last))), {})
        limit = round(near + rng.choice((-0.3, -0.02, 0.02, 0.3)), 4)
        return parse_formula(self.task, f"{rng.choice('GF')}[{first},{last}] (x {rng.choice(('<=', '>='))} {limit})")

    def course(self, side: int, time: float, parameters: Parameters) -> float:
        """The highest (1) or lowest (-1) x at a time."""
        rest = float(parameters.get("rest", self.task.parameters["rest"])) + side * float(self.gust / self.rate)
        return rest + (float(self.start[side > 0]) - rest) * math.exp(-float(self.rate) * time)

    def truth(self, formula: Formula, parameters: Parameters) -> bool | None:
        """In closed form: both courses are monotone, so that the ends of a span decide; None of what is too close."""
        negated = isinstance(formula, Not)
        inner = formula.arg if isinstance(formula, Not) else formula
        known = _claimed(inner)
        if known is None:
            return None
        always, above, limit, times = known
        side = 1 if above else -1  # the trajectory that is worst for the claim,
        worst = [side * (limit - self.course(-side if negated else side, time, parameters)) for time in times]
        if min(map(abs, worst)) < UNSURE:
            return None
        holds = min(worst) > 0 if always else max(worst) > 0  # or, where it is denied, best
        return holds is not negated

    def is_forced(self, content: Mapping[str, Any], formula: Formula, parameters: Parameters) -> bool | None:
        """What is accepted was followed again from all initial states, or enclosed along one trajectory."""
        return bool(content["evidence"] == ("flowpipe" if content["verdict"] == "holds" else "trace"))


def _claimed(formula: Formula) -> tuple[bool, bool, float, tuple[float, float]] | None:
    """Whether it is about all times, whether the limit is one above, the limit, and the span."""
    if not isinstance(formula, Always | Eventually) or formula.bound.upper is None:
        return None
    condition = getattr(formula.arg, "expr", None)
    if not isinstance(condition, Compare) or condition.op != "<=":
        return None
    left, right = condition.args
    number = right if isinstance(right, Const) else left
    if not isinstance(number, Const):
        return None
    span = float(formula.bound.lower), float(formula.bound.upper)
    return isinstance(formula, Always), number is right, float(number.values[0]), span


def flow_subject(rng: random.Random, folder: Path, name: str) -> FlowSubject:
    """A random flow, written to a folder."""
    rate, gust = Fraction(rng.randint(1, 8), 4), Fraction(rng.choice((0, 0, 1, 4)), 16)
    low = Fraction(rng.randint(-8, 8), 4)
    high = low + rng.choice((Fraction(0), Fraction(1, 8), Fraction(1, 2)))
    file = folder / f"{name}.toml"
    numbers = {"rest": rng.randint(-2, 2), "low": float(low), "high": float(high)}
    file.write_text(TASK.format(**numbers, rate=float(rate), gust=float(gust)), encoding="utf-8")
    return FlowSubject(file, rate, gust, (low, high))


# Forgeries ------------------------------------------------------------------------------------------------------------

Bend = Callable[[dict[str, Any], random.Random], None]


def _bent(bend: Bend) -> Forge:
    """A forgery of the flowpipe alone, now and then with another claim."""

    def forge(shop: Workshop) -> Content | None:
        if "flowpipe" not in shop.content:
            return None
        made = copy.deepcopy(shop.content)
        bend(made["flowpipe"], shop.rng)
        other = formula_replaced(replace(shop, content=made)) if shop.rng.random() < 0.7 else None
        return other or made

    return forge


def _moved(pipe: dict[str, Any], rng: random.Random) -> None:
    by = rng.choice((-1, 1)) * rng.choice((0.01, 0.3, 2.0))
    for segment in pipe["segments"]:
        for end in ("lower", "upper"):
            segment[end] = [value + by for value in segment[end]]


def _shrunk(pipe: dict[str, Any], rng: random.Random) -> None:
    share = rng.choice((0.0, 0.5, 0.9))
    for box in (*pipe["segments"], *(pipe["starts"] if rng.random() < 0.5 else ())):
        middle = [(a + b) / 2 for a, b in zip(box["lower"], box["upper"], strict=True)]
        for end in ("lower", "upper"):
            box[end] = [m + share * (value - m) for m, value in zip(middle, box[end], strict=True)]


def _cut(pipe: dict[str, Any], rng: random.Random) -> None:
    key = rng.choice(("segments", "starts"))
    place = rng.randrange(len(pipe[key]))
    pipe[key] = rng.choice((pipe[key][:place], pipe[key][place:], pipe[key][:place] + pipe[key][place + 1 :]))


def _retimed(pipe: dict[str, Any], rng: random.Random) -> None:
    factor = rng.choice((0.0, 0.5, 2.0))
    for segment in pipe["segments"]:
        segment["times"] = [factor * time for time in segment["times"]]
    for key in ("until", "inside_until"):
        pipe[key] *= rng.choice((0.0, factor, 1e9))


def _widened(pipe: dict[str, Any], rng: random.Random) -> None:
    for box in (*pipe["segments"], *pipe["starts"]):
        box["lower"], box["upper"] = [value - 5 for value in box["lower"]], [value + 5 for value in box["upper"]]


FLOW_KINDS: dict[str, Forge] = {
    "verdict flipped": verdict_flipped,
    "formula replaced": formula_replaced,
    "formula negated": formula_negated,
    "parameters changed": parameters_changed,
    "evidence of another task": task_exchanged,
    "segments moved": _bent(_moved),
    "segments shrunk": _bent(_shrunk),
    "segments or boxes left out": _bent(_cut),
    "times of segments changed": _bent(_retimed),
    "segments and boxes widened": _bent(_widened),
}
