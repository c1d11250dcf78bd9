"""Workers: processes that answer sub-problems and send back outcomes as JSON.

A forked worker inherits a few sub-problems with all that is known of them, answers them and ends. A new process, which
takes long to start, is sent its sub-problems, and more of them whenever it is done; so is a forked one where they are
small and name what it has inherited (`inherited`). A worker ignores Ctrl-C, which the parent handles by killing it, and
does not outlive the parent, however that ends.
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal, NoReturn

from vernal.errors import Stopped
from vernal.model.portable import Portable
from vernal.run.budget import Budget
from vernal.run.journal import Record
from vernal.run.threads import one_blas_thread

PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl
HELD = (signal.SIGINT, signal.SIGTERM)

Method = Literal["fork", "spawn"]  # how a worker starts: as a copy of this process, or as a new one


@dataclass(frozen=True)
class Job(Portable):
    """A sub-problem as data, for any process: a key that is the same in every run, a function, and its arguments."""

    key: str
    kind: str  # the function that answers it, `module:function`; see `named`
    question: Any  # what all sub-problems of a question share
    part: Any = None  # which of them it is
    options: Mapping[str, str] = field(default_factory=dict)
    known: Record | None = None  # the answer, where it was found before
    light: bool = (
        False  # whether it is better sent than inherited: it is small, and a worker learns from one to the next
    )

    def work(self, budget: Budget) -> Worked:
        """Answer it here."""
        worked: Worked = function(self.kind)(self, budget)
        return worked


@dataclass(frozen=True)
class Worked:
    """The answer to a sub-problem: as plain data, and as it was found, for a caller in the same process."""

    outcome: Record
    found: Any = None


_SHARED: dict[int, Any] = {}  # what forked workers find under the number it has here
_NUMBERS = count()


def shared(thing: Any) -> int:
    """The number by which workers that are forked later find something of this process, which cannot travel."""
    number = next(_NUMBERS)
    _SHARED[number] = thing
    return number


def unshare(number: int) -> None:
    """It is not needed any more."""
    del _SHARED[number]


def inherited(number: int) -> Any:
    """What was shared under a number, here or by the process that this one was forked from."""
    return _SHARED[number]


def named(answer: Callable[..., Any]) -> str:
    """The name under which any process finds a function of a module."""
    name = f"{answer.__module__}:{answer.__qualname__}"
    if "." in answer.__qualname__:
        raise ValueError(f"{name} is not found by its name; sub-problems are answered by functions of modules")
    return name


def function(name: str) -> Callable[..., Any]:
    """The function of this name."""
    module, _, attribute = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), attribute)
    return found


@dataclass(frozen=True)
class Order(Portable):
    """What a worker is given to do."""

    jobs: tuple[Job, ...]
    budget: Budget


@contextmanager
def signals_held() -> Iterator[None]:
    """Hold back interrupts, so that none falls between the start of a worker and the note that it exists."""
    if not hasattr(signal, "pthread_sigmask"):  # not on this system
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def keep_signals() -> None:
    """Start the helper of new processes that `multiprocessing` has: when it starts, signals held are let through."""
    if hasattr(signal, "pthread_sigmask"):
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()


class Worker:
    """A process at work on some sub-problems, in order; `stays` says whether it waits for more afterwards."""

    def __init__(self, jobs: Sequence[Job], budget: Budget, method: Method) -> None:
        context: Any = multiprocessing.get_context(method)
        self.stays = method == "spawn" or all(job.light for job in jobs)
        self.jobs = deque(jobs)  # not answered yet
        self.given = len(jobs)
        self.began = time.monotonic()
        self.ear, mouth = context.Pipe(duplex=self.stays)
        arguments = (Order(tuple(jobs), budget), mouth, os.getpid(), self.stays)
        self.process = context.Process(target=_serve, args=arguments, daemon=True)
        with warnings.catch_warnings():  # a display may run a thread beside us; the child never touches it
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        mouth.close()

    @property
    def pid(self) -> int:
        return int(self.process.pid or 0)

    @property
    def is_idle(self) -> bool:
        """Whether it waits for more to do."""
        return self.stays and not self.jobs

    @property
    def seconds_each(self) -> float:
        """How long a sub-problem of those it was given last has taken, on average."""
        return (time.monotonic() - self.began) / self.given

    def give(self, jobs: Sequence[Job], budget: Budget) -> None:
        """More to do for one that is idle."""
        self.jobs.extend(jobs)
        self.given = len(jobs)
        self.began = time.monotonic()
        with suppress(OSError):  # it has ended, which is heard next
            self.ear.send(Order(tuple(jobs), budget))

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


def _serve(order: Order, mouth: Connection, parent: int, stays: bool) -> NoReturn:
    """The main function of a worker. It exits without cleaning up: open files and locks belong to the parent."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if hasattr(signal, "pthread_sigmask"):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)
        _die_with(parent)
        warnings.showwarning = _unsaid
        gc.freeze()  # keeps inherited memory shared: the collector does not write to it
        with one_blas_thread():
            _carry_out(order, mouth)
            while stays:
                _carry_out(mouth.recv(), mouth)
    except (EOFError, OSError):
        pass  # the parent has gone
    finally:
        os._exit(0)


def _unsaid(*_: object, **__: object) -> None:
    """What a library warns of in a worker: every worker would say it, with a place in a source."""


def _carry_out(order: Order, mouth: Connection) -> None:
    for job in order.jobs:
        mouth.send_bytes(json.dumps(answered(job, order.budget)).encode())


def answered(job: Job, budget: Budget) -> tuple[str, Any]:
    """The answer as a message: what kind it is, and what it says."""
    try:
        return "done", job.work(budget).outcome
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
