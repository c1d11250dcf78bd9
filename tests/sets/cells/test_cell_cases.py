"""The pieces of the engine: bounds that contain samples, coverage against brute force, and each method by itself."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.never_wrong import Run
from tests.brute import Brute
from tests.engines.invariants.test_engine import BOUNDED, HALF, MODES, SINE, STEPS, TURN, task_of
from tests.judge import instance
from tests.loops import closed_loop, condition, disturbed_loop
from tests.portion import every, seeds, some
from tests.wild_loops import curved_loop, memory_loop
from tests.work import processor
from vernal.engines.check import asked_of, find_engine, parse_formula
from vernal.engines.invariants.engine import InvariantSearch
from vernal.engines.invariants.forward_images import levels, maximal
from vernal.evidence.invariant import Invariant
from vernal.evidence.judgement import Judgement
from vernal.evidence.recheck import recheck
from vernal.evidence.result import HOLDS
from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import TemplateSets, hulls, labelled
from vernal.interpret.numbers.rounding import Floats
from vernal.logic.claim import Claim
from vernal.logic.formula import Always, Atom, Bound
from vernal.logic.question import Question
from vernal.logic.safety import safety_claim
from vernal.model import build as b
from vernal.model.system import System
from vernal.model.tick import idle
from vernal.run.budget import Budget
from vernal.sets.cells.cell_partition import BoxGrid, Greatest, domain, merged, reached
from vernal.sets.cells.certifier import Certifier
from vernal.sets.cells.coverage import Coverage
from vernal.sets.cells.dynamics import WatchedLoop
from vernal.sets.cells.exact_cells import as_they_are
from vernal.sets.cells.images import Images
from vernal.sets.cells.support import upper_bounds
from vernal.sets.cells.templates import Samples, candidates


def watched(question: Question) -> tuple[WatchedLoop, Images, Certifier]:
    safety = safety_claim(question.claim, total=question.is_total)
    assert safety is not None
    view = WatchedLoop(question.system, safety, idle)
    images = Images(view)
    return view, images, Certifier(view, images)


def asked(text: str, formula: str, tmp_path: Path) -> tuple[WatchedLoop, Images, Certifier]:
    task = task_of(text, tmp_path)
    return watched(Question(task.system, parse_formula(task, formula)))


def boxes(view: WatchedLoop) -> Template:
    return Template(np.eye(len(view.numbers)))


# Bounds ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(30))
def test_bounds_over_cut_boxes_hold_and_are_tight(seed: int) -> None:
    """No point of the cut box is beyond the bound; and a linear program finds one near it."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    n, q = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    low, high = -rng.random(n) * 3, rng.random(n) * 3
    rows, ends = rng.normal(size=(q, n)), rng.random(q)  # 0 is inside
    A, c = rng.normal(size=(7, n)), rng.normal(size=7)
    found = upper_bounds(A[None], c[None], low[None], high[None], rows[None], ends[None], idle)[0]
    points = rng.uniform(low, high, size=(4000, n))
    inside = points[(points @ rows.T <= ends).all(axis=1)]
    assert (inside @ A.T + c <= found).all()
    if n > 1:
        limits = list(zip(low.tolist(), high.tolist(), strict=True))
        best = [float(linprog(-a, A_ub=rows, b_ub=ends, bounds=limits).fun or 0) * -1 for a in A]
        assert np.allclose(np.array(best) + c, found, atol=1e-6)


@pytest.mark.parametrize("seed", every(3, [*range(0, 40, 2), 3, 5, 7, 9]))
def test_images_hold_what_runs_do(seed: int) -> None:
    """Of random loops with memory or nonlinear terms: the next states of sampled runs are inside the image."""
    rng = random.Random(seed)
    system: System = (memory_loop if seed % 2 else curved_loop)(rng)
    numbers = [variable for variable in system.state if variable.sort.is_number]
    claim = Always(Atom(b.compare("<=", numbers[0].var, 0)))
    view, images, _ = watched(Question(system, claim))
    samples = Samples(view, seed)
    if samples.runs is None or not len(samples.points):
        pytest.skip("no runs")
    images.halvings = rng.choice([0, 3])
    for template in list(candidates(view, samples))[:2]:
        for t in range(4):
            before, after = samples.states[:, t], samples.states[:, t + 1]
            good = np.isfinite(before).all(axis=1) & np.isfinite(after).all(axis=1) & (samples.runs.lengths > t + 1)
            if good.any():
                cells = around(view, samples, template, before[good], t, good)
                _check_inside(images.after(cells)[1], samples, view, after[good], t + 1, good)


