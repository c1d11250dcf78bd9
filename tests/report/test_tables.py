"""Tables one can read: aligned, cut where they are long, folded where they are wide."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from tests.report import samples
from vernal.evidence.result import Result
from vernal.evidence.trace import Enclosure, Trace, TraceStep
from vernal.queries.sweep import SweepRow
from vernal.report.sweeps import sweep_text
from vernal.report.tables import Column, aligned, seconds, trace_table
from vernal.report.values import numbers, series


def test_a_trace_shows_labels_and_points_below_each_other() -> None:
    head, first, second, last = trace_table(samples.trace(3), indent="").splitlines()
    assert head.split() == ["step", "T", "mode", "hour", "warm", "draught", "sun"]
    assert first.split() == ["0", "18.500", "BOOST", "0", "false", "0.000", "0.00"]
    assert second.split() == ["1", "20.000", "HEAT", "1", "false", "-0.125", "0.02"]
    assert last.split() == ["2", "20.145", "HEAT", "2", "false"]  # no draws lead on from the last position
    assert len({line.index(".") for line in (first, second, last)}) == 1


def test_twenty_five_steps_are_shown_whole() -> None:
    assert len(trace_table(samples.trace(26)).splitlines()) == 27


def test_a_long_trace_is_cut_and_says_so() -> None:
    lines = trace_table(samples.trace(100)).splitlines()
    assert len(lines) < 40
    assert "--trace FILE" in lines[-1]
    assert any(line.split()[0] == "..." for line in lines)
    assert lines[-2].split()[0] == "99"


def test_a_wide_table_folds_and_repeats_the_step() -> None:
    blocks = trace_table(samples.trace(3), width=24, indent="").split("\n\n")
    assert len(blocks) > 1
    assert all(block.split()[0] == "step" for block in blocks)
    assert max(len(line) for block in blocks for line in block.splitlines()) <= 24


def test_loops_and_ends_are_said() -> None:
    looping = replace(samples.trace(3), loop=1)
    assert "from step 1, for ever" in trace_table(looping)
    assert "not enabled" in trace_table(replace(samples.trace(3), complete=True))


def test_vectors_become_components_and_enclosures_their_middle() -> None:
    near_pi = Enclosure(Fraction("3.1415926"), Fraction("3.1415927"))
    steps = (TraceStep({"x": near_pi}, {"pilot": (Fraction(1), Fraction(2))}), TraceStep({"x": Fraction(0)}))
    found = {item.title: item.cells() for item in series(Trace(steps))}
    assert found == {"x": ["3.1416", "0.0000"], "pilot[0]": ["1", ""], "pilot[1]": ["2", ""]}


def test_numbers_far_apart_keep_their_digits() -> None:
    assert numbers([Fraction(1), Fraction(1, 10**9)]) == ["1", "1e-09"]
    assert numbers([Fraction(10) ** 400, -(Fraction(10) ** 400) / 3]) == ["1e+400", "-3.33333e+399"]


@pytest.mark.parametrize(("duration", "text"), [(0.004, "0.00 s"), (0.2, "0.2 s"), (9.96, "10 s"), (600.4, "600 s")])
def test_times_have_two_digits(duration: float, text: str) -> None:
    assert seconds(duration) == text


def at(result: Result, **parameters: str) -> SweepRow:
    return SweepRow({}, replace(result, property="safe"), parameters)


def test_two_parameters_make_a_grid_as_the_papers_print_it() -> None:
    found = {("-19.5", "1"): samples.holds(), ("-19.5", "2"): samples.violated(), ("-22.5", "1"): samples.unknown()}
    table = sweep_text([at(result, v0=v0, k=k) for (v0, k), result in found.items()])
    title, head, first, second = table.splitlines()
    assert title == "safe  (with margin, or seconds)"
    assert head.split() == ["k", "v0=-19.5", "v0=-22.5"]
    assert first.split() == ["1", "holds", "12.3457", "unknown", "60", "s"]
    assert second.split() == ["2", "violated", "-0.5"]  # (-22.5, 2) was not reached and stays empty


def test_one_parameter_makes_a_list() -> None:
    _, head, row = sweep_text([at(samples.holds(), k="1")]).splitlines()
    assert head.split() == ["k", "verdict", "scope", "margin", "time"]
    assert row.split() == ["1", "holds", "up", "to", "step", "25", "12.3457", "0.01", "s"]


def test_text_stands_left_and_numbers_stand_right() -> None:
    table = aligned([Column("n", ["1", "10"]), Column("word", ["a", "bcdefg"], left=True)])
    assert table == " n  word\n 1  a\n10  bcdefg"
