"""Who goes on where time is left."""

from __future__ import annotations

from vernal.run.further_turns import MIN_TURN_RATIO, further_turn


def test_the_one_that_had_least_goes_on() -> None:
    assert further_turn({"paths": 8.0, "bounds": 2.0}, 30.0) == ("bounds", 0.5)


def test_everything_where_an_equal_share_is_no_longer_than_before() -> None:
    assert further_turn({"paths": 8.0, "bounds": 7.0}, 12.0) == ("bounds", 1.0)


def test_nobody_where_everybody_had_about_as_much() -> None:
    assert further_turn({"paths": 8.0}, MIN_TURN_RATIO * 8 - 0.1) is None
    assert further_turn({}, 100.0) is None
    assert further_turn({"paths": 0.0}, 0.0) is None


def test_turns_come_to_an_end() -> None:
    """Whoever is asked is cut short again; every turn is longer than the one before, so there are few."""
    had, left, turns = {"a": 1.0, "b": 1.0, "c": 3.0}, 100.0, 0
    while turn := further_turn(had, left):
        name, share = turn
        assert share * left >= MIN_TURN_RATIO * had[name]
        had[name], left, turns = share * left, left - share * left, turns + 1
    assert turns <= 5
    assert left < MIN_TURN_RATIO * min(had.values())
