"""Verdicts while a policy is trained: a callback for stable-baselines3 that checks the policy every so many steps.

    model.learn(100_000, callback=vn.verdict_callback("cartpole", "G[0,20] abs(theta) < 0.21", every=10_000))

Verdict and margin go to the logger of the model, and so to tables, files and TensorBoard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vernal.engines.check import check
from vernal.errors import InputError, MissingExtra
from vernal.evidence.result import HOLDS, VIOLATED, Result
from vernal.formats.sb3.live_policy import from_sb3
from vernal.logic.task import GivenTask
from vernal.model.network import Network
from vernal.worlds.library import system

SeatedLoop = Callable[[Network], GivenTask]  # the system with a policy in it


@dataclass
class PolicyWatch:
    """Checks one policy after the other in the same loop, and keeps what was found."""

    loop: SeatedLoop
    formulas: Mapping[str, str]
    timeout: float
    results: list[dict[str, Result]] = field(default_factory=list)

    def look(self, policy: Network) -> dict[str, Result]:
        """What holds of this policy; the formulas share the time."""
        task, share = self.loop(policy), self.timeout / len(self.formulas)
        self.results.append({name: check(task, text, timeout=share) for name, text in self.formulas.items()})
        return self.results[-1]


def records(results: Mapping[str, Result]) -> dict[str, str | float]:
    """What a logger is told: a word, and numbers that can be drawn."""
    told: dict[str, str | float] = {}
    for name, result in results.items():
        told[f"vernal/{name}"] = result.verdict.value
        told[f"vernal/{name}_holds"] = 1.0 if result.verdict is HOLDS else 0.0 if result.verdict is VIOLATED else 0.5
        if result.margin is not None:
            told[f"vernal/{name}_margin"] = result.margin
        told[f"vernal/{name}_seconds"] = round(result.seconds, 3)
    return told


def verdict_callback(
    loop: str | SeatedLoop, formulas: str | Mapping[str, str], *, every: int = 10_000, timeout: float = 10.0
) -> Any:
    """A callback for `model.learn` that checks the policy every so many steps, and once at the end.

    `loop` is the name of a world, or a function from the policy (a `vn.Network`) to a system or task; `formulas` is a
    formula, or several by name. `callback.watch.results` has everything that was found.

        model.learn(50_000, callback=vn.verdict_callback("cartpole", "G[0,20] abs(theta) < 0.21", every=10_000))
    """
    if every < 1 or not formulas:
        raise InputError("a verdict is logged every so many steps, at least 1, of at least one formula")
    named = {"property": formulas} if isinstance(formulas, str) else dict(formulas)
    watch = PolicyWatch(_seated(loop) if isinstance(loop, str) else loop, named, timeout)
    return _callback_class()(watch, every)


def _seated(world: str) -> SeatedLoop:
    """A world that waits for its policy."""
    return lambda policy: system(world, policy)


def _callback_class() -> Any:
    """The class, made where stable-baselines3 is: its base has to be theirs."""
    try:
        from stable_baselines3.common.callbacks import BaseCallback
    except ImportError:
        raise MissingExtra("a callback for stable-baselines3", "sb3") from None

    class VerdictCallback(BaseCallback):  # type: ignore[misc]  # it is Any where it is not installed
        """Checks the policy every so many steps, and at the end."""

        def __init__(self, watch: PolicyWatch, every: int) -> None:
            super().__init__()
            self.watch, self.every, self.last = watch, every, 0

        def _on_step(self) -> bool:
            if self.num_timesteps - self.last >= self.every:
                self._look()
            return True

        def _on_training_end(self) -> None:
            if self.num_timesteps > self.last:
                self._look()

        def _look(self) -> None:
            self.last = self.num_timesteps
            for key, value in records(self.watch.look(from_sb3(self.model))).items():
                self.logger.record(key, value, exclude="tensorboard" if isinstance(value, str) else None)

    return VerdictCallback
