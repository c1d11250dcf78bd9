"""Can a network answer a given advisory somewhere in a box? `python -m benchmarks.onestep [--boxes N] [--engine NAME]`.

Random boxes of the normalised inputs of the nine published VerticalCAS networks (VERNAL_DATA), each with a random
network and advisory: an engine at step 0, box by box, and beside it, question by question in turn, Marabou 2 where
`maraboupy` is installed (in this environment, or in that of `--marabou-python` or MARABOU_PYTHON); then all boxes
together. All get the same weights and ends (dyadic numbers, the same in floating point and as
rationals). Times are CPU seconds; start-up and reading files are not timed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from benchmarks.queries.tools import installed, interpreter  # noqa: E402
from vernal.engines.check import asked_of, find_engine  # noqa: E402
from vernal.engines.question_batches import check_questions  # noqa: E402
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


Ask = Callable[[Query], Answer]


def one_by_one(networks: Sequence[Network], name: str) -> Ask:
    """An engine, asked about one box."""
    known, engine = systems(networks), find_engine(name)

    def ask(query: Query) -> Answer:
        start = time.process_time()
        system = known[query.network].starting(starts(query.box))
        result = asked_of(engine, Question(system, never(system, query.advisory)), Budget(timeout=LIMIT))
        return Answer(ANSWERS.get(result.verdict, "unknown"), time.process_time() - start)

    return ask


def together(networks: Sequence[Network], asked: Sequence[Query]) -> list[Answer]:
    """All boxes and advisories at once; each box has its share of the CPU time that is spent on all of them."""
    known, engine = systems(networks), find_engine("paths")
    claims = {
        (number, advisory): Question(system, never(system, advisory))
        for number, system in enumerate(known)
        for advisory in range(ADVISORIES)
    }
    start = time.process_time()
    questions = [claims[query.network, query.advisory].starting(starts(query.box)) for query in asked]
    found = check_questions(questions, engine, Budget(timeout=LIMIT))
    share = (time.process_time() - start) / sum(result.seconds for result in found)
    return [Answer(ANSWERS.get(result.verdict, "unknown"), share * result.seconds) for result in found]


# Marabou --------------------------------------------------------------------------------------------------------------


def layers(network: Network) -> Layers:
    """Weights and biases, first layer first."""
    inputs = [build.var(f"x{index}") for index in range(INPUTS)]
    found = [node for node in order([network(*inputs)]) if isinstance(node, e.Affine)]
    return [(np.asarray(node.weight.array, dtype=float), np.asarray(node.bias.array, dtype=float)) for node in found]


class Marabou:
    """Marabou in a process of its own (`onestep_marabou`), asked question by question."""

    def __init__(self, python: str, networks: Sequence[Network]) -> None:
        script = Path(__file__).with_name("onestep_marabou.py")
        command = [python, "-W", "ignore", str(script)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        weights = [[[part.tolist() for part in layer] for layer in layers(network)] for network in networks]
        self._send({"limit": LIMIT, "networks": weights})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        print(json.dumps(message), file=self.process.stdin, flush=True)

    def __call__(self, query: Query) -> Answer:
        assert self.process.stdout is not None
        box = [[float(end) for end in ends] for ends in query.box]
        self._send({"network": query.network, "box": box, "advisory": query.advisory})
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"Marabou ended with {self.process.wait()}")
        answer = json.loads(line)
        return Answer({"sat": "yes", "unsat": "no"}.get(answer["said"], "unknown"), answer["seconds"])

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


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
    networks: Sequence[Network], asked: Sequence[Query], ours: Sequence[Answer], theirs: Sequence[Answer], marabou: Ask
) -> list[str]:
    """Queries answered yes by one and no by the other; where we have a witness, what the other says of that point."""
    return [
        f"  {query}: vernal {mine.said}, marabou {other.said}{_at_witness(networks, query, marabou)}"
        for query, mine, other in zip(asked, ours, theirs, strict=True)
        if {mine.said, other.said} == {"yes", "no"}
    ]


def _at_witness(networks: Sequence[Network], query: Query, marabou: Ask) -> str:
    system = systems(networks)[query.network].starting(starts(query.box))
    result = asked_of(find_engine("paths"), Question(system, never(system, query.advisory)), Budget(timeout=LIMIT))
    if result.trace is None:
        return ""
    point = tuple((Fraction(value), Fraction(value)) for value in result.trace.steps[0].state.values())
    inside = all(low <= value <= high for (value, _), (low, high) in zip(point, query.box, strict=True))
    said = marabou(Query(query.network, point, query.advisory)).said
    return f"; at our witness, {'inside' if inside else 'outside'} the box, marabou says {said}"


def in_turn(asked: Sequence[Query], tools: Sequence[Ask]) -> list[list[Answer]]:
    """The answers of each tool; every question goes to all of them, each time another one first."""
    answers: list[list[Answer]] = [[] for _ in tools]
    for tool in tools:
        tool(asked[0])  # what is made once is nobody's time
    for number, query in enumerate(asked):
        for place in range(len(tools)):
            which = (number + place) % len(tools)
            answers[which].append(tools[which](query))
    return answers


def times_faster(ours: Sequence[Answer], theirs: Sequence[Answer]) -> str:
    """Medians beside each other."""
    mine, other = (float(np.median([answer.seconds for answer in answers])) for answers in (ours, theirs))
    return f"{other / mine:.2f} times faster than marabou in the median"


def main() -> None:
    parser = argparse.ArgumentParser(description="One-step questions about the published VerticalCAS networks.")
    parser.add_argument("--boxes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", default="paths", help="that is asked box by box (default: paths)")
    parser.add_argument("--marabou-python", metavar="PATH", help="interpreter with maraboupy (or MARABOU_PYTHON)")
    options = parser.parse_args()
    folder = os.environ.get("VERNAL_DATA")
    if folder is None:
        parser.error("VERNAL_DATA has to name the folder with vcas/vcas_1.onnx to vcas_9.onnx")
    networks = [read_network(Path(folder) / "vcas" / f"vcas_{number}.onnx") for number in range(1, ADVISORIES + 1)]
    networks = [replace(network, name=f"network{number}") for number, network in enumerate(networks)]
    asked, ours = queries(options.boxes, options.seed), one_by_one(networks, options.engine)
    if installed("marabou", options.marabou_python) is None:
        report(networks, asked, in_turn(asked, [ours]), None)
        return
    marabou = Marabou(interpreter("marabou", options.marabou_python), networks)
    report(networks, asked, in_turn(asked, [ours, marabou]), marabou)
    marabou.close()


def report(
    networks: Sequence[Network], asked: Sequence[Query], answers: Sequence[Sequence[Answer]], marabou: Ask | None
) -> None:
    """The table, the ratios, and what contradicts."""
    joint = together(networks, asked)
    print(f"{HEADER}\n{row('one by one', answers[0])}\n{row('together', joint)}")
    if marabou is None:
        print("marabou    not installed")
        return
    ours, theirs = answers
    print(row("marabou", theirs))
    print(f"one by one {times_faster(ours, theirs)}, together {times_faster(joint, theirs)}")
    wrong = contradictions(networks, asked, ours, theirs, marabou)
    print("\n".join([f"{len(asked) - len(wrong)} of {len(asked)} without contradiction", *wrong]))


if __name__ == "__main__":
    main()
