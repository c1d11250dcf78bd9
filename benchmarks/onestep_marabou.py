"""Marabou's side of `benchmarks.onestep`: answers questions from standard input, in an interpreter of its own.

The first line holds the networks (weights and biases, layer by layer), every other one a question; the answer is a line
with what Marabou says and the CPU seconds it took to make the program and to solve it. JSON keeps every double. Nothing
of Vernal is needed here.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

Layer = tuple[list[list[float]], list[float]]


def program(core: Any, net: Sequence[Layer], box: Sequence[tuple[float, float]], advisory: int) -> Any:
    """The question as equations and ReLU constraints."""
    made, inputs = core.InputQuery(), len(box)
    made.setNumberOfVariables(inputs + sum(2 * len(bias) for _, bias in net) - len(net[-1][1]))
    for index, (low, high) in enumerate(box):
        made.setLowerBound(index, low)
        made.setUpperBound(index, high)
        made.markInputVariable(index, index)
    before, free = list(range(inputs)), inputs
    for number, (weight, bias) in enumerate(net):
        here = list(range(free, free + len(bias)))
        free += len(bias)
        for variable, row, constant in zip(here, weight, bias, strict=True):
            _equation(core, made, [(-1.0, variable), *zip(row, before, strict=True)], -constant)
        if number < len(net) - 1:
            before = list(range(free, free + len(bias)))
            free += len(bias)
            for value, active in zip(here, before, strict=True):
                core.addReluConstraint(made, value, active)
        else:
            _claim(core, made, here, advisory)
    return made


def _equation(core: Any, made: Any, terms: Sequence[tuple[float, int]], scalar: float) -> None:
    equation = core.Equation()
    for factor, variable in terms:
        equation.addAddend(factor, variable)
    equation.setScalar(scalar)
    made.addEquation(equation)


def _claim(core: Any, made: Any, scores: Sequence[int], advisory: int) -> None:
    """No other score is larger."""
    for index, variable in enumerate(scores):
        made.markOutputVariable(variable, index)
        if index != advisory:
            least = core.Equation(core.Equation.GE)
            least.addAddend(1.0, scores[advisory])
            least.addAddend(-1.0, variable)
            least.setScalar(0.0)
            made.addEquation(least)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the solver prints is no answer
    from maraboupy import MarabouCore

    first = json.loads(sys.stdin.readline())
    options = MarabouCore.Options()
    options._verbosity, options._timeoutInSeconds, options._numWorkers = 0, int(first["limit"]), 1
    for line in sys.stdin:
        asked, start = json.loads(line), time.process_time()
        query = program(MarabouCore, first["networks"][asked["network"]], asked["box"], asked["advisory"])
        said = MarabouCore.solve(query, options, "")[0]
        print(json.dumps({"said": said, "seconds": time.process_time() - start}), file=answers, flush=True)


if __name__ == "__main__":
    main()
