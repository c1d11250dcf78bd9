"""Is a map ever wrong? Random loops, regions of their starts, and points of cells whose truth brute force knows."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import vernal as vn
from tests.brute import Brute, TooLarge, ValueUndefined
from tests.hard_loops import gridded, hard_formula, hard_loop
from tests.judge import has_disturbances
from vernal.evidence import confirm
from vernal.evidence.replay import verify
from vernal.logic.formula import Formula, Quantifier
from vernal.logic.normal import is_ctl, quantifiers
from vernal.logic.progress import on_paths
from vernal.logic.task import Task
from vernal.model.initial import Ends, start_between
from vernal.model.sorts import INT
from vernal.model.system import Init, OneOf, Span, System
from vernal.queries.maps.cell_tree import CellKind
from vernal.queries.maps.region_map import MapCell, RegionMap

LIMIT = 20_000  # evaluations of brute force for one point
POINTS = 16  # of a map
Point = Mapping[str, Fraction]


@dataclass(frozen=True)
class MapInstance:
    """A loop, a claim, and the region that is mapped."""

    seed: int
    system: System
    formula: Formula
    over: Mapping[str, Ends]
    cells: int

    def __str__(self) -> str:
        region = ", ".join(f"{name}=[{low},{high}]" for name, (low, high) in self.over.items())
        return f"seed {self.seed}: {self.formula} over {region}, {self.cells} cells"

    def answer(self, seconds: float) -> RegionMap:
        """The map that Vernal makes."""
        return vn.map(
            Task(self.system),
            self.formula,
            over=dict(self.over),
            cells=self.cells,
            until="open < 0.5%",
            timeout=seconds,
            cell_timeout=1.0,
            seed=self.seed,
        )


def map_instance(seed: int) -> MapInstance | None:
    """The same for the same seed; None where no variable is a number."""
    rng = random.Random(seed)
    system = hard_loop(rng, intervals=rng.random() < 0.7)
    numbers = [variable for variable in system.state if variable.sort.is_number]
    if not numbers:
        return None
    mapped = rng.sample(numbers, rng.randint(1, min(2, len(numbers))))
    over = {one.name: _interval(rng, whole=one.sort == INT) for one in mapped}
    return MapInstance(seed, system, hard_formula(rng, system), over, rng.choice([6, 20, 64]))


def _interval(rng: random.Random, whole: bool) -> Ends:
    low = Fraction(rng.randint(-3, 1))
    width = rng.choice([1, 2, 5])
    return (low, low + width) if whole else (low / 2, low / 2 + Fraction(width, rng.choice([1, 2, 3])))


class MapJudge:
    """What is wrong with a map."""

    def __init__(self, question: MapInstance) -> None:
        self.question, self.rng = question, random.Random(question.seed)
        self.judged = 0  # points whose truth was known

    def problems(self, found: RegionMap) -> Iterator[str]:
        if sum(found.shares.values()) != 1:
            yield "the shares do not add up to one"
        cells = list(found.cells)
        for cell in self.rng.sample(cells, min(POINTS, len(cells))):
            for point in (self._inside(cell), self._corner(cell)):
                yield from self._point_problems(cell, point)
                known = found.contains(point)
                if known is CellKind.OUTSIDE:
                    yield f"{_shown(point)} of a cell is outside"
        for cell in cells:
            if cell.trace is not None:
                yield from self._trace_problems(cell)

    def _inside(self, cell: MapCell) -> Point:
        return {name: self._between(name, *ends) for name, ends in cell.ends.items()}

    def _corner(self, cell: MapCell) -> Point:
        return {name: self.rng.choice(ends) for name, ends in cell.ends.items()}

    def _between(self, name: str, low: Fraction, high: Fraction) -> Fraction:
        if self.question.system.variable(name).sort == INT:
            return Fraction(self.rng.randint(int(low), int(high)))
        return low + (high - low) * Fraction(self.rng.randint(0, 7), 7)

    def _point_problems(self, cell: MapCell, point: Point) -> Iterator[str]:
        truth = self._truth(point)
        self.judged += truth is not None
        if cell.kind is CellKind.SAFE and truth is False:
            yield f"{_shown(point)} is in a safe cell, and fails"
        if cell.kind is CellKind.WHOLLY_UNSAFE and truth is True:
            yield f"{_shown(point)} is in a cell that is unsafe as a whole, and keeps the claim"
        if cell.kind is CellKind.NO_START and self._has_start(point):
            yield f"{_shown(point)} is a start, in a cell without any"

    def _from(self, point: Point) -> System:
        """The system from this point; intervals of other variables are three values of them."""
        starts = dict(self.question.system.init.starts) | {name: OneOf((value,)) for name, value in point.items()}
        for name, start in starts.items():
            if isinstance(start, Span) and not start.is_point:
                low, high = start.ends
                starts[name] = OneOf((low, (low + high) / 2, high))
            elif isinstance(start, Span):
                starts[name] = OneOf((start.lower,))
        return replace(self.question.system, init=Init(starts, self.question.system.init.where))

    def _truth(self, point: Point) -> bool | None:
        """Whether the claim holds from all starts that agree with a point, where that is known for certain."""
        system, formula, kinds = self._from(point), self.question.formula, quantifiers(self.question.formula)
        others = self.question.system.init.starts.items()
        all_starts = all(name in point or isinstance(start, OneOf) or start.is_point for name, start in others)
        all_paths = not has_disturbances(system)
        try:
            truth = Brute(system if all_paths else gridded(system), formula, LIMIT).holds(formula)
        except (ValueUndefined, TooLarge):
            return None
        if truth:
            some_only = is_ctl(formula) and kinds == {Quantifier.SOME}
            return True if all_starts and (all_paths or some_only) else None
        return False if all_paths or Quantifier.SOME not in kinds else None

    def _has_start(self, point: Point) -> bool:
        try:
            return bool(Brute(gridded(self._from(point)), None, LIMIT).starts())
        except (ValueUndefined, TooLarge):
            return False

    def _trace_problems(self, cell: MapCell) -> Iterator[str]:
        trace = cell.trace
        assert trace is not None
        first = trace.steps[0].state
        if not all(low <= first[name] <= high for name, (low, high) in cell.ends.items()):
            yield f"the path of the cell {cell.ends} starts elsewhere"
        if not verify(self._anywhere(), trace).accepted:
            yield f"the path of the cell {cell.ends} does not replay"
        elif on_paths(self.question.formula) is None:
            return  # of some path, or of states: a path shows no more than where the claim fails
        elif confirm.truth(trace, self.question.formula, self._anywhere()) is not False:
            yield f"the path of the cell {cell.ends} does not violate the claim"

    def _anywhere(self) -> System:
        """The system from all of the region."""
        starts = dict(self.question.system.init.starts)
        for name, (low, high) in self.question.over.items():
            starts[name] = start_between(low, high)
        return replace(self.question.system, init=Init(starts, self.question.system.init.where))


def _shown(point: Point) -> str:
    return ", ".join(f"{name} = {value}" for name, value in point.items())
