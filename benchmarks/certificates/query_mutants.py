"""Forged certificates of network queries: trees, hints and thresholds a little off, judged in rational numbers.

A query asks whether an output reaches a threshold in a box. Of a small network exact outputs at the corners and at
points of a grid are known; thresholds lie on the largest of them, a hair above, or well below. A query with a known
solution has no certificate: one that is accepted is false. Trees come from Vernal, and are then changed at random.
"""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.learning import onnx_chain
from vernal.queries.files import answer_files
from vernal.queries.query_certificate import QueryCertificate
from vernal.run.budget import Budget
from vernal_check import clock
from vernal_check.check import check
from vernal_check.errors import Rejected, Unreadable

GRID = 6  # parts of each side, at whose ends the exact outputs are known
OFF = [Fraction(0)] * 4 + [Fraction(s, d) for s in (-1, 1, 1) for d in (10**15, 10**6, 100, 2)]
SECONDS = 2.0  # for a query, and for its check
MUTANTS = 4  # of each tree
HINTS: list[Any] = [None, ["f" * 8], ["0" * 8, 1, 2], ["", 1e30], ["7.7.", -3, 0.5], [".", 1e-30]]


@dataclass(frozen=True)
class Question:
    """A network with weights that are multiples of 1/8, a box, and the largest output that is known."""

    layers: list[tuple[Any, Any]]
    box: list[tuple[Fraction, Fraction]]

    def value(self, point: tuple[Fraction, ...]) -> Fraction:
        values = list(point)
        for number, (weights, shift) in enumerate(self.layers):
            rows = zip(weights.tolist(), shift.tolist(), strict=True)
            values = [sum((Fraction(a) * x for a, x in zip(row, values, strict=True)), Fraction(b)) for row, b in rows]
            if number < len(self.layers) - 1:
                values = [max(x, Fraction(0)) for x in values]
        return values[0]

    def largest(self) -> Fraction:
        sides = [[low + (high - low) * Fraction(i, GRID) for i in range(GRID + 1)] for low, high in self.box]
        return max(map(self.value, product(*sides)))

    def text(self, threshold: Fraction) -> str:
        lines = [f"(declare-const {name} Real)" for name in (*(f"X_{i}" for i in range(len(self.box))), "Y_0")]
        for i, (low, high) in enumerate(self.box):
            lines += [f"(assert (>= X_{i} {decimal(low)}))", f"(assert (<= X_{i} {decimal(high)}))"]
        return "\n".join([*lines, f"(assert (>= Y_0 {decimal(threshold)}))"]) + "\n"


def decimal(value: Fraction) -> str:
    return f"(/ {float(value.numerator):.0f} {float(value.denominator):.0f})"


def question(draw: random.Random) -> Question:
    sizes = [draw.choice([1, 2, 2, 3]), *(draw.choice([2, 4, 6]) for _ in range(draw.choice([1, 2]))), 1]
    layers = []
    for below, above in pairwise(sizes):
        numbers = [draw.randrange(-16, 17) / 8 for _ in range(above * (below + 1))]
        layers.append((np.array(numbers[above:]).reshape(above, below), np.array(numbers[:above])))
    ends = [sorted(draw.sample(range(-8, 9), 2)) for _ in range(sizes[0])]
    return Question(layers, [(Fraction(low, 4), Fraction(high, 4)) for low, high in ends])


def changed(draw: random.Random, tree: list[Any], inputs: int) -> list[Any]:
    """A tree with a few items lost, doubled or replaced."""
    made = list(tree)
    for _ in range(draw.choice([1, 1, 2, 5])):
        place, item = draw.randrange(len(made) + 1), draw.choice([*HINTS, *range(-4, inputs)])
        match draw.choice(["lose", "replace", "replace", "more", "cut short"]):
            case "lose":
                del made[place : place + 1]
            case "replace":
                made[place : place + 1] = [item]
            case "more":
                made.insert(place, item)
            case _:
                del made[place:]
    return made


def attack_queries(seed: int, count: int) -> Counter[str]:
    """How many forged certificates there were, and how many of each outcome."""
    draw, found = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(count):
            for outcome in outcomes(draw, Path(folder)):
                found[outcome] += 1
    return found


def outcomes(draw: random.Random, folder: Path) -> Iterator[str]:
    asked = question(draw)
    network, query = folder / "n.onnx", folder / "q.vnnlib"
    network.write_bytes(onnx_chain(asked.layers, "Relu", "n"))
    largest = asked.largest()
    query.write_text(asked.text(largest + draw.choice([Fraction(1, 2), Fraction(1, 10**6)])))
    answer = answer_files(query, lambda _: network, Budget(timeout=SECONDS, keeps_sets=True)).answer
    tree = [None] if not answer.trees else answer.trees[0]
    off = draw.choice(OFF)
    query.write_text(asked.text(largest + off))
    for tried in [tree, *(changed(draw, tree, len(asked.box)) for _ in range(MUTANTS))]:
        file = folder / "q.certificate"
        written = list(QueryCertificate(query, network, [tried]).lines())
        if draw.random() < 0.05:
            written[0]["task"]["sha256"] = hashlib.sha256(b"").hexdigest()
        file.write_text("".join(f"{json.dumps(line)}\n" for line in written))
        yield "mutants"
        is_false = off <= 0
        yield "with a solution" if is_false else "mostly without one"
        outcome = said(file)
        yield outcome
        if outcome == "accepted" and is_false:
            yield "accepted and false"


def said(file: Path) -> str:
    clock.limit(SECONDS)
    try:
        check(file)
        return "accepted"
    except Rejected:
        return "rejected"
    except Unreadable:
        return "not checked"
    finally:
        clock.limit(None)
