"""A task beside the Gymnasium environment that it was written after: the same actions, step by step, and what differs.

    found = vn.worlds.compare("cartpole.toml", "CartPole-v1")
    print(found)

At every step the task is put into the state that the environment is in, both take the same action, and what is observed
then is compared. A difference that rounding explains is told from one that it does not: the task also starts from
states that are off by the precision of the environment's numbers, and its own results may differ by as much. A second
run of the same actions is never put right, so that one sees how differences grow. What a task draws the environment
draws otherwise: there a number is right between the least and the largest of many copies that chose the same options.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vernal.errors import InputError
from vernal.interpret.numbers.rounding import Array
from vernal.model.expr import Between, Choose, Expr
from vernal.model.graph import draws
from vernal.report.tables import Column, aligned
from vernal.report.values import number
from vernal.run.budget import Budget
from vernal.worlds.batch import Batch
from vernal.worlds.environments import Linked, linked

DRAWN_COPIES = 64  # of a task that draws, for each combination of options: what they span is compared
MAX_COMBINATIONS = 16  # of options that are all given copies
ROUNDING_STEPS = 8.0  # roundings of one step that may add up
LONGEST_HOLD = 20  # steps for which an adversary holds one action
MAX_CORNERS = 16  # extreme actions that an adversary chooses from
SHOWN_STEPS = (1, 2, 5, 10, 20, 50, 100, 200)
KINDS = ("random", "held", "greedy")  # how actions are chosen


@dataclass(frozen=True, slots=True)
class Deviation:
    """Where a quantity differs most: in which run, at which step, and how much of it rounding explains."""

    quantity: str
    difference: float
    rounding: float
    ours: float
    theirs: float
    run: int
    kind: str
    step: int

    @property
    def is_explained(self) -> bool:
        """Whether rounding alone may be the reason."""
        return self.difference <= self.rounding


@dataclass(frozen=True, slots=True)
class WorldComparison:
    """What was found: the largest deviation of each quantity in one step, how deviations grow, and starts outside."""

    task: str
    environment: str
    transitions: int
    deviations: tuple[Deviation, ...]
    growth: dict[str, dict[int, float]] = field(hash=False)  # by quantity and step, where nothing is put right
    starts: dict[str, tuple[float, float]] = field(hash=False)  # where the environment started, by variable
    outside: tuple[str, ...]  # variables that start outside the task's initial set
    skipped: str | None = None  # what could not be tried, and why

    @property
    def agrees(self) -> bool:
        """Whether rounding explains every difference, and every start is one of the task's."""
        return all(one.is_explained for one in self.deviations) and not self.outside

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def data(self) -> dict[str, Any]:
        """The same for machines."""
        names = ("quantity", "difference", "rounding", "ours", "theirs", "run", "kind", "step")
        rows = [{name: getattr(one, name) for name in names} for one in self.deviations]
        return {
            "task": self.task,
            "environment": self.environment,
            "agrees": self.agrees,
            "transitions": self.transitions,
            "deviations": [
                {**row, "explained": one.is_explained} for row, one in zip(rows, self.deviations, strict=True)
            ],
            "growth": {
                name: {str(step): value for step, value in steps.items()} for name, steps in self.growth.items()
            },
            "starts": {name: list(ends) for name, ends in self.starts.items()},
            "outside": list(self.outside),
            "skipped": self.skipped,
        }


def compare(
    task: Any,
    env: Any,
    *,
    runs: int = 20,
    steps: int = 100,
    seed: int = 0,
    agent: str | None = None,
    budget: Budget | None = None,
) -> WorldComparison:
    """Compare a task (a file, a task, a system, a world by name) with an environment (of Gymnasium, or its id).

    A third of the runs takes random actions, a third holds extreme ones, and in a third every action is the one after
    which both differ most.

        vn.worlds.compare("cartpole", "CartPole-v1").agrees
    """
    if runs < 1 or steps < 1:
        raise InputError("a comparison takes at least one run of one step")
    link = linked(task, env, agent)
    return _Walk(link, np.random.default_rng(seed), budget or Budget()).compared(runs, steps, seed)


class _Spread(Batch):
    """Copies of which every second draws ends of ranges, so that together they span what can be."""

    def _draw(self, node: Expr) -> Array:
        drawn = super()._draw(node)
        return np.concatenate([drawn[::2], np.round(drawn[1::2])]) if isinstance(node, Between) else drawn

    def options(self) -> Array:
        """Which options every copy has drawn here, a column for each choice."""
        made = [np.floor(drawn) for node, drawn in self.drawn.items() if isinstance(node, Choose)]
        return np.stack(made, axis=1) if made else np.empty((self.n, 0))


