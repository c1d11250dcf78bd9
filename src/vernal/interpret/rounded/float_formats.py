"""The float formats that networks run in, and how large the error of one rounding is.

Rounding is to the nearest number, whichever of two. A result below the smallest normal number may lose all of itself
(subnormal numbers are flushed by some runtimes), and so may an operand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vernal.errors import InputError
from vernal.interpret.numbers.rounding import Floats


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """Numbers of so many significant bits."""

    name: str
    bits: int
    least_exponent: int  # the smallest normal number is 2 to it
    largest: float

    @property
    def unit(self) -> float:
        """The relative error of one rounding."""
        return 2.0**-self.bits

    @property
    def least(self) -> float:
        """The smallest normal number: what underflow can lose."""
        return 2.0**self.least_exponent

    def losses(self, roundings: int) -> float:
        """The relative error of so many roundings in a row, rounded up."""
        lost = roundings * self.unit
        return lost / (1 - lost) * (1 + 1e-12) if lost < 0.5 else float("inf")

    def holds(self, weights: Floats) -> bool:
        """Whether no weight is rounded when it is stored."""
        mantissa, _ = np.frexp(weights)
        scaled = np.ldexp(mantissa, self.bits)
        return bool((scaled == np.floor(scaled)).all() and (abs(weights[weights != 0]) >= self.least).all())


FLOAT32 = FloatFormat("float32", 24, -126, float(np.finfo(np.float32).max))
BFLOAT16 = FloatFormat("bfloat16", 8, -126, 2.0**127)
FLOAT16 = FloatFormat("float16", 11, -14, 65504.0)


@dataclass(frozen=True, slots=True)
class Deployment:
    """How a network is computed: the format of its numbers, and the one in which sums of products are accumulated."""

    name: str
    numbers: FloatFormat
    sums: FloatFormat


DEPLOYMENTS: Mapping[str, Deployment] = {
    one.name: one
    for one in (
        Deployment("float32", FLOAT32, FLOAT32),
        Deployment("bfloat16", BFLOAT16, FLOAT32),
        Deployment("float16", FLOAT16, FLOAT32),
        Deployment("bfloat16/bfloat16", BFLOAT16, BFLOAT16),
        Deployment("float16/float16", FLOAT16, FLOAT16),
    )
}


def deployment(name: str) -> Deployment:
    """The deployment of this name."""
    if name not in DEPLOYMENTS:
        raise InputError(f"networks are deployed in {', '.join(DEPLOYMENTS)}, not in {name!r}")
    return DEPLOYMENTS[name]
