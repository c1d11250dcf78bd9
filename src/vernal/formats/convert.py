"""From one network format to another; the result is read back and compared.

    convert("controller.h5", "controller.onnx")

Where both files denote the same expression there is nothing to compare. Otherwise values at random points are: a few in
exact arithmetic, many in float64; the largest difference is reported. A network the target format cannot say is
refused, and nothing is left behind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from vernal.errors import FormatError
from vernal.formats.limits import DEFAULT
from vernal.formats.networks import read_network, read_parsed
from vernal.interpret.concrete import evaluate
from vernal.model.expr import Expr
from vernal.model.network import Network
from vernal.model.tick import Tick, idle
from vernal.run.output import write_bytes

FLOAT_POINTS = 200
EXACT_POINTS = 5
TOLERANCE = 1e-9  # relative to the largest output: float64 rounding, far below anything that is a mistake


@dataclass(frozen=True, slots=True)
class Conversion:
    """What came of a conversion.

    `identical`: both files are the same expression. `exact`: their values agree exactly at `EXACT_POINTS` random points
    (None where these values are not rational). `difference`: the largest at any of `points` random points.
    """

    source: str
    target: str
    identical: bool
    exact: bool | None
    difference: float
    points: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.identical:
            return f"{self.source} -> {self.target}: the same network, weight by weight"
        exactly = "; equal in exact arithmetic" if self.exact else ""
        largest = f"largest difference {self.difference:.3g} at {self.points} random points"
        return f"{self.source} -> {self.target}: {largest}{exactly}"


def convert(
    source: str | Path,
    target: str | Path,
    *,
    seed: int = 0,
    normalise: str | Path | None = None,
    output: str | None = None,
    tick: Tick = idle,
) -> Conversion:
    """Read `source`, write `target` (.onnx or .nnet), read it back and compare.

    `normalise` is a file of `VecNormalize`, where the source is a policy of stable-baselines3; `output` names the one
    to keep of several outputs of an ONNX graph.
    """
    if normalise is not None and output is not None:
        raise FormatError(
            f"{source}: output chooses from an ONNX graph, and normalise is about stable-baselines3; not both"
        )
    limits = replace(DEFAULT, tick=tick)
    network = read_network(source, output=output, limits=limits) if normalise is None else normalised(source, normalise)
    with TemporaryDirectory() as folder:
        draft = Path(folder) / f"draft{Path(target).suffix}"
        write_network(network, draft)
        again = read_network(draft, limits=limits)
        difference = compare(network, again, seed=seed)
        identical = again.roots == network.roots
        apart = Fraction(0) if identical else exact_difference(network, again, seed=seed, tick=tick)
        write_bytes(target, draft.read_bytes())
    notes = (*((f"the file ends with {network.dropped}",) if network.dropped else ()), *_memory_notes(network))
    exact = None if apart is None else apart == 0
    return Conversion(
        str(source),
        str(target),
        identical,
        exact,
        max(difference, float(apart or 0)),
        FLOAT_POINTS + EXACT_POINTS,
        notes,
    )


def normalised(source: str | Path, statistics: str | Path) -> Network:
    """A saved policy of stable-baselines3 that sees observations as they are, and normalises them itself."""
    from vernal.formats.sb3.saved_policy import parse_normalisation, parse_sb3

    if Path(source).suffix.lower() != ".zip":
        raise FormatError(f"{source}: observations are normalised of policies of stable-baselines3 (.zip)")
    found = read_parsed(Path(statistics), parse_normalisation)
    return read_network(source, parser=partial(parse_sb3, normalisation=found))


def _memory_notes(network: Network) -> list[str]:
    """What a file with memories says about them, and what it cannot say."""
    names = [f"{var.name}_in -> {var.name}_out" for var, _ in network.memory]
    notes = [f"the memory goes through {', '.join(names)}"] if names else []
    if network.starts:
        values = ", ".join(str(float(value)) for value in network.starts[:8])
        more = ", ..." if len(network.starts) > 8 else ""
        notes.append(
            f"the memory starts at [{values}{more}], which the file cannot say: give it to the agent as memory"
        )
    return notes


def write_network(network: Network, path: str | Path) -> None:
    """Write a network in the format of the suffix.

    Example: `vn.write_network(network, "policy.onnx")`
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix == ".onnx":
        from vernal.formats.onnx.writer import write_onnx

        write_onnx(network, file)
    elif suffix == ".nnet":
        from vernal.formats.nnet import write_nnet

        write_nnet(network, file)
    else:
        raise FormatError(f"networks are written as .onnx or .nnet, not as {suffix or file.name!r}")


def compare(first: Network, second: Network, *, seed: int = 0) -> float:
    """The largest difference of two networks at random points; refused where it is more than rounding."""
    sizes = [[root.size for root in (network.inputs, *network.roots)] for network in (first, second)]
    if sizes[0] != sizes[1]:
        raise FormatError(f"the written network has sizes {sizes[1]} instead of {sizes[0]}")
    random = np.random.default_rng(seed)
    width = first.input_size + first.memory_size
    points = random.normal(size=(FLOAT_POINTS, width)) * 10.0 ** random.integers(-2, 4, size=(FLOAT_POINTS, 1))
    one, other = (
        np.concatenate(evaluate(network.roots, _given(network, points)), axis=1) for network in (first, second)
    )
    difference = float(np.max(np.abs(one - other)))
    if not difference <= TOLERANCE * (1 + float(np.max(np.abs(one)))):
        raise FormatError(f"the written network differs by {difference:.3g} from its source; this is a bug in Vernal")
    return difference


def _given(network: Network, points: NDArray[np.float64]) -> dict[Expr, NDArray[np.float64]]:
    """Each row of the points as an input and what is remembered."""
    variables = [network.inputs, *(var for var, _ in network.memory)]
    ends = np.cumsum([var.size for var in variables])
    return dict(zip(variables, np.split(points, ends[:-1], axis=1), strict=True))


def exact_difference(first: Network, second: Network, *, seed: int = 0, tick: Tick = idle) -> Fraction | None:
    """The largest difference at a few random points in rational arithmetic; None where values are not rational."""
    from vernal.interpret import exact

    random = np.random.default_rng(seed)
    largest = Fraction(0)
    width = first.input_size + first.memory_size
    for row in random.integers(-1000, 1000, size=(EXACT_POINTS, width)):
        tick()
        values = [exact.evaluate(network.roots, _exactly(network, row)) for network in (first, second)]
        one, other = ([x for item in made for x in (item if isinstance(item, tuple) else (item,))] for made in values)
        for a, b in zip(one, other, strict=True):
            if not isinstance(a, Fraction) or not isinstance(b, Fraction):
                return None
            largest = max(largest, abs(a - b))
    return largest


def _exactly(network: Network, row: NDArray[np.int64]) -> dict[Expr, tuple[Fraction, ...]]:
    """The same in hundredths, which are rational."""
    given = _given(network, row[None, :].astype(np.float64))
    return {var: tuple(Fraction(int(entry), 100) for entry in values[0]) for var, values in given.items()}
