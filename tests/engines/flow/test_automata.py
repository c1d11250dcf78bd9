"""Hybrid automata as models: claims whose truth is known in closed form, what blocks an execution, and their files."""

from __future__ import annotations

import json
from fractions import Fraction
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vernal as vn
from tests.engines.flow.test_contract import broken_promises
from tests.flow_cases import FlowClaim
from vernal.cli.main import main
from vernal.engines.reach.sets import NumberBounds
from vernal.evidence.judgement import Judgement
from vernal.evidence.reach import UntilTime
from vernal.evidence.result import HOLDS, UNKNOWN, Verdict
from vernal.formats.evidence import replay, write_evidence

Said = pytest.CaptureFixture[str]
Rows = list[list[float]]


def _box(*ends: tuple[float, float]) -> dict[str, Any]:
    """The points between ends of each variable, as facets."""
    axes = np.eye(len(ends))
    normals = [*axes.tolist(), *(-axes).tolist()]
    return {"normals": normals, "offsets": [*(high for _, high in ends), *(-low for low, _ in ends)]}


def _at(place: int, value: float, count: int = 1) -> dict[str, Any]:
    """The points at which a variable has a value."""
    row = np.eye(count)[place]
    return {"normals": [row.tolist(), (-row).tolist()], "offsets": [value, -value]}


def _location(name: str, invariant: dict[str, Any], matrix: Rows, drift: list[float]) -> dict[str, Any]:
    return {"name": name, "invariant": invariant, "matrix": matrix, "drift": drift}


def _automaton(
    region: list[tuple[float, float]],
    locations: list[dict[str, Any]],
    crossings: list[tuple[int, int, dict[str, Any]]],
    init: dict[str, list[float]],
    **more: object,
) -> dict[str, Any]:
    return {
        "automaton": 1,
        "name": "made",
        "variables": ["x", "v"][: len(region)],
        "lower": [low for low, _ in region],
        "upper": [high for _, high in region],
        "radius": [0.0] * len(region),
        "locations": locations,
        "crossings": [{"source": s, "target": t, "guard": guard} for s, t, guard in crossings],
        "init": init,
        **more,
    }


LOW = _location("low", _box((0, 1)), [[0.0]], [1.0])
HIGH = _location("high", _box((1, 2)), [[-1.0]], [2.0])
DOWN = _location("down", _box((1, 2)), [[-1.0]], [0.0])
START = {"x": [0.5, 0.5]}
DECAY = _automaton([(-2, 2)], [_location("all", _box((-2, 2)), [[-1.0]], [0.0])], [], {"x": [1.0, 1.0]})
TANK = _automaton([(0, 2)], [LOW, HIGH], [(0, 1, _at(0, 1.0))], START)  # 1 at 0.5, then 2 - exp(0.5 - t)
BLOCKED = _automaton([(0, 2)], [LOW, HIGH], [], START)  # ends at 0.5
SLIDING = _automaton([(0, 2)], [LOW, DOWN], [(0, 1, _at(0, 1.0)), (1, 0, _at(0, 1.0))], START)  # to and fro at 1
OFF, ON = _location("off", _box((1, 4)), [[0.0]], [-1.0]), _location("on", _box((0, 3)), [[0.0]], [1.0])
COLD, HOT = {"normals": [[1.0]], "offsets": [1.0]}, {"normals": [[-1.0]], "offsets": [-3.0]}
HEATED = _automaton([(0, 4)], [OFF, ON], [(0, 1, COLD), (1, 0, HOT)], {"x": [2.0, 2.0]})  # a wave between 1 and 3
FALLING: Rows = [[0.0, 1.0], [0.0, 0.0]]
RIGHT = _location("right", _box((0, 2), (-2, 2)), FALLING, [0.0, -1.0])
LEFT = _location("left", _box((-2, 0), (-2, 2)), FALLING, [0.0, 1.0])
CROSS = [(0, 1, _at(0, 0.0, 2)), (1, 0, _at(0, 0.0, 2))]
THROWN = _automaton([(-2, 2), (-2, 2)], [RIGHT, LEFT], CROSS, {"x": [0.5, 0.5], "v": [0.0, 0.0]})  # 0 at time 1, v -1

