"""Certificates of network queries: no input has what is asserted, by a tree of cuts whose leaves bounds close.

The file has cuts and hints, the checker computes every bound; a leaf that its bounds do not close it cuts further
itself, so that a file without any tree is a proof, too, if a slow one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from typing import Any

from vernal_check import vnnlib
from vernal_check.backward import Backward, Layout, Parts, np
from vernal_check.clock import tick
from vernal_check.directed import TINY, UNIT
from vernal_check.errors import Rejected, Unreadable
from vernal_check.networks import RATIONAL, at_point
from vernal_check.onnx import Network
from vernal_check.vnnlib import Alternative, Condition, Element, Query

NO_NUMPY = "certificates of network queries need numpy: pip install 'vernal-check[fast]'"
MAX_NUMBERS = 2**21  # of a table of rows for one batch of parts
MAX_BATCH = 512
MAX_CUTS = 60  # of one leaf, by the checker itself
LOOKS = 6  # cuts between two looks at the input in the middle
FLAT_SHARE = 0.05  # of the largest score, that an input counts with by its width alone
DIGITS = "0123456789abcdef"


@dataclass(frozen=True)
class Unsatisfiable:
    """What was shown of a query, and what it rests on."""

    formula: str  # the file of the query
    leaves: int
    trusted: str
    vacuous: bool
    sets: int = 0
    steps: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        count = "1 leaf" if self.leaves == 1 else f"{self.leaves:,} leaves"
        vacuous = "  vacuous: no input is within the bounds" if self.vacuous else ""
        return f"accepted  no input meets {self.formula}  by {count}{vacuous}\n          trusted: {self.trusted}"


def shown(name: str, query: Query, network: Network, lines: Iterable[tuple[int, Any]]) -> Unsatisfiable:
    """Accepted, if no input of the network meets the query."""
    if np is None:
        raise Unreadable(NO_NUMPY)
    if network.memory or (network.size, network.outputs) != (query.inputs, query.outputs):
        raise Unreadable("the network has other inputs or outputs than the query")
    alternatives, layout, count = query.alternatives(), Layout(network), 0
    trees = joined(lines, len(alternatives))
    with np.errstate(all="ignore"):
        for number, alternative in enumerate(alternatives):
            count += Leaves(layout, alternative).check(trees.get(number, [None]))
    trusted = "this program, Python and numpy; the query as VNN-LIB says it, 1 network over the real numbers"
    return Unsatisfiable(name, count, trusted, not alternatives)


def joined(lines: Iterable[tuple[int, Any]], count: int) -> dict[int, list[Any]]:
    """The trees of alternatives, those of several lines in one."""
    trees: dict[int, list[Any]] = {}
    for place, line in lines:
        if not isinstance(line, dict) or set(line) != {"alternative", "tree"} or not isinstance(line["tree"], list):
            raise Unreadable(f"line {place}: no tree of an alternative")
        if line["alternative"] not in range(count):
            raise Unreadable(f"line {place}: the query has only {count} alternatives")
        trees.setdefault(int(line["alternative"]), []).extend(line["tree"])
    return trees


@dataclass(frozen=True)
class Cut:
    """A rectifier on the way to a leaf, and on which side of it the leaf is."""

    rectifier: int
    side: int
    before: Cut | None


class Leaves:
    """The parts into which one alternative is cut, and whether bounds close them."""

    def __init__(self, layout: Layout, alternative: Alternative) -> None:
        self.layout, self.alternative = layout, alternative
        self.atoms = list(alternative.asked.atoms())
        elements = (layout.network.size, layout.network.outputs)
        tables = [np.zeros((len(self.atoms), count)) for count in elements]
        shift = np.zeros(len(self.atoms))
        for row, atom in enumerate(self.atoms):
            for (kind, number), factor in atom.term.factors:
                tables[kind == "Y"][row, number] = float(factor)
            constant = float(atom.term.constant)
            shift[row] = constant - abs(constant) * UNIT - TINY
        self.rows, self.shift = {0: tables[0], len(layout.network.instructions): tables[1]}, shift
        self.batch = max(1, min(MAX_BATCH, MAX_NUMBERS // (2 * max(layout.widths) ** 2)))

    def check(self, tree: Sequence[Any]) -> int:
        """How many leaves there are, all of which are closed."""
        waiting, count = list[tuple[Any, ...]](), 0
        for leaf in self.leaves(tree):
            waiting.append(leaf)
            count += 1
            if len(waiting) == self.batch:
                self.close(self.parts(waiting))
                waiting.clear()
        if waiting:
            self.close(self.parts(waiting))
        return count

    # The tree ---------------------------------------------------------------------------------------------------------

    def leaves(self, tree: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """The leaves of a tree that is written with parents first, the lower part before the upper one."""
        low = [below(end) for end, _ in self.alternative.box]
        high = [above(end) for _, end in self.alternative.box]
        stack: list[tuple[list[float], list[float], Cut | None]] = [(low, high, None)]
        inputs = len(low)
        for item in tree:
            tick()
            if not stack:
                raise Unreadable("a tree goes on after its last leaf")
            low, high, cuts = stack.pop()
            if isinstance(item, Fraction) and item.denominator == 1 and -self.layout.rectifiers <= item < inputs:
                place = int(item)
                if place < 0:
                    stack += [(low, high, Cut(-1 - place, side, cuts)) for side in (1, -1)]
                    continue
                middle = low[place] / 2 + high[place] / 2
                stack.append(([*low[:place], middle, *low[place + 1 :]], high, cuts))
                stack.append((low, [*high[:place], middle, *high[place + 1 :]], cuts))
            elif item is None or isinstance(item, list):
                yield low, high, cuts, item
            else:
                raise Unreadable(f"{item!s:.40} is neither a cut nor a leaf")
        for low, high, cuts in stack:  # a tree that is not whole has leaves without hints
            yield low, high, cuts, None

    def parts(self, leaves: Sequence[tuple[Any, ...]]) -> Parts:
        """Some leaves as arrays, with their hints: slopes, a digit each, then factors in the order of cuts."""
        shape = len(leaves), self.layout.rectifiers
        sides, slopes, factors = np.zeros(shape), np.full(shape, -1.0), np.zeros(shape)
        for row, (_, _, cuts, hint) in enumerate(leaves):
            path = list[Cut]()
            while cuts is not None:
                path.append(cuts)
                cuts = cuts.before
            text, *numbers = hint or [""]
            if not isinstance(text, str) or not all(isinstance(number, Fraction) for number in numbers):
                raise Unreadable("the hints of a leaf are a text and numbers")
            for place, letter in enumerate(text[: shape[1]]):
                slopes[row, place] = DIGITS.index(letter) / 15 if letter in DIGITS else -1.0
            for cut in path:
                sides[row, cut.rectifier] = cut.side
            for cut, number in zip(reversed(path), numbers, strict=False):
                factors[row, cut.rectifier] = abs(float(number)) * sides[row, cut.rectifier]
        low, high = (np.array([leaf[end] for leaf in leaves]) for end in (0, 1))
        return Parts(low, high, sides, slopes, factors)

    # Bounds -----------------------------------------------------------------------------------------------------------

    def close(self, parts: Parts) -> None:
        """Show of parts that no input in them is a solution; those whose bounds leave that open are halved."""
        stack = [(parts, 0)]
        while stack:
            parts, cuts = stack.pop()
            if len(parts) > self.batch:
                stack += [(parts.rows(slice(self.batch, None)), cuts), (parts.rows(slice(0, self.batch)), cuts)]
                continue
            bounds = Backward(self.layout, parts)
            low, rows = bounds.bound(self.rows, self.shift, use_factors=True)
            left = np.flatnonzero(~(self.impossible(self.alternative.asked, iter(low.T)) | bounds.empty))
            if not len(left):
                continue
            if cuts % LOOKS == 0:
                self.look(parts.rows(left[:1]))
            width = parts.high[left] - parts.low[left]
            if cuts == MAX_CUTS or not width.any():
                raise Unreadable("a leaf is left open by bounds in floats, and no input in it is a solution in sight")
            open_rows = np.where(low > 0, 0.0, 1.0)[:, None, :]
            scores = (open_rows @ np.abs(rows))[left, 0] * width
            scores += FLAT_SHARE * scores.max(axis=1, keepdims=True) * width / width.max(axis=1, keepdims=True)
            stack.append((halves(parts.rows(left), scores.argmax(axis=1)), cuts + 1))

    def impossible(self, asked: Condition, low: Iterator[Any]) -> Any:
        """In which parts a condition is true nowhere; `low` has bounds of its atoms in order."""
        if not asked.is_joined:
            found = next(low)
            return found >= 0 if asked.op == "<" else found > 0
        parts = [self.impossible(part, low) for part in asked.parts] or [np.zeros(1, bool)]
        return np.any(parts, axis=0) if asked.op == "and" else np.all(parts, axis=0)

    def look(self, part: Parts) -> None:
        """Reject if the input in the middle of a part is a solution, in rational numbers."""
        network, ends = self.layout.network, self.alternative.box
        if not all(step.kind in RATIONAL for step in network.instructions):
            return
        middle = [Fraction((a + b) / 2) for a, b in zip(part.low[0].tolist(), part.high[0].tolist(), strict=True)]
        middle = [min(max(x, low), high) for x, (low, high) in zip(middle, ends, strict=True)]
        outputs = at_point(network, middle)
        point: dict[Element, Fraction] = {("X", place): x for place, x in enumerate(middle)}
        point |= {("Y", place): y.value for place, y in enumerate(outputs)}
        if self.alternative.whole.holds(point):
            where = ", ".join(f"X_{place} = {float(x)!r}" for place, x in enumerate(middle))
            raise Rejected(f"the query has a solution near {where}", obligation=2)


def halves(parts: Parts, place: Any) -> Parts:
    """Both halves of parts, each cut at one input; factors that were not enough are not used again."""
    rows = np.arange(len(parts))
    middle = parts.low[rows, place] / 2 + parts.high[rows, place] / 2
    low, high = parts.low.copy(), parts.high.copy()
    low[rows, place] = middle
    high[rows, place] = middle
    both = [np.concatenate(pair) for pair in ((parts.low, low), (high, parts.high))]
    return Parts(*both, *(np.concatenate([one, one]) for one in (parts.sides, parts.slopes, 0 * parts.factors)))


def below(end: Fraction) -> float:
    near = float(end)
    return near if Fraction(near) <= end else nextafter(near, -inf)


def above(end: Fraction) -> float:
    near = float(end)
    return near if Fraction(near) >= end else nextafter(near, inf)


def read_query(data: bytes, sha256: object) -> Query:
    if hashlib.sha256(data).hexdigest() != sha256:
        raise Unreadable("the query has not the hash that the certificate names: it was changed")
    return vnnlib.Query(data)
