"""Pictures within limits: all that one command draws share the time that is left, and what is not drawn says why.

Verdicts come first. Once the limit of a command is reached, its pictures have a short time together, not each; an
interrupt ends them at once, and what is drawn by then is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from vernal.errors import Stopped
from vernal.run.alarm import in_time
from vernal.run.budget import Budget

ALLOWANCE = 1.0  # seconds after the limit, for all pictures of a command together
MIN_SECONDS = 0.5  # from now on, at least, for the same
SECONDS_OVER_LIMIT = 0.2  # seconds after that, when the picture under way is interrupted
DRAWING_SHARE, MAX_DRAWING_SECONDS = (
    0.6,
    5.0,
)  # of the time left, and at most, for the reachable sets of one picture; the rest is for drawing

INTERRUPTED = "interrupted"
Picture = Callable[[Budget], str]  # draws, as HTML; reachable sets are followed within that budget


def no_picture(why: str) -> str:
    """What stands in a page in the place of a picture."""
    return f"<figcaption>Nothing is drawn: {escape(why)}.</figcaption>"


@dataclass
class Drawing:
    """Draws picture after picture, as long as there is time; `missing` has the reasons of those that are left out."""

    budget: Budget = field(default_factory=Budget)
    interrupt: KeyboardInterrupt | None = None  # after one nothing more is drawn
    missing: list[str] = field(default_factory=list)

    @classmethod
    def after(cls, budget: Budget, interrupt: KeyboardInterrupt | None = None) -> Drawing:
        """What may be drawn when the work within a budget is done."""
        if budget.timeout is None:
            return cls(budget, interrupt)
        until = max(budget.timeout + ALLOWANCE, budget.elapsed + MIN_SECONDS)
        return cls(Budget(until, budget.memory, budget.started, clock=budget.clock), interrupt)

    def picture(self, make: Picture) -> str:
        """A picture as HTML, or a line that says why there is none."""
        found: list[str] = []
        why = self.why_not(lambda budget: found.append(make(budget)))
        return found[0] if why is None else no_picture(why)

    def saved(self, file: Path, draw: Callable[[Budget], object], what: str = "plot") -> str:
        """Draw into a file, or write it; what is to be said of it."""
        why = self.why_not(draw)
        return f"{what} written to {file}" if why is None else f"nothing is written to {file}: {why}"

    def why_not(self, draw: Callable[[Budget], object]) -> str | None:
        """Draw within the budget for one picture; the reason where that could not be finished."""
        why = self._reason(draw)
        if why is not None:
            self.missing.append(why)
        return why

    def _reason(self, draw: Callable[[Budget], object]) -> str | None:
        if self.interrupt is not None:
            return INTERRUPTED
        try:
            self.budget.check()
            in_time(lambda: draw(self.budget.part(DRAWING_SHARE, MAX_DRAWING_SECONDS)), self.budget, SECONDS_OVER_LIMIT)
        except Stopped as stop:
            return "no time was left for it" if self.budget.left <= 0 else stop.reason
        except KeyboardInterrupt as interrupt:
            self.interrupt = interrupt
            return INTERRUPTED
        return None

    @property
    def remark(self) -> str:
        """What is left out, to be added to the line that names the file; nothing where everything is drawn."""
        count = len(self.missing)
        return f", {count} {'picture' if count == 1 else 'pictures'} left out: {self.missing[-1]}" if count else ""
