"""Can a network answer a given advisory somewhere in a box? `python -m benchmarks.onestep [--boxes N] [--seed S]`.

Random boxes of the normalised inputs of the nine published VerticalCAS networks (VERNAL_DATA), each with a random
network and advisory: engine `paths` at step 0, box by box and all boxes of one network and advisory together, and
beside it Marabou 2 where `maraboupy` is installed. Both get the
same weights and ends (dyadic numbers, the same in floating point and as rationals); reading files is not timed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from vernal.engines.check import asked_of, find_engine  # noqa: E402
from vernal.engines.paths.together import check_together  # noqa: E402
from vernal.evidence.result import HOLDS, VIOLATED  # noqa: E402
from vernal.formats.networks import read_network  # noqa: E402
from vernal.logic.formula import Atom, Formula, Not  # noqa: E402
from vernal.logic.question import Question  # noqa: E402
from vernal.model import build  # noqa: E402
from vernal.model import expr as e  # noqa: E402
from vernal.model.agent import make_agent  # noqa: E402
from vernal.model.graph import order  # noqa: E402
from vernal.model.network import Network  # noqa: E402
from vernal.model.sorts import REAL  # noqa: E402
from vernal.model.system import Init, Span, System, Variable  # noqa: E402
from vernal.run.budget import Budget  # noqa: E402

LIMIT = 30.0  # seconds a query
GRID = 2**20  # ends are multiples of its inverse
INPUTS, ADVISORIES = 3, 9
COLUMNS = ("median ms", "95th ms", "longest ms")
HEADER = f"{'':<10} {'yes':>8} {'no':>8} {'unknown':>8} " + " ".join(f"{name:>11}" for name in COLUMNS) + "     sum s"
ANSWERS = {HOLDS: "no", VIOLATED: "yes"}

Ends = tuple[Fraction, Fraction]
Layers = list[tuple[NDArray[Any], NDArray[Any]]]


@dataclass(frozen=True)
class Query:
    """A network by its number, a box of its inputs, an advisory."""

    network: int
    box: tuple[Ends, ...]
    advisory: int


@dataclass(frozen=True)
class Answer:
    said: str  # yes, no, or unknown
    seconds: float


def queries(count: int, seed: int) -> list[Query]:
    """Centres all over the inputs, sides from 0.001 to 0.1 of them."""
    rng = random.Random(seed)
    return [_query(rng) for _ in range(count)]


def _query(rng: random.Random) -> Query:
    box = []
    for _ in range(INPUTS):
        centre, half = rng.uniform(-0.5, 0.5), 0.5 * 10 ** rng.uniform(-3, -1)
        box.append((Fraction(round((centre - half) * GRID), GRID), Fraction(round((centre + half) * GRID), GRID)))
    return Query(rng.randrange(ADVISORIES), tuple(box), rng.randrange(ADVISORIES))


# Vernal ---------------------------------------------------------------------------------------------------------------


def systems(networks: Sequence[Network]) -> list[System]:
    """For each network an advisor that sees three numbers."""
    variables = tuple(Variable(f"x{index}", REAL) for index in range(INPUTS))
    anywhere = starts(((Fraction(-1), Fraction(1)),) * INPUTS)
    agents = [make_agent("advisor", [network], [variable.var for variable in variables]) for network in networks]
    return [System("onestep", variables, anywhere, {}, (agent,)) for agent in agents]


def starts(box: Sequence[Ends]) -> Init:
    return Init({f"x{index}": Span(*ends) for index, ends in enumerate(box)})


def never(system: System, advisory: int) -> Formula:
    """The advisor's answer is another one."""
    return Not(Atom(build.eq(system.agents[0].var, advisory)))


def one_by_one(networks: Sequence[Network], asked: Sequence[Query]) -> list[Answer]:
    """Engine `paths`, a question for each box."""
    known, engine = systems(networks), find_engine("paths")

    def ask(query: Query) -> Answer:
        start = time.perf_counter()
        system = known[query.network].starting(starts(query.box))
        result = asked_of(engine, Question(system, never(system, query.advisory)), Budget(timeout=LIMIT))
        return Answer(ANSWERS.get(result.verdict, "unknown"), time.perf_counter() - start)

    return [ask(query) for query in asked]


def together(networks: Sequence[Network], asked: Sequence[Query]) -> list[Answer]:
    """The same for all boxes of one network and advisory at once; each box has its share of the time."""
    known, engine = systems(networks), find_engine("paths")
    answers: dict[Query, Answer] = {}
    for network, advisory in dict.fromkeys((query.network, query.advisory) for query in asked):
        own = [query for query in asked if (query.network, query.advisory) == (network, advisory)]
        claim, boxes = never(known[network], advisory), [starts(query.box) for query in own]
        found = check_together(known[network], boxes, claim, engine, Budget(timeout=LIMIT))
        for query, result in zip(own, found, strict=True):
            answers[query] = Answer(ANSWERS.get(result.verdict, "unknown"), result.seconds)
    return [answers[query] for query in asked]


# Marabou --------------------------------------------------------------------------------------------------------------


def layers(network: Network) -> Layers:
    """Weights and biases, first layer first."""
    inputs = [build.var(f"x{index}") for index in range(INPUTS)]
    found = [node for node in order([network(*inputs)]) if isinstance(node, e.Affine)]
    return [(np.asarray(node.weight.array, dtype=float), np.asarray(node.bias.array, dtype=float)) for node in found]


