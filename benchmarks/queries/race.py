"""Instances against tools, interleaved: each question in a process of its own, with its limit and its CPU time."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from benchmarks.queries.instances import ANSWERS, Instance
from benchmarks.queries.tools import ONE_THREAD, TIMED_OUT, Tool

GRACE = 5.0  # seconds of wall-clock time over the limit, after which a process is ended
POLL = 0.02


@dataclass(frozen=True)
class Run:
    """What one tool said to one instance, and what it took."""

    tool: str
    instance: Instance
    answer: str
    cpu: float  # seconds of the process and the children it waited for
    wall: float
    printed: str = ""

    @property
    def decided(self) -> bool:
        return self.answer in ANSWERS


def in_turn(tools: Sequence[Tool], number: int) -> Iterator[Tool]:
    """All tools for the instance with this number, beginning with another one each time."""
    first = number % len(tools)
    yield from (*tools[first:], *tools[:first])


def run(tool: Tool, asked: Instance, slack: float = 1.0) -> Run:
    """One question in a process of its own.

    `slack` stretches the wall-clock time a tool is told, for machines with other work to do; what is decided with more
    CPU time than the limit does not count, and no process may use more.
    """
    seconds, started = slack * asked.limit, time.perf_counter()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            tool.command(asked, seconds),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | ONE_THREAD | dict(tool.environment),
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (ceil(asked.limit),) * 2),
        )
        used, ended = _wait(process, started + seconds + GRACE)
        output.seek(0)
        printed = output.read()
    cpu = used.ru_utime + used.ru_stime
    answer = tool.read(printed)
    if (ended and answer not in ANSWERS) or cpu > asked.limit:
        answer = TIMED_OUT
    return Run(tool.name, asked, answer, cpu, time.perf_counter() - started, printed)


def _wait(
    process: subprocess.Popen[bytes] | subprocess.Popen[str], until: float
) -> tuple[resource.struct_rusage, bool]:
    """What the process used, its children included, and whether a limit ended it."""
    killed = False
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return used, killed or process.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
        if time.perf_counter() > until and not killed:
            os.killpg(process.pid, signal.SIGKILL)
            killed = True
        time.sleep(POLL)
