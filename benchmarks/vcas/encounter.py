"""The whole encounter in one question, how the work grows with k, and the two variations of the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.measure import AUTO, Measured, measure, measure_apart, table
from benchmarks.vcas.methods import COMPOSITIONAL, FOLDER, MONOLITHIC, PATHS
from benchmarks.vcas.published import RATES

FILE = FOLDER / "vcas_encounter.toml"
QUESTIONS = (  # all hold
    {"range_v": 5000, "v0": -19.5, "first": 1},
    {"range_v": 5000, "v0": -22.5, "first": 4},
    {"range_v": 5000, "v0": -25.5, "first": 5},
    {"range_v": 5000, "v0": -28.5, "first": 6},
    {"range_v": 200, "v0": -19.5, "first": 1, "h0": -304, "H": 8000},
)
RUNS = 1_000_000
GROWTH = (2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 25)

Curve = list[tuple[int, float, int]]  # k, CPU seconds, sets of states


def encounter_table(cap: float) -> str:
    """`AG[first,25]`, each in a process of its own."""
    rows = []
    for asked in QUESTIONS:
        done = measure_apart(FILE, PATHS, cap, **asked)
        start = asked.get("h0", -133)
        formula = f"AG[{asked['first']},25] safe"
        rows.append([str(asked["range_v"]), f"[{start}, {start + 4}]", str(asked["v0"]), formula, *_costs(done)])
    return table(
        ("scaling", "h", "v0", "question", "verdict", "margin", "seconds", "CPU seconds", "pieces", "peak GiB"), rows
    )


def _costs(done: Measured) -> list[str]:
    margin = "" if done.margin is None else f"{done.margin:.3f}"
    pieces = "" if done.pieces is None else f"{done.pieces:,}"
    costs = (f"{done.seconds:.2f}", f"{done.processor:.2f}", pieces, "" if done.peak is None else f"{done.peak:.2f}")
    return [done.verdict, margin, *costs]


def growth(cap: float) -> dict[str, Curve]:
    """What `AG[first,k]` takes for each question as k grows, until the cap is met."""
    curves: dict[str, Curve] = {}
    for asked in QUESTIONS:
        curve = curves.setdefault(f"scaling {asked['range_v']}, v0 = {asked['v0']}", [])
        for k in (k for k in GROWTH if k >= asked["first"]):
            done = measure(FILE, PATHS, cap, **(asked | {"k": k}))
            if done.verdict == "unknown":
                break
            curve.append((k, done.processor, done.pieces or 0))
    return curves


def plot_growth(curves: dict[str, Curve], file: Path) -> None:
    """Seconds and pieces over k, on a logarithmic scale: a straight line would be exponential growth."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, column, label in zip(figure.subplots(1, 2), (1, 2), ("CPU seconds", "sets of states"), strict=True):
        for name, curve in curves.items():
            axes.plot([point[0] for point in curve], [point[column] for point in curve], marker=".", label=name)
        axes.set(xlabel="k", ylabel=label, yscale="log")
    figure.axes[0].legend(fontsize="small")
    figure.suptitle("AG[first,k] safe of VerticalCAS, engine paths")
    figure.savefig(file)


def interval_table(cap: float) -> str:
    """Whole intervals of accelerations, `AX[k] safe`, k = 1..10: verdict, margin and seconds."""
    rows = []
    for scaling in (5000, 200):
        for k in range(1, 11):
            done = [measure(FOLDER / "vcas_interval.toml", AUTO, cap, range_v=scaling, v0=rate, k=k) for rate in RATES]
            cells = [f"{one} {'' if one.margin is None else f'({one.margin:.3f})'}" for one in done]
            rows.append([str(scaling), str(k), *cells])
    return table(("scaling", "k", *map(str, RATES)), rows)


def two_aircraft_table(cap: float, runs: int = RUNS) -> str:
    """Two advisors and two pilots: three methods and as many random runs, which must agree."""
    unsafe = simulated(runs)
    rows = []
    for k in (1, 2, 3, 4):
        done = [
            measure(FOLDER / "two_aircraft.toml", method, cap, k=k) for method in (PATHS, MONOLITHIC, COMPOSITIONAL)
        ]
        rows.append([str(k), *map(str, done), f"{unsafe[k - 1]:,} of {runs:,}"])
    return table(("k", "paths", "milp mono", "milp comp", "random runs that come closer"), rows)


def simulated(runs: int, batch: int = 50_000) -> list[int]:
    """How many of the random runs have come within 20 ft by step 1, 2, 3, 4."""
    from vernal.formats.task.blueprint import load
    from vernal.simulate.runs import simulate

    system = load(FOLDER / "two_aircraft.toml").system
    rng = np.random.default_rng(0)
    unsafe = np.zeros(4, dtype=np.int64)
    for start in range(0, runs, batch):
        h = np.asarray(simulate(system, min(batch, runs - start), 4, rng).state["h"], dtype=np.float64)
        unsafe += np.logical_or.accumulate(np.abs(h[:, 1:]) <= 20, axis=1).sum(axis=0)
    return [int(count) for count in unsafe]
