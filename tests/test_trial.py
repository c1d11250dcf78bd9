"""What new users of three habits met in a second trial, item by item: reinforcement learning, control, planning.

Each entry of the table was wrong, or missing, when it was written. Each has tests in detail elsewhere; this table says
that the whole list works. What was met in the trial before is in test_first_trial.py.
"""

from __future__ import annotations

import inspect
import json
import math
import random
import re
import subprocess
import sys
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vernal as vn
from scripts import playground, release
from tests.trial import ROOT, THERMOSTAT, Entry, Scene, Table, entry_of, one

TABLE: Table = []
entry = partial(entry_of, TABLE)
DISC = """vernal = 1
parameters.w = 1
init = { x = "[-w, w]", y = "[-w, w]", where = ["x*x + y*y <= 1"] }
state = { x = "real", y = "real" }
environment.next = { x = "x + y/8", y = "y - x/8" }
properties.low = "G[0,12] (x + y <= 1.62)"
"""
COUNTER = """vernal = 1
state.x = "real"
init.x = 0
environment.next.x = "x + 1"
properties.low = "G[0,5] (x <= 3)"
"""


@entry(1, "numpy's scalars are numbers, the decimals that they print as")
def _(scene: Scene) -> None:
    made = one(init={"x": np.float32(0.1)}, step=lambda s: {"x": s.x * np.float64(0.5) + np.array(2)})
    assert made.init.starts["x"].ends[0] == Fraction(1, 10)
    assert vn.check(made, "X (x == 2.05)").verdict is vn.HOLDS


@entry(2, "a path is a task, for every question")
def _(scene: Scene) -> None:
    assert vn.check(THERMOSTAT, "G[0,2] (T <= 22)").verdict is vn.HOLDS
    assert vn.check(Path(THERMOSTAT), property="warm")["warm"].verdict is vn.HOLDS
    assert len(vn.simulate(THERMOSTAT, runs=3, steps=2)) == 3
    assert vn.reach(THERMOSTAT, of="T", steps=2).bounds("T").lower.shape == (3,)
    assert "T" in vn.explain(THERMOSTAT)
    with pytest.raises(vn.InputError, match="`vernal example thermostat nowhere` writes it"):
        vn.check("nowhere/thermostat/thermostat.toml")


@entry(2, "what is no task is no traceback")
def _(scene: Scene) -> None:
    mistakes: tuple[Any, ...] = (3, None, THERMOSTAT.encode())
    for wrong in mistakes:
        with pytest.raises(vn.InputError, match="a task is the path of its file"):
            vn.check(wrong, "G (x <= 1)")
    others: tuple[Any, ...] = (one(init={"x": 0}, step=lambda s: {"x": s.x}), 3)
    for subject in others:
        with pytest.raises(vn.InputError, match="give the task file, or a function"):
            vn.sweep(subject, {"a": [1, 2]}, "G (x <= 1)")


@entry(2, "numbers of a trace are floats where one asks, enclosures too")
def _(scene: Scene) -> None:
    result = vn.check(one(step=lambda s: {"x": vn.sin(s.x)}, init={"x": 1}), "X (x <= 0.5)")
    value = result.trace.steps[1].state["x"]
    assert value.lower < value.upper
    assert float(value) == pytest.approx(0.8414709848)
    assert re.fullmatch(r"<Enclosure of 0\.841471, at most \de-\d+ away>", repr(value))


@entry(3, "unknown is a page: what is proven, a line for each engine, commands that work")
def _(scene: Scene) -> None:
    file = scene.folder / "disc.toml"
    file.write_text(DISC, "utf-8")
    code, said = scene.command("check", str(file), "--timeout", "30")
    assert code == 5
    lines = [line.strip() for line in said.splitlines()]
    assert any(re.fullmatch(r"proven: x \+ y <= \S+, where x \+ y <= 1.62 was asked", line) for line in lines), said
    assert any(re.fullmatch(r"falsify +\S+ s  batched simulation .*; no violation found in .*", line) for line in lines)
    (smaller,) = [line for line in lines if "--set w=0.1" in line]
    assert smaller.startswith(f"vernal check {file} --property low --timeout 30 --set w=0.1    # ")
    assert scene.command("check", str(file), "--property", "low", "--set", "w=0.1")[0] == 0


