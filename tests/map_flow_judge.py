"""Is a map of a flow ever wrong? Random flows, regions around their starts, and simulated trajectories that know."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import vernal as vn
from tests.flow_judge import TOLERANCE, FlowJudge, robustness
from tests.wild_flows import FlowCase, flow_case
from vernal.logic.task import Task
from vernal.model.initial import Ends, Init, start_between
from vernal.queries.maps.cell_tree import CellKind
from vernal.queries.maps.region_map import MapCell, RegionMap

RUNS, STEPS = 60, 300  # of a cell
CELLS = 24
JUDGED = 12  # cells of a map


@dataclass(frozen=True)
class FlowMapInstance:
    """A flow, a claim, and the region that is mapped: wider than the initial set of the flow."""

    case: FlowCase
    over: Mapping[str, Ends]
    cells: int = CELLS

    def __str__(self) -> str:
        region = ", ".join(f"{name}=[{low},{high}]" for name, (low, high) in self.over.items())
        return f"{self.case} over {region}"

    def answer(self, seconds: float) -> RegionMap:
        """The map that Vernal makes."""
        return vn.map(
            Task(self.case.flow),
            self.case.formula,
            over=dict(self.over),
            cells=self.cells,
            until="open < 1%",
            timeout=seconds,
            cell_timeout=1.0,
            seed=self.case.seed,
        )


def flow_map_instance(seed: int) -> FlowMapInstance:
    """The same for the same seed."""
    case, rng = flow_case(seed), random.Random(seed)
    mapped = rng.sample(list(case.flow.state), rng.randint(1, min(2, len(case.flow.state))))
    return FlowMapInstance(case, {one.name: _wider(rng, case, one.name) for one in mapped})


def _wider(rng: random.Random, case: FlowCase, name: str) -> Ends:
    """Around the interval in which a variable starts, inside its range."""
    variable = case.flow.variable(name)
    low, high = case.flow.init.starts[name].ends
    width = max(high - low, Fraction(1, 8)) * rng.choice([1, 2, 4])
    assert variable.lower is not None
    assert variable.upper is not None
    return max(low - width, variable.lower), min(high + width, variable.upper)


@dataclass
class FlowMapJudge:
    """What is wrong with a map."""

    question: FlowMapInstance
    judged: int = 0  # cells

    def problems(self, found: RegionMap) -> Iterator[str]:
        if sum(found.shares.values()) != 1:
            yield "the shares do not add up to one"
        cells = [cell for cell in found.cells if cell.kind not in (CellKind.OPEN, CellKind.NO_START)]
        rng = random.Random(self.question.case.seed)
        for cell in rng.sample(cells, min(JUDGED, len(cells))):
            self.judged += 1
            why = self._problem(cell)
            if why is not None:
                yield f"{cell}: {why}"

    def _problem(self, cell: MapCell) -> str | None:
        flow = self.question.case.flow
        starts = {name: start_between(*ends) for name, ends in cell.ends.items()}
        case = replace(self.question.case, flow=flow.starting(Init({**flow.init.starts, **starts}, flow.init.where)))
        judge = FlowJudge(case, runs=RUNS, steps=STEPS)
        if cell.kind is CellKind.SAFE and judge.is_unsafe:
            return "a simulated trajectory violates the claim"
        if cell.kind is CellKind.WHOLLY_UNSAFE:
            low, _ = robustness(case.flow, case.formula, judge.simulated)
            if (low > TOLERANCE).any():
                return "a simulated trajectory keeps the claim"
        if cell.trace is None:
            return "an unsafe cell without a trajectory" if cell.kind is CellKind.UNSAFE else None
        return judge.unshown(cell.trace)
