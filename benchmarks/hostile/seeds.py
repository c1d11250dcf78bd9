"""What attacks start from: proper files of every kind, and tasks that would take minutes and gigabytes."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.hostile.flow_seeds import FlowSeeds, plant_flows
from tests.cli.samples import ROOM
from vernal.cli.main import main
from vernal.engines.check import engines
from vernal.formats.convert import convert

ROOT = Path(__file__).parent.parent.parent
FORMULAS = [
    *(
        "G[0,4] (T <= 30)",
        "AX[3] (T > 18 | mode == OFF)",
        "F[0,3] G[0,2] (T >= 18 & T + 1 < 40)",
        "A[T < 20 U mode == HEAT]",
    ),
    *(
        "(T < 19 -> X[2] T < 25) & !(F[0,2] mode == OFF)",
        "abs(T - 20)^2 <= 400 U[1,3] T >= 18.5",
        "AG EF (mode == HEAT)",
    ),
]
SCALED = """vernal = 1
[parameters]
low = 0
high = 1
factor = 2
limit = 8
[state]
x = "real"
[init]
x = "[min(low, high), max(low, high)]"
[environment.next]
x = "if(x > limit, x / factor, x * factor + 1)"
[properties]
kept = "G[0,5] (x <= limit)"
"""
QUERY = """; inputs of the thermostat's network
(declare-const X_0 Real)
(declare-const X_1 Real)
(declare-const Y_0 Real)
(declare-const Y_1 Real)
(assert (>= X_0 15.0))
(assert (<= X_0 22.0))
(assert (>= X_1 0.0))
(assert (<= X_1 1.0))
(assert (or (and (>= Y_0 Y_1) (<= X_0 16.5)) (<= Y_0 -100.0)))
"""
HEAVY = {  # next values, and a claim; the state is x and y in [0, 1]
    "squares": ("x * x + 2", "y * y + 2", "G[0,60] (x < 1e300 | y > x)"),
    "powers": ("floor((x + 3) ^ 1000)", "y", "G[0,20] (x >= y)"),
    "choices": ("x + choose(0, 1/3, 2/7)", "if(y > 1, y / 3 + between(-1, 1), y + x)", "G[0,40] (x + y < 9)"),
    "sines": ("x + sin(3 * y) + between(-0.1, 0.1)", "y + cos(x * y) / (1 + x ^ 2)", "G[0,200] (x < 50)"),
    "fractions": ("if(x > y, x * 1.23456789 - y / 7, x / 3 + 1/13)", "y * 0.987654321 + x / 19", "G[0,60] (x < 2)"),
    "for ever": ("x - (y - sin(x)) / 10", "y + (x - exp(-y)) / 10", "G F (x < 0.5) & G (y > -20)"),
    "unreachable": ("if(x * y > 0.5, x / 2, x + y / 3)", "1 - y * x", "A[true U x > 100]"),
}


@dataclass(frozen=True)
class Seeds:
    """Files in a folder of their own."""

    tasks: Sequence[Path]
    networks: Sequence[Path]
    query: Path
    room: Path
    scaled: Path
    trace: Path
    journal: Path
    heavy: Sequence[Path]
    engines: Sequence[str]
    flows: FlowSeeds


def plant(folder: Path) -> Seeds:
    """Write them all."""
    room = _write(folder / "room.toml", ROOM)
    trace, journal = folder / "room.trace.json", folder / "room.journal"
    with redirect_stdout(io.StringIO()):
        main(["check", str(room), "--property", "cool", "--trace", str(trace), "--quiet"])
        main(["check", str(room), "--property", "mild", "--engine", "paths", "--journal", str(journal), "--quiet"])
    tasks = [ROOT / "examples" / name / f"{name}.toml" for name in ("thermostat", "pendulum", "vacuum")]
    return Seeds(
        [task for task in [room, *tasks] if task.exists()],
        _networks(folder),
        _write(folder / "query.vnnlib", QUERY),
        room,
        _write(folder / "scaled.toml", SCALED),
        trace,
        journal,
        [_heavy(folder, name) for name in HEAVY],
        [entry.name for entry in engines()],
        plant_flows(folder),
    )


def _heavy(folder: Path, name: str) -> Path:
    x, y, claim = HEAVY[name]
    text = 'vernal = 1\n[state]\nx = "real"\ny = "real"\n[init]\nx = "[0, 1]"\ny = "[0, 1]"\n'
    text += f'[environment.next]\nx = "{x}"\ny = "{y}"\n[properties]\np = "{claim}"\n'
    return _write(folder / f"{name.replace(' ', '_')}.toml", text)


def _networks(folder: Path) -> list[Path]:
    """One network in three formats; the first is the one that the query speaks of."""
    onnx, nnet, h5 = folder / "net.onnx", folder / "net.nnet", folder / "net.h5"
    _keras(h5)
    convert(h5, onnx)
    convert(h5, nnet)
    return [onnx, nnet, h5]


def _keras(file: Path) -> None:
    import h5py

    chance = np.random.default_rng(0)
    sizes = (2, 6, 2)
    layers, buffer = [], io.BytesIO()
    with h5py.File(buffer, "w") as made:
        weights = made.create_group("model_weights")
        for number, (inputs, outputs) in enumerate(pairwise(sizes)):
            name = f"dense_{number}"
            config = {
                "name": name,
                "units": outputs,
                "activation": "relu" if number == 0 else "linear",
                "use_bias": True,
            }
            layers.append(
                {"class_name": "Dense", "config": config | ({"batch_input_shape": [None, 2]} if number == 0 else {})}
            )
            own = weights.create_group(name)
            own.attrs["weight_names"] = [f"{name}/kernel:0".encode(), f"{name}/bias:0".encode()]
            own.create_dataset(f"{name}/kernel:0", data=chance.normal(size=(inputs, outputs)).astype(np.float32))
            own.create_dataset(f"{name}/bias:0", data=chance.normal(size=outputs).astype(np.float32))
        made.attrs["keras_version"] = "2.3.1"
        made.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": {"layers": layers}})
    file.write_bytes(buffer.getvalue())


def _write(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file