@entry(2, "the help of a command has headings, what most questions need first; shares of a map are words")
def _(scene: Scene) -> None:
    for command in ("check", "map"):
        _, said = scene.command(command, "--help")
        places = [
            said.index(f"\n{heading}:\n") for heading in ("Options", "Limits and machines", "Output", "Of one engine")
        ]
        assert places == sorted(places)
        assert said.index("--property") < said.index("--timeout") < said.index("--json") < said.index("--unroll")
    shares = vn.map(THERMOSTAT, property="warm", over={"T": (18, 22)}, cells=4).shares
    assert str(shares).startswith("{'safe': Fraction(")


@entry(4, "tables say their units, and a sweep is drawn")
def _(scene: Scene) -> None:
    picture = scene.folder / "heat.svg"
    lone = ["--over", "outside=5,10", "--property", "warm", "--plot", str(picture)]
    code, said = scene.command("sweep", THERMOSTAT, *lone)
    assert code == 0
    assert f"plot written to {picture}" in said
    assert all(word in picture.read_text() for word in ("<svg", "warm", "outside", "holds", "violated", "unknown"))
    assert "margin" in said


@entry(5, "functions of numpy work in a lambda, and others name their counterpart")
def _(scene: Scene) -> None:
    made = one(init={"x": 1}, step=lambda s: {"x": np.clip(np.maximum(np.sin(s.x), 0.5), 0, 0.8)})
    assert vn.check(made, "X (x == 0.8)").verdict is vn.HOLDS
    with pytest.raises(TypeError, match=r"vn\.maximum"):
        one(step=lambda s: {"x": max(s.x, 0)})
    for wrong in (round, int, math.floor, math.ceil):
        with pytest.raises(TypeError, match=r"vn\.floor"):
            one(step=lambda s, wrong=wrong: {"x": wrong(s.x)})
    with pytest.raises(TypeError, match=r"vn\.sqrt for math\.sqrt"):
        one(step=lambda s: {"x": math.sqrt(s.x)})
    with pytest.raises(vn.InputError, match=r"of reals write x - y\*floor\(x / y\)"):
        one(step=lambda s: {"x": s.x % 1})
    with pytest.raises(vn.InputError, match="is a `return` missing"):
        one(step=lambda s: None)


@entry(5, "an expression in a function prints as it is written in a task")
def _(scene: Scene) -> None:
    seen = list[str]()

    def step(s: Any) -> dict[str, Any]:
        seen.append(f"{s.x} | {np.sin(s.x) * 2 - 1}")
        return {"x": s.x / 2}

    one(step=step)
    assert seen == ["x | sin(x) * 2 - 1"]


@entry(5, "dice in a function are refused, since they would fall once for all steps")
def _(scene: Scene) -> None:
    for step in (lambda s: {"x": s.x + np.random.uniform(-1, 1)}, lambda s: {"x": s.x + random.random()}):
        with pytest.raises(vn.InputError, match=r"the same at every step; .*vn\.between"):
            one(step=step)
    with pytest.raises(vn.InputError, match="`wind` is called once"):
        one(lets={"wind": lambda s: np.random.normal()})


@entry(5, "a network is a function of numbers, and says in a line what it is")
def _(scene: Scene) -> None:
    network = vn.read_network(ROOT / "examples" / "thermostat" / "thermostat.onnx")
    assert repr(network) == "<Network thermostat: 2 to 2, 32 parameters>"
    rows = network(np.array([[1.0, 2.0], [0.0, 0.0]]))
    assert rows.shape == (2, 2)
    assert network([1, 2]).tolist() == rows[0].tolist()
    with pytest.raises(vn.InputError, match="takes 2 numbers, or rows of them, not 3"):
        network([1, 2, 3])


@entry(5, "every public name says what it is")
def _(scene: Scene) -> None:
    for name in vn.__all__:
        given = getattr(vn, name)
        assert not callable(given) or inspect.getdoc(given), name
        if inspect.isfunction(given):
            examples = re.findall(r"vn\.[^`\n]+", inspect.getdoc(given) or "")
            assert examples, f"{name} has no example"