def around(
    view: WatchedLoop, samples: Samples, template: Template, points: Floats, t: int, good: NDArray[np.bool_]
) -> TemplateSets:
    """Cells around the states of runs, by labels."""
    assert samples.runs is not None
    labels = np.stack([samples.runs.state[var.name][good, t] for var, _ in view.labels], 1) if view.labels else None
    made = np.zeros((len(points), 0), np.int64) if labels is None else labels.astype(np.int64)
    return hulls(labelled(template, *template.over_boxes(points, points), made))


def _check_inside(
    moved: TemplateSets, samples: Samples, view: WatchedLoop, points: Floats, t: int, good: NDArray[np.bool_]
) -> None:
    assert samples.runs is not None
    values = points @ moved.template.rows.T
    room = 1e-7 * (1 + np.abs(values))
    for k, value in enumerate(values):
        labels = [int(samples.runs.state[var.name][good, t][k]) for var, _ in view.labels]
        own = (moved.labels == np.array(labels, np.int64)).all(axis=1)
        above, below = moved.lower <= value + room[k], moved.upper >= value - room[k]
        assert (own & (above & below).all(axis=1)).any()


# Coverage -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(30))
def test_coverage_against_points(seed: int) -> None:
    """A box is covered iff every point of a fine grid through all ends is; half steps stand for open intervals."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    template = Template(np.eye(n))
    low = rng.integers(0, 5, size=(6, n)).astype(float)
    high = np.minimum(low + rng.integers(0, 4, size=(6, n)), 6.0)
    union = labelled(template, low, high, np.zeros((6, 0), np.int64))
    first = rng.integers(0, 5, size=(40, n)).astype(float)
    last = first + rng.integers(0, 3, size=(40, n)).astype(float)
    found = Coverage(union, np.zeros(n, bool)).holds(labelled(template, first, last, np.zeros((40, 0), np.int64)))
    for k in range(40):
        points = product(*(np.arange(a, z + 0.25, 0.5) for a, z in zip(first[k], last[k], strict=True)))
        assert found[k] == all(((low <= p) & (np.array(p) <= high)).all(axis=1).any() for p in map(np.array, points))


def test_integers_are_covered_one_by_one() -> None:
    template, none = Template(np.eye(1)), np.zeros((3, 0), np.int64)
    union = labelled(template, np.array([[1.0], [2.0], [4.0]]), np.array([[1.0], [2.0], [4.0]]), none)
    asked_for = labelled(template, np.array([[1.0], [1.0], [4.0]]), np.array([[2.0], [4.0], [4.0]]), none)
    assert Coverage(union, np.array([True])).holds(asked_for).tolist() == [True, False, True]
    assert Coverage(union, np.array([False])).holds(asked_for).tolist() == [False, False, True]


def test_neighbours_are_joined() -> None:
    template, none = Template(np.eye(2)), np.zeros((4, 0), np.int64)
    low = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert len(merged(labelled(template, low, low + 1, none))) == 1


# Methods by themselves ------------------------------------------------------------------------------------------------


def test_images_of_all_states(tmp_path: Path) -> None:
    """tanh forgets where it came from: after one step every state is bounded."""
    view, images, certifier = asked(BOUNDED, "G (x <= 101)", tmp_path)
    first = levels(images, certifier.initial_cells(boxes(view)), view)
    found = maximal(images, view, first)
    assert found is not None
    assert certifier.proves(as_they_are(found))


@pytest.mark.parametrize(
    ("text", "formula"), [(HALF, "G (x <= 1.1)"), (TURN, "G (x <= 0.9)"), (MODES, "G (x <= 0.75 | x >= 1.75)")]
)
def test_boxes_of_a_grid(text: str, formula: str, tmp_path: Path) -> None:
    view, images, certifier = asked(text, formula, tmp_path)
    start = certifier.initial_cells(boxes(view))
    found = reached(images, view, start, BoxGrid(np.full(len(view.numbers), 2.0**-4), view.whole))
    assert found is not None
    assert certifier.proves_joined(as_they_are(merged(found)), found)
    assert not certifier.proves_joined(as_they_are(merged(found)), found.rows(slice(1, None)))


@pytest.mark.parametrize(("text", "formula"), [(TURN, "G (x <= 0.9)"), (SINE, "G (x <= 1.5)")])
def test_boxes_that_can_be_stayed_in(text: str, formula: str, tmp_path: Path) -> None:
    """The greatest fixpoint over halved boxes of a domain."""
    view, images, certifier = asked(text, formula, tmp_path)
    start = certifier.initial_cells(boxes(view))
    points = np.vstack([Samples(view, 0).points, *start.ranges()])
    found = Greatest(images, view, domain(points, [()], boxes(view), view.whole)).holding(start)
    assert found is not None
    assert certifier.proves_joined(as_they_are(merged(found)), found)


def test_a_false_proposal_is_not_certified(tmp_path: Path) -> None:
    """Whatever is proposed, each of the three conditions is looked at."""
    view, _, certifier = asked(STEPS, "G (x <= 5)", tmp_path)
    none = np.zeros((1, 0), np.int64)
    for low, high in ((0.0, 1.0), (0.0, 5.0), (0.5, 5.0), (0.0, np.inf)):
        cells = labelled(boxes(view), np.array([[low]]), np.array([[high]]), none)
        assert not certifier.proves(as_they_are(cells))


def test_claims_of_this_kind() -> None:
    question = instance(1, "affine")
    claim = Claim(question.formula)
    assert safety_claim(claim, total=True) is not None


@pytest.mark.parametrize("kind", [closed_loop, disturbed_loop])
def test_random_loops(kind: Callable[[random.Random], System]) -> None:
    """What is proven brute force or runs do not refute, and the invariant stands a second check."""
    decided = 0
    for seed in seeds(40):
        rng = random.Random(seed)
        system = kind(rng)
        claim = Always(Atom(condition(rng, [variable.var for variable in system.state], 1)), Bound(upper=Fraction(4)))
        result = asked_of(find_engine("invariants"), Question(system, claim), processor(0.3))
        if result.verdict is HOLDS and isinstance(result.evidence, Invariant):
            decided += 1
            assert recheck(system, Claim(claim), result.evidence).judgement is not Judgement.REJECTED, seed
            if kind is closed_loop:
                assert Brute(system).holds(claim), seed
    assert decided > some(40) / 8


# Never wrong ----------------------------------------------------------------------------------------------------------


def test_affine_loops_against_their_analytic_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """A few of the loops that `benchmarks.never_wrong --family affine` asks hundreds of."""
    run = Run(["invariants", "falsify"], timeout=3)
    for seed in range(8):
        run.ask(instance(seed, "affine"))
    assert "WRONG" not in capsys.readouterr().out
    assert not any(column.wrong for column in run.columns.values())
    assert run.columns["invariants"].verdicts["holds"] >= 3


def test_where_a_claim_begins_is_bounded_as_finely_as_images_are(tmp_path: Path) -> None:
    """Cells after two steps of x' = x (1 - x) are narrower where images are bounded over parts; no cache hides it."""
    text = '[state]\nx = "real"\n[init]\nx = "[0, 1]"\n[environment.next]\nx = "x*(1 - x)"\n'
    task = task_of(text, tmp_path)
    question = Question(task.system, parse_formula(task, "G[2,] (x <= 0.3)"))
    safety = safety_claim(question.claim, total=True)
    assert safety is not None
    search = InvariantSearch(task.system, safety, Budget())
    box = Template(np.eye(1))
    widths: list[float] = []
    for halvings in (0, 4, 0):
        search.images.halvings = halvings
        lower, upper = search._start(box).ranges()
        widths.append(float((upper - lower).max()))
    assert widths[1] < widths[0] == widths[2]
