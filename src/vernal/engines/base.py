"""What every engine is: something that answers a question within a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from vernal.errors import InputError, nearest
from vernal.evidence.result import UNKNOWN, Result
from vernal.logic.formula import Formula
from vernal.model.system import System
from vernal.run.budget import Budget


@dataclass(frozen=True)
class Question:
    """Does the system keep the formula?"""

    system: System
    formula: Formula
    name: str | None = None


class Engine(Protocol):
    """A decision procedure. It may answer unknown, never wrongly; `Stopped` may escape from it and is handled above."""

    name: str

    def check(self, question: Question, budget: Budget) -> Result: ...


def unknown(question: Question, engine: str, reason: str, **more: object) -> Result:
    """The honest answer, with its reason."""
    return Result(str(question.formula), UNKNOWN, engine, question.name, reason=reason, **more)  # type: ignore[arg-type]


def listed(what: str, name: str, names: tuple[str, ...]) -> str:
    """An option's value, if it is one of those there are."""
    if name not in names:
        raise InputError(f"there is no {what} {name!r}{nearest(name, names)}")
    return name


def answered(what: str, word: str) -> bool:
    """An option that is yes or no."""
    return listed(what, word, ("yes", "no")) == "yes"
