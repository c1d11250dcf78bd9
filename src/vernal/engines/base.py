"""The interface of engines: from a question and a budget to what is known."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from vernal.errors import Stopped, VernalError
from vernal.evidence.knowledge import Known, Open
from vernal.evidence.result import EngineFailure
from vernal.interpret.numbers.memory_room import EXHAUSTED, limited
from vernal.logic.question import Question
from vernal.run.alarm import in_time
from vernal.run.budget import Budget


class Engine(Protocol):
    """A decision procedure. It may leave a question open, and must be sound; it may raise `Stopped`."""

    @property
    def name(self) -> str: ...

    def takes(self, question: Question) -> str | None:
        """None where it may answer such a question; else why not. Found out without solving anything."""
        ...

    def attempt(self, question: Question, budget: Budget) -> Known:
        """What it knows when its work is done, or its budget used up."""
        ...


def infinite_bounds() -> np.errstate:
    """Bounds beyond all floats are infinite: they say nothing, and are no reason for a warning."""
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")


def guarded(engine: Engine, question: Question, budget: Budget) -> Known:
    """The same of an engine that is one of several: a bug in it leaves the question open, and is no answer of all.

    Errors of ours say something about the question, and are raised as ever.
    """
    try:
        return within(engine, question, budget)
    except VernalError:
        raise
    except Exception as error:
        return broken(engine.name, error)


def broken(engine: str, error: Exception) -> Open:
    """What is known after an engine ended in an error of its own: that it did."""
    failure = EngineFailure(engine, type(error).__name__)
    return Open(engine=engine, reason=f"it failed ({failure.exception})", failed=(failure,))


def within(engine: Engine, question: Question, budget: Budget) -> Known:
    """What an engine knows when its budget is used up, the memory is, or numbers are larger than any float."""
    try:
        with infinite_bounds(), limited(budget.memory):
            return in_time(lambda: engine.attempt(question, budget), budget)
    except Stopped as stop:
        reason = stop.reason
    except MemoryError:
        reason = f"{EXHAUSTED}; try --memory, a smaller bound or a smaller initial set"
    except OverflowError:
        reason = "numbers beyond the range of floating point; try other units"
    return Open(engine=engine.name, reason=reason)
