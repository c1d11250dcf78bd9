"""Commands that ask no question, within a limit of time: where it is over, one message and exit code 5."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import typer

from vernal.cli import exits
from vernal.cli.clock import started
from vernal.cli.options import INTERRUPTED
from vernal.cli.stream import say
from vernal.errors import Stopped

if TYPE_CHECKING:
    from vernal.run.budget import Budget

T = TypeVar("T")


def time_for(timeout: float | None) -> Budget:
    """The time of such a command, from the start of the program; what is no limit is refused."""
    from vernal.run.budget import Budget, refuse_limits

    refuse_limits({"timeout": timeout}, workers=1, seed=0, prefix="--")
    return Budget(timeout, started=started())


@contextmanager
def unfinished(what: str) -> Iterator[None]:
    """Work that may be stopped: then it is said before what that was."""
    try:
        yield
    except Stopped as stop:
        say(f"unknown: {stop.reason}, before {what}")
        raise typer.Exit(exits.UNDECIDED) from None


def finished(work: Callable[[], T], budget: Budget, what: str) -> T:
    """What the work gives; it is stopped where the time of the budget is over, wherever it is."""
    from vernal.run.alarm import in_time

    with unfinished(what):
        budget.check()
        return in_time(work, budget, INTERRUPTED)