def marabou(networks: Sequence[Network], asked: Sequence[Query]) -> list[Answer]:
    """The same questions as equations and ReLU constraints."""
    from maraboupy import Marabou, MarabouCore

    weights = [layers(network) for network in networks]
    options = Marabou.createOptions(verbosity=0, timeoutInSeconds=int(LIMIT), numWorkers=1)

    def ask(query: Query) -> Answer:
        start = time.perf_counter()
        program = _program(MarabouCore, weights[query.network], query)
        said = MarabouCore.solve(program, options, "")[0]
        return Answer({"sat": "yes", "unsat": "no"}.get(said, "unknown"), time.perf_counter() - start)

    return [ask(query) for query in asked]


def _program(core: Any, net: Layers, query: Query) -> Any:
    program = core.InputQuery()
    program.setNumberOfVariables(INPUTS + sum(2 * len(bias) for _, bias in net) - len(net[-1][1]))
    for index, (low, high) in enumerate(query.box):
        program.setLowerBound(index, float(low))
        program.setUpperBound(index, float(high))
        program.markInputVariable(index, index)
    before, free = list(range(INPUTS)), INPUTS
    for number, (weight, bias) in enumerate(net):
        here = list(range(free, free + len(bias)))
        free += len(bias)
        for variable, row, constant in zip(here, weight, bias, strict=True):
            _equation(core, program, [(-1.0, variable), *zip(row.tolist(), before, strict=True)], -float(constant))
        if number < len(net) - 1:
            before = list(range(free, free + len(bias)))
            free += len(bias)
            for value, active in zip(here, before, strict=True):
                core.addReluConstraint(program, value, active)
        else:
            _claim(core, program, here, query.advisory)
    return program


def _equation(core: Any, program: Any, terms: Sequence[tuple[float, int]], scalar: float) -> None:
    equation = core.Equation()
    for factor, variable in terms:
        equation.addAddend(factor, variable)
    equation.setScalar(scalar)
    program.addEquation(equation)


def _claim(core: Any, program: Any, scores: Sequence[int], advisory: int) -> None:
    for index, variable in enumerate(scores):
        program.markOutputVariable(variable, index)
        if index != advisory:
            least = core.Equation(core.Equation.GE)
            least.addAddend(1.0, scores[advisory])
            least.addAddend(-1.0, variable)
            least.setScalar(0.0)
            program.addEquation(least)


# The table ------------------------------------------------------------------------------------------------------------


def row(name: str, answers: Sequence[Answer]) -> str:
    """Counts, median, 95th percentile and sum of one solver."""
    said = [answer.said for answer in answers]
    times = np.array([answer.seconds for answer in answers])
    counts = " ".join(f"{said.count(word):>8}" for word in ("yes", "no", "unknown"))
    return (
        f"{name:<10} {counts} {1e3 * np.median(times):>11.2f} {1e3 * np.percentile(times, 95):>11.2f} "
        f"{1e3 * times.max():>11.2f} {times.sum():>9.1f}"
    )


def contradictions(
    networks: Sequence[Network], asked: Sequence[Query], ours: Sequence[Answer], theirs: Sequence[Answer]
) -> list[str]:
    """Queries answered yes by one and no by the other; where we have a witness, what the other says of that point."""
    found = []
    for query, mine, other in zip(asked, ours, theirs, strict=True):
        if {mine.said, other.said} == {"yes", "no"}:
            found.append(f"  {query}: vernal {mine.said}, marabou {other.said}{_at_witness(networks, query)}")
    return found


def _at_witness(networks: Sequence[Network], query: Query) -> str:
    system = systems(networks)[query.network].starting(starts(query.box))
    result = asked_of(find_engine("paths"), Question(system, never(system, query.advisory)), Budget(timeout=LIMIT))
    if result.trace is None:
        return ""
    point = tuple((Fraction(value), Fraction(value)) for value in result.trace.steps[0].state.values())
    inside = all(low <= value <= high for (value, _), (low, high) in zip(point, query.box, strict=True))
    (said,) = marabou(networks, [Query(query.network, point, query.advisory)])
    return f"; at our witness, {'inside' if inside else 'outside'} the box, marabou says {said.said}"


def main() -> None:
    parser = argparse.ArgumentParser(description="One-step questions about the published VerticalCAS networks.")
    parser.add_argument("--boxes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = os.environ.get("VERNAL_DATA")
    if folder is None:
        parser.error("VERNAL_DATA has to name the folder with vcas/vcas_1.onnx to vcas_9.onnx")
    networks = [read_network(Path(folder) / "vcas" / f"vcas_{number}.onnx") for number in range(1, ADVISORIES + 1)]
    networks = [replace(network, name=f"network{number}") for number, network in enumerate(networks)]
    asked = queries(options.boxes, options.seed)
    print(HEADER)
    ours = one_by_one(networks, asked)
    print(row("one by one", ours), flush=True)
    print(row("together", together(networks, asked)), flush=True)
    if importlib.util.find_spec("maraboupy") is None:
        print("marabou    not installed")
        return
    theirs = marabou(networks, asked)
    print(row("marabou", theirs))
    wrong = contradictions(networks, asked, ours, theirs)
    print(f"{len(asked) - len(wrong)} of {len(asked)} without contradiction")
    print("\n".join(wrong))


if __name__ == "__main__":
    main()
