"""Seventy-four commands that would take minutes and gigabytes without limits."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.limits.entry import Heavy, random_network, written
from benchmarks.limits.flows import TEXTS as FLOWS
from benchmarks.limits.flows import heavy_flows
from benchmarks.limits.others import heavy_others
from vernal.formats.onnx.writer import write_onnx

ROOT = Path(__file__).parent.parent.parent
VCAS = ROOT / "examples/vcas/vcas.toml"
CARTPOLE = ROOT / "examples/cartpole/cartpole.toml"
LANDER = ROOT / "benchmarks/lander/lander.toml"
SPREAD = ROOT / "benchmarks/spread/spread4.toml"
SWING = ROOT / "benchmarks/pendulum_rnn/swing.toml"
LARGER = ROOT / "benchmarks/larger"


def heavy(folder: Path) -> list[Heavy]:
    """The commands; files that they need are written into the folder."""
    tasks = {name: written(folder / f"{name}.toml", text()) for name, text in TEXTS.items()}
    flow = written(folder / "flow.toml", FLOWS["six variables, time 1000"]())
    return [
        *_published(),
        *_written(tasks),
        *_planning(folder),
        *_queries(folder),
        *heavy_flows(folder),
        *heavy_others(folder, tasks, flow),
    ]


# Examples and benchmarks ----------------------------------------------------------------------------------------------


def _published() -> list[Heavy]:
    safe = "(h > 100 | h < -100)"
    return [
        _check("vcas, 100 steps", VCAS, "AX[100] (h < 100000)"),
        _check("vcas, 100 steps", VCAS, "AX[100] (h < 100000)", "bounds"),
        _check("vcas, 40 steps", VCAS, f"AG[1,40] {safe}", "paths"),
        _check("vcas, 30 steps", VCAS, f"AX[30] {safe}", "milp"),
        _check("vcas, for all time", VCAS, "AG EF (h > 100)"),
        _check("vcas, five claims", VCAS, *(f"AG[1,{n}] {safe}" for n in (30, 33, 36, 39)), "G F (v > 0)"),
        Heavy("vcas, sweep of two", ["sweep", str(VCAS), "--over", "v0=-19.5,-22.5", "--spec", f"AG[1,40] {safe}"], 2),
        _check("lander, 60 steps", LANDER, "G[0,60] (abs(theta) < 2)", k=10),
        _check("lander, 60 steps", LANDER, "G[0,60] (abs(theta) < 2)", "bounds", k=10),
        _check("lander, 5 steps", LANDER, "X[5] (abs(theta) < pi/30)", "milp", k=10),
        _check("lander 64x64 tanh", LARGER / "lander_t64.toml", "G[0,20] (abs(theta) < 1)", k=10),
        _check("cart pole 64x64 tanh", LARGER / "cartpole_t64.toml", "G[0,60] (abs(theta) < 1)", "paths"),
        _check("cart pole, for all time", CARTPOLE, "G (abs(theta) < 1)", "invariants"),
        _check("spread of four", SPREAD, "F[0,9] G[0,9] there"),
        _check("spread, for all time", SPREAD, "G F there", "liveness"),
        _check("swing, recurrent", SWING, "G[0,30] (abs(theta) < 3)", "milp", unroll="ios"),
    ]


def _check(name: str, file: Path, *rest: str, unroll: str | None = None, **settings: float) -> Heavy:
    """`vernal check` of a file with formulas; a last text that is no formula is the engine."""
    engines = [text for text in rest if text.isalpha()]
    formulas = [part for text in rest if not text.isalpha() for part in ("--spec", text)]
    given = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    asked = ["--engine", engines[0]] if engines else []
    asked += ["--unroll", unroll] if unroll else []
    return Heavy(" ".join([name, *engines]), ["check", str(file), *formulas, *given, *asked])


# Written for this -----------------------------------------------------------------------------------------------------


def _written(files: Mapping[str, Path]) -> list[Heavy]:
    return [
        _check("forty squarings in lets", files["squarings"], "G[0,4] (x >= 0)"),
        _check("integers that square", files["integers"], "X[20000] (n != m)"),
        _check("walk with choices", files["walk"], "AG[0,30] EF[0,30] (x < 1000)"),
        _check("walk with choices", files["walk"], "G[0,60] (x < 1000)", "smt"),
        _check("sines, 2,000 steps", files["sines"], "G[0,2000] (x < 50)"),
        _check("a thousand ifs", files["ifs"], "X[4] (x < 100)"),
        _check("a graph without end", files["counters"], "AG EF (a == b)", "explicit"),
        _check("a loop of reals", files["sines"], "G F (x < 0)", "lasso"),
        _check("100,000 symbols", files["symbols"], "G[0,9] (x < 5)"),
    ]


def _task(state: str, init: str, step: str, lets: str = "") -> str:
    lets = f"[environment.let]\n{lets}" if lets else ""
    return f"vernal = 1\n[state]\n{state}[init]\n{init}{lets}[environment.next]\n{step}"


def _squarings() -> str:
    lets = "".join(f'a{i} = "{"x" if i == 0 else f"a{i - 1}"} * {"x" if i == 0 else f"a{i - 1}"}"\n' for i in range(40))
    return _task('x = "real"\n', "x = 3\n", 'x = "a39"\n', lets)


def _integers() -> str:
    return _task('n = "int"\nm = "int"\n', "n = 3\nm = 3\n", 'n = "n * n"\nm = "m * m"\n')


def _walk() -> str:
    step = 'x = "if(x > y, x - y + choose(0, 1/3, 2/7), x + 1/3)"\ny = "if(y > 1, y / 3 + between(-1, 1), y + 1)"\n'
    return _task('x = "real"\ny = "real"\n', 'x = "[0, 1]"\ny = "[0, 1]"\n', step)


def _sines() -> str:
    step = 'x = "x + sin(3 * y) + between(-0.1, 0.1)"\ny = "y + cos(x * y) / (1 + x ^ 2)"\n'
    return _task('x = "real"\ny = "real"\n', 'x = "[0, 1]"\ny = "[0, 1]"\n', step)


def _ifs() -> str:
    lets, before = "", "x"
    for i in range(1000):
        lets += f'a{i} = "if({before} > {i % 7} / 7, {before} - 1 / {i + 2}, {before} + 1 / {i + 3})"\n'
        before = f"a{i}"
    return _task('x = "real"\n', 'x = "[0, 1]"\n', f'x = "{before}"\n', lets)


def _counters() -> str:
    step = 'a = "choose(a + 1, a + b)"\nb = "choose(b + 1, b + 2)"\nc = "choose(0, c + a)"\n'
    return _task('a = "int"\nb = "int"\nc = "int"\n', "a = 0\nb = 0\nc = 0\n", step)


def _symbols() -> str:
    """As many expressions as are read, each of which the next step depends on."""
    lets, before = "", "x"
    for i in range(2100):
        lets += f'a{i} = "max(0, {before} * 3 - 1.25) + min(x / 7, 2) - if({before} > 1, x ^ 2, 3) + {i}"\n'
        before = f"a{i}"
    return _task('x = "real"\n', 'x = "[0, 1]"\n', f'x = "{before} / 100"\n', lets)


TEXTS: dict[str, Callable[[], str]] = {
    "squarings": _squarings,
    "integers": _integers,
    "walk": _walk,
    "sines": _sines,
    "ifs": _ifs,
    "counters": _counters,
    "symbols": _symbols,
}


# Planning models ------------------------------------------------------------------------------------------------------


def _planning(folder: Path) -> list[Heavy]:
    """Ten blocks: 32 variables, 400 operators, 115,974 starts."""
    member, policy = "blocksworld-10", "blocksworld-10_ignoring_64.jani2nnet"
    made = folder / member
    command = [sys.executable, "-m", "benchmarks.ppa.generate", member, "--out", str(made), "--policies"]
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    asked = ["check", str(made / "model.jani"), "--policy", str(made / policy)]
    asked += ["--property", f"{made / 'property.jani'}#safe"]
    return [
        Heavy(f"ten blocks {engine}", [*asked, "--engine", engine]) for engine in ("auto", "explicit", "predicates")
    ]


# Queries --------------------------------------------------------------------------------------------------------------


def _queries(folder: Path) -> list[Heavy]:
    network, query = folder / "large.onnx", folder / "large.vnnlib"
    inputs = 20
    write_onnx(random_network(inputs, 256, 6), network)
    lines = [f"(declare-const X_{i} Real)" for i in range(inputs)] + ["(declare-const Y_0 Real)"]
    lines += [f"(assert (>= X_{i} -1.0))\n(assert (<= X_{i} 1.0))" for i in range(inputs)]
    written(query, "\n".join([*lines, "(assert (>= Y_0 1000.0))\n"]))
    many = folder / "many.vnnlib"
    chance = random.Random(0)
    cases = " ".join(f"(and (>= X_0 {chance.uniform(-1, 1):.6f}) (>= Y_0 {1000 + i}.0))" for i in range(20_000))
    written(many, "\n".join([*lines, f"(assert (or {cases}))\n"]))
    return [
        Heavy("verify, 6 x 256", ["verify", str(query), str(network)]),
        Heavy("verify, 20,000 alternatives", ["verify", str(many), str(network)]),
    ]
