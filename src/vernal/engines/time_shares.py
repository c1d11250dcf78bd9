"""Several questions within one limit of time: each has an equal share of what is left, so that none starves the next.

What the later ones leave over goes to those that were cut short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from vernal.evidence.result import UNKNOWN, Result
from vernal.run.budget import Budget
from vernal.run.further_turns import further_turn

Ask = Callable[[Budget], Result]  # one question, asked with a budget


class FairShares:
    """Questions that share a budget, and what is known of them so far."""

    def __init__(self, asks: Sequence[Ask], budget: Budget) -> None:
        self.asks, self.budget = asks, budget
        self.found: list[Result] = []
        self._cut_short: dict[int, float] = {}  # by number: the seconds it was given

    def __iter__(self) -> Iterator[Result]:
        """The results in the order of the questions, each as soon as it will not change any more."""
        told = 0
        for number in range(len(self.asks)):
            left = len(self.asks) - number
            self.found.append(self._ask(number, self.budget.part(1 / left) if len(self.asks) > 1 else self.budget))
            if not self._cut_short:
                yield self.found[number]
                told += 1
        while turn := further_turn(self._cut_short, self.budget.left):
            number, share = turn
            before = self.found[number].seconds
            again = self._ask(number, self.budget.part(share))
            self.found[number] = replace(again, seconds=before + again.seconds)
        yield from self.found[told:]

    def _ask(self, number: int, part: Budget) -> Result:
        own = part.apart()
        given = own.left
        result = self.asks[number](own)
        self._cut_short.pop(number, None)
        if result.verdict is UNKNOWN and own.is_cut_short and self.budget.timeout is not None:
            self._cut_short[number] = given
        return result
