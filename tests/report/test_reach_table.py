"""Reachable sets as text, as a document and as pictures: rounded outward, complete, and what is missing is said."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest

from tests.systems import chooser, countdown, make, wanderer
from vernal.engines.reach.ask import reach
from vernal.engines.reach.sets import LabelSet, NumberBounds, ReachableSets, ReachedStep
from vernal.errors import InputError
from vernal.model import build
from vernal.model.sorts import REAL
from vernal.report.document import schema
from vernal.report.reach_table import cells, reach_document, reach_notes, reach_table, show_sets, write_sets
from vernal.report.tubes import plot_sets, sets_svg


def shown(*ends: tuple[float, float]) -> list[str]:
    return cells([NumberBounds(*pair) for pair in ends])


def test_ends_are_rounded_outward_to_the_digits_shown() -> None:
    assert shown((-113.525, -106.1), (0.0, 40.0)) == ["[-113.53, -106.10]", "[0.00, 40.00]"]
    assert shown((0.12341, 0.12349)) == ["[0.12341000, 0.12349000]"]
    for low, high in [(-1.23456789, 2.3456789), (1e-7, 3e-7), (-7e5, 1.5e6)]:
        text = shown((low, high))[0].strip("[]").split(", ")
        assert Fraction(text[0]) <= Fraction(low) + Fraction(high - low) / 10**8
        assert Fraction(text[1]) >= Fraction(high) - Fraction(high - low) / 10**8


def test_a_hair_is_no_width() -> None:
    assert shown((0.3 - 1e-16, 0.3 + 1e-16), (25.0, 25.0)) == ["0.3", "25.0"]
    assert shown((15 - 2e-15, 15.5)) == ["[15.0000, 15.5000]"]


def test_what_has_no_end_is_said() -> None:
    assert shown((-math.inf, math.inf), (-math.inf, 2.0)) == ["no bound", "[-inf, 2]"]
    assert cells([LabelSet(("OFF", "ON")), LabelSet(())]) == ["OFF ON", ""]
    assert shown((-1e300, 1e300))[0] == "[-1e+300, 1e+300]"


def test_the_table_has_about_ten_steps() -> None:
    lines = reach_table(reach(wanderer("between"), steps=40, sets=20)).splitlines()
    assert lines[0].split() == ["step", "x"]
    assert [line.split()[0] for line in lines[1:]] == ["0", "5", "10", "15", "20", "25", "30", "35", "40"]


def test_notes_say_what_is_missing() -> None:
    assert reach_notes(reach(countdown(), steps=9)) == ["no path has a step 4: all have ended before"]
    assert reach_notes(reach(wanderer(), steps=3)) == []
    x = build.var("x")
    split = make({"x": (-1, 1)}, {"x": build.div(1, x)})
    bounded, unbounded = reach_notes(reach(split, steps=2))
    assert bounded.startswith("from step 0 on decisions are not followed")
    assert unbounded.startswith("x has no bound from step 1 on")
    stopped = ReachableSets(("x",), (REAL,), (ReachedStep((NumberBounds(0, 1),)),), 5, "timeout after 1 s")
    assert reach_notes(stopped) == ["stopped: timeout after 1 s; steps 0 to 0 of 5 are bounded"]
    nothing = make({"x": (0, 1)}, {"x": x}, where=[build.compare(">", x, 2)])
    assert reach_notes(reach(nothing, steps=2)) == ["there is no initial state"]


@pytest.mark.parametrize("system", [chooser(), countdown(), wanderer()])
def test_documents_fit_their_schema(system: object, tmp_path: Path) -> None:
    sets = reach(system, steps=4)  # type: ignore[arg-type]
    write_sets(sets, tmp_path / "sets.json")
    content = json.loads((tmp_path / "sets.json").read_text())
    jsonschema.Draft202012Validator(schema("reach")).validate(content)
    assert content == json.loads(json.dumps(reach_document(sets)))
    assert len(content["steps"]) == len(sets.steps)


def test_documents_have_all_digits_and_no_infinity() -> None:
    x = build.var("x")
    sets = reach(make({"x": (-1, 1)}, {"x": build.div(1, x)}), steps=1)
    first, second = reach_document(sets)["steps"]
    assert first["values"] == {"x": {"lower": -1.0, "upper": 1.0}}
    assert second["values"] == {"x": {"lower": None, "upper": None}}


def test_tubes_and_planes_are_drawn(tmp_path: Path) -> None:
    sets = reach(chooser(), of=["x", "pilot"], steps=5)
    plot_sets(sets, tmp_path / "tube.svg", limits={"x": [-3, 3]})
    text = (tmp_path / "tube.svg").read_text()
    for said in ("LEFT", "RIGHT", ">pilot<", "certified bounds of all paths", "30 simulated runs"):
        assert said in text
    x, y = build.var("x"), build.var("y")
    plane = reach(make({"x": (0, 1), "y": (0, 1)}, {"x": build.mul(Fraction(1, 2), x), "y": x + y}), steps=3)
    plot_sets(plane, tmp_path / "plane.svg", runs=5)
    assert "5 simulated runs" in (tmp_path / "plane.svg").read_text()
    assert ">step<" in (tmp_path / "plane.svg").read_text()
    plot_sets(plane, tmp_path / "over.svg", plane=False, runs=0)
    assert "simulated" not in (tmp_path / "over.svg").read_text()
    assert sets_svg(plane).startswith("<svg")
    assert "<table>" in show_sets(plane)


def test_sets_without_bounds_are_drawn_as_far_as_they_have_some(tmp_path: Path) -> None:
    x = build.var("x")
    sets = reach(make({"x": (-1, 1), "y": (0, 1)}, {"x": build.div(1, x), "y": x}), steps=3)
    plot_sets(sets, tmp_path / "some.svg")
    plot_sets(sets, tmp_path / "some.png", plane=False)


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    sets = reach(wanderer(), steps=2)
    with pytest.raises(InputError, match="no expression is called 'z'"):
        plot_sets(sets, limits={"z": 1})
    with pytest.raises(InputError, match=r"ending in"):
        plot_sets(sets, tmp_path / "sets.doc")
    x = build.var("x")
    with pytest.raises(InputError, match="nothing to draw"):
        plot_sets(reach(make({"x": (0, 1)}, {"x": x}, where=[build.compare(">", x, 2)]), steps=2))
