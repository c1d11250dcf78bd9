"""The policy of examples/mountaincar, in Gymnasium's own environment."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.formats.samples import compute
from vernal.formats.networks import read_network

gymnasium = pytest.importorskip("gymnasium", reason="needs the extra gym")

MODEL = Path(__file__).parents[3] / "examples" / "mountaincar" / "model.zip"


def steps(start: float) -> int:
    """Until the goal is reached."""
    network, env = read_network(MODEL), gymnasium.make("MountainCar-v0")
    env.reset()
    car: Any = env.unwrapped
    car.state = np.array([start, 0.0])
    for step in range(1, 201):
        (scores,) = compute(network, np.array([car.state]))
        _, _, reached, *_ = env.step(int(scores.argmax()))
        if reached:
            return step
    return 201


def test_it_arrives_as_the_page_says() -> None:
    needed = [steps(start) for start in np.linspace(-0.6, -0.4, 41)]
    assert 110 < max(needed) <= 120
    assert np.mean(needed) < 110


def test_the_file_holds_no_more_than_it_takes_to_act() -> None:
    assert MODEL.stat().st_size < 10_000
    with zipfile.ZipFile(MODEL) as archive:
        assert archive.namelist() == ["data", "policy.pth"]
        assert not any(word in archive.read("data") for word in (b"/home", b"/root", b"/tmp", b"/usr"))
