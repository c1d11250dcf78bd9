"""Workers: forked processes that each answer a few sub-problems and end.

A worker inherits its sub-problems from its parent and sends back outcomes as JSON. It ignores Ctrl-C, which the parent
handles by killing it, and does not outlive the parent, however that ends.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

from vernal.errors import Stopped
from vernal.run.budget import Budget
from vernal.run.journal import Outcome
from vernal.run.threads import one_blas_thread

PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl
HELD = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class Job:
    """A sub-problem: a key that is the same in every run, and how to answer it."""

    key: str
    work: Callable[[Budget], Outcome]
    known: Outcome | None = None  # the answer, where it was found before


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold back interrupts, so that none falls between the start of a worker and the note that it exists."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Worker:
    """A process at work on some sub-problems, in order."""

    def __init__(self, jobs: Sequence[Job], budget: Budget) -> None:
        context = multiprocessing.get_context("fork")
        self.jobs = deque(jobs)  # not answered yet
        self.started = time.monotonic()
        self.ear, mouth = context.Pipe(duplex=False)
        self.process = context.Process(target=_serve, args=(jobs, budget, mouth, os.getpid()), daemon=True)
        with warnings.catch_warnings():  # a display may run a thread beside us; the child never touches it
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        mouth.close()

    @property
    def pid(self) -> int:
        return self.process.pid or 0

    def hear(self) -> tuple[str, Any] | None:
        """The next message: what kind it is, and what it says; None when the worker has ended."""
        try:
            kind, content = json.loads(self.ear.recv_bytes())
        except (EOFError, OSError):  # also in the middle of a message
            return None
        return kind, content

    def fate(self) -> str:
        """How the process ended."""
        self.process.join(1)
        code = self.process.exitcode
        return f"its worker was killed (signal {-code})" if code is not None and code < 0 else "its worker ended early"

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.join(1)
        self.ear.close()


def _serve(jobs: Sequence[Job], budget: Budget, mouth: Connection, parent: int) -> NoReturn:
    """The main function of a worker. It exits without cleaning up: open files and locks belong to the parent."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
        _die_with(parent)
        gc.freeze()  # keeps inherited memory shared: the collector does not write to it
        with one_blas_thread():
            for job in jobs:
                mouth.send_bytes(json.dumps(_answer(job, budget)).encode())
    finally:
        os._exit(0)


def _answer(job: Job, budget: Budget) -> tuple[str, Any]:
    try:
        return "done", job.work(budget)
    except Stopped as stop:
        return "stopped", stop.reason
    except MemoryError:
        return "memory", None
    except Exception:
        return "failed", traceback.format_exc()


def _die_with(parent: int) -> None:
    """Do not outlive the parent: by a signal of the system where it has one, else by a thread that polls."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    except (AttributeError, OSError, TypeError):
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # it was quicker
        os._exit(1)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def together_gib(processes: Iterable[int]) -> float:
    """The memory of some processes, what they share counted once; 0 where the system does not say."""
    return sum(_proportional_kib(pid) for pid in processes) / 2**20


def _proportional_kib(pid: int) -> float:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return float(line.split()[1])
    except (OSError, ValueError):
        pass  # ended meanwhile, or another kind of system
    return 0.0
