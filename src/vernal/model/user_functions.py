"""Functions of names that users write: they are called once, while a model is made, and so may not throw dice."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from vernal.errors import InputError
from vernal.model.system_arguments import GivenNames

T = TypeVar("T")


def called(what: str, function: Callable[[GivenNames], T], names: GivenNames) -> T:
    """What a function returns; one that draws random numbers is refused, since they would be the same at every step.

    Generators of one's own, as of `np.random.default_rng()`, are not seen.
    """
    before = _chance()
    made = function(names)
    if _chance() != before:
        raise InputError(
            f"`{what}` is called once, while the model is made, so that a random number in it would be the same at "
            "every step; say what may happen with vn.between(lower, upper) or vn.choose(...)"
        )
    return made


def _chance() -> object:
    """The states of the generators of random numbers that programs share."""
    kind, keys, *position = np.random.get_state(legacy=True)
    return random.getstate(), kind, np.asarray(keys).tobytes(), position
