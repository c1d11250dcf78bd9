"""Loops that sample with what agents hold as variables: no agent is left, and instants reset variables."""

from __future__ import annotations

from dataclasses import dataclass, field

from vernal.model.motion import Sampled
from vernal.model.system import Model


@dataclass(frozen=True, slots=True)
class Held(Sampled):
    """The flow of a loop that samples, over its state and what its agents hold; what instants do is the loop's."""

    loop: Model = field(kw_only=True)


def loop_of(model: Model) -> Model | None:
    """The loop whose flow a model is; None of any other model."""
    return model.motion.loop if isinstance(model.motion, Held) else None


def as_written(model: Model) -> Model:
    """The model that paths are of: the loop whose flow this is, or the model itself."""
    return loop_of(model) or model
