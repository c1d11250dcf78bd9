"""Learns a ReLU network in the place of a vector field, with a small largest error and few activation regions.

The field is taken apart (`parts`). What is affine passes through neurons that are active on the whole region, which
cost no activation region. Each nonlinear part gets hyperplanes across its own directions, as many as the error asks
for: breaks of the best piecewise linear functions where it has one coordinate (`knots`), and otherwise the best found
from several random starts; both are then moved towards the least largest error (`ridges`). The result is an ordinary
network, on a dyadic grid (`dyadic`); further hidden layers hand the outputs of the first on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vernal.errors import InputError
from vernal.interpret.numbers.rounding import Floats
from vernal.model.system import Model
from vernal.model.tick import Tick, idle
from vernal.reduce.neural.assembly import SkipNeurons, assembled
from vernal.reduce.neural.fits import PartFit, ScaledFit
from vernal.reduce.neural.part_samples import PartField, random_shares
from vernal.reduce.neural.parts import parts
from vernal.reduce.neural.ridges import Ridges

NEAR_LEAST = 0.1  # of the target: an error so little above what disturbances leave is good enough
SAMPLES_PER_PART = 1500  # of each part
PATTERNS = 50_000  # points at which activation patterns are counted


@dataclass(frozen=True, slots=True, eq=False)
class LearnedNetwork:
    """A network and what samples say about it: nothing here is certified."""

    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]
    error: Floats  # the largest at samples, for each variable
    regions: int  # activation patterns that were seen
    hyperplanes: int


class Learner:
    """Learns networks of one flow; samples and counterexamples are kept from one to the next."""

    def __init__(
        self,
        flow: Model,
        lower: Floats,
        upper: Floats,
        samples: int = SAMPLES_PER_PART,
        seed: int = 0,
        tick: Tick = idle,
    ) -> None:
        self.flow, self.lower, self.upper, self.seed, self.tick = flow, lower, upper, seed, tick
        self.parts = parts(flow, tick)
        fields = [PartField(part, lower, upper, seed, tick) for part in self.parts.nonlinear]
        self.fits = [PartFit(field, flow.vars, samples, seed, tick) for field in fields]
        used = (self.parts.linear != 0).any(axis=0)
        for part in self.parts.nonlinear:
            used |= (part.directions != 0).any(axis=0)
        self.skip = SkipNeurons(lower, upper, np.flatnonzero(used))

    def add(self, states: Floats) -> None:
        """Take states as further samples of every part."""
        for fit in self.fits:
            fit.add(states)

    def learn(self, target: Floats, widths: Sequence[int] | None = None, enough: float = 1.0) -> LearnedNetwork:
        """A network with about `enough` times the target as its error, and as few hyperplanes as that takes.

        With widths of hidden layers it has no more than these allow; then the error may be larger.
        """
        room = self._room(widths)
        scaled = [fit.scaled(target[fit.field.outputs], enough / self._sharing(fit)) for fit in self.fits]
        sizes = self._sizes(scaled, target, enough, room)
        found = [fit.fit(size) for fit, size in zip(scaled, sizes, strict=True)]
        weights, biases = assembled(self.parts, found, [fit.field for fit in self.fits], self.skip, widths)
        error = self._total([fit.errors(size) for fit, size in zip(scaled, sizes, strict=True)])
        return LearnedNetwork(tuple(weights), tuple(biases), error, self._regions(found), sum(sizes))

    def _sharing(self, fit: PartFit) -> int:
        """Among how many parts the error of an output of this one is divided."""
        return max(sum(i in other.field.outputs for other in self.fits) for i in fit.field.outputs)

    def _room(self, widths: Sequence[int] | None) -> int | None:
        """Neurons of the first hidden layer that may have hyperplanes; None where nothing limits them."""
        if widths is None:
            return None
        if widths[0] < self.skip.neurons or min(widths[1:], default=len(self.lower)) < len(self.lower):
            raise InputError(
                f"hidden layers of {', '.join(map(str, widths))} neurons are too narrow for {self.flow.name!r}: the "
                f" first hidden layer needs at least {max(1, self.skip.neurons)}, and any other {len(self.lower)}"
            )
        return widths[0] - self.skip.neurons

    def _sizes(self, fits: Sequence[ScaledFit], target: Floats, enough: float, room: int | None) -> list[int]:
        """Hyperplanes for each part: more where the error is largest, first by estimates and then by fits."""
        sizes, least = [0 for _ in fits], self._total([fit.least for fit in fits])
        for measure in (ScaledFit.estimate, ScaledFit.errors):
            while room is None or sum(sizes) < room:
                self.tick()
                errors = [measure(fit, size) for fit, size in zip(fits, sizes, strict=True)]
                total = self._total(errors)
                good = total <= np.maximum(enough * target, least + NEAR_LEAST * target * (least > 0))
                worst = _worst_part(fits, errors, sizes, np.where(good, 0.0, total / target))
                if worst is None:
                    break
                sizes[worst] += 1
        return sizes

    def _total(self, errors: Sequence[Floats]) -> Floats:
        """The errors of the parts, added up for each variable."""
        total = np.zeros(len(self.lower))
        for fit, error in zip(self.fits, errors, strict=True):
            total[fit.field.outputs] += error
        return total

    def _regions(self, found: Sequence[Ridges]) -> int:
        """How many activation patterns are seen at many points."""
        states = random_shares(np.random.default_rng(self.seed), PATTERNS, len(self.lower))
        states = self.lower + states * (self.upper - self.lower)
        signs = [
            fit.field.coordinates(states) @ ridges.normals.T + ridges.offsets > 0
            for fit, ridges in zip(self.fits, found, strict=True)
        ]
        return len(np.unique(np.packbits(np.hstack([np.zeros((len(states), 1), bool), *signs]), axis=1), axis=0))


def _worst_part(
    fits: Sequence[ScaledFit], errors: Sequence[Floats], sizes: Sequence[int], ratios: Floats
) -> int | None:
    """The part that adds most to the error with the largest ratio; None where all ratios are 0, or nothing helps."""
    for i in np.argsort(-ratios).tolist():
        growing = [k for k, fit in enumerate(fits) if i in fit.field.outputs and sizes[k] < fit.most]
        if ratios[i] > 0 and growing:
            return max(growing, key=lambda k: float(errors[k][fits[k].field.outputs.index(i)]))
    return None