CASES: list[tuple[dict[str, Any], str, Verdict, float | None]] = [
    (DECAY, "G[0,1] (x >= 0.36)", HOLDS, exp(-1) - 0.36),
    (DECAY, "F[0,1] (x <= 0.37)", HOLDS, 0.37 - exp(-1)),
    (DECAY, "G[0,1] (x >= 0.37)", UNKNOWN, None),
    (TANK, "G[0,2] (x <= 1.78)", HOLDS, 1.78 - 2 + exp(-1.5)),
    (TANK, "G[1,2] (x >= 1.37)", HOLDS, 0.63 - exp(-0.5)),
    (TANK, "F[0,2] (x >= 1.7)", HOLDS, 0.3 - exp(-1.5)),
    (TANK, "G[0,2] (x <= 1.776)", UNKNOWN, None),
    (TANK, "F[0,2] (x >= 1.778)", UNKNOWN, None),
    (BLOCKED, "G[0,2] (x <= 1.01)", HOLDS, None),  # of all times that an execution reaches
    (BLOCKED, "F[0,2] (x >= 0.9)", HOLDS, 0.1),  # before it ends
    (BLOCKED, "F[1,2] (x >= 0.9)", UNKNOWN, None),  # no execution reaches that time
    (SLIDING, "F[1,2] (x >= 0.9)", UNKNOWN, None),
    (HEATED, "G[0,5] (x >= 0.99 & x <= 3.01)", HOLDS, 0.01),
    (HEATED, "G[0,5] (x >= 1.01)", UNKNOWN, None),
    (THROWN, "G[0,0.9] (x >= 0.09)", HOLDS, 0.5 - 0.405 - 0.09),
    (THROWN, "F[0,1.2] (x <= -0.1)", HOLDS, 0.08),  # (t - 1) - (t - 1)^2 / 2 below 0
]


def _task(folder: Path, made: dict[str, Any]) -> vn.Task:
    file = folder / "made.json"
    file.write_text(json.dumps(made), encoding="utf-8")
    return vn.load(file)


@pytest.mark.parametrize(("made", "formula", "expected", "margin"), CASES)
def test_what_is_known_in_closed_form(
    made: dict[str, Any], formula: str, expected: Verdict, margin: float | None, tmp_path: Path
) -> None:
    limit = None if expected is HOLDS else 0.5  # seconds in which it may not be wrong
    result = vn.check(_task(tmp_path, made), formula, engine="modes", timeout=limit)
    assert result.verdict is expected, result
    if expected is UNKNOWN:
        assert result.reason
        return
    claim = FlowClaim("", formula, HOLDS, "closed form", margin=margin)
    assert not list(broken_promises(claim, result))
    assert result.margin is not None
    assert margin is None or 0 <= result.margin <= margin + 1e-9


def test_what_stays_open_says_what_is_proven(tmp_path: Path) -> None:
    result = vn.check(_task(tmp_path, TANK), "G[0,2] (x <= 1.7)", engine="modes")
    assert result.verdict is UNKNOWN
    assert result.proven_time is not None
    assert result.proven_time <= 0.5 - np.log(0.3)  # when it is 1.7
    (note,) = [note for note in result.notes if "is proven" in note]
    assert float(note.split()[2]) >= 2 - exp(-1.5) - 1e-9


def test_a_start_in_no_location_is_no_start(tmp_path: Path) -> None:
    only = _automaton([(0, 2)], [LOW], [], {"x": [1.5, 1.5]})
    result = vn.check(_task(tmp_path, only), "G[0,1] (x <= 0.1)")
    assert result.vacuous


def test_inside_the_region_means_that_no_execution_ends(tmp_path: Path) -> None:
    free = vn.check(_task(tmp_path, TANK), "G[0,2] (x <= 1.8)")
    ended = vn.check(_task(tmp_path, BLOCKED), "G[0,2] (x <= 1.01)")
    assert "inside the region" in str(free.reach)
    assert isinstance(ended.reach, UntilTime)
    assert ended.reach.inside is not None
    assert ended.reach.inside <= 0.5


def _solved(time: float) -> float:
    """The level of the tank."""
    return 0.5 + time if time <= 0.5 else 2 - exp(0.5 - time)


def test_reach_has_the_solution(tmp_path: Path) -> None:
    found = vn.reach(_task(tmp_path, TANK), time=2, spans=8)
    assert found.timed is not None
    assert found.timed.engine == "modes"
    for (first, last), step in zip(found.spans, found.steps, strict=True):
        value = step.values[0]
        assert isinstance(value, NumberBounds)
        low, high = value.lower, value.upper
        assert low <= _solved(first) <= _solved(last) <= high
        assert high - low <= _solved(last) - _solved(first) + 0.05


def test_evidence_is_written_and_left_open_by_replay(tmp_path: Path) -> None:
    task = _task(tmp_path, TANK)
    result = vn.check(task, "G[0,2] (x <= 1.8)")
    write_evidence(task, result, tmp_path / "pipe.json")
    assert replay(tmp_path / "pipe.json").judgement is Judgement.UNDECIDED


