"""Small task files whose every claim is known: finite ones by enumeration, boxes of reals in closed form.

What a forger needs is here as well: formulas to claim, and paths of the system to show for them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, repeat
from pathlib import Path
from typing import Any, Protocol

from tests.brute import TooLarge, ValueUndefined
from tests.explicit_oracle import FiniteOracle
from tests.forged_force import PathShown, forces_on_graph, invariant_forces
from tests.graph_loops import integer_network
from tests.hard_loops import walk
from vernal.engines.check import parse_formula
from vernal.evidence.replay import closed
from vernal.evidence.trace import Trace
from vernal.formats.convert import write_network
from vernal.formats.task.blueprint import load
from vernal.logic.formula import (
    ALL_TIME,
    Always,
    And,
    Atom,
    Bound,
    Eventually,
    Formula,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Release,
    Until,
    Weak,
)
from vernal.logic.task import Task

Parameters = Mapping[str, Fraction]
LIMIT = 6_000  # evaluations of brute force, for one system
LONGEST = 6  # positions of a path that a forger draws
KINDS = ((None,), (None,), (Quantifier.ALL,), (Quantifier.SOME,), tuple(Quantifier))


class Subject(Protocol):
    """A task file, what is true of it, and what evidence about it forces."""

    @property
    def file(self) -> Path: ...

    @property
    def task(self) -> Task: ...

    def formula(self, rng: random.Random) -> Formula: ...

    def truth(self, formula: Formula, parameters: Parameters) -> bool | None: ...

    def is_forced(self, content: Mapping[str, Any], formula: Formula, parameters: Parameters) -> bool | None: ...


def any_path(rng: random.Random, task: Task) -> Trace | None:
    """A random path of a task, or a lasso where it meets a state again; None where no start was found."""
    path = walk(rng, task.system, rng.randint(0, LONGEST))
    if path is None or rng.random() < 0.5:
        return path
    loops = (closed(path, loop) for loop in range(len(path) - 1))
    return next((lasso for lasso in loops if lasso is not None), path)


# Finite systems -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FiniteSubject:
    """A system of few states; brute force knows what is true of it."""

    file: Path
    conditions: tuple[str, ...]  # that formulas are about

    @cached_property
    def task(self) -> Task:
        return load(self.file, {})

    def formula(self, rng: random.Random) -> Formula:
        """Up to depth two about two conditions, bounded or not, of LTL or CTL; or that one of them is always true."""
        atoms = [parse_formula(self.task, text) for text in rng.sample(self.conditions, 2)]
        if rng.random() < 0.3:
            return Always(Or(tuple(atoms)), ALL_TIME, rng.choice((None, *Quantifier)))
        return _drawn(rng, atoms, rng.choice(KINDS), rng.choice((0, 1, 1, 1, 2, 2)))

    def truth(self, formula: Formula, parameters: Parameters) -> bool | None:
        graph = self.graph(formula, parameters)
        try:
            return None if graph is None else graph.holds()
        except TooLarge:
            return None

    def is_forced(self, content: Mapping[str, Any], formula: Formula, parameters: Parameters) -> bool | None:
        """Whether every system with these starts, and these steps from the states shown, has the verdict."""
        graph = self.graph(formula, parameters)
        if graph is None:
            return None
        try:
            if "invariant" in content:
                return invariant_forces(content, graph)
            return forces_on_graph(PathShown.of(content, graph), graph, content["verdict"] == "holds")
        except (TooLarge, ValueUndefined):
            return None

    def graph(self, formula: Formula, parameters: Parameters) -> FiniteOracle | None:
        """All states of the system, with these parameters."""
        task = load(self.file, parameters) if parameters else self.task
        try:
            return FiniteOracle(task.system, formula, LIMIT)
        except (TooLarge, ValueUndefined):
            return None


def _drawn(rng: random.Random, atoms: list[Formula], quantifiers: tuple[Quantifier | None, ...], depth: int) -> Formula:
    if depth == 0 or rng.random() < 0.1:
        return rng.choice([atom for atom in atoms for atom in (atom, atom, Not(atom))])
    quantifier = rng.choice(quantifiers)

    def inner() -> Formula:
        return _drawn(rng, atoms, quantifiers, depth - 1)

    match rng.randrange(12):
        case 0:
            return rng.choice([And, Or])((inner(), inner()))
        case 1:
            return rng.choice([Not(inner()), Implies(inner(), inner())])
        case 2 | 3:
            return Next(inner(), rng.randint(1, 2), quantifier)
        case 4 | 5 | 6:
            return Eventually(inner(), _bound(rng), quantifier)
        case 7 | 8 | 9:
            return Always(inner(), _bound(rng), quantifier)
    return rng.choice([Until, Release, Weak])(inner(), inner(), _bound(rng), quantifier)


def _bound(rng: random.Random) -> Bound:
    lower = rng.choice([0, 0, 0, 1])
    return Bound(Fraction(lower), rng.choice([None, None, Fraction(lower + rng.randint(0, 3))]))


@dataclass(frozen=True)
class _Variable:
    """A declaration, its starts, ways to move, conditions on it, and what an agent sees of it.

    HERE stands for any condition.
    """

    declaration: str
    starts: tuple[str, ...]
    moves: tuple[str, ...]
    conditions: tuple[str, ...]
    seen: str


def _integer(name: str, high: int) -> _Variable:
    return _Variable(
        f"int [0, {high}]",
        tuple(map(str, range(high + 1))),
        (
            f"if({name} < {high}, {name} + 1, 0)",
            f"clip({name} + choose(-1, 0, 1), 0, {high})",
            f"clip({name} + k, 0, {high})",
            f"choose({name} + 1 when {name} < {high}, 0 when HERE)",
            f"if(HERE, {name}, clip({name} - choose(0, 1), 0, {high}))",
            f"if(HERE, choose({name}, 0), {high})",
        ),
        tuple(f"{name} {sign} {value}" for sign in ("<=", "==", ">") for value in range(high)),
        name,
    )


def _truth_value(name: str) -> _Variable:
    moves = (f"!{name}", f"choose({name}, !{name})", "HERE", f"{name} | HERE")
    return _Variable("bool", ("true", "false"), moves, (name, f"!{name}"), f"if({name}, 1, 0)")


def _label(name: str) -> _Variable:
    moves = (
        f"match({name}, RED: GREEN, GREEN: choose(RED, BLUE), BLUE: BLUE)",
        f"match({name}, RED: choose(RED, GREEN), GREEN: BLUE, BLUE: RED)",
        f"if(HERE, RED, {name})",
    )
    labels = ("RED", "GREEN", "BLUE")
    conditions = tuple(f"{name} == {label}" for label in labels)
    return _Variable("enum {RED, GREEN, BLUE}", labels, moves, conditions, f"if({name} == RED, 1, 0)")


def _agent(rng: random.Random, folder: Path, name: str, variables: Mapping[str, _Variable]) -> tuple[str, ...]:
    """An agent that sees the state, perhaps with noise; its scores are small integers, so that they tie."""
    write_network(integer_network(rng, len(variables), 2), folder / f"{name}.onnx")
    noise = " + choose(0, 1)" if rng.random() < 0.2 else ""
    seen = ", ".join(f'"{one.seen}{noise}"' for one in variables.values())
    return "[agents.pilot]", f'policy = "{name}.onnx"', f"observe = [{seen}]", 'labels = ["STAY", "GO"]'


def finite_subject(rng: random.Random, folder: Path, name: str) -> FiniteSubject:
    """A task file of one or two variables, several starts, draws; an agent and ends of paths now and then."""
    kinds: list[Callable[[str], _Variable]] = [lambda n: _integer(n, rng.randint(2, 6)), _truth_value, _label]
    variables = {n: rng.choice(kinds)(n) for n in ("u", "v")[: rng.choice((1, 2, 2))]}
    agent = _agent(rng, folder, name, variables) if rng.random() < 0.3 else ()
    conditions = tuple(condition for one in variables.values() for condition in one.conditions)
    conditions += ("pilot == GO", "pilot == STAY") if agent else ()

    def filled(text: str) -> str:
        return text.replace("HERE", rng.choice(conditions))

    starts = {n: rng.sample(one.starts, rng.randint(1, len(one.starts))) for n, one in variables.items()}
    lines = [
        *("vernal = 1", f'name = "{name}"', "[parameters]", f"k = {rng.choice((-1, 1))}"),
        *("[state]", *(f'{n} = "{one.declaration}"' for n, one in variables.items())),
        *("[init]", *(f'{n} = "{{{", ".join(values)}}}"' for n, values in starts.items())),
        *(*agent, "[environment]", *([f'enabled = "{filled("HERE | HERE")}"'] if rng.random() < 0.3 else [])),
        *("[environment.next]", *(f'{n} = "{filled(rng.choice(one.moves))}"' for n, one in variables.items())),
    ]
    file = folder / f"{name}.toml"
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return FiniteSubject(file, conditions)


# Boxes of reals -------------------------------------------------------------------------------------------------------


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
