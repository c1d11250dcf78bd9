"""Relays: decisions that make a jump, as an argmax that pushes left or right does, each with a line in its place.

A relay is +b or -b by the sign of y. Within a band |y| <= Y it differs from the line 2 b y / Y by at most b; so the
loop is one with a line, and a disturbance of at most b at every step. Where the loop with the line is stable, sums over
its powers say how far such disturbances can drive it, and whether y stays in the band (I. Kolmanovsky and E. G.
Gilbert, 1998, on sets that disturbances do not drive a loop out of). All of this only proposes: by how much rows move
is found from the bounds of each case, and what they prove is certified by others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vernal.interpret.geometry.directions import Template
from vernal.interpret.geometry.template_sets import TemplateSets, labelled
from vernal.interpret.numbers.rounding import Floats
from vernal.interpret.value_sets import Finite, Truth, Value
from vernal.model import build
from vernal.model import expr as e
from vernal.model.expr import Expr
from vernal.sets.cells.images import Images
from vernal.sets.cells.region_forms import RegionForms

NAME = "inequalities of the claim followed backwards, with lines for switching policies"
BANDS = tuple(1.05 * 1.15**step for step in range(14))  # of the most that runs meet: bands in which y might stay
LINE_GAIN = (
    2.0  # over the width of a band: the slope of the line, with which it differs from the relay by at most a jump
)
BAND_SHARE = 0.97  # of a band that may be used, so that something is left to what is not a line
REGION_ROUNDS = 3  # in which what is no line is bounded over the region that it leads to
MAX_POWER = 2000  # steps over which disturbances are summed
FORGOTTEN = 1e-9  # of the first disturbance: later ones are no longer counted
REGION_ROOM = 1.1  # times what disturbances and starts reach


@dataclass(frozen=True)
class RelayLine:
    """A loop x' = slopes x + offset with a disturbance, and the bands in which it stands for the relays."""

    slopes: Floats
    rows: Floats  # both sides of every band, (2 relays, numbers)
    ends: Floats
    region: TemplateSets  # which disturbances do not drive it out of
    centre: Floats  # where it rests without any


@dataclass(frozen=True)
class Relays:
    """The relays of a loop over a region: what each decides by, and half of its jump."""

    slopes: Floats  # of the loop, on both sides the same but for what is not a line
    offset: Floats
    rows: Floats  # y of each, (relays, numbers), and its constants
    constants: Floats
    jumps: Floats  # (relays, numbers)
    spread: Floats  # how far each next number may be beside that

    @classmethod
    def of(cls, forms: RegionForms) -> Relays | None:
        """The relays over a region; None where there are none."""
        n = forms.region.template.size
        both = forms.after(np.vstack([np.eye(n), -np.eye(n)]))
        slopes, rest = 0.5 * (both[0][:, :n] - both[0][:, n:]), 0.5 * (both[1][:, :n] - both[1][:, n:])
        spread = 0.5 * (both[1][:, :n] + both[1][:, n:]).max(axis=0, initial=0.0)
        found = []
        for node, value in forms.parts.made.items():
            gap, sides = _gap(node), _side(value, forms.possible)
            if gap is None or sides.all() or not sides.any():
                continue
            row, constant = (part[0].reshape(-1) for part in forms.now(gap))
            found.append((row, float(constant[0]), 0.5 * (rest[sides].mean(axis=0) - rest[~sides].mean(axis=0))))
        if not found:
            return None
        rows, constants, jumps = zip(*found, strict=True)
        return cls(slopes.mean(axis=0), rest.mean(axis=0), np.array(rows), np.array(constants), np.array(jumps), spread)

    def line(self, bands: Floats, points: Floats, start: TemplateSets) -> RelayLine | None:
        """The line over these bands; None where it is not stable, or disturbances drive a relay out of its band."""
        gains, n = LINE_GAIN / bands, len(self.slopes)
        slopes = self.slopes + self.jumps.T @ (gains[:, None] * self.rows)
        if not np.isfinite(slopes).all() or np.abs(np.linalg.eigvals(slopes)).max() >= 1:
            return None
        pushed = self.offset + (gains * self.constants) @ self.jumps
        centre: Floats = np.asarray(np.linalg.solve(np.eye(n) - slopes, pushed), dtype=np.float64)
        count, driven = len(bands), self._driven(slopes, np.vstack([self.rows, np.eye(n)]))
        if not (driven[:count] + np.abs(self.rows @ centre + self.constants) <= BAND_SHARE * bands).all():
            return None
        seen = np.vstack([points, *start.ranges()])
        reach = REGION_ROOM * np.maximum(driven[count:], np.abs(seen - centre).max(axis=0))
        ends = np.concatenate([bands - self.constants, bands + self.constants])
        return RelayLine(slopes, np.vstack([self.rows, -self.rows]), ends, _box(centre, reach, start), centre)

    def _driven(self, slopes: Floats, rows: Floats) -> Floats:
        """How far disturbances of at most a jump drive each row."""
        total, pushed = np.zeros(len(rows)), np.hstack([self.jumps.T, np.diag(self.spread)])
        first = np.abs(pushed).max(initial=0.0)
        for _ in range(MAX_POWER):
            total += np.abs(rows @ pushed).sum(axis=1)
            pushed = slopes @ pushed
            if np.abs(pushed).max(initial=0.0) <= FORGOTTEN * first:
                break
        return total


def lines(images: Images, region: TemplateSets, points: Floats, start: TemplateSets) -> Iterator[RelayLine]:
    """Lines for the relays of a loop, in wider and wider bands; the region of each is found with what it reaches."""
    first = Relays.of(RegionForms(images, region)) if len(points) else None
    if first is None:
        return
    met = np.abs(points @ first.rows.T + first.constants).max(axis=0)
    for share in BANDS if (met > 0).all() else ():
        images.tick()
        relays: Relays | None = first
        line = None
        for _ in range(REGION_ROUNDS):
            line = None if relays is None or len(relays.rows) != len(met) else relays.line(share * met, points, start)
            if line is None:
                break
            relays = Relays.of(RegionForms(images, line.region))
        if line is not None:
            yield line


def _gap(node: Expr) -> Expr | None:
    """What has to be at least 0 for the second outcome of a decision with two."""
    match node:
        case e.Compare(op="<" | "<=", args=(left, right)):
            return build.sub(right, left)
        case e.Argmax(args=(scores, *_)) if scores.size == 2:
            return build.sub(scores[1], scores[0])
    return None


def _side(value: Value, index: NDArray[np.intp]) -> NDArray[np.bool_]:
    """In which parts a decision has its second outcome."""
    match value:
        case Truth(must, _):
            return np.asarray(np.asarray(must, bool)[index])
        case Finite(mask, _):
            return np.asarray(np.asarray(mask, bool)[index, -1])
    return np.zeros(len(index), bool)


def _box(centre: Floats, reach: Floats, start: TemplateSets) -> TemplateSets:
    labels = np.unique(start.labels, axis=0)
    shape = (len(labels), len(centre))
    lower, upper = (np.broadcast_to(centre + sign * reach, shape) for sign in (-1, 1))
    return labelled(Template(np.eye(len(centre))), lower, upper, labels)
