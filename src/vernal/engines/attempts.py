"""What several engines made of one question: how long each was asked, if it was cut short, and what it leaves open."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from vernal.engines.base import Engine, guarded
from vernal.evidence.belief import believed
from vernal.evidence.knowledge import Known, Open, Statistics
from vernal.evidence.result import EngineAttempt, EngineFailure
from vernal.interpret.numbers.memory_room import BEYOND, EXHAUSTED
from vernal.logic.question import Question
from vernal.logic.times import Time
from vernal.model.thread_support import has_threads
from vernal.run.budget import TIMEOUT, Budget, rounded
from vernal.run.pauses import PausableWork

TELLING_SECONDS, MAX_SLOWDOWN = 0.02, 4.0  # after which a slowdown can be told, and the largest that is believed
WORTH_SAYING = 0.05  # seconds of an engine
HINT = "try "  # how parts of a reason begin that are none
MOST_SECONDS = 1e6  # that an engine plans with where there is no limit
UNFINISHED = "not finished"  # of an engine that only ran out of time
UNSUPPORTED = "not supported"  # how reasons begin that say nothing of the question


@dataclass
class Attempted:
    """An engine that left the question open, perhaps several times."""

    engine: Engine
    again: bool  # whether it may be asked again, where it was cut short
    cut_short: bool = False  # in its last turn
    longest: float = 0.0  # seconds that it was given at most in one turn; in all of them, if it goes on where it was


@dataclass(frozen=True)
class Turned:
    """What one turn of an engine left open, and the seconds it took."""

    known: Open
    seconds: float

    @property
    def said(self) -> list[str]:
        """The reason in its parts, each once, without those that only say that the time was up."""
        parts = dict.fromkeys(self.known.reason.split("; "))
        return [part for part in parts if part and not part.startswith((TIMEOUT, HINT))]

    @property
    def hint(self) -> str | None:
        """What might be tried."""
        return next((part for part in self.known.reason.split("; ") if part.startswith(HINT)), None)

    @property
    def weight(self) -> tuple[bool, bool, float]:
        """How much the reason says: one about the question more than one about the engine, a longer try more."""
        return not self.known.reason.startswith(UNSUPPORTED), bool(self.said), self.seconds


class Attempts:
    """The engines asked so far."""

    def __init__(self, question: Question, budget: Budget) -> None:
        self.question, self.budget = question, budget
        self._begun, self._work = budget.elapsed, time.process_time()
        self.engines: dict[Engine, Attempted] = {}
        self.turns: list[Turned] = []
        self.waiting: dict[Engine, PausableWork[Known]] = {}

    def ask(self, engine: Engine, part: Budget, *, again: bool = True, waits: bool = False) -> Known:
        """What an engine knows within its part of the time, if that may be believed.

        One that `waits` when that is over goes on in its next turn. With several workers, or a journal, none does:
        there the parts of its work that are done are kept anyway, or go on by themselves. Without threads none can.
        """
        begun, given = self.budget.elapsed, part.left
        can_wait = waits and self.budget.workers == 1 and self.budget.journal is None and has_threads()
        known, cut_short = self._gone_on(engine, part) if can_wait else self._asked_anew(engine, part)
        if not isinstance(known, Open):
            return self._with_account(known, begun)
        self.turns.append(Turned(known, self.budget.elapsed - begun))
        entry = self.engines.setdefault(engine, Attempted(engine, again))
        entry.cut_short = cut_short or self._made_room(known)
        entry.longest = entry.longest + given if engine in self.waiting else max(entry.longest, given)
        return known

    def _asked_anew(self, engine: Engine, part: Budget) -> tuple[Known, bool]:
        """What an engine knows, and whether it was cut short."""
        own = part.apart()
        known = believed(self.question.claim, guarded(engine, self.question, own))
        self.budget.stops.extend(own.stops)
        return known, own.is_cut_short

    def _gone_on(self, engine: Engine, part: Budget) -> tuple[Known, bool]:
        """The same of one that goes on where it was."""
        if engine not in self.waiting:
            whole = self.budget.part(1.0, MOST_SECONDS)
            self.waiting[engine] = PausableWork(partial(guarded, engine, self.question), whole)
        return self._known(engine, self.waiting[engine].go_on(part.left), part)

    def _known(self, engine: Engine, known: Known | None, part: Budget) -> tuple[Known, bool]:
        """What became of a turn of one that can wait."""
        if known is None:
            return Open(engine=engine.name, reason=f"{TIMEOUT} {part.given}"), True
        work = self.waiting.pop(engine)
        self.budget.stops.extend(work.budget.stops)
        return believed(self.question.claim, known), bool(work.budget.stops)

    def finished(self) -> Iterator[Known]:
        """What those know that still wait, now that the time is over."""
        for engine, work in list(self.waiting.items()):
            begun = self.budget.elapsed
            known, _ = self._known(engine, work.finish(), self.budget)
            if isinstance(known, Open):
                self.turns.append(Turned(known, self.budget.elapsed - begun))
            yield self._with_account(known, begun)

    def abandon(self) -> None:
        """Nobody waits any more."""
        while self.waiting:
            self.waiting.popitem()[1].abandon()

    def _made_room(self, known: Open) -> bool:
        """Whether an engine ran out of memory that others held while they waited: they begin anew, and so may it."""
        if not self.waiting or not known.reason.startswith((BEYOND, EXHAUSTED)):
            return False
        self.abandon()
        return True

    def _with_account(self, known: Known, begun: float) -> Known:
        """The same with the failures of others and, in continuous time, the seconds of all."""
        if isinstance(known, Open):
            return known
        if self.question.time is Time.STEPS:
            return replace(known, failed=self.failed)
        spent = {**self._seconds(), f"{known.engine} seconds": round(self.budget.elapsed - begun, 3)}
        return replace(known, failed=self.failed, statistics={**known.statistics, **spent})

    @property
    def failed(self) -> tuple[EngineFailure, ...]:
        """The engines that ended in an error of their own."""
        return tuple(dict.fromkeys(one for turn in self.turns for one in turn.known.failed))

    @property
    def slowdown(self) -> float:
        """How many seconds one second of work takes on this machine now, as far as one can tell: at least 1, at most 4.

        On a busy machine, what is given little time would else get next to nothing done.
        """
        passed, worked = self.budget.elapsed - self._begun, time.process_time() - self._work
        return (
            1.0
            if passed < TELLING_SECONDS
            else min(max(passed / max(worked, TELLING_SECONDS / MAX_SLOWDOWN), 1.0), MAX_SLOWDOWN)
        )

    def has_ended(self, engine: Engine) -> bool:
        """Whether an engine was asked and came to its end without an answer: more time would change nothing."""
        return engine in self.engines and not self.engines[engine].cut_short

    @property
    def cut_short(self) -> dict[Engine, float]:
        """Engines that may be asked again with more time, and the seconds that count: all, or those of one turn."""
        return {one.engine: one.longest for one in self.engines.values() if one.again and one.cut_short}

    def open(self) -> Open:
        """What all engines together leave open: what is proven all the same, and the best reason of each."""
        left_open = [turn.known for turn in self.turns]
        proven = max((known.proven_steps for known in left_open if known.proven_steps is not None), default=None)
        said = [f"{TIMEOUT} {self.budget.given}"] if self.budget.left <= 0 else []
        said += [] if proven is None else [f"holds up to step {proven}"]
        times = [known.proven_time for known in left_open if known.proven_time is not None]
        margins = [known.margin for known in left_open if known.margin is not None]
        return Open(
            engine="auto",
            reason="; ".join([*said, *reasons(self.turns)]) or "nothing was tried",
            proven_steps=proven,
            proven_time=max(times, default=None),
            margin=max(margins, default=None),
            abstraction=next((known.abstraction for known in reversed(left_open) if known.abstraction), None),
            statistics=self._statistics(),
            notes=tuple(dict.fromkeys(note for known in left_open for note in known.notes)),
            failed=self.failed,
            tried=tried(self.turns),
        )

    def _statistics(self) -> Statistics:
        """Those of all engines, and the seconds each of them took."""
        found = {key: value for turn in self.turns for key, value in turn.known.statistics.items()}
        return {**found, **self._seconds()}

    def _seconds(self) -> dict[str, float]:
        """The seconds each engine took, in the turns that left the question open."""
        spent = {name: sum(turn.seconds for turn in turns) for name, turns in by_engine(self.turns).items()}
        return {f"{name} seconds": round(seconds, 3) for name, seconds in spent.items()}


def by_engine(turns: Iterable[Turned]) -> dict[str, list[Turned]]:
    """The turns of each engine by its name, in the order in which they were asked first."""
    made: dict[str, list[Turned]] = {}
    for turn in turns:
        made.setdefault(turn.known.engine, []).append(turn)
    return made


def tried(turns: Sequence[Turned]) -> tuple[EngineAttempt, ...]:
    """Each engine once: the seconds of all of its turns, and its best reason."""
    return tuple(
        EngineAttempt(name, round(sum(turn.seconds for turn in own), 3), "; ".join(_best(own).said) or UNFINISHED)
        for name, own in by_engine(turns).items()
    )


def _best(turns: Sequence[Turned]) -> Turned:
    """The turn of an engine whose reason says most, the last of several."""
    return max(reversed(turns), key=lambda turn: turn.weight)


def reasons(turns: Sequence[Turned]) -> list[str]:
    """Each engine once with its best reason and its seconds, and one hint: that of the engine that tried longest.

    That an engine does not take such claims is said only where nobody says more.
    """
    asked = by_engine(turns)
    best = [_best(own) for own in asked.values()]
    telling = [turn for turn in best if turn.weight[0]] or best
    said = [f"{_who(asked[turn.known.engine])}: {'; '.join(turn.said) or UNFINISHED}" for turn in telling]
    hints = [turn.hint for turn in sorted(telling, key=lambda turn: turn.seconds) if turn.hint is not None]
    return said + hints[-1:]


def _who(turns: Sequence[Turned]) -> str:
    """An engine, and how long it was asked in all, where that is worth saying."""
    seconds = sum(turn.seconds for turn in turns)
    return turns[0].known.engine + (f" ({rounded(seconds, 2)} s)" if seconds >= WORTH_SAYING else "")
