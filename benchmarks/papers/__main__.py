"""The tables of the five papers: `python -m benchmarks.papers [--cap S] [--only NAME ...] [--list]`.

One run at small limits, under an hour on two quiet cores; every part is a benchmark of its own, which docs/papers.md
names and which takes larger limits. Parts that need the published files are left out without VERNAL_DATA. Ends with 1
if anything is wrong.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import auto_ratio
from benchmarks.forever import linear
from benchmarks.measure import setting, table
from benchmarks.neural_abstractions import __main__ as abstractions
from benchmarks.papers import planning, tables
from benchmarks.ppa import __main__ as ppa
from benchmarks.ppa import appendix_e, replay
from benchmarks.vcas.__main__ import run_table
from benchmarks.vcas.methods import METHODS, PAPERS
from vernal.cli.main import main as vernal

CAP = 5.0
SHARES = ("4", "40", "41", "100")  # of all predicates, in percent: what Racetrack has, and all but costs of Blocksworld
BENCHMARKS = Path(__file__).parent.parent
BAD_INPUT = 2  # how a command ends that could not read what it was given


@dataclass(frozen=True)
class Part:
    """A table or figure: what it is in its paper, and how it is measured within seconds for a question."""

    title: str
    run: Callable[[float], int]
    needs_data: bool = False


def advisories(cap: float) -> int:
    """All methods, those of the paper with bounds by intervals among them."""
    return run_table(cap, (*METHODS, *PAPERS))


def other_scenarios(cap: float) -> int:
    """The frozen lake and the guarding game of the tool VenMAS; 0 where both sweeps come to their end."""
    lake = f"{BENCHMARKS / 'frozenlake' / 'frozenlake.toml'} --over k=1..6"
    game = f"{BENCHMARKS / 'guarding' / 'guarding.toml'} --over start=3,4 --over k=1..6 --set n="
    codes = []
    for asked in (lake, *(f"{game}{agents}" for agents in (2, 3, 4))):
        print(f"vernal sweep {asked}", flush=True)
        codes.append(vernal(["sweep", *asked.split(), "--timeout", f"{20 * cap:g}", "--quiet"]))
    return int(any(code == BAD_INPUT for code in codes))


def configurations(cap: float) -> int:
    return replay.main(["--tests", "40", "--solver-tests", "3", "--limit", f"{cap:g}"])


def figure_one(cap: float) -> int:
    chosen = ["racetrack", "blocksworld-6", "--policy", "careful_32", "--policy", "ignoring_16"]
    shares = [word for share in SHARES for word in ("--share", share)]
    methods = ["--method", "policy abstraction", "--method", "plain abstraction", "--method", "explicit"]
    return ppa.main([*chosen, *shares, *methods, "--cap", f"{4 * cap:g}"])


def refinement(cap: float) -> int:
    chosen = ["blocksworld-4", "blocksworld-6", "blocksworld-8", "--policy", "ignoring_16", "--method", "refinement"]
    return ppa.main([*chosen, "--cap", f"{8 * cap:g}"])


def neural_abstractions(cap: float) -> int:
    """The six models; of their unsafe variants only `auto` is asked: others use up their time."""
    return abstractions.main(["--cap", f"{4 * cap:g}", "--unsafe-by", "auto"])


def linear_loops(cap: float) -> int:
    return linear.main(["--dimensions", "2", "4", "6", "10", "20", "--loops", "2", "--cap", f"{4 * cap:g}"])


PARTS = {
    "vcas": Part("AAMAS 2020, Table 1: VerticalCAS", advisories, needs_data=True),
    "venmas": Part("the frozen lake and the guarding game of VenMAS", other_scenarios, needs_data=True),
    "counts": Part("ICAPS 2022: abstract states of the published instances", planning.counted, needs_data=True),
    "configurations": Part("ICAPS 2022, Table 1: tests by every configuration", configurations, needs_data=True),
    "bounded": Part("ICAPS 2022, Table 2: bounded model checking", planning.checked_to_a_bound),
    "figure1": Part("ICAPS 2022, Figure 1: over the share of predicates (two instances)", figure_one),
    "figure2": Part("ICAPS 2022, appendix E", lambda cap: appendix_e.main(["--share", "40", "--cap", f"{4 * cap:g}"])),
    "transport": Part("Transport with ten places and 15 packages, by auto", planning.transporting),
    "refinement": Part("Blocksworld from no predicates", refinement),
    "abstractions": Part("NeurIPS 2022, Table 1", neural_abstractions),
    "cartpole": Part("AAMAS 2025, Table 2: the cart pole", tables.balancing),
    "pendulum": Part("AAMAS 2025, Table 3: the pendulum", tables.swinging),
    "lander": Part("AAMAS 2025, Table 4: the lander", tables.landing),
    "spread": Part("AAMAS 2025, Figure 2: Simple Spread", tables.spreading),
    "pushes": Part("AAAI 2019, Tables 1 and 2: the pendulum of pushes", tables.pushes),
    "linear": Part("stable linear loops by dimension", linear_loops),
    "ratio": Part("auto beside the fastest engine", lambda cap: auto_ratio.main(["--quick", "--cap", f"{2 * cap:g}"])),
}


def commit() -> str:
    """The commit that is measured, where this is a checkout."""
    try:
        asked = ["git", "rev-parse", "--short", "HEAD"]
        return subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def measured(name: str, part: Part, cap: float) -> tuple[str, str, str, str]:
    """Run a part under its title; a line of what it took."""
    print(f"\n## {part.title}\n", flush=True)
    if part.needs_data and not os.environ.get("VERNAL_DATA"):
        print("left out: needs the published files, VERNAL_DATA")
        return name, "left out", "", ""
    clock, processor = time.monotonic(), time.process_time()
    code = part.run(cap)
    sys.stdout.flush()
    spent = (f"{time.monotonic() - clock:.0f}", f"{time.process_time() - processor:.0f}")
    return name, "WRONG" if code else "done", *spent


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description="the tables of the five papers")
    parser.add_argument("--cap", type=float, default=CAP, metavar="S", help=f"seconds for a question ({CAP:g})")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="NAME")
    parser.add_argument("--list", action="store_true", help="the names of the parts")
    given = parser.parse_args(arguments)
    if given.list:
        print(table(("name", "what it is"), [(name, part.title) for name, part in PARTS.items()]))
        return 0
    print(f"{setting()}, commit {commit()}, {given.cap:g} s for a question, of the processor where that can be told")
    done = [measured(name, PARTS[name], given.cap) for name in given.only]
    print(f"\n## All\n\n{table(('part', '', 's', 'CPU s'), done)}")
    return int(any(outcome == "WRONG" for _, outcome, *_ in done))


if __name__ == "__main__":
    sys.exit(main())
