"""Marabou, a solver made for ReLU networks: linear programs with lazy case splits, in floating point.

Its library prints, and neither stops for a limit nor for an interruption, so it works in a process of its own
(`marabou_worker`), which is ended where it is late.
"""

from __future__ import annotations

import json
import math
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from vernal.interpret.relus import ReluProgram
from vernal.model.tick import idle
from vernal.solvers.base import ReluBounds, ReluSolved, Satisfiable

OVERTIME = 1.0  # seconds beyond its limit after which the process is ended
TICK_INTERVAL = 0.1
MAX_SECONDS = 10**6  # seconds
STATUS = {"sat": Satisfiable.YES, "unsat": Satisfiable.NO}


class Marabou:
    """Marabou 2 by its Python package, in this interpreter's environment or in that of another."""

    name = "marabou"
    requires: tuple[str, ...] = ("maraboupy",)

    def __init__(self, python: str = sys.executable) -> None:
        if python == sys.executable and find_spec("maraboupy") is None:
            raise ImportError("maraboupy is not installed")
        self.python = python
        self.seconds = 0.0  # of the processor, for all programs so far: making and solving them
        self.transfer = 0.0  # of this process, for handing them over
        self._process: subprocess.Popen[str] | None = None

    def check(self) -> None:
        """Start the process; an error where the interpreter has no Marabou."""
        if self._process is None:
            self._started(idle)

    def solve(
        self, program: ReluProgram, time_limit: float = math.inf, tick: Callable[[], object] = idle
    ) -> ReluSolved:
        said = self._asked(program, False, time_limit, tick)
        status = STATUS.get(said["said"], Satisfiable.UNKNOWN)
        return ReluSolved(status, np.array(said["values"]) if status is Satisfiable.YES else None, said["said"])

    def bounds(
        self, program: ReluProgram, time_limit: float = math.inf, tick: Callable[[], object] = idle
    ) -> ReluBounds | None:
        said = self._asked(program, True, time_limit, tick)
        if said["said"] == "unsat" or not said["values"]:
            return None
        ends = [known or (-math.inf, math.inf) for known in said["values"]]
        lower, upper = np.array(ends, dtype=float).T
        return ReluBounds(lower, upper)

    def close(self) -> None:
        """End the process; the next program starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = None

    def _asked(
        self, program: ReluProgram, bounds: bool, time_limit: float, tick: Callable[[], object]
    ) -> Mapping[str, Any]:
        limit, started = max(1, math.ceil(min(time_limit, MAX_SECONDS))), time.process_time()
        try:
            said = self._exchanged({**_plain(program), "bounds": bounds, "limit": limit}, time_limit + OVERTIME, tick)
        except BaseException:
            self.close()  # what it would still answer is no answer to the next question
            raise
        finally:
            self.transfer += time.process_time() - started
        if said is None:
            self.close()
            return {"said": "did not stop in time", "values": []}
        self.seconds += said["seconds"]
        return said

    def _exchanged(
        self, message: Mapping[str, Any], seconds: float, tick: Callable[[], object]
    ) -> Mapping[str, Any] | None:
        process = self._process or self._started(tick)
        assert process.stdin is not None
        print(json.dumps(message), file=process.stdin, flush=True)
        return _line(process, seconds, tick)

    def _started(self, tick: Callable[[], object]) -> subprocess.Popen[str]:
        command = [self.python, "-W", "ignore", "-P", str(Path(__file__).with_name("marabou_worker.py"))]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, text=True, **pipes)  # type: ignore[call-overload]
        if _line(self._process, math.inf, tick) is None:
            raise ImportError(f"maraboupy is not installed for {self.python}")
        return self._process


def _line(process: subprocess.Popen[str], seconds: float, tick: Callable[[], object]) -> Mapping[str, Any] | None:
    """The next answer; None where none comes in time, or the process has ended."""
    assert process.stdout is not None
    until = time.monotonic() + seconds
    while not select.select([process.stdout], [], [], TICK_INTERVAL)[0]:
        tick()
        if time.monotonic() > until:
            return None
    text = process.stdout.readline()
    return json.loads(text) if text else None


def _plain(program: ReluProgram) -> dict[str, Any]:
    """The program as JSON has it."""
    return {
        "lower": [end if math.isfinite(end) else None for end in program.lower.tolist()],
        "upper": [end if math.isfinite(end) else None for end in program.upper.tolist()],
        "inputs": program.inputs,
        "rows": [[list(row.factors), list(row.factors.values()), row.constant, row.equal] for row in program.rows],
        "relus": program.relus,
    }
