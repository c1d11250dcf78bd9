"""Boxes of reals whose every claim is known in closed form: x' = slope x + drift + d, from an interval."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, repeat
from pathlib import Path
from typing import Any

from tests.forged_tasks import Parameters
from vernal.engines.check import parse_formula
from vernal.formats.task.blueprint import load
from vernal.logic.formula import ALL_TIME, Always, Atom, Bound, Eventually, Formula, Next, Not, Quantifier
from vernal.logic.task import Task


@dataclass(frozen=True)
class BoxSubject:
    """x' = slope x + drift + d with |d| <= gust, from an interval: what is later reached is an interval as well.

    The slope is positive, so that the greatest of everything leads to the greatest x: a claim `x <= t` is decided by
    the start that is highest, with the highest draws where all paths are meant, and with the lowest where some path is.
    """

    file: Path
    slope: Fraction
    gust: Fraction
    start: tuple[Fraction, Fraction]

    @cached_property
    def task(self) -> Task:
        return load(self.file, {})

    def formula(self, rng: random.Random) -> Formula:
        """One operator, or none, about `x <= t` with t close to what x reaches."""
        near = rng.choice(self.course(self.start[1], rng.choice((-1, 1)), {}, 3))
        atom = Atom(self._atom(near + rng.choice((Fraction(-1, 8), Fraction(0), Fraction(1, 8), Fraction(2)))))
        quantifier, steps = rng.choice((None, *Quantifier)), rng.randint(1, 3)
        match rng.randrange(5):
            case 0:
                return atom
            case 1:
                return Next(atom, steps, quantifier)
            case 2:
                return Eventually(atom, Bound(Fraction(0), Fraction(steps)), quantifier)
        return Always(atom, rng.choice((ALL_TIME, Bound(Fraction(0), Fraction(steps)))), quantifier)

    def _atom(self, limit: Fraction) -> Any:
        found = parse_formula(self.task, f"x <= {limit}")
        assert isinstance(found, Atom)
        return found.expr

    def course(self, start: Fraction, side: int, parameters: Parameters, steps: int) -> list[Fraction]:
        """The path from a start on which every draw is the highest (1) or the lowest (-1)."""
        drift = parameters.get("drift", self.task.parameters["drift"]) + side * self.gust
        return list(accumulate(repeat(drift, steps), lambda x, d: self.slope * x + d, initial=start))

    def truth(self, formula: Formula, parameters: Parameters) -> bool | None:
        """In closed form; None of formulas that were not drawn here."""
        known = _claimed(formula)
        if known is None:
            return None
        worst = -1 if known.negated else 1  # of starts and, where all paths are meant, of draws
        draws = worst if known.quantifier is not Quantifier.SOME else -worst
        course = self.course(self.start[known.negated is False], draws, parameters, known.last)
        limits = [x <= known.limit for x in course[known.first :]]
        if not known.endless:
            return (any(limits) if known.eventually else all(limits)) is not known.negated
        rest = (course[1] - course[0]) / (1 - self.slope) + course[0]  # where it ends up, monotonously
        if rest == known.limit:
            return None
        return (max(course[0], rest) <= known.limit) is not known.negated

    def is_forced(self, content: Mapping[str, Any], formula: Formula, parameters: Parameters) -> bool | None:
        """A path refutes what is said of all, and proves what is said of some, from the only start."""
        known = _claimed(formula)
        if known is None:
            return None
        if "invariant" in content:
            return self._is_invariant(content, known, parameters)
        holds = content["verdict"] == "holds"
        shown = known.on_path(content["trace"])
        if shown is None or (shown is not known.negated) is not holds or (holds and self.start[0] != self.start[1]):
            return False
        at_once = known.on_path({"steps": content["trace"]["steps"][:1], "loop": None}) is not None
        one_path, wanted = self.gust == 0, Quantifier.SOME if holds else Quantifier.ALL
        return at_once or one_path or (known.quantifier or Quantifier.ALL) is wanted

    def _is_invariant(self, content: Mapping[str, Any], known: _Claimed, parameters: Parameters) -> bool | None:
        """Whether intervals hold the starts (of a tree, its state), no step leaves them, and they show the claim."""
        invariant, tree = content["invariant"], content["evidence"] == "tree"
        levels = [_interval(sets, invariant["components"]) for sets in (*invariant["prefix"], invariant["sets"])]
        spans = [span for span in levels if span is not None]
        if len(spans) < len(levels):
            return None
        start = (_numbers(content["trace"])[0],) * 2 if tree else self.start
        follows = zip(spans, [*spans[1:], spans[-1]], strict=True)
        kept = all(_within(self._moved(span, parameters), then) for span, then in follows)
        beyond = spans[-1][0] > known.limit if tree is not known.negated else spans[-1][1] <= known.limit
        return _within(start, spans[0]) and kept and beyond

    def _moved(self, span: Span, parameters: Parameters) -> Span:
        drift = parameters.get("drift", self.task.parameters["drift"])
        return self.slope * span[0] + drift - self.gust, self.slope * span[1] + drift + self.gust


Span = tuple[Fraction | float, Fraction | float]


def _within(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _interval(sets: Sequence[Mapping[str, Any]], components: Sequence[str]) -> Span | None:
    """The interval of x that one set is; None of several, or of none."""
    if len(sets) != 1 or list(components) != ["x"]:
        return None
    rows = zip(sets[0]["rows"], sets[0]["bounds"], strict=True)
    ends = [(Fraction(str(row[0])), Fraction(str(end))) for row, end in rows]
    lower = max((end / a for a, end in ends if a < 0), default=-math.inf)
    upper = min((end / a for a, end in ends if a > 0), default=math.inf)
    return lower, upper


def _numbers(trace: Mapping[str, Any]) -> list[Fraction]:
    return [Fraction(str(step["state"]["x"])) for step in trace["steps"]]


@dataclass(frozen=True)
class _Claimed:
    """`x <= limit` at the positions from first to last: at each, or at one of them; or that it is not so.

    The quantifier is the one that counts: `!AG p` is said of some path.
    """

    limit: Fraction
    quantifier: Quantifier | None
    first: int
    last: int
    eventually: bool = False
    endless: bool = False
    negated: bool = False

    def on_path(self, trace: Mapping[str, Any]) -> bool | None:
        """The truth of what may be negated, along a path that is shown; None where it is too short."""
        truths = [x <= self.limit for x in _numbers(trace)]
        lasso = trace["loop"] is not None
        while lasso and len(truths) <= self.last:
            truths += truths[trace["loop"] :]
        seen = truths[self.first :] if self.endless else truths[self.first : self.last + 1]
        if self.eventually in seen:
            return self.eventually
        ended = lasso if self.endless else len(truths) > self.last
        return not self.eventually if ended else None


def _claimed(formula: Formula) -> _Claimed | None:
    match formula:
        case Not(arg=Not(arg=inner)):
            return _claimed(inner)
        case Not(arg=inner):
            known = _claimed(inner)
            return known and replace(known, negated=True, quantifier=known.quantifier and known.quantifier.dual)
        case Atom():
            return _limited(formula, None, 0, 0)
        case Next(arg=Atom() as atom, count=count, quantifier=quantifier):
            return _limited(atom, quantifier, count, count)
        case Always(arg=Atom() as atom, bound=bound, quantifier=quantifier) if bound == ALL_TIME:
            return _limited(atom, quantifier, 0, 1, endless=True)
        case Always(arg=Atom() as atom, bound=bound, quantifier=quantifier) if bound.upper is not None:
            return _limited(atom, quantifier, int(bound.lower), int(bound.upper))
        case Eventually(arg=Atom() as atom, bound=bound, quantifier=quantifier) if bound.upper is not None:
            return _limited(atom, quantifier, int(bound.lower), int(bound.upper), eventually=True)
    return None


def _limited(atom: Atom, quantifier: Quantifier | None, first: int, last: int, **more: bool) -> _Claimed | None:
    left, sign, right = str(atom).partition(" <= ")
    if left != "x" or not sign:
        return None
    return _Claimed(Fraction(right.replace(" ", "").strip("()")), quantifier, first, last, **more)


def box_subject(rng: random.Random, folder: Path, name: str) -> BoxSubject:
    """A task file of one real variable."""
    low = Fraction(rng.randint(-2, 2))
    high = low + Fraction(rng.choice((0, 1, 1, 2)), 2)
    slope, gust = Fraction(rng.choice((1, 2, 3)), 4), Fraction(rng.choice((0, 1, 1)), 8)
    lines = ["vernal = 1", f'name = "{name}"', "[parameters]", f"drift = {rng.randint(-1, 1)}", "[state]", 'x = "real"']
    lines += ["[init]", f'x = "[{low}, {high}]"', "[environment.next]"]
    disturbed = f" + between(-{gust}, {gust})" if gust else ""
    lines += [f'x = "{slope} * x + drift{disturbed}"', ""]
    file = folder / f"{name}.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    return BoxSubject(file, slope, gust, (low, high))
