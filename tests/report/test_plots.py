"""Pictures: they are drawn for every kind of trace, are the same each time, and contain what the trace says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.report import samples
from vernal.errors import InputError
from vernal.report.plots import LIMIT, plot_trace, trace_svg

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
    assert lines(trace_svg(trace, {"T": [17, 21], "hour": [3]})) == 3
    assert lines(trace_svg(trace, {"T": [21, 1000, -1000]})) == 1
    assert lines(trace_svg(trace, {"mode": [1], "nobody": [0]})) == 0


def test_labels_that_find_no_room_go_to_a_legend() -> None:
    mode = plot_trace(samples.trace()).axes[4]
    legend = mode.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["BOOST"]
    assert {text.get_text() for text in mode.texts} == {"HEAT", "OFF"}


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
