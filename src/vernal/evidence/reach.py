"""How far a verdict reaches, as a value; its text is what reports say."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class UpToStep:
    """The claim is decided by the first so many transitions of every path."""

    last: int

    def __str__(self) -> str:
        return f"up to step {self.last}"


@dataclass(frozen=True, slots=True)
class ForAllTime:
    """The claim has no last step, and is decided for all of them."""

    def __str__(self) -> str:
        return "for all time"


@dataclass(frozen=True, slots=True)
class UntilTime:
    """The claim is decided until this time of a continuous flow, of trajectories inside the region of interest."""

    last: Fraction

    def __str__(self) -> str:
        return f"until t = {float(self.last):g}, inside the region"


Reach = UpToStep | ForAllTime | UntilTime
