"""Marabou's side of its adapter: programs from standard input, a line of JSON each, and answers as lines of JSON.

It runs in an interpreter that has `maraboupy`, which may be another than Vernal's, so nothing of Vernal is imported
here. A program that is not answered in time is ended with the whole process.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any


def query(core: Any, asked: Any) -> Any:
    """The program as Marabou has it."""
    made = core.InputQuery()
    made.setNumberOfVariables(len(asked["lower"]))
    for column, (low, high) in enumerate(zip(asked["lower"], asked["upper"], strict=True)):
        if low is not None:
            made.setLowerBound(column, low)
        if high is not None:
            made.setUpperBound(column, high)
    for column in range(asked["inputs"]):
        made.markInputVariable(column, column)
    kinds = {True: core.Equation.EQ, False: core.Equation.LE}
    for columns, factors, constant, equal in asked["rows"]:
        equation = core.Equation(kinds[equal])
        for column, factor in zip(columns, factors, strict=True):
            equation.addAddend(factor, column)
        equation.setScalar(constant)
        made.addEquation(equation)
    for argument, value in asked["relus"]:
        core.addReluConstraint(made, argument, value)
    return made


def answer(core: Any, asked: Any) -> dict[str, Any]:
    """What Marabou says, with a point or bounds, and the seconds of the processor it took."""
    options = core.Options()
    options._verbosity, options._numWorkers, options._timeoutInSeconds = 0, 1, asked["limit"]
    started = time.process_time()
    made = query(core, asked)
    if asked["bounds"]:
        said, found, _ = core.calculateBounds(made, options, "")
        values = [list(found[column]) if column in found else None for column in range(len(asked["lower"]))]
    else:
        said, found, _ = core.solve(made, options, "")
        values = [found.get(column, 0.0) for column in range(asked["inputs"])]
    return {"said": said, "values": values, "seconds": time.process_time() - started}


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the solver prints is no answer
    from maraboupy import MarabouCore

    print(json.dumps({"said": "ready"}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(MarabouCore, json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
