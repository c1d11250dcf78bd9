"""Every state of a finite system: `python -m benchmarks.explicit [--full] [--naive N]`.

States per second of the engine `explicit` on a vacuum robot (examples/vacuum) and on two robots that cross a grid, from
a thousand states to a million, with a claim of all paths that alternates (`AG EF`) and one of a single path (`F`).
Beside it, on the same models, a naive enumerator: a set of states, and one rational evaluation of the step for each way
to decide. It is stopped after so many states, and its rate is what it reached until then.

Without `--full` it ends below 200,000 states, in a minute or two.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np

from examples.vacuum.make import task as vacuum_task
from examples.vacuum.make import write_network as write_vacuum
from vernal.engines.check import ask, parse_formula
from vernal.formats.task.blueprint import load
from vernal.interpret import exact
from vernal.interpret.exact import Given
from vernal.logic.task import Task
from vernal.model import build as b
from vernal.model.agent import make_agent
from vernal.model.closed_graph import ClosedStep
from vernal.model.expr import Argmax, Decision, Expr, Matrix
from vernal.model.network import Network, network_input
from vernal.model.sorts import INT
from vernal.model.system import Agent, Init, OneOf, System, Variable
from vernal.run.budget import Budget

FLOORS = ((2, 2), (3, 2), (3, 3), (4, 3), (5, 3))
GRIDS = (6, 10, 18, 32)
SMALL = 200_000  # states of the largest system without --full


# Systems --------------------------------------------------------------------------------------------------------------


def vacuum(columns: int, rows: int) -> Task:
    """A vacuum robot on a floor of this size."""
    with TemporaryDirectory() as folder:
        write_vacuum(Path(folder) / "vacuum.onnx")
        file = Path(folder) / "vacuum.toml"
        file.write_text(vacuum_task(columns, rows))
        return load(file)


def crossing(size: int) -> Task:
    """Two robots on a grid, each on its way to the corner across; a slippery floor may keep either where it is."""
    state = tuple(Variable(name, INT, Fraction(0), Fraction(size - 1)) for name in ("x", "y", "u", "v"))
    x, y, u, v = (variable.var for variable in state)
    agents = (
        _walker("first", [size - 1 - x, size - 1 - y, u - x, v - y]),
        _walker("second", [0 - u, 0 - v, x - u, y - v]),
    )
    following: dict[str, Expr] = {}
    for name, agent, (row, column) in (("first", agents[0], ("x", "y")), ("second", agents[1], ("u", "v"))):
        slips = b.choose(0, 1, name=f"{name} slips")
        for variable, plus, minus in ((row, 0, 1), (column, 2, 3)):
            position = next(entry.var for entry in state if entry.name == variable)
            move = b.if_(b.eq(agent.var, plus), 1, b.if_(b.eq(agent.var, minus), -1, 0))
            following[variable] = b.clip(position + slips * move, 0, size - 1)
    starts = {name: OneOf(tuple(Fraction(n) for n in range(size))) for name in ("x", "y", "u", "v")}
    return Task(System("crossing", state, Init(starts), following, agents))


def _walker(name: str, observe: list[Expr]) -> Agent:
    """Goes where its goal is further away, and turns aside a little where the other robot is near."""
    x = network_input(4)
    first = np.array([[1, 0, 0, 0], [-1, 0, 0, 0], [0, 1, 0, 0], [0, -1, 0, 0], [0, 0, 0.25, 0], [0, 0, 0, 0.25]])
    hidden = b.relu(b.affine(x, Matrix(first), Matrix(np.zeros(6))))
    second = np.array([[1, 0, 0, 0, -0.5, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, -0.5], [0, 0, 0, 1, 0, 0], [0] * 6])
    scores = b.affine(hidden, Matrix(second), Matrix(np.array([0, 0, 0, 0, 0.25])))
    return make_agent(name, [Network(name, x, scores)], observe, "argmax")


# Measuring ------------------------------------------------------------------------------------------------------------


def measure(name: str, task: Task, formulas: list[str], naive: int) -> None:
    """A row for each claim."""
    asked = [parse_formula(task, text) for text in formulas]
    rate = naive_rate(task, naive)
    for text, formula in zip(formulas, asked, strict=True):
        started, worked = time.perf_counter(), time.process_time()
        result = ask(task, formula, None, "explicit", Budget())
        seconds, cpu = time.perf_counter() - started, time.process_time() - worked
        found = result.statistics
        states = int(found.get("states", 0))
        print(
            f"| {name} | `{text}` | {result.verdict.value} | {states:,} | {int(found.get('transitions', 0)):,} | "
            f"{seconds:.2f} s | {cpu:.2f} s | {states / cpu:,.0f} | {rate:,.0f} | {states / cpu / rate:,.0f} | "
            f"{peak_gib():.2f} GiB |",
            flush=True,
        )


def peak_gib() -> float:
    """The most memory that the process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def naive_rate(task: Task, most: int) -> float:
    """States per second of the naive enumerator: all successors of so many states, from the last initial one."""
    step = task.system.step
    first: tuple[Given, ...] = tuple(start.ends[1] for _, _, start in task.system.initial.components())
    worked, waiting, seen, met = time.process_time(), [first], {first}, 0
    while waiting and met < most:
        met += 1
        for state in naive_successors(step, waiting.pop()):
            if state not in seen:
                seen.add(state)
                waiting.append(state)
    return met / (time.process_time() - worked)


def naive_successors(step: ClosedStep, state: tuple[Given, ...]) -> set[tuple[Given, ...]]:
    """What every way to decide leads to, one rational evaluation of the step for each."""
    inputs: dict[Expr, Given] = dict(zip(step.inputs, state, strict=True))
    ways: list[dict[Expr, Given]] = [{}]
    for node in step.names:
        ways = [{**way, node: option} for way in ways for option in naive_options(node, inputs, way)]
    following = [*step.next_state, *step.next_memory]
    return {tuple(cast(list[Given], exact.evaluate(following, inputs, way))) for way in ways}


def naive_options(node: Decision, inputs: dict[Expr, Given], way: dict[Expr, Given]) -> list[int]:
    """The options of a choice, the largest scores of an argmax."""
    if not isinstance(node, Argmax):
        return list(range(len(node.args)))
    (scores,) = exact.evaluate([node.args[0]], inputs, way)
    assert isinstance(scores, tuple)
    numbers = [score for score in scores if isinstance(score, Fraction)]
    return [index for index, score in enumerate(numbers) if score == max(numbers)]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Every state of a finite system, from a thousand to a million.")
    parser.add_argument("--full", action="store_true", help="up to more than a million states")
    parser.add_argument("--naive", type=int, default=100, help="states for the naive enumerator")
    options = parser.parse_args()
    print(
        "| system | claim | verdict | states | transitions | time | CPU | states/s | naive states/s | times | memory |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for columns, rows in FLOORS:
        if options.full or columns * rows * 2 ** (columns * rows) * 3 <= SMALL:
            claims = ["AG EF clean", "F clean", "F[0,20] clean"]
            measure(f"vacuum {columns}x{rows}", vacuum(columns, rows), claims, options.naive)
    for size in GRIDS:
        if options.full or size**4 <= SMALL:
            measure(
                f"crossing {size}x{size}", crossing(size), [arrives("AG EF", size), arrives("F", size)], options.naive
            )
    return 0


def arrives(operators: str, size: int) -> str:
    """That both robots come to their corners."""
    return f"{operators} (x == {size - 1} & y == {size - 1} & u == 0 & v == 0)"


if __name__ == "__main__":
    sys.exit(main())
