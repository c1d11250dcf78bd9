"""The models, what the paper and its repository say of them, and variants that are not safe.

A. Abate, A. Edwards, M. Giacobbe: Neural Abstractions, NeurIPS 2022, Table 1. The errors are those recorded in the
published automata, one for each variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "neural-abstractions"


@dataclass(frozen=True)
class Published:
    """What was published of a model: of the abstraction, its verification, and of Flow* beside it."""

    widths: tuple[int, ...]
    error: tuple[float, ...]
    modes: int
    seconds: float  # synthesis and SpaceEx, on the authors' machine
    flowstar: str
    sound: bool = True  # whether the error does bound |f - N| in all of the region
    measured: float | None = None  # seconds of the authors' tool on a machine like ours, without flowpipes
    flowstar_measured: float | None = None  # of Flow* there


@dataclass(frozen=True)
class Model:
    """A task file, what is published of it, and values of its parameters for which trajectories reach the bad set."""

    name: str
    unsafe: Mapping[str, float]
    published: Published | None = None
    file: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "file", FOLDER / f"{self.name}.toml")


NOT_SUPPORTED = "not supported"
SIX = (
    Model(
        "jet",
        {"left": 0.1, "right": 0.35, "bottom": 0.2, "top": 0.4},
        Published((10, 16), (0.039, 0.015), 8, 215, "safe, 1.3", measured=260, flowstar_measured=1.7),
    ),
    Model(
        "steam",
        {"left": 0.6, "right": 0.8, "bottom": -0.2, "top": 0, "front": 0.78, "back": 0.92},
        Published((12,), (0.013, 0.105, 0.064), 29, 219, "safe, 62", sound=False, flowstar_measured=90),
    ),
    Model(
        "exponential",
        {"left": 0.5, "right": 0.65, "bottom": 0.5, "top": 0.72},
        Published((14, 14), (0.113, 0.005), 12, 308, "blow-up, 1034"),
    ),
    Model("watertank", {"level": 1.2}, Published((12,), (0.097,), 6, 49, NOT_SUPPORTED, measured=64)),
    Model(
        "nl1",
        {"left": 0.25, "right": 0.45, "bottom": 0.4, "top": 0.6},
        Published((10,), (0.012, 0.093), 12, 19, NOT_SUPPORTED, measured=26),
    ),
    Model(
        "nl2",
        {"left": -0.55, "right": -0.35, "bottom": -0.5, "top": -0.25},
        Published((12, 10), (0.036, 0.081), 32, 59, NOT_SUPPORTED),
    ),
)
CHAINED_BAD = {"left": 0, "right": 0.4, "bottom": 0.2, "top": 0.45}
CHAIN = (SIX[0], Model("jets4", CHAINED_BAD), Model("jets6", CHAINED_BAD))  # in 2, 4 and 6 dimensions
NAMES = tuple(model.name for model in SIX)


def chosen(names: Sequence[str]) -> list[Model]:
    """Some of the six."""
    return [model for model in SIX if model.name in names]


# Error over size ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SizeRow:
    """The published error (2-norm) and modes of networks of one size, over ten seeds."""

    model: str
    widths: tuple[int, ...]
    error: tuple[float, float, float]  # least, mean, largest
    modes: float  # mean
    success: float


def size_rows(file: Path) -> list[SizeRow]:
    """The rows of `error_versus_size` in a file of facts, each on one line: `- {model: jet, widths: [10], ...}`."""
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return [_size_row(line) for line in lines if line.startswith("- {model:") and "error_mean:" in line]


def _size_row(line: str) -> SizeRow:
    head, _, rest = line.removeprefix("- {").removesuffix("}").partition("widths: [")
    widths, _, rest = rest.partition("]")
    pairs = (part.split(":") for part in rest.strip(", ").split(","))
    values = {name.strip(): float(value) for name, value in pairs}
    error = (values["error_min"], values["error_mean"], values["error_max"])
    named = head.split(":")[1].strip(" ,")
    return SizeRow(named, tuple(map(int, widths.split(","))), error, values["modes_mean"], values["success"])