@entry(6, "a Gym environment is drafted, and compared with what was written")
def _(scene: Scene) -> None:
    pytest.importorskip("gymnasium", reason="needs the extra gym")
    file = str(scene.folder / "pole.toml")
    assert scene.command("draft", "CartPole-v1", file)[0] == 0
    code, said = scene.command("compare", file, "--gym", "CartPole-v1", "--runs", "2", "--steps", "3")
    assert (code, "cartpole and CartPole-v1 differ" in said) == (10, True)
    assert scene.command("compare", "cartpole", "--gym", "CartPole-v1", "--runs", "2", "--steps", "3")[0] == 0
    other = ["compare", "mountaincar", "--gym", "MountainCarContinuous-v0"]
    assert "takes 1 number(s), and 'push' gives one of 3: LEFT, NOTHING, RIGHT" in scene.command(*other)[1]


@entry(7, "editors are told where a misspelt table is, examples name the schema")
def _(scene: Scene) -> None:
    assert "anyOf" not in json.loads(scene.command("schema", "task")[1])
    assert Path(THERMOSTAT).read_text().startswith("#:schema")


@entry(9, "a trace shows where it fails, in a page and a notebook, with a slider before folded rows")
def _(scene: Scene) -> None:
    counter = one(init={"x": 0}, step=lambda s: {"x": s.x + 1})
    result = vn.check(counter, "G[0,20] x <= 14")
    result.report(scene.folder / "page.html")
    for text in ((scene.folder / "page.html").read_text(), result._repr_html_()):
        assert "fails at step 15" in text
        assert 'max="15" value="15"' in text
        assert "<output>15</output>" in text
        assert text.index("<svg") < text.index("<summary>The trace in numbers, 16 positions</summary>")
    assert '<b style="color: #c3272b">violated</b>' in result._repr_html_()
    assert "fails at step 15" in svg_of(result.trace, scene)
    assert "fails" not in svg_of(vn.check(counter, "EF x == 9").trace, scene)  # a witness breaks nothing


@entry(9, "an invariant has a legend and knows one set from several, statistics unfold")
def _(scene: Scene) -> None:
    still = vn.System(
        state={"x": vn.real(), "y": vn.real()},
        init={"x": vn.interval(0, 1), "y": vn.interval(0, 1)},
        step=lambda s: {"x": s.x / 2, "y": s.y / 3},
    )
    result = vn.check(still, "G (x <= 2 & y <= 2)")
    result.report(scene.folder / "page.html")
    text = (scene.folder / "page.html").read_text()
    assert "no step leaves it (1 set)" in text
    assert "1 sets" not in text + repr(result.invariant)
    assert "<details><summary>Statistics</summary>" in text


@entry(12, "what other languages write is understood well enough to be refused")
def _(scene: Scene) -> None:
    file = scene.folder / "b.toml"
    for head, motion, spec, said in (
        ('name = "open', "x", "x <= 1", "a text that begins here, or before, is never closed"),
        ("", "x", "P>=0.9 [F x > 3]", "there are no probabilities here"),
        ("", "x", "Pmax=? [F x > 3]", "there are no probabilities here"),
        ("", "x", "x == 'abc", "is never closed"),
        ("", "choose(0.5: x, 0.5: 2*x)", "x <= 1", "options of choose have no weights"),
        ("[parameters]\nW = 3", "x", "x <= 1", "an operator of formulas; rename this parameter, for example to W_"),
    ):
        text = f'vernal = 1\n{head}\n[state]\nx = "real"\n[init]\nx = 1\n[environment.next]\nx = "{motion}"\n'
        file.write_text(text, "utf-8")
        code, printed = scene.command("check", str(file), "--spec", spec)
        assert code == 2
        assert said in printed


@entry(12, "a folder is its only task")
def _(scene: Scene) -> None:
    folder = Path(THERMOSTAT).parent
    assert scene.command("check", str(folder), "--spec", "G[0,2] (T <= 22)")[0] == 0
    assert vn.check(folder, "G[0,2] (T <= 22)").verdict is vn.HOLDS
    code, said = scene.command("check", str(ROOT / "examples" / "jet"))
    assert (code, "name one of them: jet.toml, windy.toml" in said) == (2, True)


@entry(7, "tests, commits and jobs have their doors")
def _(scene: Scene) -> None:
    (scene.folder / "a.vernal.toml").write_text(COUNTER, "utf-8")
    asked = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(scene.folder)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, cwd=scene.folder)
    assert done.returncode == 1
    assert "violated  low: G[0,5] (x <= 3)  at step 4" in done.stdout
    hook = [sys.executable, "-m", "vernal.plugins.task_files", str(scene.folder / "a.vernal.toml")]
    assert subprocess.run(hook, capture_output=True, check=False).returncode == 10
    for file in ("action.yml", ".pre-commit-hooks.yaml"):
        assert "python -m vernal.plugins.task_files" in (ROOT / file).read_text("utf-8")


