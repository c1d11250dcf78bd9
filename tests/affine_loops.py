"""Random affine loops x' = A x + b from boxes, and half-space claims about all time whose answer is known analytically.

The most that w.x reaches after t steps is attained at a corner of the initial box, and a sum over A^t says how much it
is. Over a long horizon that is the answer, where the claim is true or false by a margin and nothing is left to come.
"""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.formula import Always, Atom, Formula
from vernal.model import build as b
from vernal.model.expr import Compare, Expr
from vernal.model.initial import Init, Span
from vernal.model.sorts import REAL
from vernal.model.system import System, Variable
from vernal.model.terms import terms

STEPS = 1500  # over which the most is looked for
CLEAR = 1e-6  # relative margin from which on floats may say who is right


def affine_loop(rng: random.Random) -> System:
    """Of one to six components, contracting or expanding, with or without an offset."""
    n = rng.randint(1, 6)
    A = np.array([[rng.uniform(-1, 1) for _ in range(n)] for _ in range(n)])
    if rng.random() < 0.3:
        A = A * (np.eye(n) + (np.array([[rng.random() for _ in range(n)] for _ in range(n)]) < 0.3))  # sparse
    radius = max(abs(np.linalg.eigvals(A))) or 1.0
    A = A / radius * rng.choice([0.3, 0.6, 0.8, 0.9, 0.95, 1.05, 1.3])
    offset = [rng.uniform(-1, 1) * rng.choice([0, 0, 1]) for _ in range(n)]
    variables = tuple(Variable(f"x{i}", REAL) for i in range(n))
    starts = {}
    for variable in variables:
        middle, half = _short(rng.uniform(-2, 2)), _short(rng.uniform(0, 1))
        starts[variable.name] = Span(middle - half, middle + half)
    following = {
        variable.name: b.add(
            *(b.mul(_short(a), other.var) for a, other in zip(A[i], variables, strict=True)), _short(o)
        )
        for i, (variable, o) in enumerate(zip(variables, offset, strict=True))
    }
    return System("affine", variables, Init(starts), following)


def _short(value: float) -> Fraction:
    return Fraction(round(value * 1000), 1000)


def affine_formula(rng: random.Random, system: System) -> Formula:
    """`G (w.x <= c)` with c around the most that is reached in a while."""
    weights = [_short(rng.choice([0, 1, -1, rng.uniform(-1, 1)])) for _ in system.state]
    weights[rng.randrange(len(weights))] = Fraction(1)
    row = np.array([float(w) for w in weights])
    most = float(_most(system, row, 60).max())
    limit = most + rng.choice([-0.3, -0.05, 0.02, 0.1, 0.3, 1.0]) * (1 + abs(most)) if abs(most) < 1e6 else 1e6
    left = b.add(*(b.mul(w, variable.var) for w, variable in zip(weights, system.state, strict=True)), Fraction(0))
    return Always(Atom(b.compare("<=", left, _short(limit))))


def affine_truth(system: System, formula: Formula) -> bool | None:
    """Whether it holds; None where that is not clear by a margin."""
    row, limit = _claim(system, formula)
    most = _most(system, row, STEPS)
    room = CLEAR * (1 + abs(limit) + float(np.abs(most[:60]).max()))
    if (most > limit + room).any():
        return False
    tail = most[len(most) // 2 :]
    settled = len(most) > STEPS and bool(np.ptp(tail) <= room or (np.diff(tail[-50:]) < 0).all())
    return True if settled and bool((most < limit - room).all()) else None


def _claim(system: System, formula: Formula) -> tuple[Floats, float]:
    assert isinstance(formula, Always)
    assert isinstance(formula.arg, Atom)
    atom = formula.arg.expr
    assert isinstance(atom, Compare)
    parts, constant = terms((atom.args[0], Fraction(1)), (atom.args[1], Fraction(-1)))
    return np.array([float(parts.get(variable.var, Fraction(0))) for variable in system.state]), -float(constant)


def _most(system: System, row: Floats, steps: int) -> Floats:
    """The most that the row reaches after each number of steps, up to an overflow."""
    A, offset = _matrix(system)
    ends = [system.init.starts[variable.name].ends for variable in system.state]
    middle = np.array([float(low + high) / 2 for low, high in ends])
    half = np.array([float(high - low) / 2 for low, high in ends])
    found, moved = [], row
    for _ in range(steps + 1):
        found.append(float(moved @ middle + np.abs(moved) @ half))
        if abs(found[-1]) > 1e100:
            break
        moved = moved @ A
    drift, total = np.zeros(len(row)), []
    for _ in range(len(found)):
        total.append(float(row @ drift))
        drift = A @ drift + offset
    return np.asarray(np.array(found) + np.array(total))


def _matrix(system: System) -> tuple[Floats, Floats]:
    """The step as a matrix and an offset, from its values at 0 and at the unit vectors."""
    n = len(system.state)
    points = np.vstack([np.zeros((1, n)), np.eye(n)])
    inputs: dict[Expr, Floats] = {variable.var: points[:, i] for i, variable in enumerate(system.state)}
    values = np.array([np.broadcast_to(v, (n + 1,)) for v in concrete.evaluate(list(system.step.next_state), inputs)])
    return np.asarray(values[:, 1:] - values[:, :1]), np.asarray(values[:, 0])
