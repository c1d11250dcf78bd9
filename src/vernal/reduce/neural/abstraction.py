"""Neural abstractions by learning and certifying in turns.

A network is learned from samples, and its error is certified. Where the certified error is larger than the samples
said, the points where it is largest, and neighbours of them, become samples, and the network is learned again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from vernal.evidence.neural import NeuralAbstraction
from vernal.interpret import concrete
from vernal.interpret.numbers.rounding import Floats, float_above, float_below
from vernal.logic.task import UNSAID, AbstractionSettings
from vernal.model import build
from vernal.model.expr import Expr, Matrix
from vernal.model.network import Network, network_input
from vernal.model.system import Model
from vernal.model.tick import Tick, idle
from vernal.reduce.neural.certifier import Certificate, certify
from vernal.reduce.neural.learner import SAMPLES_PER_PART, LearnedNetwork, Learner

MAX_LEARNING_ROUNDS = 6
FIRST_ERROR_SHARE = 0.02  # of a variable's range, or of that of its rate: the first error where none is given
TIGHTER = 0.5  # from one abstraction to the next
MAX_ERROR_RATIO = 0.9  # an error that is not below this share of the one before ends the sequence
SAMPLED_ERROR_SHARE = 0.97  # of the error that is wanted, at samples: room for what samples do not see and bounds add
KNOWN = 1.02  # a certified error within this factor of the sampled one: counterexamples would teach nothing
NEIGHBOURS = 20  # of each counterexample
NEIGHBOUR_SPREAD = 0.01  # of the region's width: their spread
RATE_PROBES = 2000  # states at which the range of the rates is looked at
MIN_FIRST_ERROR = 1e-6  # of the error to begin with: no error is asked to be smaller, lest it be 0


def abstract(
    flow: Model, settings: AbstractionSettings = UNSAID, tick: Tick = idle, *, error: Sequence[float] | None = None
) -> NeuralAbstraction:
    """A network for the flow with a certified error; `error`, for each variable, goes before that of the settings.

    Without either the network has as many hyperplanes as given widths allow, or an error of a fiftieth of the ranges.
    If the error cannot be reached, the abstraction has the best that was.
    """
    return Abstractor(flow, settings, tick).abstract(error)


def abstractions(flow: Model, settings: AbstractionSettings = UNSAID, tick: Tick = idle) -> Iterator[NeuralAbstraction]:
    """Ever tighter abstractions, each with about half the error of the one before, as far as that goes."""
    abstractor = Abstractor(flow, settings, tick)
    wanted, before = abstractor.wanted(), np.inf
    while True:
        found = abstractor.abstract(wanted.tolist() if wanted is not None else None)
        ratio = float((found.error / abstractor.scale).max())
        if ratio > MAX_ERROR_RATIO * before:
            return
        yield found
        if wanted is None or ratio < MIN_FIRST_ERROR:
            return
        wanted, before = TIGHTER * wanted, ratio


class Abstractor:
    """Makes abstractions of one flow; what was learned about it serves the next."""

    def __init__(self, flow: Model, settings: AbstractionSettings, tick: Tick) -> None:
        self.flow, self.settings, self.tick = flow, settings, tick
        self.lower = np.array([float_below(low) for low, _ in flow.region])
        self.upper = np.array([float_above(high) for _, high in flow.region])
        self.seed = settings.seed or 0
        self.learner = Learner(flow, self.lower, self.upper, settings.samples or SAMPLES_PER_PART, self.seed, tick)
        self.scale = FIRST_ERROR_SHARE * np.maximum(self.upper - self.lower, self._rates())
        self.counterexamples = 0

    def wanted(self) -> Floats | None:
        """The error that the settings ask for, or one to begin with; None where widths alone decide."""
        if self.settings.error is not None:
            return np.array([float(error) for error in self.settings.error])
        return self.scale if self.settings.widths is None else None

    def abstract(self, error: Sequence[float] | None = None) -> NeuralAbstraction:
        """The best of some rounds of learning and certifying, or the first that is good enough."""
        wanted = self.wanted() if error is None else np.array(error, dtype=np.float64)
        target = self.scale if wanted is None else np.maximum(wanted, MIN_FIRST_ERROR * self.scale)
        limit = np.zeros(len(target)) if wanted is None else target
        spent = {"learning": 0.0, "certifying": 0.0}
        best: tuple[LearnedNetwork, Certificate] | None = None
        for number in range(1, (self.settings.rounds or MAX_LEARNING_ROUNDS) + 1):
            learned = self._learned(target, wanted is None, spent)
            certificate = self._certified(learned, spent)
            if best is None or _ratio(certificate, target) < _ratio(best[1], target):
                best = learned, certificate
            if (certificate.error <= limit).all() or not self._surprised(learned, certificate):
                break
            self._feed_back(certificate, number)
        assert best is not None
        return self._made(*best, number, spent)

    def _learned(self, target: Floats, fill: bool, spent: dict[str, float]) -> LearnedNetwork:
        started = time.process_time()
        learned = self.learner.learn(target, self.settings.widths, 0.0 if fill else SAMPLED_ERROR_SHARE)
        spent["learning"] += time.process_time() - started
        return learned

    def _certified(self, learned: LearnedNetwork, spent: dict[str, float]) -> Certificate:
        started = time.process_time()
        found = certify(self.flow, learned.weights, learned.biases, self.lower, self.upper, self.tick)
        spent["certifying"] += time.process_time() - started
        return found

    def _surprised(self, learned: LearnedNetwork, certificate: Certificate) -> bool:
        """Whether the error at some point is clearly larger than samples said."""
        return bool((certificate.worst > KNOWN * learned.error + MIN_FIRST_ERROR * self.scale).any())

    def _feed_back(self, certificate: Certificate, number: int) -> None:
        """Make samples of the worst points and of neighbours."""
        random = np.random.default_rng([self.seed, number])
        spread = NEIGHBOUR_SPREAD * (self.upper - self.lower)
        shifts = random.normal(size=(NEIGHBOURS, *certificate.points.shape)) * spread
        shifts *= random.uniform(size=(NEIGHBOURS, 1, 1)) ** 3  # some of them very near
        around = (certificate.points + shifts).reshape(-1, len(spread))
        self.learner.add(np.clip(np.vstack([certificate.points, around]), self.lower, self.upper))
        self.counterexamples += len(certificate.points)

    def _rates(self) -> Floats:
        """The range of every rate at random states, with disturbances in the middle."""
        states = np.random.default_rng(self.seed).uniform(self.lower, self.upper, size=(RATE_PROBES, len(self.lower)))
        inputs: dict[Expr, Floats] = {variable: states[:, j] for j, variable in enumerate(self.flow.vars)}
        inputs |= {draw: np.full(RATE_PROBES, 0.5) for draw in self.flow.disturbances}
        values = concrete.evaluate(self.flow.vector_field, inputs)
        spans = [np.ptp(value[np.isfinite(value)]) if np.isfinite(value).any() else 0.0 for value in values]
        return np.array(spans, dtype=np.float64)

    def _made(
        self, learned: LearnedNetwork, certificate: Certificate, rounds: int, spent: dict[str, float]
    ) -> NeuralAbstraction:
        statistics: dict[str, int | float | str] = {
            "rounds": rounds,
            "counterexamples": self.counterexamples,
            "widths": ", ".join(str(len(bias)) for bias in learned.biases[:-1]),
            "hyperplanes": learned.hyperplanes,
            "regions seen": learned.regions,
            "learning seconds": spent["learning"],
            "certifying seconds": spent["certifying"],
        }
        network = network_of(f"abstraction of {self.flow.name}", learned.weights, learned.biases)
        ends, errors = (self.lower, self.upper), (certificate.error, certificate.worst)
        return NeuralAbstraction(network, learned.weights, learned.biases, *ends, *errors, statistics=statistics)


def network_of(name: str, weights: Sequence[Floats], biases: Sequence[Floats]) -> Network:
    """A feed-forward network with ReLUs between these layers."""
    inputs = network_input(weights[0].shape[1])
    layers = list(zip(map(Matrix, weights), map(Matrix, biases), strict=True))
    first = build.affine(inputs, *layers[0])
    output = reduce(lambda below, layer: build.affine(build.relu(below), *layer), layers[1:], first)
    return Network(name, inputs, output)


def _ratio(certificate: Certificate, target: Floats) -> float:
    return float((certificate.error / target).max())
