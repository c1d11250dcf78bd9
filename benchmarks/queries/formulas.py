"""Networks written from formulas: can all clauses be satisfied? A question whose bounds are zero wherever one looks.

A variable is an input between 0 and 1, a literal is x or 1 - x. A clause of three literals a, b, c costs
relu(1 - a - b - c), and a variable that is neither 0 nor 1 costs min(x, 1 - x). The output is the sum of all costs, so
it is zero exactly where the inputs are a satisfying assignment. Answers come from going through assignments, variable
after variable, without a network.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from benchmarks.learning import Layers

VARIABLES, CLAUSES = 30, 68
SIZES = (VARIABLES, VARIABLES + CLAUSES + 1, 1)
SEEDS = range(6)  # an even one has a solution, which was drawn first; of an odd one eight clauses exclude each other

Clause = tuple[tuple[int, bool], ...]  # variables, each with the value that satisfies the clause


def drawn(seed: int, variables: int = VARIABLES, clauses: int = CLAUSES) -> list[Clause]:
    """Random clauses of three literals; of an odd seed the first eight are all those of three variables."""
    draw = random.Random(seed)
    hidden = [draw.random() < 0.5 for _ in range(variables)]
    made: list[Clause] = []
    while len(made) < clauses:
        few = 3 if seed % 2 and len(made) < 8 else variables
        chosen = sorted(draw.sample(range(few), 3))
        signs = [bool(len(made) >> k & 1) for k in range(3)] if few == 3 else [draw.random() < 0.5 for _ in chosen]
        clause = tuple(zip(chosen, signs, strict=True))
        if few == 3 or any(hidden[place] == sign for place, sign in clause):
            made.append(clause)
    return made


def solution(clauses: Sequence[Clause], variables: int = VARIABLES) -> list[bool] | None:
    """An assignment that satisfies all clauses, found by trying; None if there is none."""

    def extended(values: list[bool]) -> list[bool] | None:
        known = len(values)
        if any(all(place < known and values[place] != sign for place, sign in clause) for clause in clauses):
            return None
        if known == variables:
            return values
        return extended([*values, True]) or extended([*values, False])

    return extended([])


def layers(clauses: Sequence[Clause], variables: int = VARIABLES) -> Layers:
    """The network: of each variable relu(2 x - 1), of each clause its cost, and the sum of all inputs."""
    rows = variables + len(clauses) + 1
    weights, biases = np.zeros((rows, variables)), np.zeros(rows)
    weights[:variables], biases[:variables] = 2 * np.eye(variables), -1.0
    for row, clause in enumerate(clauses, start=variables):
        biases[row] = 1.0 - sum(not sign for _, sign in clause)
        for place, sign in clause:
            weights[row, place] = -1.0 if sign else 1.0
    weights[-1] = 1.0
    last = np.concatenate([-np.ones(variables), np.ones(len(clauses) + 1)])[None]
    return [(weights, biases), (last, np.zeros(1))]
