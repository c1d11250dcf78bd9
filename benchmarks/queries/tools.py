"""The verifiers that are asked: how each is called, and how its answer is read from what it prints.

Vernal runs in this interpreter. The others live in environments of their own, since their dependencies clash, and are
found by the interpreter of that environment: `--marabou-python PATH` or MARABOU_PYTHON, `--nnenum-python` or
NNENUM_PYTHON. Everybody has one thread or worker.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.queries.instances import Instance

UNKNOWN, TIMED_OUT, FAILED = "unknown", "timed-out", "failed"
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}

Command = Callable[[Instance, float], list[str]]  # for an instance and the seconds of wall-clock time it has


@dataclass(frozen=True)
class Tool:
    """A verifier: its command, and what the words mean that it prints."""

    name: str
    command: Command
    says: Sequence[tuple[str, str]]  # (pattern at the beginning of a line, answer), the first that is found counts
    environment: Mapping[str, str] = field(default_factory=dict)  # variables it has besides ours

    def read(self, printed: str) -> str:
        """The answer in what was printed."""
        for pattern, answer in self.says:
            if re.search(rf"^{pattern}", printed, re.MULTILINE):
                return answer
        return FAILED


def vernal(engine: str = "auto", name: str = "vernal", source: Path | None = None) -> Tool:
    """Our own `verify`, from a process of its own like everybody's; `source` is the `src` of another checkout."""

    def command(asked: Instance, seconds: float) -> list[str]:
        start = [sys.executable, "-m", "vernal", "verify", str(asked.query), "--network", f"N={asked.network}"]
        return [*start, "--timeout", f"{seconds:g}", "--engine", engine]

    words = (("sat", "sat"), ("unsat", "unsat"), ("unknown", UNKNOWN), ("timed-out", TIMED_OUT))
    given = {} if source is None else {"PYTHONPATH": str(source)}
    return Tool(name if engine == "auto" else f"{name} {engine}", command, words, given)


def marabou(python: str) -> Tool:
    """Marabou 2 by the program that comes with maraboupy, which reads both files itself; its own defaults."""

    def command(asked: Instance, seconds: float) -> list[str]:
        limits = [f"--timeout={max(1, round(seconds))}", "--num-workers=1", "--verbosity=0"]
        return [python, "-c", MARABOU, str(asked.network), str(asked.query), *limits]

    words = (("unsat", "unsat"), ("sat", "sat"), ("[Tt]imeout|TIMEOUT", TIMED_OUT), ("[Uu]nknown|UNKNOWN", UNKNOWN))
    return Tool("marabou", command, words)


MARABOU = "from maraboupy.MarabouMain import main; main()"


def nnenum(python: str) -> Tool:
    """nnenum with one process and its own choice of settings; it writes its answer to a file."""

    def command(asked: Instance, seconds: float) -> list[str]:
        return [python, "-c", NNENUM, str(asked.network), str(asked.query), f"{seconds:g}"]

    words = (("answer: unsat", "unsat"), ("answer: sat", "sat"), ("answer: timeout", TIMED_OUT), ("answer: ", UNKNOWN))
    return Tool("nnenum", command, words)


NNENUM = """
import sys, tempfile
from nnenum.nnenum import main
with tempfile.NamedTemporaryFile("r") as file:
    sys.argv += [file.name, "1"]
    main()
    print("\\nanswer:", file.read())
"""

PEERS: dict[str, tuple[Callable[[str], Tool], str]] = {  # by name: the tool, and the module that has to be importable
    "marabou": (marabou, "maraboupy"),
    "nnenum": (nnenum, "nnenum"),
}


def interpreter(peer: str, given: str | None) -> str:
    """The interpreter of a peer's environment: as given, from the environment variable, else our own."""
    return given or os.environ.get(f"{peer.upper()}_PYTHON") or sys.executable


def installed(peer: str, given: str | None = None) -> Tool | None:
    """A peer, if its interpreter can import it."""
    make, module = PEERS[peer]
    python = interpreter(peer, given)
    if not Path(python).exists():
        if given:
            raise FileNotFoundError(f"--{peer}-python: there is no {python}")
        return None
    found = subprocess.run([python, "-W", "ignore", "-c", f"import {module}"], capture_output=True, check=False)
    return make(python) if found.returncode == 0 else None


def find_tools(
    given: Mapping[str, str | None], engines: Sequence[str] = ("auto",), sources: Mapping[str, Path] | None = None
) -> Iterator[Tool]:
    """Vernal with each engine, other checkouts of it by their names, then every peer that is installed."""
    yield from map(vernal, engines)
    for name, source in (sources or {}).items():
        yield from (vernal(engine, name, source) for engine in engines)
    for peer in PEERS:
        tool = installed(peer, given.get(peer))
        if tool is not None:
            yield tool
