"""Pictures of loops that sample: tubes with held actions as steps, bad values above them, frames that move."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vernal as vn
from tests.sampled_loops import LOOPS, linear_network
from vernal.engines.check import parse_formula
from vernal.engines.timed_questions import timed_question
from vernal.evidence.result import Result
from vernal.logic.task import Task
from vernal.model.system import Model
from vernal.report.animation import FRAMES
from vernal.report.flow_pictures import portrait_of
from vernal.report.loop_tube import held_among, plot_tube, span_edges
from vernal.report.page import write_report
from vernal.report.plots import plot_trace
from vernal.report.subject import formula_of
from vernal.report.zones import Zone, zones_of

INF = float("inf")


def asked(loop: str, formula: str) -> Result:
    return vn.check(LOOPS[loop]().system, formula, timeout=30)


def flow(loop: str, formula: str = "G[0,1] (x <= 9)") -> tuple[Model, Any]:
    task = Task(LOOPS[loop]().system)
    question = timed_question(task, parse_formula(task, formula))
    return question.model, question.formula


@pytest.mark.parametrize(
    ("formula", "zones"),
    [
        ("G[0.5,1] (x >= -1 & x <= 2)", {"x": [Zone(2, INF, 0.5, 1), Zone(-INF, -1, 0.5, 1)]}),
        ("G[0,1] (abs(x) <= 2)", {"x": [Zone(-INF, -2, 0, 1), Zone(2, INF, 0, 1)]}),
        ("F[0,1] (x <= 0.5)", {"x": [Zone(-INF, 0.5, 0, 1, wanted=True)]}),
        ("(x >= 0.25) U[0,1] (x <= 0.5)", {"x": [Zone(-INF, 0.25, 0, 1), Zone(-INF, 0.5, 0, 1, wanted=True)]}),
        ("G[0,1] (u >= -4)", {"u": [Zone(-INF, -4, 0, 1)]}),
        ("G[0,1] (x + u <= 2)", {}),  # two quantities
        ("G[0,1] (x <= 2) | F[0,1] (x >= 1)", {}),  # neither has to be
        ("G[0,1] (x <= 1 | x >= -1)", {}),  # forbids nothing
        ("G[0,1] F[0,1] (x <= 1)", {}),
    ],
)
def test_zones_are_what_one_quantity_alone_decides(formula: str, zones: dict[str, list[Zone]]) -> None:
    found = zones_of(*flow("decay", formula))
    assert {name: sorted(some, key=str) for name, some in found.items()} == {
        name: sorted(some, key=str) for name, some in zones.items()
    }


def test_no_instant_is_inside_a_span() -> None:
    edges = span_edges(flow("decay")[0], 1.0, 25)
    assert len(edges) == 21
    assert set(np.round(np.arange(11) / 10, 9)) <= set(np.round(edges, 9))


def test_a_tube_has_a_panel_for_what_is_held(tmp_path: Path) -> None:
    result = asked("decay", "G[0.5,1] (x <= 1)")
    assert result.verdict is vn.HOLDS
    formula = formula_of(result)
    assert result.task is not None
    portrait = portrait_of(result.task, result, formula)
    assert held_among(portrait.flow, {one.name: one.var for one in portrait.flow.state}) == {"u"}
    figure = plot_tube(portrait, formula, tmp_path / "tube.png")
    state, held = figure.axes
    assert [axes.get_ylabel() for axes in figure.axes] == ["x", "u"]
    assert [text.get_text() for text in state.get_legend().get_texts()][-1] == "bad"
    lower = held.lines[0].get_ydata()[:-1].reshape(10, -1)
    assert (lower == lower[:, :1]).all(), "held from instant to instant"
    assert len(set(lower[:, 0])) == 10
    above = max(patch.zorder for patch in state.patches)
    assert above > max(line.zorder for line in state.lines)


@pytest.mark.parametrize(("of", "axes"), [(["x", "u"], ["x", "u"]), (["x", "y"], ["y", "time"])])
def test_what_is_held_is_drawn_over_time_and_two_states_in_a_plane(
    of: list[str], axes: list[str], tmp_path: Path
) -> None:
    turning = vn.System(
        state={"x": vn.real(-8, 8), "y": vn.real(-8, 8)},
        init={"x": vn.interval(1, 2), "y": 0},
        agents={"u": vn.agent(linear_network("gain", (-2.0,)), observe=lambda s: [s.x], act="raw", every="0.1")},
        rates=lambda s: {"x": s.y, "y": s.u - s.y},
    )
    figure = vn.reach(turning, of=of, time=Fraction(1, 2), timeout=30).plot(tmp_path / "drawn.png")
    assert [one.get_ylabel() for one in figure.axes] == axes


def test_a_report_shows_a_tube_of_what_holds_and_a_plane_of_what_does_not(tmp_path: Path) -> None:
    write_report(asked("pair", "G[0, 1] (x <= 1.3 & x >= -1)"), tmp_path / "holds.html")
    page = (tmp_path / "holds.html").read_text()
    assert page.count("<svg") == 2
    assert "certified bounds of all trajectories" in page
    assert "held from sample to sample" in page
    write_report(asked("pair", "G[0, 1] (x >= 1)"), tmp_path / "violated.html")
    assert "A trajectory that violates the claim" in (tmp_path / "violated.html").read_text()


def test_held_actions_and_labels_of_a_trace_are_steps_over_time() -> None:
    result = asked("bang", "G[0, 0.75] (x >= 0.9)")
    assert result.trace is not None
    assert result.trace.times is not None
    figure = plot_trace(result.trace)
    last = float(result.trace.times[-1])
    assert last < 1
    for axes in figure.axes:
        assert max(np.max(line.get_xdata()) for line in axes.lines if len(line.get_xdata()) > 2) <= 1.05 * last
    line = plot_trace(asked("decay", "G[0, 1] (x >= 0.5)").trace).axes[1].lines[0]
    assert (line.get_ydata()[::2] == line.get_ydata()[1::2]).all()


@pytest.mark.parametrize("name", ["tube.gif", "phase.gif"])
def test_figures_move(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image, ImageSequence

    monkeypatch.setattr("vernal.report.animation.FRAMES", 3)
    sets = vn.reach(LOOPS["pair"]().system, of=["x", "y"], time=0.6)
    sets.plot(tmp_path / name, runs=3, plane=name == "phase.gif")
    with Image.open(tmp_path / name) as picture:
        frames = [np.asarray(frame.convert("L")) for frame in ImageSequence.Iterator(picture)]
    assert FRAMES > len(frames) == 3
    ink = [int((frame < 250).sum()) for frame in frames]
    assert ink[0] < ink[1] < ink[2]


def test_what_does_not_move_is_no_gif(tmp_path: Path) -> None:
    with pytest.raises(vn.InputError, match="cannot draw"):
        plot_trace(asked("decay", "G[0, 1] (x >= 0.5)").trace, tmp_path / "trace.gif")
