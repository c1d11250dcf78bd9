"""Verdicts in words: one line that says it all, and the lines below for what has to be added."""

from __future__ import annotations

from dataclasses import replace

from tests.report import samples
from vernal.report.text import details, result_text, verdict_line


def test_a_violation_says_where() -> None:
    line = verdict_line(replace(samples.violated(), property=None))
    assert line == "violated  G[0,25] T <= 20  at step 3  (falsify, exact, 0.2 s)"


def test_what_holds_says_how_far_and_by_how_much() -> None:
    line = verdict_line(samples.holds())
    assert line == "holds     G[0,25] T >= 0  up to step 25  (bounds, rigorous, margin 12.3457, 0.01 s)"


def test_the_unknown_says_why_and_what_is_known() -> None:
    assert verdict_line(samples.unknown()) == "unknown   warm: AF T > 30  (auto, 60 s)"
    assert [line.strip() for line in details(samples.unknown())] == [
        "reason: timeout after 60 s",
        "proven: holds up to step 4",
    ]


def test_long_lines_are_wrapped_for_a_screen_only() -> None:
    long = replace(samples.unknown(), reason="word " * 40)
    assert len(details(long)[0].splitlines()) == 1
    wrapped = details(long, wrap=60)[0].splitlines()
    assert len(wrapped) > 3
    assert max(map(len, wrapped)) <= 60


def test_vacuity_and_notes_have_their_own_lines() -> None:
    vacuous, note = (line.strip() for line in details(samples.holds()))
    assert vacuous.startswith("vacuous: ")
    assert note == "note: T may leave its range [0, 40] at step 12"


def test_the_trace_comes_below_unless_unwanted() -> None:
    text = result_text(samples.violated(4))
    assert len(text.splitlines()) == 1 + 1 + 4
    assert result_text(samples.violated(4), trace=False) == verdict_line(samples.violated())


def test_colour_only_wraps_the_verdict() -> None:
    coloured = result_text(samples.violated(), colour=True)
    assert coloured.startswith("\x1b[31mviolated\x1b[0m  ")
    assert "\x1b" not in result_text(samples.violated())
