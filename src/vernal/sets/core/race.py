"""Two manners of cutting, inputs first or neurons first: both are tried, and the one that comes further has the time.

Which of them ends at all cannot be told from numbers of inputs and neurons: fourteen inputs may be cut in a moment
where neurons never end, and the other way round. Each manner is a search of its own from the whole, and both are asked
in slices of time. The share of the whole that a search has closed, where each cut counts half, says how long it will
take (D. Knuth, Estimating the efficiency of backtrack programs, 1975), if it goes on as in the later half of its time.
The manner that has less to cut begins; the other one follows soon where their numbers are close, late where not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import inf

from vernal.evidence.trace import Trace
from vernal.sets.core.box_search import BoxSearch

SLICE = 0.1  # seconds
HEAD_START = 0.005  # seconds, times the square of how many times more the other manner has to cut
MOST_AHEAD = 4.0  # times as much of the time as the other the manner has, at most, that is said to end first

NeuronsFirst = bool


class Racer:
    """One search, the time it had, and how much of the whole it had closed by then."""

    def __init__(self, search: BoxSearch) -> None:
        self.search, self.spent = search, 0.0
        self._past = [(0.0, 0.0)]  # seconds, and the share closed

    def run(self, seconds: float) -> None:
        """Go on for a while."""
        began = self.search.clock()
        try:
            self.search.run(seconds)
        finally:
            self.spent += self.search.clock() - began
        self._past.append((self.spent, self.search.closed_share))

    @property
    def whole_time(self) -> float:
        """The seconds it takes in all, if it goes on as in the later half of those it had."""
        now, closed = self._past[-1]
        before, then = next(((at, share) for at, share in reversed(self._past) if at <= 0.5 * now), self._past[0])
        return now + (1.0 - closed) * (now - before) / (closed - then) if closed > then else inf


class Race:
    """Searches for the same, of which the first that ends decides; it may be paused at any time."""

    def __init__(self, make: Callable[[NeuronsFirst], BoxSearch], inputs: int, neurons: int) -> None:
        """`inputs` and `neurons` are how many there are to cut; where there are none of one kind, there is no race."""
        self._make, self._neurons_begin = make, 0 < neurons < inputs
        self._racers = [Racer(make(self._neurons_begin))]
        ratio = max(inputs, neurons) / max(1, min(inputs, neurons))
        self._head_start = HEAD_START * ratio**2 if min(inputs, neurons) else inf

    def run(self, seconds: float = inf) -> bool:
        """Work until one search has ended; after so many seconds it pauses, and is not done."""
        until = time.monotonic() + seconds
        while not self._is_over:
            left = until - time.monotonic()
            if left <= 0:
                return False
            self._next().run(min(SLICE, left))
            self._tell_others()
        return True

    @property
    def searches(self) -> list[BoxSearch]:
        return [racer.search for racer in self._racers]

    @property
    def traces(self) -> dict[int, Trace]:
        """Of the questions that are refuted, by whichever search."""
        return {number: trace for search in self.searches for number, trace in search.tally.traces.items()}

    def answered(self) -> list[int]:
        """The questions that some search has answered."""
        return sorted({number for search in self.searches for number in search.answered()})

    def search_of(self, question: int = 0) -> BoxSearch:
        """The search that has answered a question; else one that has ended, or has the better bound of it."""
        for search in self.searches:
            if question in search.answered():
                return search
        return max(self.searches, key=lambda search: (not search.stack, search.best_bound(question)))

    @property
    def _is_over(self) -> bool:
        """Whether a search has ended that did not give up, or all have."""
        ended = [search for search in self.searches if not search.stack]
        return len(ended) == len(self._racers) or any(not search.tally.given_up for search in ended)

    def _next(self) -> Racer:
        """The one that is next to go on: of two so that their times are as their chances."""
        going = [racer for racer in self._racers if racer.search.stack]
        if len(self._racers) == 1 and going[0].spent >= self._head_start:
            self._racers.append(Racer(self._make(not self._neurons_begin)))
            return self._racers[1]
        least = min(racer.whole_time for racer in going)

        def used(racer: Racer) -> float:
            behind = racer.whole_time / least if least < inf else 1.0
            return racer.spent * min(behind, MOST_AHEAD)

        return min(going, key=used)

    def _tell_others(self) -> None:
        """What one search has answered the others need not."""
        if len(self._racers) > 1 and self.searches[0].questions > 1:
            for search in self.searches:
                for other in self.searches:
                    if other is not search:
                        other.drop(search.answered())
