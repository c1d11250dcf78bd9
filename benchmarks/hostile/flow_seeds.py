"""Proper files of continuous time: tasks, a trajectory, automata; and flows that would take minutes."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import vernal as vn
from benchmarks.limits.flows import flow_task, ring
from vernal.cli.main import main
from vernal.engines.check import question_of
from vernal.engines.registry import engines_for
from vernal.formats.flow_export import export

JET = """vernal = 1
name = "jet"
[parameters]
T = 0.75
[constants]
drag = 0.1
[state]
x = "real [-1, 1]"
y = "real [-1, 1]"
[flow]
x = "-y - 1.5*x^2 - 0.5*x^3 - drag"
y = "3*x - y + gust / 50"
[flow.let]
gust = "between(-1, 1)"
[init]
x = "[0.45, 0.5]"
y = "{-0.6, -0.55}"
where = ["x + y <= 0"]
[properties]
safe = "G[0, T] !(x >= 0.3 & x <= 0.35 & y >= 0.5 & y <= 0.6)"
up = "F[0, T] (y > 0.9 | x^2 + y^2 < 0.01)"
[abstraction]
widths = [10, 16]
error = { x = 0.3, y = 0.2 }
samples = 400
rounds = 2
seed = 1
"""
TANK = """vernal = 1
[networks]
valve = "net.onnx"
[state]
h = "real [0.1, 4]"
v = "real [-2, 2]"
[flow]
h = "1.5 - sqrt(h) * max(0, valve(h, v)[0]) / 4 + exp(-h)"
v = "tanh(h - 2) - v / (1 + abs(v))"
[init]
h = "[1, 1.125]"
v = 0
[properties]
low = "G[0, 1] (h <= 3.5)"
"""
LOOP = """vernal = 1
[state]
x = "real [-2, 2]"
v = "real [-3, 3]"
n = "int [0, 9]"
gear = "enum {SLOW, FAST}"
[agents.push]
policy = "net.onnx"
observe = ["x + between(-0.01, 0.01)", "v / 2"]
act = ["clip(out[0], -1, 1)"]
every = 0.125
delay = 0.05
start = 0
[agents.shift]
policy = "net.onnx"
observe = ["x", "v"]
labels = "gear"
every = 0.25
[flow]
x = "v"
v = "match(gear, SLOW: push, FAST: 2 * push) - x + wind / 10"
[flow.let]
wind = "between(-1, 1)"
[environment]
every = 0.5
enabled = "n < 9"
[environment.let]
kick = "choose(0, 0.125)"
[environment.next]
v = "v + kick"
n = "n + 1"
gear = "shift"
[init]
x = "[0.25, 0.5]"
v = 0
n = 0
gear = "SLOW"
[properties]
near = "G[0, 1] (abs(x) <= 1.5)"
calm = { formula = "G (abs(v) < 3)", time = "samples" }
"""
SETTLING = """vernal = 1
[state]
x = "real [-4, 4]"
y = "real [-4, 4]"
[flow]
x = "y - x"
y = "-x - y - x^3/10"
[init]
x = "[0.9, 1]"
y = "[0, 0.5]"
[properties]
near = "G (x <= 1.2 & y >= -1)"
"""
SWITCHED = """vernal = 1
[state]
x = "real [0, 40]"
on = "bool"
[flow]
x = "(if(on, 30, 15) - x) / 5"
[environment]
every = 0.25
[environment.next]
on = "if(x <= 18, true, if(x >= 22, false, on))"
[init]
x = "[19.9, 20.1]"
on = false
[properties]
warm = "G (x >= 17 & x <= 23)"
"""
SCALED = """vernal = 1
[parameters]
low = -1
high = 1
factor = 2
limit = 3
T = 1
width = 10
[state]
x = "real [min(-width, width), max(-width, width)]"
y = "real [-100, 100]"
[flow]
x = "factor * y - x"
y = "cos(x / factor) + between(min(low, high), max(low, high))"
[init]
x = "[min(low, high), max(low, high)]"
y = 0
[properties]
kept = "G[0, T] (x <= limit)"
met = "F[T / 2, T] (x * y <= limit * y)"
"""
FLOW_FORMULAS = [
    "G[0,1] (x <= 0.75)",
    "F[0.25,0.5] (x + y > 0 | y^2 < 0.01)",
    "G[0,2] !(x > 0.9 & y > 0.9) & F[0,1] x < 0.5",
    "G[1,1] (abs(x - y) <= 0.5 -> y < 1)",
]
HEAVY_FLOWS: dict[str, Callable[[], str]] = {
    "ring": lambda: flow_task(ring(6)),
    "stiff": lambda: flow_task({"x0": "-1e6 * (x0 - sin(x1))", "x1": "x0 + 1e6 * cos(x1 * x0)"}),
    "root": lambda: flow_task({"x0": "sqrt(abs(x1)) - x0^3", "x1": "-x0 + between(-1, 1) * x1"}, "[-9, 9]"),
    "fine": lambda: flow_task({"x0": "x1", "x1": "sin(x0 * x1) - x0"}, more="[abstraction]\nerror = 1e-6\n"),
}


@dataclass(frozen=True)
class FlowSeeds:
    """Files in a folder of their own."""

    tasks: Sequence[Path]
    jet: Path
    scaled: Path
    trace: Path
    recurrences: Sequence[Path]
    automata: Sequence[Path]
    heavy: Sequence[Path]
    engines: Sequence[str]


def plant_flows(folder: Path) -> FlowSeeds:
    """Write them all; the network that one of them reads is there."""
    jet, tank = _write(folder / "jet.toml", JET), _write(folder / "tank.toml", TANK)
    loop = _write(folder / "loop.toml", LOOP)
    scaled = _write(folder / "scaled_flow.toml", SCALED)
    trace, model = folder / "jet.trace.json", folder / "jet.xml"
    with redirect_stdout(io.StringIO()):
        main(["check", str(jet), "--spec", "G[0, 0.5] (y <= 0)", "--trace", str(trace), "--quiet"])
    recurrences = [
        _recurrence(folder, name, text)
        for name, text in (
            ("settling", SETTLING),
            ("switched", SWITCHED),
            ("met_again", SWITCHED.replace(*_over_samples("G F (x <= 22)"))),
            ("never_met", SWITCHED.replace(*_over_samples("AG EF (x >= 25)"))),
        )
    ]
    export(jet, model)
    export(model, folder / "jet.json")
    heavy = [_write(folder / f"heavy_{name}.toml", text()) for name, text in HEAVY_FLOWS.items()]
    task = vn.load(jet)
    asked = [question_of(task, formula) for formula in task.properties.values()]
    names = [entry.name for entry in engines_for(asked[0])]
    return FlowSeeds([jet, tank, loop], jet, scaled, trace, recurrences, [model, folder / "jet.json"], heavy, names)


def _over_samples(formula: str) -> tuple[str, str]:
    """The claim of a task, and another one over samples in its place."""
    return SWITCHED[SWITCHED.index("warm") :], f'warm = {{ formula = "{formula}", time = "samples" }}\n'


def _recurrence(folder: Path, name: str, text: str) -> Path:
    """A task and, in the file that is named, sets to which its paths come back."""
    task, shown = _write(folder / f"{name}.toml", text), folder / f"{name}.recurrence.json"
    with redirect_stdout(io.StringIO()):
        main(["check", str(task), "--engine", "flowpipe", "--trace", str(shown), "--quiet"])
    return shown


def _write(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file
