"""What a new user met in the first trial, item by item: each entry was wrong, or missing, when it was written.

The items are those of the trial's list: Python without traps, reachable sets, unknown that says what is known, policies
where people train them, models of some size, pictures and pages, a site, and installing beside other things. Each has
tests in detail elsewhere; this table says that the whole list works.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

import vernal as vn
from tests.trial import ROOT, THERMOSTAT, Entry, Scene, Table, entry_of, one
from vernal.engines.reach.sets import NumberBounds
from vernal.formats.activations import gelu, mish, silu, softplus
from vernal.model import build

TABLE: Table = []
entry = partial(entry_of, TABLE)


# 1 Python without traps -----------------------------------------------------------------------------------------------


@entry(1, "a pair as a start is refused with both remedies")
def _(scene: Scene) -> None:
    with pytest.raises(vn.InputError, match=r"vn\.interval\(0, 1\) or vn\.one_of\(0, 1\)"):
        one(init={"x": (0, 1)})


@entry(1, "an assertion cannot pass by mistake")
def _(scene: Scene) -> None:
    with pytest.raises(TypeError, match=r"result\.verdict is vn\.HOLDS"):
        assert vn.check(one(), "G[0,3] x > 0")


@entry(1, "every command is a call")
def _(scene: Scene) -> None:
    task = vn.load(THERMOSTAT)
    assert vn.simulate(task, runs=10, steps=3) is not None
    assert len(list(vn.sweep(task, over={"outside": [5, 6]}, formula="G[0,2] (T <= 22)").rows)) == 2
    assert "T" in str(vn.explain(task))
    assert vn.reach(task, of="T", steps=2) is not None
    result = vn.check(task, "G[0,30] (T <= 21)")
    result.save(scene.folder / "result.json")
    result.report(scene.folder / "report.html")
    assert result.trace is not None
    result.trace.save(scene.folder / "trace.json")
    assert vn.replay(scene.folder / "trace.json").judgement == "accepted"


@entry(1, "what is shown is one line, in a notebook a table and a picture")
def _(scene: Scene) -> None:
    result = vn.check(one(), "G[0,3] x <= 0.5")
    for shown in (result, result.trace, one(), vn.load(THERMOSTAT)):
        assert "\n" not in repr(shown)
    assert "<table" in result._repr_html_()
    assert "<svg" in result._repr_html_()


@entry(1, "the package shows its public names and no more")
def _(scene: Scene) -> None:
    assert dir(vn) == sorted(vn.__all__)


# 2 Reachable sets -----------------------------------------------------------------------------------------------------


@entry(2, "a tube contains ten thousand simulated runs, and is drawn")
def _(scene: Scene) -> None:
    picture = scene.folder / "tube.svg"
    code, _ = scene.command("reach", THERMOSTAT, "--of", "T", "--steps", "6", "--plot", str(picture))
    assert code == 0
    assert "<svg" in picture.read_text()
    sets = vn.reach(vn.load(THERMOSTAT), of="T", steps=6)
    runs = vn.simulate(vn.load(THERMOSTAT), runs=10_000, steps=6)
    for step, reached in enumerate(sets.steps):
        values = runs.state["T"][:, step]
        (bounds,) = reached.values
        assert isinstance(bounds, NumberBounds)
        assert bounds.lower <= values.min()
        assert values.max() <= bounds.upper


@entry(2, "simulation judges the properties and shows a run that fails")
def _(scene: Scene) -> None:
    code, said = scene.command("simulate", THERMOSTAT, "--runs", "200", "--steps", "30")
    assert code == 0
    assert "steady" in said
    assert re.search(r"fails on \d+|\d+ of 200|\d+(\.\d+)?%", said), said


# 3 Unknown says what is known -----------------------------------------------------------------------------------------

AT_THE_EDGE = [
    ("x' = clip(x + 0.2 + 0.01*sin(x), -1, 0.6)", "[-1, 0.6]", "G[0,10] (x <= 0.6)"),
    ("x' = x", "[-9, 9]", "sigmoid(x) < 1"),
    ("x' = x", "[-9, 9]", "tanh(x) < 1"),
    ("x' = x", "[-9, 9]", "exp(x) > 0"),
    ("x' = x", "[-9, 9]", "x*x - x^2 == 0"),
    ("x' = x", "[1, 2]", "x/x == 1"),
    ("x' = x", "[-1, 1]", "abs(x) - x*x >= 0"),
]


def _write(scene: Scene, next_x: str, start: str) -> str:
    file = scene.folder / "edge.toml"
    file.write_text(
        f'vernal = 1\n[state]\nx = "real"\n[init]\nx = "{start}"\n[environment.next]\nx = "{next_x}"\n', "utf-8"
    )
    return str(file)


def _edge(motion: str, start: str, claim: str) -> Entry:
    def tried(scene: Scene) -> None:
        assert vn.check(vn.load(_write(scene, motion.partition("= ")[2], start)), claim).verdict is vn.HOLDS

    return tried


for motion_, start_, claim_ in AT_THE_EDGE:
    TABLE.append((f"3 with no room to spare: {claim_} ({motion_})", _edge(motion_, start_, claim_)))


@entry(3, "a circle below a line")
def _(scene: Scene) -> None:
    disc = vn.System(
        state={"x": vn.real(), "y": vn.real()},
        init={"x": vn.interval(-1, 1), "y": vn.interval(-1, 1)},
        where=lambda s: [s.x * s.x + s.y * s.y <= 1],
        step=lambda s: {},
    )
    assert vn.check(disc, "x + y <= 1.4143").verdict is vn.HOLDS


@entry(3, "the best bound is told, and which engine took how long")
def _(scene: Scene) -> None:
    disc = vn.System(
        state={"x": vn.real(), "y": vn.real()},
        init={"x": vn.interval(-1, 1), "y": vn.interval(-1, 1)},
        where=lambda s: [s.x * s.x + s.y * s.y <= 1],
        step=lambda s: {"x": s.x + s.y / 8, "y": s.y - s.x / 8},
    )
    result = vn.check(disc, "G[0,12] (x + y <= 1.62)", timeout=2.0)
    assert result.verdict is vn.UNKNOWN
    assert any("is proven, x + y <= 1.62 was asked" in note for note in result.notes), result.notes
    assert any("seconds" in name for name in result.statistics), result.statistics


@entry(3, "a range note where a range can be left, and only there")
def _(scene: Scene) -> None:
    inside = vn.System(state={"x": vn.real(-1, 1)}, init={"x": 0}, step=lambda s: {"x": s.x / 2})
    leaving = vn.System(state={"x": vn.real(-1, 1)}, init={"x": 0}, step=lambda s: {"x": s.x + 1})
    assert not vn.check(inside, "G[0,3] x <= 5").notes
    assert any("range" in note for note in vn.check(leaving, "G[0,3] x <= 5").notes)


# 4 Policies where people train them -----------------------------------------------------------------------------------


@entry(4, "the doors for policies are there")
def _(scene: Scene) -> None:
    code, said = scene.command("convert", "--help")
    assert code == 0
    assert "model.zip" in said
    assert "--output" in said
    assert callable(vn.from_sb3)
    assert callable(vn.from_torch)


@entry(4, "smooth activations have bounds that contain what they compute")
def _(scene: Scene) -> None:
    for function, at_one in ((gelu, 0.8413), (mish, 0.8651), (silu, 0.7311), (softplus, 1.3133)):
        made = one(init={"x": 1}, step=lambda s, function=function: {"x": function(build.const(s.x))})
        assert vn.check(made, f"X (abs(x - {at_one}) <= 0.0001)").verdict is vn.HOLDS


@entry(4, "worlds of Gymnasium")
def _(scene: Scene) -> None:
    assert {"mountaincar", "mountaincar_continuous", "acrobot"} <= set(vn.worlds.names())


# 5 Models of some size ------------------------------------------------------------------------------------------------


@entry(5, "arrays, remainders and quotients, strong release and inf")
def _(scene: Scene) -> None:
    ring = vn.System(
        state={"d": vn.array(vn.boolean(), 9), "i": vn.integer(0, 8)},
        init={"d": [True] + [False] * 8, "i": 0},
        step=lambda s: {"d": [s.d[(k + 8) % 9] for k in range(9)], "i": (s.i + 1) % 9},
    )
    for claim in (
        "G[0,9] count(d[k] for k in 0..8) == 1",
        "G[0,9] d[i]",
        "G[0,9] (i // 9 == 0 & i % 9 == i)",
        "G[0,inf] any(d[k] for k in 0..8)",
        "(i == 4) M[0,9] (i <= 4)",
    ):
        assert vn.check(ring, claim).verdict is vn.HOLDS, claim


@entry(5, "a tree of every property, or what to narrow")
def _(scene: Scene) -> None:
    code, said = scene.command("explain", scene.room, "--tree", str(scene.folder / "tree.svg"))
    assert code in (0, 2), said
    assert (scene.folder / "tree.svg").exists() or "narrow" in said or "--property" in said


# 6 Pictures and pages -------------------------------------------------------------------------------------------------


@entry(6, "pictures of what is chosen, against each other too")
def _(scene: Scene) -> None:
    for extra in (["--of", "T - 20"], ["--of", "T", "--of", "T*2", "--plane"]):
        file = scene.folder / f"runs{len(extra)}.svg"
        assert scene.command("simulate", THERMOSTAT, "--runs", "5", "--plot", str(file), *extra)[0] == 0
        assert "<svg" in file.read_text()


@entry(6, "a report says when, by which command and by which version")
def _(scene: Scene) -> None:
    page = scene.folder / "report.html"
    scene.command("check", THERMOSTAT, "--spec", "G[0,3] (T <= 23)", "--report", str(page))
    text = page.read_text()
    assert re.search(r"20\d\d-\d\d-\d\d", text)
    assert vn.__version__ in text
    assert "check" in text
    assert "<svg" in text


@entry(6, "a margin of zero is 0")
def _(scene: Scene) -> None:
    result = vn.check(one(init={"x": 0}), "G[0,2] x <= 0")
    assert result.margin is None or str(result.margin) == "0.0"


# 7 A site -------------------------------------------------------------------------------------------------------------


@entry(7, "pages for those who come from elsewhere, and how to cite")
def _(scene: Scene) -> None:
    for page in ("docs/coming-from.md", "docs/unknown.md", "docs/comparison.md", "CITATION.cff", "mkdocs.yml"):
        assert (ROOT / page).stat().st_size > 300, page
    assert len(list((ROOT / "examples" / "notebooks").glob("*.ipynb"))) == 2


# 8 Installing ---------------------------------------------------------------------------------------------------------


@entry(8, "an example without a checkout")
def _(scene: Scene) -> None:
    code, said = scene.command("example", "thermostat", str(scene.folder / "mine"))
    assert code == 0, said
    task = next((scene.folder / "mine").rglob("thermostat.toml"))
    code, said = scene.command("check", str(task), "--spec", "G[0,2] (T <= 30)", "--json", "-")
    assert code == 0
    document = json.loads(said[said.index("{") : said.rindex("}") + 1])
    assert document["results"][0]["verdict"] == "holds"


@pytest.mark.parametrize(("what", "tried"), TABLE, ids=[what for what, _ in TABLE])
def test_the_trial(what: str, tried: Entry, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tried(Scene(tmp_path, capsys))


def test_every_item_has_an_entry() -> None:
    assert {int(what.split()[0]) for what, _ in TABLE} == set(range(1, 9))
