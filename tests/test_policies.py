"""The recurrent policies the repository ships do what their tables say, in the tasks they are verified in."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.lander.train import LESSON as LANDER
from benchmarks.pendulum_rnn.train import BANGBANG, GYM, GYM_BANGBANG, SWING
from benchmarks.spread.train import lesson as spread
from examples.cartpole.train import LESSON as CARTPOLE
from examples.cartpole.train import ORIGINAL as GYM_CARTPOLE
from examples.playing import Lesson, Original, Policy, at_random, play, sight
from tests.portion import every
from vernal.worlds.spread import landmarks

pytest.importorskip("onnxruntime", reason="policies are run by onnxruntime (extra onnxruntime)")

LESSONS: dict[str, dict[str, tuple[Lesson, Original | None]]] = {
    "examples/cartpole": dict.fromkeys(("r16.onnx", "r32.onnx", "r2x16.onnx"), (CARTPOLE, GYM_CARTPOLE)),
    "benchmarks/pendulum_rnn": {
        "bangbang_r16.onnx": (BANGBANG, GYM_BANGBANG),
        **dict.fromkeys(("r10.onnx", "r20.onnx", "r2x10.onnx"), (SWING, GYM)),
    },
    "benchmarks/lander": {"r2x32.onnx": (LANDER, None)},
    "benchmarks/spread": {f"r2x8_{n}.onnx": (spread(n), None) for n in (2, 4)},
}
LEAST = {"cartpole": 450, "pendulum": -300, "pendulum_bangbang": -5, "lander": 0, "spread2": -14, "spread4": -34}
ROOT = Path(__file__).parent.parent
POLICIES = [(ROOT / folder / name, *lesson) for folder, named in LESSONS.items() for name, lesson in named.items()]
NAMED = [f"{path.parent.name}/{path.stem}" for path, *_ in POLICIES]


def row(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((path.parent / "returns.json").read_text())[path.name]
    return found


@pytest.mark.parametrize("folder", LESSONS)
def test_every_policy_has_its_row(folder: str) -> None:
    table = json.loads((ROOT / folder / "returns.json").read_text())
    assert set(table) == set(LESSONS[folder]) == {path.name for path in (ROOT / folder).glob("*.onnx")}


@pytest.mark.parametrize(("path", "lesson", "original"), every(2, POLICIES), ids=every(2, NAMED))
def test_returns_are_those_of_the_table(path: Path, lesson: Lesson, original: Original | None) -> None:
    """Rounding differs between machines and a tie may be broken otherwise, hence the tolerance."""
    claimed, policy = row(path), Policy(path)
    found = float(play(lesson, policy)[0].mean())
    assert claimed["world"] == lesson.world
    assert found == pytest.approx(claimed["mean return"], rel=0.03, abs=0.1)
    assert found >= LEAST[lesson.world]
    chance = float(play(lesson, at_random(policy.outputs))[0].mean())
    assert chance == pytest.approx(claimed["random actions"], rel=0.03, abs=0.1)
    assert found - chance > 0.5 * abs(chance)


@pytest.mark.parametrize(("path", "lesson", "original"), POLICIES, ids=NAMED)
def test_units_are_those_of_the_table(path: Path, lesson: Lesson, original: Original | None) -> None:
    shape = re.fullmatch(r"R(?:(\d+)x)?(\d+)", row(path)["units"])
    assert shape
    assert list(Policy(path).sizes.values()) == [int(shape[2])] * int(shape[1] or 1)
    assert path.stat().st_size < 50_000


@pytest.mark.parametrize(
    ("path", "original"),
    every(2, [(p, o) for p, _, o in POLICIES if o]),
    ids=every(2, [n for n, p in zip(NAMED, POLICIES, strict=True) if p[2]]),
)
def test_returns_in_gymnasium_are_those_of_the_table(path: Path, original: Original) -> None:
    pytest.importorskip("gymnasium", reason="the originals are environments of Gymnasium (extra gym)")
    found = float(original.returns(Policy(path)).mean())
    assert found == pytest.approx(row(path)[f"mean return in {original.name}"], rel=0.03, abs=0.1)


def test_the_lander_comes_down_upright() -> None:
    _, extreme = play(LANDER, Policy(ROOT / "benchmarks/lander/r2x32.onnx"))
    assert extreme["theta"].max() < 0.2
    assert extreme["y"].max() < 1.1
    assert extreme["vy"].max() < 0.5


def test_the_pendulum_stays_up() -> None:
    _, extreme = play(BANGBANG, Policy(ROOT / "benchmarks/pendulum_rnn/bangbang_r16.onnx"))
    assert extreme["theta"].max() < 0.2


@pytest.mark.parametrize("n", [2, 4])
def test_agents_reach_their_landmarks_and_stay(n: int) -> None:
    lesson, policy = spread(n), Policy(ROOT / f"benchmarks/spread/r2x8_{n}.onnx")
    many = lesson.copies(100, 3)
    seen, memory = many.reset(), None
    gaps = []
    for _ in range(40):
        outputs, memory = policy(sight(seen), memory)
        seen, _, _ = many.step(lesson.act(many, outputs))
        away = [
            np.maximum(abs(many.state[f"x{i}"] - float(x)), abs(many.state[f"y{i}"] - float(y)))
            for i, (x, y) in enumerate(landmarks(n), 1)
        ]
        gaps.append(np.max(away))
    assert max(gaps[25:]) < 0.25


@pytest.mark.parametrize("n", [2, 4])
def test_agents_at_home_do_nothing(n: int) -> None:
    lesson = replace(spread(n), task=ROOT / f"benchmarks/spread/spread{n}_home.toml")
    policy, many = Policy(ROOT / f"benchmarks/spread/r2x8_{n}.onnx"), lesson.copies(1000, 3)
    seen, memory = many.reset(), None
    for _ in range(10):
        outputs, memory = policy(sight(seen), memory)
        assert (outputs.argmax(axis=1) == 0).all()
        seen, _, _ = many.step(lesson.act(many, outputs))