CORRIDOR = """{"jani-version": 1, "name": "corridor", "type": "lts",
 "actions": [{"name": "right"}],
 "variables": [{"name": "pos", "type": {"kind": "bounded", "base": "int", "lower-bound": 0, "upper-bound": 4},
                "initial-value": 1}],
 "properties": [{"name": "likely", "expression": {"op": "filter", "fun": "max", "states": {"op": "initial"},
                 "values": {"op": "Pmax", "exp": {"op": "F", "exp": {"op": "=", "left": "pos", "right": 4}}}}}],
 "automata": [{"name": "robot", "locations": [{"name": "l"}], "initial-locations": ["l"], "edges": [
   {"location": "l", "action": "right", "guard": {"exp": {"op": "<", "left": "pos", "right": 4}},
    "destinations": [{"location": "l", "assignments": [
      {"ref": "pos", "value": {"op": "+", "left": "pos", "right": 1}}]}]}]}],
 "system": {"elements": [{"automaton": "robot"}], "syncs": [{"synchronise": ["right"], "result": "right"}]}}
"""


@entry(12, "a model of the first hour, without a property, is asked; what it has of chances is named")
def _(scene: Scene) -> None:
    file = scene.folder / "corridor.jani"
    file.write_text(CORRIDOR, "utf-8")
    assert scene.command("check", str(file), "--spec", "AG (pos <= 4)")[0] == 0
    code, said = scene.command("check", str(file), "--spec", "AG (pos < 4)", "--plot", str(scene.folder / "bad.svg"))
    assert (code, "at step 3" in said) == (10, True)
    assert "fails at step 3" in (scene.folder / "bad.svg").read_text()
    assert scene.command("simulate", str(file), "--runs", "2", "--steps", "3")[0] == 0
    picture = str(scene.folder / "none.svg")
    _, said = scene.command("check", str(file), "--start", "pos <= 2", "--unsafe", "pos == 9", "--plot", picture)
    assert f"reach {file} --start 'pos <= 2' --unsafe 'pos == 9' --plot {picture}" in said
    assert scene.command("reach", str(file), "--start", "pos <= 2", "--unsafe", "pos == 9", "--plot", picture)[0] == 0
    code, said = scene.command("check", str(file))
    assert (code, "likely: about probabilities" in said) == (2, True)


@entry(8, "the site has a glossary and recipes, a picture first, and its search from files")
def _(scene: Scene) -> None:
    glossary = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    words = ("draw", "let", "position", "region", "rate", "scope", "assurance", "margin")
    assert [word for word in words if f"| **{word}** |" not in glossary] == []
    recipes = (ROOT / "docs" / "recipes.md").read_text("utf-8")
    assert all(word in recipes for word in ("a loop that samples", "a Gym environment", "only an ONNX file"))
    assert "offline" in (ROOT / "mkdocs.yml").read_text("utf-8")


@entry(10, "a page in the browser asks about three examples")
def _(scene: Scene) -> None:
    assert {"thermostat", "vacuum", "cartpole"} <= set(playground.EXAMPLES)
    assert (ROOT / "docs" / "play" / "index.html").exists()


@entry(11, "a release says one version, and has its recipes")
def _(scene: Scene) -> None:
    release.check_version(ROOT)
    assert (ROOT / "Dockerfile").exists()
    assert (ROOT / "packaging" / "conda" / "recipe.yaml").exists()


@entry(12, "what was interrupted says how it goes on")
def _(scene: Scene) -> None:
    journal = scene.folder / "kept.journal"
    asked = ["sweep", scene.room, "--over", "k=1,2", "--journal", str(journal), "--timeout", "0.000001"]
    assert scene.command(*asked)[0] == 5
    assert journal.exists()


def svg_of(trace: vn.Trace, scene: Scene) -> str:
    trace.plot(scene.folder / "trace.svg")
    return (scene.folder / "trace.svg").read_text()


@pytest.mark.parametrize(("what", "tried"), TABLE, ids=[what for what, _ in TABLE])
def test_the_trial(what: str, tried: Entry, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tried(Scene(tmp_path, capsys))


def test_every_item_has_an_entry() -> None:
    assert {int(what.split()[0]) for what, _ in TABLE} == set(range(1, 13))