class _Walk:
    """The runs of one comparison."""

    def __init__(self, link: Linked, random: np.random.Generator, budget: Budget) -> None:
        self.link, self.random, self.budget = link, random, budget
        drawn = draws([*link.system.step.roots, *(one for agent in link.system.agents for one in agent.observe)])
        self.draws = bool(drawn)
        combinations = math.prod(len(node.options) for node in drawn if isinstance(node, Choose))
        self.offsets = _offsets(len(link.variables), link.precision)
        copies = DRAWN_COPIES * min(combinations, MAX_COMBINATIONS) if self.draws else 1
        self.copies = max(copies, len(self.offsets))
        self.batch, self.free = _Spread(link.system, self.copies, 0), Batch(link.system, 1, 0)
        self.worst: dict[str, Deviation] = {}
        self.growth: dict[str, dict[int, float]] = {}
        self.starts: dict[str, tuple[float, float]] = {}
        self.skipped: str | None = None
        self.count = 0
        self.before: dict[str, float] = {}  # the state that the next action is taken in

    def compared(self, runs: int, steps: int, seed: int) -> WorldComparison:
        for run in range(runs):
            self._run(run, KINDS[run % len(KINDS)], steps, seed + run)
        link = self.link
        ordered = tuple(self.worst[name] for name in link.quantities if name in self.worst)
        outside = tuple(name for name, ends in self.starts.items() if not _starts_inside(link, name, ends))
        return WorldComparison(
            link.system.name, link.name, self.count, ordered, self.growth, self.starts, outside, self.skipped
        )

    def _run(self, run: int, kind: str, steps: int, seed: int) -> None:
        link = self.link
        seen, _ = link.env.reset(seed=seed)
        link.env.action_space.seed(seed)
        self._note_start(link.state(seen))
        self.free.reset(state=link.state(seen))
        actions = self._actions(kind)
        for step in range(1, steps + 1):
            self.budget.check()
            self.before = link.state(seen)
            action = next(actions)
            ours, spread = self._ours(self.before, action)
            seen, _, terminated, truncated, _ = link.env.step(link.acted(action))
            theirs = link.observed(seen)
            self._note(run, kind, step, ours, spread, theirs)
            self._note_growth(step, action, theirs)
            self.count += 1
            if terminated or truncated:
                return

    def _actions(self, kind: str) -> Iterator[Any]:
        space, corners = self.link.env.action_space, self.link.corners(MAX_CORNERS)
        while True:
            if kind == "random" or not corners:
                yield space.sample()
            elif kind == "held":
                chosen = corners[int(self.random.integers(len(corners)))]
                yield from [chosen] * int(self.random.integers(1, LONGEST_HOLD))
            else:
                yield self._most_different(corners)

    def _most_different(self, corners: Sequence[Any]) -> Any:
        """The extreme action after which a copy of the environment differs most from the task, as rounding counts."""
        found = []
        for action in corners:
            try:
                copy = deepcopy(self.link.env)
            except Exception as error:
                self.skipped = f"greedy actions: the environment cannot be copied ({type(error).__name__})"
                return corners[int(self.random.integers(len(corners)))]
            ours, spread = self._ours(self.before, action)
            theirs = self.link.observed(copy.step(self.link.acted(action))[0], copy)
            found.append(float(np.max(self._difference(ours, theirs) / self._rounding(ours, spread, theirs))))
        return corners[int(np.argmax(found))]

    def _ours(self, state: dict[str, float], action: Any) -> tuple[Array, Array]:
        """The least and the largest that the task observes after the action, a pair of rows for each choice of options;
        and how much that varies by rounding."""
        given = np.array([state[name] for name in self.link.variables])
        rows = given + self.offsets * np.maximum(np.abs(given), self.link.smallest)
        rows = np.concatenate([rows, np.repeat(given[None], self.copies - len(rows), axis=0)])
        self.batch.reset(state={name: rows[:, place] for place, name in enumerate(self.link.variables)})
        chosen = self.batch.options()
        seen, _, _ = self.batch.step({self.link.agent: np.asarray([action])})
        values = np.concatenate([seen[self.link.agent], self.link.extra(self.batch)], axis=1)
        if not self.draws:
            near = values[: len(self.offsets)]
            return values[None, :1].repeat(2, axis=1), np.abs(near - near[:1]).max(axis=0)
        chosen = np.concatenate([chosen, self.batch.options()], axis=1)
        _, kinds = np.unique(chosen, axis=0, return_inverse=True)
        groups = [values[kinds.ravel() == kind] for kind in range(int(kinds.max()) + 1)]
        ends: Array = np.array([(rows.min(axis=0), rows.max(axis=0)) for rows in groups])
        return ends, np.zeros(values.shape[1])

    def _nearest(self, ours: Array, theirs: Array) -> Array:
        """Of what the task may observe, what is nearest to what the environment does."""
        inside = np.clip(theirs, ours[:, 0], ours[:, 1])
        made: Array = inside[np.abs(inside - theirs).argmin(axis=0), np.arange(len(theirs))]
        return made

    def _difference(self, ours: Array, theirs: Array) -> Array:
        made: Array = np.abs(self._nearest(ours, theirs) - theirs)
        return np.where(np.isnan(made), math.inf, made)

    def _rounding(self, ours: Array, spread: Array, theirs: Array) -> Array:
        scale = np.maximum(np.abs(theirs), np.abs(ours).max(axis=(0, 1)))
        made: Array = ROUNDING_STEPS * (spread + self.link.precision * np.maximum(scale, self.link.smallest))
        return made

    def _note(self, run: int, kind: str, step: int, ours: Array, spread: Array, theirs: Array) -> None:
        differences, rounding = self._difference(ours, theirs), self._rounding(ours, spread, theirs)
        nearest = self._nearest(ours, theirs)
        for place, name in enumerate(self.link.quantities):
            difference, explained = float(differences[place]), float(rounding[place])
            one = Deviation(name, difference, explained, float(nearest[place]), float(theirs[place]), run, kind, step)
            kept = self.worst.get(name)
            if kept is None or one.difference / one.rounding > kept.difference / kept.rounding:
                self.worst[name] = one

    def _note_growth(self, step: int, action: Any, theirs: Array) -> None:
        seen, _, _ = self.free.step({self.link.agent: np.asarray([action])})
        values = np.concatenate([seen[self.link.agent], self.link.extra(self.free)], axis=1)[0]
        if step in SHOWN_STEPS and not self.draws:
            for name, difference in zip(self.link.quantities, np.abs(values - theirs), strict=True):
                known = self.growth.setdefault(name, {})
                known[step] = max(known.get(step, 0.0), float(difference))

    def _note_start(self, state: dict[str, float]) -> None:
        for name, value in state.items():
            low, high = self.starts.get(name, (math.inf, -math.inf))
            self.starts[name] = (min(low, value), max(high, value))


