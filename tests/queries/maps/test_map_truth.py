"""Maps against systems whose border is known: no cell may contradict it, and the border has to be found."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from tests.map_judge import MapJudge, map_instance
from tests.portion import seeds
from vernal.queries.maps.cell_tree import CellKind
from vernal.queries.maps.region_map import RegionMap

HALVING = """
vernal = 1
[parameters]
limit = 1
k = 3
[state]
x = "real"
y = "real"
[init]
x = "[0, 1]"
y = "[0, 1]"
[environment.next]
x = "x + y / 2"
[properties]
low = "G[0,2] (x <= limit)"
ever = "G[0,k] (x <= limit)"
"""

DRAWN = """
vernal = 1
[state]
x = "real"
[init]
x = "[0, 1]"
[environment.next]
x = "x + choose(0, 0.25, 0.5)"
[properties]
low = "AX[2] (x < 1.5)"
some = "EX[1] (x >= 1)"
"""

COUNTED = """
vernal = 1
[state]
a = "int [-20, 20]"
b = "int [-20, 20]"
[init]
a = "[0, 7]"
b = "[0, 7]"
where = ["a != 3"]
[environment.next]
a = "if(a > 0, a - 1, a)"
b = "if(a > 0, b + 1, b)"
[properties]
few = "G (b <= 9)"
soon = "G[0,12] (b <= 9)"
"""

FALLING = """
vernal = 1
[state]
x = "real [-4, 4]"
[init]
x = "[0, 2]"
[flow]
x = "-x"
[properties]
low = "G[0,1] (x <= 1)"
"""


def written(tmp_path: Path, text: str) -> str:
    file = tmp_path / "task.toml"
    file.write_text(text)
    return str(file)


def agree(found: RegionMap, safe: object, points: int = 400) -> None:
    """Random points against the truth, and shares that add up to one."""
    assert sum(found.shares.values()) == 1
    rng = np.random.default_rng(1)
    for _ in range(points):
        state = {
            axis.name: float(rng.integers(int(axis.lower), int(axis.upper), endpoint=True))
            if axis.whole
            else float(rng.uniform(float(axis.lower), float(axis.upper)))
            for axis in found.axes
        }
        kind, truth = found.contains(state), safe(**state)  # type: ignore[operator]
        assert kind is not CellKind.OUTSIDE
        assert not (kind is CellKind.SAFE and truth is not True), (state, kind)
        assert not (kind is CellKind.WHOLLY_UNSAFE and truth is not False), (state, kind)
        assert (kind is CellKind.NO_START) == (truth is None), (state, kind)
    for cell in found.cells:
        if cell.kind is CellKind.UNSAFE:
            assert cell.trace is not None
            first = cell.trace.steps[0].state
            assert all(low <= first[name] <= high for name, (low, high) in cell.ends.items())
            assert safe(**{name: float(first[name]) for name in cell.ends}) is False  # type: ignore[operator]


def test_a_border_of_two_variables(tmp_path: Path) -> None:
    found = vn.map(written(tmp_path, HALVING), property="low", until="open < 5%", cells=2000)
    agree(found, lambda x, y: x + y <= 1)
    assert found.shares[CellKind.SAFE] > Fraction(45, 100)
    assert found.shares[CellKind.WHOLLY_UNSAFE] > Fraction(45, 100)


def test_choices_fail_where_one_of_them_does(tmp_path: Path) -> None:
    found = vn.map(written(tmp_path, DRAWN), property="low", until="open < 2%", cells=300)
    agree(found, lambda x: x < 0.5)
    assert found.shares[CellKind.WHOLLY_UNSAFE] > Fraction(48, 100)


def test_claims_of_some_path(tmp_path: Path) -> None:
    found = vn.map(written(tmp_path, DRAWN), property="some", until="open < 5%", cells=60)
    agree(found, lambda x: x >= 0.5)
    assert found.shares[CellKind.SAFE] > Fraction(40, 100)


@pytest.mark.parametrize("name", ["few", "soon"])
def test_whole_numbers_are_counted(tmp_path: Path, name: str) -> None:
    found = vn.map(written(tmp_path, COUNTED), property=name, until="open < 0.1%", cells=64)

    def safe(a: float, b: float) -> bool | None:
        return None if a == 3 else a + b <= 9

    agree(found, safe)
    fits = sum(a != 3 and a + b <= 9 for a in range(8) for b in range(8))
    assert found.shares[CellKind.SAFE] <= Fraction(fits, 64) + found.shares[CellKind.NO_START] + Fraction(8, 64)
    assert found.shares[CellKind.OPEN] == 0 == found.shares[CellKind.UNSAFE]


def test_values_of_a_parameter_are_sheets(tmp_path: Path) -> None:
    over = {"x": (0, 1), "y": (0, 1), "k": [1, 2]}
    found = vn.map(written(tmp_path, HALVING), property="ever", over=over, until="open < 10%", cells=800)
    assert sum(found.shares.values()) == 1
    rng = np.random.default_rng(2)
    for x, y, k in zip(rng.random(300), rng.random(300), rng.integers(1, 3, 300), strict=True):
        kind = found.contains({"x": x, "y": y, "k": int(k)})
        assert kind is not (CellKind.WHOLLY_UNSAFE if x + k * y / 2 <= 1 else CellKind.SAFE)


def test_a_flow(tmp_path: Path) -> None:
    found = vn.map(written(tmp_path, FALLING), property="low", until="open < 30%", cells=8, timeout=20)
    agree(found, lambda x: x <= 1, 100)
    assert found.shares[CellKind.SAFE] > Fraction(40, 100)


def test_cells_are_closed_and_a_decided_neighbour_counts(tmp_path: Path) -> None:
    found = vn.map(written(tmp_path, DRAWN), property="low", until="open < 2%", cells=300)
    for cell in found.cells:
        if cell.kind in (CellKind.SAFE, CellKind.WHOLLY_UNSAFE):
            assert all(found.contains({"x": end}) is cell.kind for end in cell.ends["x"])
    assert found.contains({"x": 1.5}) is CellKind.OUTSIDE


def test_a_map_goes_on_from_its_file(tmp_path: Path) -> None:
    task, file = written(tmp_path, HALVING), tmp_path / "low.map.json"
    first = vn.map(task, property="low", cells=64, output=file)
    second = vn.map(task, property="low", cells=300, output=file)
    assert len(first) == 64 < len(second) <= 300
    assert first.shares[CellKind.SAFE] <= second.shares[CellKind.SAFE]
    agree(second, lambda x, y: x + y <= 1)


def test_an_interval_of_a_parameter_is_cut(tmp_path: Path) -> None:
    over = {"x": (0, 1), "limit": (0.5, 2)}
    found = vn.map(written(tmp_path, HALVING), property="low", over=over, until="open < 6%", cells=400)
    rng = np.random.default_rng(3)
    for x, limit in zip(rng.random(300), 0.5 + 1.5 * rng.random(300), strict=True):
        kind = found.contains({"x": x, "limit": limit})
        assert kind is not (CellKind.WHOLLY_UNSAFE if x + 1 <= limit else CellKind.SAFE)  # y may start at 1
    assert min(found.shares[CellKind.SAFE], found.shares[CellKind.WHOLLY_UNSAFE]) > Fraction(1, 10)


def test_a_parameter_of_a_bound_is_not_cut(tmp_path: Path) -> None:
    with pytest.raises(vn.InputError, match="one by one"):
        vn.map(written(tmp_path, HALVING), property="ever", over={"k": (1, 3)})


def test_a_parameter_of_a_flow_is_cut(tmp_path: Path) -> None:
    text = FALLING.replace("[state]", "[parameters]\nroom = 0\n[state]").replace("x <= 1", "x <= 1 + room")
    over = {"x": (0, 2), "room": (0, 0.5)}
    found = vn.map(written(tmp_path, text), property="low", over=over, until="open < 75%", cells=6, timeout=20)
    assert found.contains({"x": 0.1, "room": 0.4}) in (CellKind.SAFE, CellKind.OPEN)
    assert found.shares[CellKind.SAFE] > 0


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ({"z": (0, 1)}, "not part of the initial set"),
        ({"x": (0, float("inf"))}, "no finite number"),
        (["x=[0,inf]"], "without a number"),
        (["y=[0]"], "two numbers"),
        ({"x": (1, 1)}, "no width"),
    ],
)
def test_bad_regions_are_refused(tmp_path: Path, over: object, said: str) -> None:
    with pytest.raises(vn.VernalError, match=said):
        vn.map(written(tmp_path, HALVING), property="low", over=over)  # type: ignore[arg-type]


def test_a_map_of_another_task_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "low.map.json"
    vn.map(written(tmp_path, HALVING), property="low", cells=4, output=file)
    with pytest.raises(vn.InputError, match="another task"):
        vn.map(written(tmp_path, HALVING.replace("limit = 1", "limit = 2")), property="low", cells=4, output=file)


def test_a_map_of_another_claim_is_refused(tmp_path: Path) -> None:
    task, file = written(tmp_path, HALVING), tmp_path / "low.map.json"
    vn.map(task, property="low", cells=4, output=file)
    with pytest.raises(vn.InputError, match="another claim"):
        vn.map(task, "G[0,1] (x <= 1)", cells=4, output=file)
    file.write_text("{}")
    with pytest.raises(vn.InputError, match="no map that Vernal wrote"):
        vn.map(task, property="low", cells=4, output=file)


def test_the_ways_out(tmp_path: Path) -> None:
    found = vn.map(written(tmp_path, HALVING), property="low", cells=64)
    arrays = found.to_numpy()
    assert arrays["lower"].shape == (64, 2) == arrays["upper"].shape
    assert len(found.boxes("safe")) == (arrays["kind"] == "safe").sum() > 0
    found.save(tmp_path / "cells.csv")
    assert len((tmp_path / "cells.csv").read_text().splitlines()) == 65
    found.plot(tmp_path / "map.png", colour="margin")
    found.plot(tmp_path / "map.svg", axes=["x"], at={"y": "worst"})
    found.plot(tmp_path / "map.svg", axes=["x"], at={"y": 0.5})
    with pytest.raises(vn.InputError, match="not counted"):
        found.plot(tmp_path / "map.svg", colour="steps")
    for drawing in ({"colour": "hue"}, {"axes": ["z"]}, {"axes": ["x"], "at": {"y": 3}}, {"at": {"y": 0}}):
        with pytest.raises(vn.InputError):
            found.plot(tmp_path / "map.svg", **drawing)
    found.page(tmp_path / "map.html")
    assert "http" not in (tmp_path / "map.html").read_text()


MANY_PATHS = """
vernal = 1
[state]
x = "real"
[init]
x = "[0, 20]"
[environment.next]
x = "x + 0.02 * (between(9, 11) - x) - choose(0, 0.1) + if(x < 10, 0.6, 0)"
[properties]
high = "G[9,10] (x >= 8)"
"""


def test_paths_that_double_at_every_step_are_bounded(tmp_path: Path) -> None:
    found = vn.map(written(tmp_path, MANY_PATHS), property="high", until="open < 40%", cells=16)
    assert sum(found.shares.values()) == 1
    assert found.shares[CellKind.SAFE] >= Fraction(1, 2)


def test_what_is_open_says_why(tmp_path: Path) -> None:
    found = vn.map(written(tmp_path, HALVING), property="low", cells=3, until="open < 0%")
    agree(found, lambda x, y: x + y <= 1, 50)
    for cell in found.cells:
        assert (cell.reason is not None) == (cell.kind is CellKind.OPEN)
        assert cell.kind is not CellKind.UNSAFE or cell.trace is not None


CURVED = HALVING.replace("x + y / 2", "x + y^2 / 2")


@pytest.mark.parametrize("text", [HALVING, CURVED], ids=["explored", "bounded"])
def test_steps_are_counted_where_a_claim_is_not_kept(tmp_path: Path, text: str) -> None:
    found = vn.map(written(tmp_path, text), property="low", cells=60, until="open < 0%", steps=True)
    rng, counted = np.random.default_rng(4), set()
    for cell in found.cells:
        assert cell.steps is not None
        counted.add(cell.steps)
        for _ in range(5):
            x, y = (float(low) + float(high - low) * rng.random() for low, high in cell.ends.values())
            added = y / 2 if text is HALVING else y**2 / 2
            assert all(x + k * added <= 1 for k in range(cell.steps + 1)), (cell, x, y)
    assert counted == {-1, 0, 1, 2} or counted == {0, 1, 2}
    found.plot(tmp_path / "steps.svg", colour="steps")
    assert "up to step 1" in (tmp_path / "steps.svg").read_text()
    found.save(tmp_path / "steps.map.json")
    again = vn.map(written(tmp_path, text), property="low", cells=60, output=tmp_path / "steps.map.json")
    assert again.tree.steps


def test_steps_are_those_of_a_claim_of_every_step(tmp_path: Path) -> None:
    with pytest.raises(vn.InputError, match="steps are counted of a claim G"):
        vn.map(written(tmp_path, HALVING), "F[0,2] (x <= limit)", cells=4, steps=True)


CONSTRAINED = """
vernal = 1
[state]
x = "real"
y = "real"
z = "real"
[init]
x = "[0, 4]"
y = "[0, 1]"
z = 0
where = ["x + y <= 2"]
[environment.next]
z = "x"
[properties]
low = "G[0,1] (z <= -1)"
known = "y <= y"
"""


def test_a_point_without_a_start_is_not_unsafe(tmp_path: Path) -> None:
    """Every path fails, but beyond x = 2 there is none."""
    found = vn.map(written(tmp_path, CONSTRAINED), property="low", over={"x": (0, 4)}, cells=64)
    for cell in found.cells:
        low, high = cell.ends["x"]
        assert cell.kind is not CellKind.WHOLLY_UNSAFE or high <= 2
        assert cell.kind is not CellKind.NO_START or low > 2
        assert cell.kind is not CellKind.UNSAFE or low <= 2
    assert found.shares[CellKind.WHOLLY_UNSAFE] > Fraction(45, 100)
    assert found.shares[CellKind.NO_START] > Fraction(45, 100)


def test_a_claim_without_numbers_is_safe_where_there_are_starts(tmp_path: Path) -> None:
    task = written(tmp_path, CONSTRAINED)
    found = vn.map(task, property="known", over={"x": (0, 1)}, cells=4)
    assert found.shares[CellKind.SAFE] == 1
    result = vn.check(task, "y <= y", engine="split")
    assert result.verdict is vn.HOLDS
    assert not any("no initial state" in note for note in result.notes)


def test_a_region_without_any_start(tmp_path: Path) -> None:
    found = vn.map(written(tmp_path, CONSTRAINED), property="low", over={"x": (3, 4)}, cells=4)
    assert found.shares[CellKind.NO_START] == 1


def test_a_system_is_mapped() -> None:
    """Where it starts the map says; a model has no parameters."""
    system = vn.System(state={"x": vn.real()}, init={"x": 0}, step=lambda s: {"x": s.x / 2})
    found = vn.map(system, "G[0,2] (x <= 1)", over={"x": (0, 2)}, cells=16)
    assert found.contains({"x": 0.5}) is CellKind.SAFE
    with pytest.raises(vn.InputError, match="no parameter k"):
        vn.map(system, "G[0,2] (x <= 1)", over={"x": (0, 2), "k": [1, 2]})


def test_random_maps_are_true() -> None:
    """`python -m benchmarks.never_wrong_maps` asks many more."""
    for seed in (3, 13, 34, *seeds(12, 3)):
        question = map_instance(seed)
        if question is not None:
            assert list(MapJudge(question).problems(question.answer(20))) == [], str(question)
