"""One step of a set of states through the locations that it may be in meanwhile.

All states move by one affine inclusion x' = A x + b + e that contains the field of every location they may be in, at
the points of that location which the step can reach. The reach of a step is first guessed, with a guess of the bounds
of e. If in what is reached so no further location is entered and e keeps to the guess, it is true: a solution would
have to leave the tube of the guess first, whose inside contains all that is reached until then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vernal.interpret.geometry.exponential import MatrixExponential, exponential
from vernal.interpret.geometry.zonotope import Zonotope
from vernal.model.tick import Tick, idle
from vernal.sets.zonotopes.ancestry import Travellers
from vernal.sets.zonotopes.linearisation import AffineField, fit, miss
from vernal.sets.zonotopes.modes import ModeGraph, ModeSet
from vernal.sets.zonotopes.tubes import FlowTube, advance

MOST_GUESSES = 60
MAX_REGION_WIDTHS = 3.0  # widths of the region
GROWTH = 1.05  # of a guess that was too small, and more the more guesses failed
LARGEST_COORDINATE = 2.0**400  # of a coordinate: beyond it products overflow, and no step is taken


@dataclass(frozen=True)
class StepOutcome:
    """Where states are during a step, in which locations, and at its end; None where none is left inside."""

    tube: FlowTube
    modes: ModeSet
    field: AffineField
    after: Travellers | None


class HybridSteps:
    """Steps of one length through one automaton."""

    def __init__(self, graph: ModeGraph, h: float, tick: Tick = idle) -> None:
        self.graph, self.h, self.tick = graph, h, tick
        self.automaton = graph.automaton
        self.powers: dict[int, MatrixExponential] = {}

    def step(self, travellers: Travellers) -> StepOutcome | None:
        """What becomes of states in one step; None if none of them is in any location."""
        modes = travellers.modes
        field = self._field(travellers.states, modes)
        for guess in range(MOST_GUESSES):
            self.tick()
            tube = self._advance(travellers.states, field, modes)
            found = self.graph.reachable(tube, travellers.modes)
            if not found <= modes:
                modes = found | modes
                field = self._field(travellers.states, modes)
            elif len(modes) == 1 and found:
                return self._outcome(travellers, field, modes, tube)
            else:
                ends = miss(field, tube, [self.automaton.locations[mode] for mode in found], self.automaton.radius)
                if ends is None:
                    return None
                better = field.moved(*ends)
                if bool(np.all(np.maximum(-ends[0], ends[1]) <= field.radius)):
                    tube = self._advance(travellers.states, better, modes)
                    return self._outcome(travellers, better, self.graph.within(tube, found), tube)
                field = replace(better, radius=GROWTH ** (1 + guess) * better.radius)
        raise ArithmeticError("no enclosure of a step was found")

    def _outcome(self, travellers: Travellers, field: AffineField, modes: ModeSet, tube: FlowTube) -> StepOutcome:
        left = self.graph.within(tube.last, modes)
        after = replace(travellers, states=self._inside(tube.last), modes=left) if left else None
        return StepOutcome(tube, modes, field, after)

    def _inside(self, states: Zonotope) -> Zonotope:
        """The same states in the region, in a box where most of them are far outside of it: these are not followed."""
        lower, upper = self.automaton.lower, self.automaton.upper
        axes = np.eye(len(lower))
        least, most = -states.support(-axes), states.support(axes)
        if bool(np.all(most - least <= MAX_REGION_WIDTHS * (upper - lower))):
            return states
        return Zonotope.box(np.maximum(least, lower), np.maximum(np.minimum(most, upper), np.maximum(least, lower)))

    def _field(self, states: Zonotope, modes: ModeSet) -> AffineField:
        locations = [self.automaton.locations[mode] for mode in sorted(modes)]
        if len(locations) == 1:
            return AffineField(locations[0].matrix, locations[0].drift, self.automaton.radius)
        return fit(states, locations, self.automaton.radius)

    def _advance(self, states: Zonotope, field: AffineField, modes: ModeSet) -> FlowTube:
        with np.errstate(over="ignore", invalid="ignore"):
            tube = advance(states, field.matrix, field.drift, field.radius, self._power(field, modes), self.h)
            small = bool(np.all(tube.size < LARGEST_COORDINATE))
        if not small:
            raise OverflowError("states that are too large to compute with")
        return tube

    def _power(self, field: AffineField, modes: ModeSet) -> MatrixExponential:
        """The exponential of the field's matrix; that of a single location is computed once."""
        if len(modes) > 1:
            return exponential(field.matrix, self.h)
        (mode,) = modes
        return self.powers.get(mode) or self.powers.setdefault(mode, exponential(field.matrix, self.h))
