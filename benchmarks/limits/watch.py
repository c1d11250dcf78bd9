"""One command in a process of its own: when it ended, the processor's time after the limit, and the most memory."""

from __future__ import annotations

import os
import pkgutil
import signal
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import vernal
from benchmarks.hostile.attempt import become

PACE = 0.005  # seconds between two looks at the process
HOPELESS = 60.0  # seconds after the limit: then it is killed
TICKS = os.sysconf("SC_CLK_TCK")
LIBRARIES = ("highspy", "lark", "onnx", "scipy.optimize", "scipy.sparse.csgraph", "z3")
VERDICTS = ("holds", "violated", "unknown", "sat", "unsat", "timed-out", "error")


@dataclass(frozen=True)
class Watched:
    """How a command ended. Both times are after the limit: by the clock on the wall, and of the processor."""

    late: float
    worked: float
    gib: float
    code: int
    said: str

    @property
    def verdict(self) -> str:
        """The verdicts that begin its lines, each once; of a table, those in it; else the exit code."""
        lines = self.said.replace(":", " ").splitlines()
        first = [line.split(" ", 1)[0] for line in lines]
        told = [word for word in first if word in VERDICTS] or [
            word for word in " ".join(lines).split() if word in VERDICTS
        ]
        return " ".join(dict.fromkeys(told)) or f"exit {self.code}"


def load_everything() -> None:
    """Import all of Vernal and its libraries, so that a command's time is its work."""
    for module in pkgutil.walk_packages(vernal.__path__, "vernal."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # of an extra that is not installed
                import_module(module.name)
    for name in LIBRARIES:
        with suppress(ImportError):
            import_module(name)


def watch(command: Sequence[str], limit: float) -> Watched:
    """Fork, run the command with its output in a file, and look when the limit is reached and when it ends."""
    with tempfile.TemporaryFile() as output:
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            become(command, output.fileno())
        used: float | None = None  # seconds of the processor when the limit was reached
        while not (ended := os.wait4(child, os.WNOHANG))[0]:
            passed = time.monotonic() - started
            if used is None and passed >= limit:
                used = processor_seconds(child)
            if passed > limit + HOPELESS:
                os.killpg(child, signal.SIGKILL)
            time.sleep(PACE)
        passed, usage = time.monotonic() - started, ended[2]
        output.seek(0)
        said = output.read(100_000).decode("utf-8", "backslashreplace")
    worked = 0.0 if used is None else max(0.0, usage.ru_utime + usage.ru_stime - used)
    return Watched(passed - limit, worked, usage.ru_maxrss / 2**20, os.waitstatus_to_exitcode(ended[1]), said)


def processor_seconds(pid: int) -> float:
    """Seconds of the processor so far, of the process and of its children that have ended; 0 once it has."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS
