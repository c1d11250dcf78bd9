"""Flows whose checks would take minutes and gigabytes without limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.limits.entry import Heavy, random_network, written
from vernal.formats.onnx.writer import write_onnx

CLAIM = "G[0,1000] (x0 < 9)"
CHECKED = {  # by which engines
    "six variables, time 1000": ("auto", "falsify", "flowpipe", "abstraction"),
    "stiff, rates of 1e6": ("auto", "falsify", "flowpipe", "abstraction"),
    "3,000 terms": ("auto", "flowpipe", "abstraction"),
    "a deep network": ("auto", "flowpipe", "abstraction"),
    "widths of 200": ("abstraction",),
    "error of 1e-6": ("abstraction",),
    "100,000 samples": ("abstraction",),
    "region 1e6 wide": ("auto", "abstraction"),
    "10^9 first states": ("auto", "flowpipe", "abstraction"),
    "300 disturbances": ("auto", "falsify", "flowpipe", "abstraction"),
    "50 variables": ("auto", "flowpipe"),
    "many claims": ("auto",),
}


def heavy_flows(folder: Path) -> list[Heavy]:
    """The commands; files that they need are written into the folder."""
    write_onnx(random_network(2, 256, 6), folder / "deep.onnx")
    files = {name: written(folder / f"flow_{number}.toml", TEXTS[name]()) for number, name in enumerate(CHECKED)}
    commands = [
        Heavy(f"flow, {name} {engine}", ["check", str(files[name]), "--engine", engine])
        for name, engines in CHECKED.items()
        for engine in engines
    ]
    swept = ["sweep", str(files["six variables, time 1000"]), "--over", "k=1,2", "--property", "p"]
    return [*commands, Heavy("flow, sweep of two", swept, 2)]


def flow_task(
    rates: Mapping[str, str],
    region: str = "[-10, 10]",
    init: str = '"[0.4, 0.6]"',
    claims: Sequence[str] = (CLAIM,),
    more: str = "",
) -> str:
    """A task of a flow; all variables have the same region and the same first values."""
    state = "".join(f'{name} = "real {region}"\n' for name in rates)
    first = "".join(f"{name} = {init}\n" for name in rates)
    flow = "".join(f'{name} = "{rate}"\n' for name, rate in rates.items())
    names = ["p", *(f"p{number}" for number in range(1, len(claims)))]
    asked = "".join(f'{name} = "{claim}"\n' for name, claim in zip(names, claims, strict=True))
    return f"vernal = 1\n{more}[state]\n{state}[init]\n{first}[flow]\n{flow}[properties]\n{asked}"


def ring(count: int, k: str = "1") -> dict[str, str]:
    """Oscillators in a ring, each driven by the next."""
    names = [f"x{i}" for i in range(count)]
    return {
        name: f"{k} * sin({names[(i + 1) % count]}) - 0.3 * {name} + 0.2 * {name} * {names[i - 1]}"
        for i, name in enumerate(names)
    }


def _terms() -> str:
    many = " + ".join(f"sin({i + 2} * x0 + x1 / {i + 3}) / {(i + 1) * (i + 2)}" for i in range(3000))
    return flow_task({"x0": many, "x1": "-x0"})


def _disturbances() -> str:
    many = " + ".join(f"between(-1, 1) * sin({i + 1} * x0) / {i + 10}" for i in range(300))
    return flow_task({"x0": f"x1 + {many}", "x1": "-x0 - x1"})


def _claims() -> str:
    bounds = [f"G[0,{100 + i}] (x0 * x1 < {5 + i / 100})" for i in range(40)]
    return flow_task(ring(4), claims=bounds)


def _oscillator(more: str = "", region: str = "[-10, 10]") -> str:
    return flow_task({"x0": "x1 + sin(3 * x0)", "x1": "(1 - x0^2) * x1 - x0 + cos(x0 * x1)"}, region, more=more)


TEXTS: dict[str, Callable[[], str]] = {
    "six variables, time 1000": lambda: flow_task(ring(6, "k"), more="[parameters]\nk = 1\n"),
    "stiff, rates of 1e6": lambda: flow_task({"x0": "-1e6 * (x0 - sin(x1))", "x1": "x0 + 1e6 * cos(x1 * x0)"}),
    "3,000 terms": _terms,
    "a deep network": lambda: flow_task(
        {"x0": "net(x0, x1)[0] - x0", "x1": "sin(x0) - net(x1, x0)[0]"}, more='[networks]\nnet = "deep.onnx"\n'
    ),
    "widths of 200": lambda: _oscillator("[abstraction]\nwidths = [200, 200]\n"),
    "error of 1e-6": lambda: _oscillator("[abstraction]\nerror = 1e-6\n"),
    "100,000 samples": lambda: _oscillator("[abstraction]\nsamples = 100000\n"),
    "region 1e6 wide": lambda: _oscillator(region="[-500000, 500000]"),
    "10^9 first states": lambda: flow_task(ring(6), init='"{' + ", ".join(f"{i / 100}" for i in range(32)) + '}"'),
    "300 disturbances": _disturbances,
    "50 variables": lambda: flow_task(ring(50)),
    "many claims": _claims,
}
