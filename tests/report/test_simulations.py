"""Shares of runs in words."""

from __future__ import annotations

import pytest

from vernal.engines.falsify.failure_rates import RunShare
from vernal.report.simulations import UNCONFIRMED, share_text, shares_table


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (RunShare("p", "G p", 10, True, (1, 2), 7), "fails on 2 of 10 runs (20 %), 1 is too short to tell"),
        (RunShare("p", "G p", 10, True, (), 10), "holds on all 10 runs"),
        (RunShare("p", "G p", 10, True, (), 4), "no run of 10 fails, 6 are too short to tell"),
        (RunShare("p", "G p", 10), "no run of 10 fails, all are too short to tell more"),
        (
            RunShare("p", "EF p", 10, False),
            "a claim of some path, or of states: single runs do not show whether it fails",
        ),
    ],
)
def test_a_share_in_words(share: RunShare, words: str) -> None:
    assert share_text(share) == words


def test_a_run_that_is_not_confirmed_is_not_shown() -> None:
    shown = shares_table({"safe": RunShare("safe", "G p", 10, True, (3,), 9)})
    assert shown == f"safe  fails on 1 of 10 runs (10 %)\n      {UNCONFIRMED}"
