"""Directions for cells: boxes, octagons, and directions learned from runs and from the claim.

Nothing here has to be right: a template only says in which directions sets are measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from vernal.errors import VernalError
from vernal.interpret import concrete
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import TemplateSets, labelled
from vernal.interpret.numbers.rounding import Floats
from vernal.model.build import FALSE
from vernal.model.expr import Compare, Expr
from vernal.model.graph import order
from vernal.model.terms import terms
from vernal.sets.cells.dynamics import WatchedLoop
from vernal.simulate.runs import Runs, simulate

SIMULATED_RUNS, SIMULATED_STEPS = 64, 60  # that are simulated
MAX_DIRECTIONS = 64
ROW_TOLERANCE = 1e-6  # rows that agree to this, up to their length, are one
OCTAGON_NUMBERS = 6  # components for which all sums and differences of two are measured
FACES = (4, 8, 16)  # directions around a plane in which the loop turns, few first
MAX_FACES = 24  # of a polygon that shrinks into itself: a loop that hardly shrinks would need many
REAL_VALUE = 1e-12  # imaginary parts of eigenvalues that are taken for 0
BACK = 8  # steps a direction of the claim is followed back


class Samples:
    """Runs of the loop: where states are, and how they move, for learning from."""

    def __init__(self, dynamics: WatchedLoop, seed: int) -> None:
        self.dynamics = dynamics
        self.runs = self._simulated(seed)
        self.states = self._numbers()  # (runs, positions, numbers)

    def _simulated(self, seed: int) -> Runs | None:
        try:
            return simulate(
                self.dynamics.system, SIMULATED_RUNS, SIMULATED_STEPS, np.random.default_rng(seed), corners=True
            )
        except VernalError:
            return None

    def _numbers(self) -> Floats:
        runs, columns = self.runs, []
        if runs is None:
            return np.zeros((0, SIMULATED_STEPS + 1, len(self.dynamics.numbers)))
        for var, i in self.dynamics.numbers:
            columns.append(runs.memory[var][:, :, i] if var in runs.memory else runs.state[var.name])
        return np.stack(columns, axis=2) if columns else np.zeros((len(runs.lengths), SIMULATED_STEPS + 1, 0))

    def breaks(self) -> bool:
        """Whether some run breaks the claim, as far as floats tell; then looking for an invariant is in vain."""
        view = self.dynamics
        if self.runs is None or view.safety.stop is not FALSE:
            return False
        keep = concrete.compile([view.keep])
        for position in range(view.safety.first, SIMULATED_STEPS + 1):
            (kept,) = keep(self.runs.inputs(position), len(self.runs.lengths))
            there = self.runs.lengths > position
            if (there & ~np.broadcast_to(kept, there.shape)).any():
                return True
        return False

    def values(self, scalars: Sequence[Expr]) -> list[Floats]:
        """What expressions are on every run, at every position; nothing where there are no runs."""
        return [np.zeros(0) for _ in scalars] if self.runs is None else self.runs.values(scalars)

    @property
    def points(self) -> Floats:
        """All states that were met, (points, numbers)."""
        runs, positions, numbers = self.states.shape
        flat = self.states.reshape(runs * positions, numbers)  # there may be no numbers at all
        return flat[np.isfinite(flat).all(axis=1) & (np.abs(flat) < 1e12).all(axis=1)]

    def spread(self) -> Floats:
        """How far each component reaches, as a power of two; 1 where it does not vary."""
        points = self.points
        if not len(points):
            return np.ones(self.states.shape[2])
        wide = np.ptp(points, axis=0)
        return np.exp2(np.round(np.log2(np.where(wide > 0, wide, 1.0))))

    def region(self, start: TemplateSets, reach: float) -> tuple[TemplateSets, Floats]:
        """A box some times as wide as what starts and runs reach, for all labels of the starts; and where runs end."""
        n = start.template.size
        low, high = start.ranges()
        points = np.vstack([self.points, low, high])
        ends = self.states[:, -1 - SIMULATED_STEPS // 3 :].reshape(-1, n)
        ends = ends[np.isfinite(ends).all(axis=1) & (np.abs(ends) < 1e12).all(axis=1)]
        centre = ends.mean(axis=0) if len(ends) else points.mean(axis=0)
        labels = np.unique(start.labels, axis=0)
        lower, upper = (centre + reach * (side - centre) for side in (points.min(axis=0), points.max(axis=0)))
        shape = (len(labels), n)
        box = labelled(Template(np.eye(n)), np.broadcast_to(lower, shape), np.broadcast_to(upper, shape), labels)
        return box, centre

    def linear_part(self) -> Floats | None:
        """The matrix that fits the steps best."""
        runs, positions, numbers = self.states.shape
        before = self.states[:, :-1].reshape(runs * (positions - 1), numbers)
        after = self.states[:, 1:].reshape(runs * (positions - 1), numbers)
        good = np.isfinite(before).all(axis=1) & np.isfinite(after).all(axis=1) & (np.abs(after) < 1e12).all(axis=1)
        before, after = before[good], after[good]
        if len(before) <= before.shape[1] + 1:
            return None
        A, *_ = np.linalg.lstsq(np.hstack([before, np.ones((len(before), 1))]), after, rcond=None)
        return np.asarray(A[:-1].T, dtype=np.float64)


def candidates(dynamics: WatchedLoop, samples: Samples) -> Iterator[Template]:
    """Templates to try, cheap ones first."""
    n = len(dynamics.numbers)
    unit = np.eye(n)
    yield Template(unit, "boxes")
    claim = [row for row, _ in claim_limits(dynamics)]
    if n < 2:
        return
    A = samples.linear_part()
    learned = [] if A is None else [eigen_rows(A, faces) for faces in FACES]
    back = [] if A is None else back_rows(claim, A)
    seen: set[bytes] = set()
    for template in (
        *(_template("learned directions", [*claim, *rows], n) for rows in learned[:1]),
        *([_template("octagons", [*claim, *octagon_rows(samples.spread())], n)] if n <= OCTAGON_NUMBERS else []),
        *(_template("learned directions", [*claim, *rows, *back], n) for rows in learned[1:]),
    ):
        key = template.rows.tobytes()
        if key not in seen and len(template.rows) > n:
            seen.add(key)
            yield template


def _template(name: str, rows: Sequence[Floats], n: int) -> Template:
    """The components and these rows, each direction once, scaled to a largest coefficient of 1 in short numbers."""
    made: list[Floats] = list(np.eye(n))
    for row in rows:
        largest = np.abs(row).max(initial=0.0)
        if not np.isfinite(largest) or largest == 0 or len(made) >= MAX_DIRECTIONS:
            continue
        short = np.round(row / largest * 2**20) / 2**20
        if not any(_are_same(short, other) for other in made):
            made.append(short)
    return Template(np.array(made).reshape(-1, n), name)


def _are_same(a: Floats, b: Floats) -> bool:
    cosine = abs(float(a @ b)) / float(np.linalg.norm(a) * np.linalg.norm(b))
    return bool(1 - cosine < ROW_TOLERANCE**2)


def octagon_rows(spread: Floats) -> list[Floats]:
    """Sums and differences of two components, each in units of its spread."""
    rows = []
    for i, k in combinations(range(len(spread)), 2):
        for sign in (1.0, -1.0):
            row = np.zeros(len(spread))
            row[i], row[k] = 1 / spread[i], sign / spread[k]
            rows.append(row)
    return rows


def eigen_rows(A: Floats, faces: int) -> list[Floats]:
    """Left eigenvectors, in which a linear loop only scales; where it turns in a plane, directions around it."""
    return [row for value, vector in _left_eigenvectors(A) for row in _around(value, vector, faces)]


def turning_planes(A: Floats) -> list[Floats]:
    """For every line or plane in which a linear loop shrinks, directions of a polygon that it shrinks into itself."""
    made = []
    for value, vector in _left_eigenvectors(A):
        size = abs(value)
        if size < 1 and (faces := int(np.ceil(np.pi / (2 * np.arccos((1 + size) / 2))))) <= MAX_FACES:
            made.append(np.array(_around(value, vector, faces)))
    return made


def _left_eigenvectors(A: Floats) -> list[tuple[complex, NDArray[np.complex128]]]:
    """One of each pair that are conjugate, with its value."""
    try:
        values, vectors = np.linalg.eig(A.T)
    except np.linalg.LinAlgError:
        return []
    pairs = zip(values.tolist(), vectors.T, strict=True)
    return [(value, vector) for value, vector in pairs if value.imag >= 0 or abs(value.imag) < REAL_VALUE]


def _around(value: complex, vector: NDArray[np.complex128], faces: int) -> list[Floats]:
    real, imaginary = np.real(vector), np.imag(vector)
    if abs(value.imag) < REAL_VALUE:
        return [real]
    angles = np.pi * np.arange(faces) / faces
    return [np.cos(angle) * real + np.sin(angle) * imaginary for angle in angles]


def back_rows(claim: Sequence[Floats], A: Floats) -> list[Floats]:
    """What the directions of the claim were some steps before."""
    rows, newest = [], list(claim)
    for _ in range(BACK):
        newest = [row @ A for row in newest]
        rows += newest
    return rows


def claim_limits(dynamics: WatchedLoop) -> list[tuple[Floats, float]]:
    """What the claim and the guard compare: sums of components, as rows, with a constant."""
    places: dict[Expr, int] = {var: place for place, (var, _) in enumerate(dynamics.numbers) if not var.shape}
    found: list[tuple[Floats, float]] = []
    for node in order([dynamics.keep, dynamics.guard]):
        if isinstance(node, Compare) and node.args[0].sort.is_number and not node.shape:
            parts, constant = terms((node.args[0], Fraction(1)), (node.args[1], Fraction(-1)))
            if parts and all(part in places for part in parts):
                row = np.zeros(len(dynamics.numbers))
                for part, factor in parts.items():
                    row[places[part]] = float(factor)
                found.append((row, -float(constant)))
    return found
