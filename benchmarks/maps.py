"""Maps of the examples, and random states that judge them: `python -m benchmarks.maps [NAME ...] [--cells N]`.

VerticalCAS over height and speed, the cart pole's four dimensions, the thermostat, the jet engine (a flow), the boat (a
loop that samples) and the pendulum. Then states are drawn anywhere on the map, and runs from them are simulated: none
from a safe state may fail, and where nothing is drawn, each from a wholly unsafe state has to. Ends with 1 if one
contradicts the map. Also how long `contains` takes for a state; with --leaves, how much memory a tree of so many takes.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

import vernal as vn
from benchmarks.measure import setting, table
from vernal.interpret.numbers.rounding import Floats
from vernal.model.initial import Ends
from vernal.queries.maps.axes import MapAxis
from vernal.queries.maps.cell_previews import simulation
from vernal.queries.maps.cell_questions import CellQuestions
from vernal.queries.maps.cell_tree import CellKind, MapTree
from vernal.queries.maps.region_map import RegionMap
from vernal.simulate.runs import Plan, random_plan

EXAMPLES = Path(__file__).parent.parent / "examples"
DRAWS = 4  # runs from each state, where they differ
AT_ONCE = 20_000  # runs
TOLERANCE = 1e-9  # of floats
PROBED = 20_000  # states of which `contains` is timed


@dataclass(frozen=True)
class MapQuestion:
    """An example, its claim, and the region."""

    file: str
    claim: str
    over: Mapping[str, tuple[float, float]]
    cells: int


QUESTIONS = {
    "vcas": MapQuestion("vcas/vcas.toml", "safe", {"h": (-400, 400), "v": (-30, 30)}, 4096),
    "cartpole": MapQuestion(
        "cartpole/cartpole.toml",
        "upright",
        {"x": (-0.2, 0.2), "v": (-0.5, 0.5), "theta": (-0.21, 0.21), "omega": (-0.5, 0.5)},
        4096,
    ),
    "thermostat": MapQuestion("thermostat/thermostat.toml", "warm", {"T": (10, 30)}, 400),
    "pendulum": MapQuestion("pendulum/pendulum.toml", "upright", {"theta": (-0.05, 0.05), "omega": (-0.2, 0.2)}, 1000),
    "jet": MapQuestion("jet/jet.toml", "safe", {"x": (0.2, 0.8), "y": (-0.9, -0.3)}, 400),
    "boat": MapQuestion("boat/boat.toml", "no_swing", {"psi": (0, 1), "r": (-0.5, 0.5)}, 400),
}


@dataclass(frozen=True)
class Judged:
    """What random states say of a map."""

    states: int
    contradictions: int
    unseen: int  # wholly unsafe states from which no run failed, where draws decide


def judged(found: RegionMap, count: int, seed: int = 0) -> Judged:
    """Runs from random states beside what the map knows of them."""
    rng = np.random.default_rng(seed)
    whole = CellQuestions(found.question, found.axes).of(tuple(axis.ends for axis in found.axes))
    made = simulation(whole)
    assert made is not None
    simulator, target = made
    mapped = {axis.name for axis in found.axes}
    others = (start for name, start in whole.model.init.starts.items() if name not in mapped)
    varies = bool(simulator.model.step.names) or any(not start.is_point for start in others)
    draws = DRAWS if varies else 1
    wrong = unseen = 0
    for first in range(0, count, AT_ONCE // draws):
        states = _states(found.axes, min(AT_ONCE // draws, count - first), rng)
        plan = random_plan(simulator.model, len(states) * draws, simulator.columns, rng)
        starts = dict(plan.first)
        for place, axis in enumerate(found.axes):
            starts[simulator.model.variable(axis.name).var] = np.repeat(states[:, place], draws)
        with np.errstate(all="ignore"):
            margins = target.margins(simulator.run(Plan(starts, plan.decisions))).reshape(len(states), draws)
        kinds = np.array([found.tree.at(0, state) for state in states.tolist()])
        wrong += int(((kinds == CellKind.SAFE) & (margins.min(axis=1) < -TOLERANCE)).sum())
        kept = int(((kinds == CellKind.WHOLLY_UNSAFE) & (margins.min(axis=1) > TOLERANCE)).sum())
        wrong, unseen = (wrong, unseen + kept) if varies else (wrong + kept, unseen)
    return Judged(count, wrong, unseen)


def _states(axes: Sequence[MapAxis], count: int, rng: np.random.Generator) -> Floats:
    columns = [float(axis.lower) + (float(axis.upper) - float(axis.lower)) * rng.random(count) for axis in axes]
    return np.stack([np.round(c) if axis.whole else c for axis, c in zip(axes, columns, strict=True)], axis=1)


def microseconds(found: RegionMap, seed: int = 1) -> float:
    """Of the processor, for `contains` of one state."""
    states = _states(found.axes, PROBED, np.random.default_rng(seed)).tolist()
    points = [dict(zip((axis.name for axis in found.axes), state, strict=True)) for state in states]
    began = time.process_time()
    for point in points:
        found.contains(point)
    return (time.process_time() - began) / len(points) * 1e6


def grown(leaves: int) -> tuple[MapTree, float]:
    """A tree cut into so many cells, and the seconds of the processor that took."""
    ends: Ends = Fraction(0), Fraction(1)
    tree, began = MapTree([MapAxis("x", *ends), MapAxis("y", *ends)]), time.process_time()
    layer = [(0, tree.whole)]
    axis = 0
    while tree.leaves < leaves:
        following = []
        for node, box in layer:
            if tree.leaves >= leaves:
                break
            following += tree.cut(node, box, axis)
        layer, axis = following, 1 - axis
    return tree, time.process_time() - began


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the maps, judge them, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.maps", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"among {', '.join(QUESTIONS)} (default: all)")
    parser.add_argument("--cells", type=int, metavar="N", help="of each map, at most")
    parser.add_argument("--states", type=int, default=100_000, metavar="N", help="that judge each map")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="S", help="for each map")
    parser.add_argument("--leaves", type=int, metavar="N", help="only a tree of so many cells, and its memory")
    given = parser.parse_args(arguments)
    print(setting())
    if given.leaves:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        tree, seconds = grown(given.leaves)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"{tree.leaves:,} cells: {(after - before) / 1024:.0f} MiB, {seconds:.1f} CPU s")
        return 0
    rows, wrong = [], 0
    for name in given.names or QUESTIONS:
        asked = QUESTIONS[name]
        began = time.process_time()
        found = vn.map(
            EXAMPLES / asked.file,
            property=asked.claim,
            over=dict(asked.over),
            cells=given.cells or asked.cells,
            until="open < 0%",
            timeout=given.timeout,
        )
        seconds = time.process_time() - began
        said, probe = judged(found, given.states), microseconds(found)
        wrong += said.contradictions
        shares = [f"{100 * float(found.shares[kind]):.3g}" for kind in (CellKind.SAFE, CellKind.WHOLLY_UNSAFE)]
        left = 100 * float(1 - found.shares[CellKind.SAFE] - found.shares[CellKind.WHOLLY_UNSAFE])
        counts = [f"{said.states:,}", str(said.contradictions), str(said.unseen)]
        rows.append([name, f"{len(found):,}", *shares, f"{left:.3g}", f"{seconds:.1f}", f"{probe:.1f}", *counts])
    heads = ["map", "cells", "safe,%", "wholly,%", "left,%", "CPU_s", "contains,us", "states", "contradict", "unseen"]
    print(table(heads, rows))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