def _offsets(variables: int, precision: float) -> Array:
    """No offset, and each variable a little more and a little less."""
    each = np.eye(variables) * precision
    return np.concatenate([np.zeros((1, variables)), each, -each])


def _starts_inside(link: Linked, name: str, ends: tuple[float, float]) -> bool:
    start = link.system.init.starts[name]
    slack = link.precision * max(1.0, *map(abs, ends))
    return float(start.ends[0]) - slack <= ends[0] and ends[1] <= float(start.ends[1]) + slack


def _lines(found: WorldComparison) -> Iterator[str]:
    """The answer for a terminal."""
    yield headline(found)
    yield aligned(deviation_columns(found), indent="  ")
    if found.growth:
        yield GROWTH
        yield aligned(growth_columns(found), indent="  ")
    yield from remarks(found)


GROWTH = "largest difference after so many steps, where nothing is put right:"


def headline(found: WorldComparison) -> str:
    """`cartpole and CartPole-v1 agree (1,200 transitions)`"""
    verdict = "agree" if found.agrees else "differ"
    return f"{found.task} and {found.environment} {verdict} ({found.transitions:,} transitions)"


def deviation_columns(found: WorldComparison) -> list[Column]:
    """The largest deviation of each quantity in one step, beside what rounding explains."""
    rows = found.deviations
    return [
        Column("quantity", [one.quantity for one in rows], left=True),
        Column("difference", [f"{one.difference:.2g}" for one in rows]),
        Column("rounding", [f"{one.rounding:.2g}" for one in rows]),
        Column("task", [number(one.ours) for one in rows]),
        Column("gym", [number(one.theirs) for one in rows]),
        Column("where", [f"{one.kind} run {one.run}, step {one.step}" for one in rows], left=True),
        Column("", ["" if one.is_explained else "differs" for one in rows], left=True),
    ]


def growth_columns(found: WorldComparison) -> list[Column]:
    """How differences grow, by quantity and step."""
    steps = sorted({step for known in found.growth.values() for step in known})
    columns = [Column(str(step), [_after(found, name, step) for name in found.growth]) for step in steps]
    return [Column("quantity", list(found.growth), left=True), *columns]


def remarks(found: WorldComparison) -> Iterator[str]:
    """Starts outside the initial set, and what could not be tried."""
    for name in found.outside:
        low, high = found.starts[name]
        yield f"{name} starts outside the task's initial set: the environment started between {low:g} and {high:g}"
    if found.skipped:
        yield f"not tried: {found.skipped}"


def _after(found: WorldComparison, name: str, step: int) -> str:
    known = found.growth[name].get(step)
    return "" if known is None else f"{known:.2g}"
