"""How far a verdict reaches, as a value; its text is what reports say."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from vernal.model.numbers import rounded

DIGITS = 6


@dataclass(frozen=True, slots=True)
class UpToStep:
    """The claim is decided by the first so many transitions of every path."""

    last: int

    def __str__(self) -> str:
        return f"up to step {self.last}"


@dataclass(frozen=True, slots=True)
class ForAllTime:
    """The claim has no last step, and is decided for all of them."""

    inside: bool = True  # in continuous time, whether all paths provably stay inside the region

    def __str__(self) -> str:
        return "for all time" if self.inside else "for all time, of trajectories inside the region"


@dataclass(frozen=True, slots=True)
class UntilTime:
    """The claim is decided until this time of a continuous flow, of trajectories inside the region of interest."""

    last: Fraction
    inside: Fraction | None = None  # until when all trajectories provably stay inside; None where that was not asked

    def __str__(self) -> str:
        if self.inside is None:
            return f"until t = {rounded(self.last)}, of trajectories inside the region"
        if self.inside >= self.last:
            return f"until t = {rounded(self.last)}, inside the region"
        within = f"all trajectories stay inside the region until t = {rounded_down(self.inside)}"
        return f"until t = {rounded(self.last)}; {within}"


@dataclass(frozen=True, slots=True)
class UpToSample:
    """The claim is decided by the first so many instants of the grid, of paths inside the region of interest."""

    last: int
    inside: bool = False  # whether all paths provably stay inside

    def __str__(self) -> str:
        return f"up to sample {self.last}, {'' if self.inside else 'of paths '}inside the region"


def rounded_down(value: Fraction | float) -> str:
    """A time of six digits, none of which claims too much where something holds until then."""
    return _digits(Fraction(value), ROUND_FLOOR)


def rounded_up(value: Fraction | float) -> str:
    """A time of six digits, none of which claims too much where something holds from then on."""
    return _digits(Fraction(value), ROUND_CEILING)


def _digits(value: Fraction, rounding: str) -> str:
    context = Context(prec=DIGITS, rounding=rounding)
    return f"{float(context.divide(Decimal(value.numerator), Decimal(value.denominator))):g}"


Reach = UpToStep | UpToSample | ForAllTime | UntilTime
