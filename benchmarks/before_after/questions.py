"""What is asked of both checkouts: families of questions, each the measured part of a benchmark of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from benchmarks.cartpole.__main__ import groups as cartpole_groups
from benchmarks.forever.__main__ import groups as forever_groups
from benchmarks.forever.table import Asked
from benchmarks.ladder import Ladder
from benchmarks.lander.__main__ import ladders as lander_ladders
from benchmarks.neural_abstractions.models import SIX
from benchmarks.pendulum.__main__ import groups as upright_groups
from benchmarks.pendulum_rnn.__main__ import ladders as pendulum_ladders
from benchmarks.ppa.published import INSTANCES
from benchmarks.spread.__main__ import ladders as spread_ladders
from benchmarks.vcas import published
from benchmarks.vcas.encounter import FILE as ENCOUNTER
from benchmarks.vcas.encounter import QUESTIONS as ENCOUNTERS
from benchmarks.vcas.methods import FOLDER as VCAS


@dataclass(frozen=True)
class Request:
    """One property of one task file, or of a planning model, for one engine."""

    label: str
    file: Path
    property: str | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    engine: str = "auto"
    cap: float = 60.0  # seconds of wall-clock time
    planning: bool = False

    def line(self) -> str:
        """As it is sent to a process that answers."""
        plain = {**vars(self), "file": str(self.file), "parameters": dict(self.parameters)}
        return json.dumps({name: value for name, value in plain.items() if name != "label"})


def data() -> Path:
    """The folder of third-party networks and models."""
    if not (name := os.environ.get("VERNAL_DATA")):
        raise SystemExit("benchmarks.before_after needs third-party data: set VERNAL_DATA to its folder")
    return Path(name)


def cells() -> list[Request]:
    """The published table of VerticalCAS."""
    return [
        Request(f"{scaling}, v0 = {rate}, k = {k}", VCAS / "vcas.toml", None, {"range_v": scaling, "v0": rate, "k": k})
        for scaling, rate, k in product(published.SCALINGS, published.RATES, published.STEPS)
    ]


def encounters() -> list[Request]:
    return [
        Request(f"{one['range_v']}, v0 = {one['v0']}", ENCOUNTER, None, dict(one), "paths", 120.0) for one in ENCOUNTERS
    ]


def rungs(ladders: Sequence[Ladder]) -> list[Request]:
    """Every rung of some ladders, by auto."""
    return [
        Request(f"{' '.join(one.label)} {rung}", one.file, one.name, {**one.fixed, one.rung: rung})
        for one in ladders
        for rung in one.rungs
    ]


def listed(groups: Sequence[Sequence[Asked]], cap: float) -> list[Request]:
    """Every question of some groups, by auto."""
    return [
        Request(" ".join(one.label), one.file, one.name, one.parameters, cap=cap) for group in groups for one in group
    ]


def abstractions() -> list[Request]:
    return [Request(model.name, model.file, engine="abstraction") for model in SIX]


def blocksworld() -> list[Request]:
    """Published policies by predicate abstraction."""
    folder = data() / "ppa"
    cases = {one["id"]: one for one in json.loads((folder / "expected.json").read_text(encoding="utf-8"))["cases"]}
    return [
        Request(
            name,
            folder / cases[case]["model"],
            f"{folder / cases[case]['property']}#{number}",
            engine="predicates",
            planning=True,
        )
        for name, (case, number) in INSTANCES.items()
    ]


FAMILIES: dict[str, Callable[[], list[Request]]] = {
    "vcas": cells,
    "encounters": encounters,
    "pendulum": lambda: rungs(pendulum_ladders()),
    "upright": lambda: listed(upright_groups(), 10.0),
    "lander": lambda: rungs(lander_ladders()),
    "spread": lambda: rungs(spread_ladders()),
    "forever": lambda: listed(forever_groups(), 5.0),
    "cartpole": lambda: listed(cartpole_groups(), 10.0),
    "abstractions": abstractions,
    "blocksworld": blocksworld,
}
QUICK = {"lander": 6, "spread": 5, "forever": 2, "cartpole": 12}  # each n-th; the others are quick whole
