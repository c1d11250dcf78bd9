"""Draw questions about our networks and establish their answers: `python -m benchmarks.queries.propose SUITE`.

Boxes are drawn all over the inputs, with sides of all sizes. A threshold is set a little above or below the largest
value that a search finds, or the box is scaled to where a ranking begins to be contested. Where the search found a
point that does it by a clear margin, the answer is sat, with that point as witness; otherwise the question is proposed
as unsat and has to be proven by boxes (`establish`). How many boxes that takes says how hard it is; a suite's quotas
say how many of each kind are kept. Draws are seeded, but what is not proven in time is not kept: on another machine
some questions may be others.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.learning import Floats, Layers
from benchmarks.queries import formulas
from benchmarks.queries.establish import CLEAR, cover, find_witness, float_margins
from benchmarks.queries.networks import NETWORKS, load
from benchmarks.queries.questions import QUESTIONS, AskedQuestion, read_questions, write_questions

ROUNDS, POINTS, KEPT = 30, 600, 30  # of the search for the largest margin
NEAREST, FURTHEST = 0.01, 0.4  # of the spread of values: how far a threshold is from the largest


@dataclass(frozen=True)
class Suite:
    """A set of questions: its networks, and how many of each kind it has."""

    networks: tuple[str, ...]
    limit: float
    quotas: dict[str, int]  # sat, and unsat by how hard
    seed: int
    middling: int = 300  # boxes
    hard: int = 4_000
    seconds: float = 15.0  # CPU time for the boxes of one question

    def kind(self, boxes: int) -> str:
        """How hard a question is that so many boxes prove."""
        return "easy" if boxes < self.middling else "middling" if boxes < self.hard else "hard"


SUITES = {
    "acas": Suite(("acas_0", "acas_1", "acas_4"), 20, {"sat": 22, "easy": 10, "middling": 14, "hard": 14}, 1),
    "turn": Suite(("turn_0", "turn_1"), 20, {"sat": 7, "easy": 4, "middling": 5, "hard": 2}, 2),
    "surface": Suite(("surface",), 20, {"sat": 5, "easy": 1, "middling": 4, "hard": 0}, 3, 60, 600, 3.0),
    "swarm": Suite(("swarm",), 20, {"sat": 3, "easy": 3, "middling": 6, "hard": 0}, 4, 100, 10_000, 6.0),
    "keep": Suite(("keep_138", "keep_200"), 20, {"sat": 2, "easy": 2, "middling": 4, "hard": 2}, 5, seconds=10.0),
}
FORMULAS = "formulas"


def largest(question: AskedQuestion, layers: Layers, rng: np.random.Generator) -> tuple[float, Floats]:
    """The largest margin that is found by sampling closer and closer to the best points, and those points."""
    lower, upper = question.ends()
    points = rng.uniform(lower, upper, (4 * POINTS, len(lower)))
    for number in range(ROUNDS):
        best = points[np.argsort(-float_margins(question, layers, points))[:KEPT]]
        reach = 0.3 * 0.75**number * (upper - lower)
        near = best[rng.integers(len(best), size=POINTS)] + rng.normal(size=(POINTS, len(lower))) * reach
        points = np.concatenate([best, np.clip(near, lower, upper)])
    margins = float_margins(question, layers, points)
    return float(margins.max()), points[np.argsort(-margins)[:KEPT]]


def drawn_box(rng: np.random.Generator, inputs: int) -> tuple[Floats, Floats]:
    """Centre and half sides; sides from a thirtieth of the inputs to most of them."""
    return rng.uniform(-0.45, 0.45, inputs), 0.5 * 10 ** rng.uniform(-1.5, -0.1, inputs)


def boxed(question: AskedQuestion, centre: Floats, half: Floats) -> AskedQuestion:
    """The question about another box, in decimals, within the inputs."""
    lower, upper = np.clip(centre - half, -0.5, 0.5), np.clip(centre + half, -0.5, 0.5)
    ends = tuple((f"{low:.4f}", f"{high:.4f}") for low, high in zip(lower, upper, strict=True))
    return replace(question, box=ends)


def threshold(blank: AskedQuestion, layers: Layers, rng: np.random.Generator) -> AskedQuestion | None:
    """Can an output be at least (or at most) so much?"""
    output, op = int(rng.integers(len(layers[-1][1]))), (">=", "<=")[int(rng.integers(2))]
    question = replace(boxed(blank, *drawn_box(rng, len(blank.box))), claim=f"Y_{output} {op} 0")
    most, _ = largest(question, layers, rng)
    lower, upper = question.ends()
    least = float(float_margins(question, layers, rng.uniform(lower, upper, (POINTS, len(lower)))).min())
    gap = 10 ** rng.uniform(np.log10(NEAREST), np.log10(FURTHEST)) * (most - least)
    if gap < 10 * CLEAR:
        return None
    value = most - gap if rng.random() < 0.35 else most + gap
    return replace(question, claim=f"Y_{output} {op} {value if op == '>=' else -value:.4f}")


def ranking(blank: AskedQuestion, layers: Layers, rng: np.random.Generator) -> AskedQuestion | None:
    """Can an output be the least, or another than it?"""
    outputs = len(layers[-1][1])
    chosen, others = int(rng.integers(outputs)), " | "
    if rng.random() < 0.5:
        others = " & "
    pairs = [
        f"Y_{chosen} <= Y_{j}" if others == " & " else f"Y_{j} <= Y_{chosen}" for j in range(outputs) if j != chosen
    ]
    centre, half = drawn_box(rng, len(blank.box))
    question = replace(blank, claim=others.join(pairs))
    few, many = 0.02, 2.0
    if largest(boxed(question, centre, few * half), layers, rng)[0] > -20 * CLEAR:
        return None
    if largest(boxed(question, centre, many * half), layers, rng)[0] < 20 * CLEAR:
        return None
    for _ in range(8):
        middle = float(np.sqrt(few * many))
        few, many = (
            (few, middle) if largest(boxed(question, centre, middle * half), layers, rng)[0] > 0 else (middle, many)
        )
    scale = many * rng.uniform(1.02, 1.2) if rng.random() < 0.35 else few * rng.uniform(0.6, 0.97)
    return boxed(question, centre, scale * half)


def proposals(name: str, suite: Suite) -> Iterator[tuple[str, AskedQuestion]]:
    """Questions with an answer that is established, each with its kind, without end."""
    rng, number = np.random.default_rng(suite.seed), 0
    while True:
        network = suite.networks[number % len(suite.networks)]
        layers, number = load(network), number + 1
        inputs, outputs = NETWORKS[network].sizes[0], NETWORKS[network].sizes[-1]
        blank = AskedQuestion(name, "", network, (("0", "0"),) * inputs, "", suite.limit)
        draw = ranking if outputs > 1 and rng.random() < 0.5 else threshold
        question = draw(blank, layers, rng)
        if question is not None:
            yield from settled(question, layers, suite, rng)


def settled(
    question: AskedQuestion, layers: Layers, suite: Suite, rng: np.random.Generator
) -> Iterator[tuple[str, AskedQuestion]]:
    """The question with its answer and kind, if both can be established."""
    most, points = largest(question, layers, rng)
    witness = find_witness(question, layers, points)
    if witness:
        yield "sat", replace(question, answer="sat", how="witness " + " ".join(witness))
    elif most < -2 * CLEAR:
        found = cover(question, layers, suite.seconds)
        if found.answer == "unsat":
            yield suite.kind(found.boxes), replace(question, answer="unsat", how=f"{found.boxes} boxes")


def fill(name: str, suite: Suite) -> list[AskedQuestion]:
    """As many questions of each kind as the suite has."""
    left, kept = dict(suite.quotas), list[AskedQuestion]()
    for kind, question in proposals(name, suite):
        if left[kind] > 0:
            left[kind] -= 1
            kept.append(replace(question, name=f"{name}_{len(kept):02d}"))
            print(f"{kept[-1].name} {kind}: {question.network} {question.claim}, {question.how[:30]}", flush=True)
        if not any(left.values()):
            return kept
    raise AssertionError("proposals do not end")


def of_formulas() -> Iterator[AskedQuestion]:
    """Whether formulas have solutions, asked of their networks."""
    for seed in formulas.SEEDS:
        found = formulas.solution(formulas.drawn(seed))
        answer, how = (
            ("unsat", "no assignment") if found is None else ("sat", "witness " + " ".join("01"[v] for v in found))
        )
        box = (("0", "1"),) * formulas.VARIABLES
        yield AskedQuestion(FORMULAS, f"formula_{seed}", f"formula_{seed}", box, "Y_0 <= 0", 20, answer, how)


def main() -> None:
    for name in sys.argv[1:] or (*SUITES, FORMULAS):
        others = [one for one in read_questions() if one.suite != name] if QUESTIONS.exists() else []
        write_questions([*others, *(of_formulas() if name == FORMULAS else fill(name, SUITES[name]))])


if __name__ == "__main__":
    main()