def test_other_engines_say_that_they_take_none(tmp_path: Path) -> None:
    task = _task(tmp_path, TANK)
    for engine in ("falsify", "flowpipe", "abstraction", "paths"):
        with pytest.raises(vn.InputError, match="for hybrid automata there are auto, modes"):
            vn.check(task, "G[0,2] (x <= 1.8)", engine=engine)
    assert "modes may prove it" in vn.explain(task, "G[0,2] (x <= 1.8)")
    flow = vn.Flow(state={"x": vn.real(0, 1)}, init={"x": 0}, rates=lambda s: {"x": 1})
    with pytest.raises(vn.InputError, match="is for hybrid automata"):
        vn.check(flow, "G[0,1] (x <= 1)", engine="modes")


def test_commands_take_them(tmp_path: Path, capsys: Said) -> None:
    properties = {"below": "G[0,2] (x <= 1.8)", "fills": "F[0,2] (x >= 1.7)"}
    _task(tmp_path, {**TANK, "properties": properties})
    file = str(tmp_path / "made.json")
    assert main(["check", file, "--report", str(tmp_path / "made.html")]) == 0
    assert main(["explain", file]) == 0
    assert "dx/dt = -1 x + 2" in capsys.readouterr().out
    assert main(["reach", file, "--plot", str(tmp_path / "made.svg")]) == 0
    assert main(["simulate", file]) == 2
    assert main(["check", file, "--set", "k=1"]) == 2
    assert "has no parameters" in capsys.readouterr().err


# SpaceEx --------------------------------------------------------------------------------------------------------------

CONFIG = """# the question
system = system
initially = "loc(made)==low & x == 0.5 & t == 0"
forbidden = "x >= 1.8"
time-horizon = 2
"""


def _spaceex(folder: Path, made: dict[str, Any], config: str | None) -> Path:
    _task(folder, made)
    assert main(["convert", str(folder / "made.json"), str(folder / "made.xml")]) == 0
    if config is not None:
        (folder / "made.cfg").write_text(config, encoding="utf-8")
    return folder / "made.xml"


def test_the_configuration_beside_a_model_is_its_question(tmp_path: Path) -> None:
    task = vn.load(_spaceex(tmp_path, TANK, CONFIG))
    assert [str(formula) for formula in task.properties.values()] == ["G[0,2] !(x >= 1.8)"]
    assert vn.check(task)["safe"].verdict is HOLDS
    assert [Path(one.file).name for one in task.networks] == ["made.cfg"]


def test_without_one_all_of_the_region_is_initial(tmp_path: Path) -> None:
    task = vn.load(_spaceex(tmp_path, TANK, None))
    assert task.model.init.starts["x"].ends == (Fraction(0), Fraction(2))
    assert vn.check(task, "G[0,1] (x <= 1.9)", timeout=0.2).verdict is UNKNOWN


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('initially = "y == 0"', "'y' is no variable"),
        ('initially = "x >= 3"', "no value is left for 'x'"),
        ('forbidden = "x >= 1.8"\ntime-horizon = soon', "time-horizon is no number"),
        ('forbidden = "x >= 1.8"', "need a time-horizon"),
        ('initially = "x >= 0 | x <= 1"', "made.cfg"),
    ],
)
def test_configurations_that_cannot_be_read(config: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(vn.InputError, match=said):
        vn.load(_spaceex(tmp_path, TANK, config))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"init": {"y": [0, 1]}}, "no variable 'y'"),
        ({"init": {"x": [0, 3]}}, "within the region"),
        ({"init": {"x": [1, 0]}}, "within the region"),
        ({"init": {"x": [1]}}, "within the region"),
        ({"properties": {"a": "F x <= 1"}}, "needs a last time"),
        ({"properties": {"a": "G[0,1] y <= 1"}}, "y"),
        ({"lower": [0.0, 0.0], "upper": [1.0, 1.0], "variables": ["x", "x"]}, "the same name"),
    ],
)
def test_automata_that_make_no_task(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(vn.InputError, match=said):
        _task(tmp_path, {**TANK, **change})


def test_constraints_of_several_variables(tmp_path: Path) -> None:
    """Where x and v start is a triangle: its far corner is no start."""
    config = 'initially = "x >= 0.5 & v >= 0 & x + v <= 1"'
    task = vn.load(_spaceex(tmp_path, THROWN, config))
    assert task.model.init.starts["v"].ends == (Fraction(0), Fraction(2))
    assert len(task.model.init.where) == 1
    assert vn.check(task, "G[0,0.1] (x <= 1.9)").verdict is HOLDS
