"""Pictures: they are drawn for every kind of trace, are the same each time, and contain what the trace says."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import vernal  # noqa: F401 - plugs the drawing in
from tests.report import samples
from vernal.engines.check import parse_formula
from vernal.engines.falsify.simulation import simulate
from vernal.errors import InputError
from vernal.logic.formula import Formula
from vernal.report.figures import LIMIT
from vernal.report.plots import plot_trace, trace_svg

MAGIC = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


@pytest.mark.parametrize("kind", MAGIC)
def test_the_suffix_chooses_the_format(kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"trace.{kind}"
    plot_trace(samples.trace(5), file)
    assert file.read_bytes().startswith(MAGIC[kind])


def test_an_unknown_suffix_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.pdf.*\.svg"):
        plot_trace(samples.trace(5), tmp_path / "trace.doc")


def test_one_panel_per_quantity_numbers_first() -> None:
    figure = plot_trace(samples.trace())
    assert [panel.get_ylabel() for panel in figure.axes] == ["T", "hour", "draught", "sun", "mode", "warm"]
    (curve, _) = figure.axes[0].lines
    assert curve.get_ydata()[0] == 18.5
    assert len(curve.get_ydata()) == 26


def test_limits_are_lines_across_their_panel() -> None:
    figure = plot_trace(samples.trace(), limits={"T": [17, 21], "hour": 3})
    heights = [[float(line.get_ydata()[0]) for line in panel.lines[2:]] for panel in figure.axes[:2]]
    assert heights == [[17, 21], [3]]


def test_a_limit_of_what_is_no_curve_is_refused() -> None:
    with pytest.raises(InputError, match=r"no curve is called 'mode' here; limits go with T, hour, draught, sun$"):
        plot_trace(samples.trace(), limits={"mode": 1})


def lines(text: str) -> int:
    """How many limits are drawn."""
    return text.count(f"stroke: {LIMIT}")


def test_a_page_has_the_limits_that_do_not_flatten_a_curve() -> None:
    trace = samples.trace()
    assert lines(trace_svg(trace)) == 0
    assert lines(trace_svg(trace, asked("G[0,3] (17 <= T & T <= 21 & hour > 3)"))) == 3
    assert lines(trace_svg(trace, asked("G[0,3] (T < 21 | T < 1000 | T > -1000)"))) == 1
    assert lines(trace_svg(trace, asked("G[0,3] (mode == HEAT)"))) == 0


def asked(formula: str) -> Formula:
    return parse_formula(samples.task(), formula)


def test_labels_are_steps_with_those_that_occur_on_the_axis() -> None:
    mode = plot_trace(samples.trace()).axes[4]
    assert [label.get_text() for label in mode.get_yticklabels()] == ["OFF", "HEAT", "BOOST"]
    assert mode.lines[0].get_ydata()[:4].tolist() == [2, 2, 1, 1]


def test_truth_values_that_find_no_room_go_to_a_legend() -> None:
    steps = samples.trace(200).steps
    blinking = [replace(one, state={**one.state, "warm": Fraction(t == 5)}) for t, one in enumerate(steps)]
    warm = plot_trace(replace(samples.trace(), steps=tuple(blinking))).axes[5]
    assert [text.get_text() for text in warm.get_legend().get_texts()] == ["true"]


def test_what_is_drawn_can_be_chosen_and_computed() -> None:
    figure = plot_trace(samples.trace(), of=["mode", "T - 20", "draught"])
    assert [panel.get_ylabel() for panel in figure.axes] == ["T - 20", "draught", "mode"]
    assert figure.axes[0].lines[0].get_ydata()[0] == -1.5


def test_what_a_formula_speaks_of_comes_first_with_its_limits() -> None:
    svg = trace_svg(samples.trace(), asked("G[0,3] (2*T + hour <= 45)"))
    assert svg.index(">2 * T + hour<") < svg.index(">T<")
    assert lines(svg) == 1


def test_a_plane_has_both_numbers_and_limits_across() -> None:
    (axes,) = plot_trace(samples.trace(5), of=["T", "hour"], plane=True, limits={"T": 20, "hour": [1, 2]}).axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("T", "hour")
    assert axes.lines[0].get_xdata()[0] == 18.5
    assert axes.lines[0].get_ydata().tolist() == [0, 1, 2, 3, 4]
    assert sum(line.get_color() == LIMIT for line in axes.lines) == 3


@pytest.mark.parametrize("of", [["T"], ["T", "mode"], ["T", "hour", "sun"], None])
def test_a_plane_of_anything_but_two_numbers_is_refused(of: list[str] | None) -> None:
    with pytest.raises(InputError, match="a plane wants two numbers"):
        plot_trace(samples.trace(5), of=of, plane=True)


def test_what_finds_no_room_is_counted() -> None:
    figure = plot_trace(samples.trace(3), of=[f"T + {n}" for n in range(20)])
    assert "and 4 more" in figure.get_supxlabel()


def test_runs_as_bands_with_a_legend_and_integers_as_steps(tmp_path: Path) -> None:
    made = simulate(samples.task(), 10, 5)
    figure = made.plot(tmp_path / "runs.svg", of=["T", "hour", "mode"])
    temperature, hour, _ = figure.axes
    legend = [text.get_text() for text in temperature.get_legend().get_texts()]
    assert legend == ["all 10 runs", "nine in ten", "median", "single runs"]
    assert [line.get_drawstyle() for line in (temperature.lines[0], hour.lines[0])] == ["default", "steps-post"]
    assert [line.get_ydata()[0] for line in temperature.lines if line.get_color() == LIMIT] == [20]


def test_what_is_never_defined_leaves_its_panel_empty() -> None:
    made = simulate(samples.task(), 10, 5)
    assert len(made.plot(of=["T", "log(0 - T)"]).axes) == 2
    for draw in (made.plot, samples.trace(5).plot):
        with pytest.raises(InputError, match=r"nothing to draw: no value of log\(0 - T\) is defined"):
            draw(of="log(0 - T)")


def test_runs_in_a_plane() -> None:
    (axes,) = simulate(samples.task(), 10, 5).plot(of=["T", "2*T"], plane=True, limits={"T": 19}).axes
    first = axes.lines[0]
    assert (first.get_ydata() == 2 * first.get_xdata()).all()
    assert sum(line.get_color() == LIMIT for line in axes.lines) == 1


def test_limits_of_runs_go_with_what_is_drawn() -> None:
    with pytest.raises(InputError, match=r"no curve is called 'v' here; limits go with T, hour$"):
        simulate(samples.task(), 10, 5).plot(limits={"v": 1})


def test_the_same_trace_gives_the_same_picture() -> None:
    first, second = trace_svg(samples.trace(5)), trace_svg(samples.trace(5))
    assert first == second
    assert first.startswith("<svg")
    assert ">BOOST<" in first


@pytest.mark.parametrize("length", [1, 2, 200])
def test_short_long_and_looping_traces_are_drawn(length: int) -> None:
    assert trace_svg(replace(samples.trace(length), loop=0)).startswith("<svg")


def test_a_lasso_is_drawn_until_it_is_back() -> None:
    trace = replace(samples.trace(5), loop=1)
    figure = plot_trace(trace)
    temperature = figure.axes[0]
    assert temperature.texts[0].get_text() == "from step 5 on as from step 1, for ever"
    values = [float(value) for value in temperature.lines[1].get_ydata()]
    assert len(values) == 6
    assert values[5] == values[1]


def test_gaps_stay_gaps() -> None:
    steps = list(samples.trace(5).steps)
    steps[2] = replace(steps[2], choices={})
    draught = plot_trace(replace(samples.trace(5), steps=tuple(steps))).axes[2]
    assert draught.get_ylabel() == "draught"
    assert np.isnan(draught.lines[0].get_ydata()[4:6]).all()
    assert np.isnan(draught.lines[1].get_ydata()[2])
