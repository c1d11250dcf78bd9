"""One attack: a command in a process of its own, forked where everything is loaded, and what is wrong with its end."""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vernal.cli import exits
from vernal.cli.main import main

LATE = 2.0  # seconds after its limit until a run has to end
MEMORY = 1.5  # GiB
NOT_BEGUN, LOST = 98, 99  # how a process ends that is interrupted before the command begins, or whose command raises
PROPER = {exits.OK, exits.REJECTED, exits.BAD_INPUT, exits.UNDECIDED, exits.REFUTED}


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int  # the exit code; of a signal, minus its number
    seconds: float
    gib: float
    said: str

    def fault(self, limit: float, slack: float) -> str | None:
        """What is wrong with it, if anything is; `slack` is how many times slower a busy machine may be."""
        if self.code == exits.INTERNAL or "internal error" in self.said or "Traceback" in self.said:
            return f"internal error: {self.said[-300:]}"
        if self.code not in PROPER:
            return f"ended with {self.code}"
        if self.seconds > (limit + LATE) * slack:
            return f"ended after {self.seconds:.1f} s at a limit of {limit:g} s"
        if self.gib > MEMORY:
            return f"took {self.gib:.2f} GiB"
        control = next((char for char in self.said if char != "\n" and not char.isprintable()), None)
        return f"wrote the control character {control!r} to the terminal" if control else None


def run(command: Sequence[str], limit: float, slack: float, kill: tuple[float, int] | None = None) -> Ended:
    """Fork, run the command with its output in a file, and wait; `kill` sends a signal after some seconds."""
    with tempfile.TemporaryFile() as output:
        started = time.monotonic()
        child = os.fork()
        if child == 0:
            become(command, output.fileno())
        code, usage = _wait(child, started, (limit + LATE) * slack + 5, kill)
        output.seek(0)
        said = output.read(200_000).decode("utf-8", "backslashreplace")
        return Ended(code, time.monotonic() - started, usage.ru_maxrss / 2**20, said)


def become(command: Sequence[str], output: int) -> None:
    """In the child: run the command and leave; never returns."""
    code = NOT_BEGUN
    try:
        os.setsid()
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - until the process ends
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        code = LOST
        code = main(list(command))
        sys.stdout.flush()
    finally:
        os._exit(code)


def _wait(
    child: int, started: float, most: float, kill: tuple[float, int] | None
) -> tuple[int, resource.struct_rusage]:
    while True:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), usage
        passed = time.monotonic() - started
        if kill is not None and passed > kill[0]:
            os.kill(child, kill[1])
            kill = None
        if passed > most:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.002)


def write(folder: Path, name: str, content: bytes) -> Path:
    """A file of an attack."""
    file = folder / name
    file.write_bytes(content)
    return file
