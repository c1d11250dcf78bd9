"""Imitation: a network learns which labels a teacher would choose, on states that it meets itself.

The network acts, the teacher says what would have been good there, and the network learns from all of these states
(S. Ross, G. Gordon and D. Bagnell, AISTATS 2011). Several labels may be good. Plain numpy, one thread, fixed seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.learning import Floats, Layers, backward, begin, forward
from benchmarks.ppa.policy import Policy, rounded
from benchmarks.ppa.runs import Chooser
from benchmarks.ppa.simulate import Bools, Ints, Simulator


@dataclass(frozen=True)
class Labelled:
    """States, which labels are good in them, and how much each state counts."""

    states: Ints
    good: Bools
    weight: Floats


Rule = Callable[[Ints], tuple[Bools, Floats]]


@dataclass(frozen=True)
class Teacher:
    """Says which labels are good, and acts itself by the first of them."""

    rule: Rule

    def choose(self, simulator: Simulator, states: Ints) -> Ints:
        chosen: Ints = self.rule(states)[0].argmax(axis=1)
        return chosen


Meet = Callable[[Chooser, np.random.Generator], Ints]  # states met by whoever chooses


@dataclass(frozen=True)
class Lesson:
    """What is observed and how it is scaled, who teaches, and which states are met."""

    inputs: Sequence[str]
    columns: Sequence[int]
    bounds: Sequence[tuple[int, int]]
    labels: Sequence[str]
    teacher: Teacher
    meet: Meet


@dataclass(frozen=True)
class Schedule:
    """Rounds of so many steps of Adam; the pool keeps the states met in all rounds up to a number."""

    rounds: int = 6
    steps: int = 6000
    batch: int = 256
    rate: float = 4e-3
    pool: int = 400_000


class Pupil:
    """A network that learns; its inputs are scaled to [-1, 1] while it does."""

    def __init__(self, lesson: Lesson, width: int, seed: int) -> None:
        self.lesson = lesson
        self.rng = np.random.default_rng(seed)
        self.layers = begin([len(lesson.inputs), width, width, len(lesson.labels)], self.rng, 2.0)
        low, high = np.array(lesson.bounds, dtype=float).T
        self.middle, self.half = (low + high) / 2, (high - low) / 2
        flat = [array for layer in self.layers for array in layer]
        self.flat, self.mean, self.square = flat, [0 * a for a in flat], [0 * a for a in flat]
        self.taken = 0

    @property
    def policy(self) -> Policy:
        """The network as it will be written: on unscaled inputs, with rounded weights."""
        (weight, bias), *rest = self.layers
        first = (weight / self.half, bias - (weight / self.half) @ self.middle)
        return Policy(self.lesson.inputs, self.lesson.labels, rounded([first, *rest]))

    def learn(self, pool: Labelled, schedule: Schedule) -> None:
        inputs = (pool.states[:, self.lesson.columns] - self.middle) / self.half
        chance = np.cumsum(pool.weight / pool.weight.sum())
        for step in range(schedule.steps):
            rows = np.searchsorted(chance, self.rng.random(schedule.batch))
            rows = np.minimum(rows, len(inputs) - 1)
            rate = schedule.rate * 0.5 * (1 + np.cos(np.pi * step / schedule.steps))
            self._step(slopes(self.layers, inputs[rows], pool.good[rows]), rate)

    def _step(self, slope: list[Floats], rate: float) -> None:
        self.taken += 1
        for array, one, mean, square in zip(self.flat, slope, self.mean, self.square, strict=True):
            mean += 0.1 * (one - mean)
            square += 0.001 * (one**2 - square)
            array -= rate * mean / (1 - 0.9**self.taken) / (np.sqrt(square / (1 - 0.999**self.taken)) + 1e-8)


def slopes(layers: Layers, inputs: Floats, good: Bools) -> list[Floats]:
    """Of the mean of -log P(a good label), P being the softmax of the scores."""
    values = forward(layers, inputs, "Relu")
    chance = np.exp(values[-1] - values[-1].max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    wanted = chance * good + 1e-12 * good
    wanted /= wanted.sum(axis=1, keepdims=True)
    return backward(layers, values, (chance - wanted) / len(inputs), "Relu")


def teach(
    lesson: Lesson, width: int, seed: int, schedule: Schedule, mark: Callable[[Policy], tuple[float, ...]]
) -> Policy:
    """Rounds of acting and learning; the best policy by its mark, the lowest of which is all zeros."""
    pupil = Pupil(lesson, width, seed)
    met = lesson.meet(lesson.teacher, pupil.rng)
    best: Policy = pupil.policy
    lowest: tuple[float, ...] = (np.inf,)
    for _ in range(schedule.rounds):
        met = met if len(met) <= schedule.pool else met[pupil.rng.choice(len(met), schedule.pool, replace=False)]
        pupil.learn(labelled(met, lesson.teacher), schedule)
        policy = pupil.policy
        found = mark(policy)
        if found < lowest:
            best, lowest = policy, found
        if not any(lowest):
            break
        met = np.concatenate([met, lesson.meet(policy, pupil.rng)])
    return best


def labelled(met: Ints, teacher: Teacher) -> Labelled:
    """Each state once; those that are met often count more, but less than as often as they are met."""
    states, counts = np.unique(met, axis=0, return_counts=True)
    good, weight = teacher.rule(states)
    return Labelled(states, good, weight * np.sqrt(counts))
