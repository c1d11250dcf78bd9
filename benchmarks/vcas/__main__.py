"""VerticalCAS, measured: `python -m benchmarks.vcas [--quick] [--papers] [--cap S] [--plot FILE] [--map FILE]`.

Prints the published table by every method of ours, the whole encounter, the variations, and the map; all of one run.
Needs VERNAL_DATA. Exit code 1 if any verdict contradicts a known answer.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Method, setting
from benchmarks.vcas import atlas, cells, encounter
from benchmarks.vcas.methods import METHODS, PAPERS
from benchmarks.vcas.published import RELEASED

PARTS = ("cells", "encounter", "interval", "two", "map")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vcas", description="VerticalCAS, measured")
    parser.add_argument("--quick", action="store_true", help="the 48 cells of the table only")
    parser.add_argument("--only", choices=PARTS, action="append", help="this part only; repeatable")
    parser.add_argument("--cap", type=float, default=60, metavar="S", help="seconds for a question (default 60)")
    parser.add_argument("--papers", action="store_true", help="the table by the paper's own programs, too")
    parser.add_argument("--map-cap", type=float, default=10, metavar="S", help="seconds for a cell of the map (10)")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the growth with k")
    parser.add_argument("--map", type=Path, metavar="FILE", help="draw the map")
    given = parser.parse_args()
    given.parts = ("cells",) if given.quick else tuple(given.only or PARTS)
    if not os.environ.get("VERNAL_DATA"):
        parser.exit(2, "benchmarks.vcas needs the published networks: set VERNAL_DATA to their folder\n")
    return given


def run_table(cap: float, methods: Sequence[Method]) -> int:
    """The published table; the number of wrong verdicts."""
    rows = cells.run_cells(cap, methods)
    print("AX[k] safe: T holds, F violated, ? unknown, with seconds; empty: not tried after a timeout")
    print(f"{cells.cells_table(rows)}\n{RELEASED}\n\n{cells.summary(rows)}\n", flush=True)
    errors = cells.wrong(rows)
    print("\n".join(f"WRONG: {error}" for error in errors) or "no verdict is wrong\n")
    return len(errors)


def run_map(cap: float, file: Path | None) -> None:
    """The map, and its picture."""
    drawn = atlas.run_map(cap)
    print(f"AG[1,5] safe from [h0, h0 + 50] x [v0, v0 + 5], scaling 200, engine auto, at most {cap:g} s a cell")
    print(f"{atlas.map_text(drawn)}\n{atlas.map_summary(drawn)}\n", flush=True)
    if file is not None:
        atlas.plot_map(drawn, file)


def main() -> int:
    given = options()
    print(f"{setting()}\n", flush=True)
    errors = run_table(given.cap, (*METHODS, *PAPERS) if given.papers else METHODS) if "cells" in given.parts else 0
    if "encounter" in given.parts:
        print(f"the whole encounter, engine paths\n{encounter.encounter_table(given.cap)}\n", flush=True)
    if given.plot is not None:
        encounter.plot_growth(encounter.growth(given.cap), given.plot)
    if "interval" in given.parts:
        print(f"whole acceleration intervals, AX[k] safe, auto\n{encounter.interval_table(given.cap)}\n", flush=True)
    if "two" in given.parts:
        print(f"two aircraft, AG[1,k] (abs(h) > 20)\n{encounter.two_aircraft_table(given.cap)}\n", flush=True)
    if "map" in given.parts:
        run_map(given.map_cap, given.map)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
