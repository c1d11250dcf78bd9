"""Policies with a memory, played: in the worlds they are verified in, many copies at once, and in Gymnasium.

A policy is a file that takes what is seen and what is remembered (`h1_in`, `h2_in`, ...), and gives what to do and what
to remember next (`h1_out`, ...), for any number of rows; onnxruntime runs it. Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vernal as vn
from vernal.worlds.batch import Batch
from vernal.worlds.episodes import episode
from vernal.worlds.rewards import Term

Array = NDArray[Any]
State = Mapping[str, Array]
Step = Callable[[Array, Any], tuple[Array, Any]]  # what is seen and remembered: outputs, what is remembered next

SEEDS = 100


@dataclass(frozen=True)
class Lesson:
    """A task to act in, and a teacher who sees the whole state; the pupil sees what the task lets it observe."""

    task: Path
    world: str  # whose rewards and ends its episodes have
    teach: Callable[[State], Array]  # scores of the actions or, without argmax, the action; a row for each agent
    starts: Sequence[Mapping[str, tuple[float, float]]]  # in turn; wider than in the task, to learn how to get back
    steps: int = 100
    argmax: bool = True
    sharpness: float = 0.0  # of the teacher's scores as logarithms of chances; 0: the scores themselves are learnt
    lost: Term | None = None  # where there is nothing to learn any more

    def copies(self, n: int, seed: int, ends: Term | None = None) -> Batch:
        """The task n times; whatever policy it names, its agents act from outside."""
        rules = episode(self.world)
        ends = rules.terminated if ends is None else ends
        return vn.worlds.batch(str(self.task), n, seed, reward=rules.reward, terminated=ends)

    def draw(self, n: int, random: np.random.Generator) -> State:
        """Where n copies start to learn."""
        spans = [self.starts[i % len(self.starts)] for i in range(n)]
        return {name: np.array([random.uniform(*span[name]) for span in spans]) for name in self.starts[0]}

    def act(self, many: Batch, outputs: Array) -> dict[str, Array]:
        """What the outputs mean, agent by agent."""
        chosen = outputs.argmax(axis=1) if self.argmax else outputs[:, 0]
        return dict(zip(many.agents, np.split(chosen, len(many.agents)), strict=True))


def sight(seen: Mapping[str, Array]) -> Array:
    """A row for each agent of each copy: all copies of the first agent, then all of the second."""
    return np.concatenate(list(seen.values()))


def play(lesson: Lesson, step: Step, n: int = SEEDS, seed: int = 0, steps: int | None = None) -> tuple[Array, State]:
    """What n episodes return from where the world starts, and how large each state variable gets while they last."""
    world, many = vn.worlds.batch(lesson.world, n, seed), lesson.copies(n, seed)
    world.reset()
    seen, memory = many.reset(state=world.state), None
    returns, over = np.zeros(n), np.zeros(n, bool)
    extreme = {name: np.abs(values) for name, values in many.state.items()}
    for _ in range(steps or episode(lesson.world).steps or 200):
        outputs, memory = step(sight(seen), memory)
        seen, reward, ended = many.step(lesson.act(many, outputs))
        returns += np.where(over, 0, reward)
        for name, values in many.state.items():
            extreme[name] = np.where(over, extreme[name], np.maximum(extreme[name], np.abs(values)))
        over |= ended
        if over.all():
            break
    return returns, extreme


def at_random(outputs: int, seed: int = 0) -> Step:
    """Nobody's policy, to compare with."""
    random = np.random.default_rng(seed)
    return lambda seen, memory: (random.uniform(-1, 1, (len(seen), outputs)), None)


class Policy:
    """A policy from its file."""

    def __init__(self, path: Path) -> None:
        import onnxruntime

        self.session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        self.sizes = {entry.name: entry.shape[-1] for entry in self.session.get_inputs()[1:]}
        self.outputs: int = self.session.get_outputs()[0].shape[-1]

    def __call__(self, seen: Array, memory: Sequence[Array] | None = None) -> tuple[Array, Sequence[Array]]:
        """Outputs and next memories for a row each; a memory that is not given is zero."""
        before = memory or [np.zeros((len(seen), size), np.float32) for size in self.sizes.values()]
        feeds = {"seen": seen.astype(np.float32), **dict(zip(self.sizes, before, strict=True))}
        outputs, *after = self.session.run(None, feeds)
        return outputs, after


@dataclass(frozen=True)
class Original:
    """The environment of Gymnasium that a world is modelled on, and how a policy sees it and acts in it."""

    name: str
    see: Callable[[Array], Array]  # from Gymnasium's observations, a row each
    act: Callable[[Array], Sequence[Any] | Array]
    start: Mapping[str, tuple[float, float]] | None = None  # elsewhere than Gymnasium does

    def returns(self, step: Step, seeds: int = SEEDS) -> Array:
        """What one episode returns for each of the seeds 0, 1, ..."""
        import gymnasium

        places = [gymnasium.make(self.name) for _ in range(seeds)]
        seen = np.array([self._reset(place, seed) for seed, place in enumerate(places)])
        returns, on, memory = np.zeros(seeds), np.ones(seeds, bool), None
        while on.any():
            outputs, memory = step(self.see(seen), memory)
            actions = self.act(outputs)
            for i in np.flatnonzero(on).tolist():
                seen[i], reward, ended, cut, _ = places[i].step(actions[i])
                returns[i], on[i] = returns[i] + float(reward), not (ended or cut)
        return returns

    def _reset(self, place: Any, seed: int) -> Array:
        seen, _ = place.reset(seed=seed)
        if self.start is not None:
            inner = place.unwrapped
            inner.state = np.array([inner.np_random.uniform(*span) for span in self.start.values()])
            seen = inner._get_obs()
        return np.asarray(seen, dtype=np.float64)
