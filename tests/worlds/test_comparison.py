"""A task beside the environment it is written after: the same where it is the same, and found where it is not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import vernal as vn
from vernal.cli.main import main
from vernal.worlds.comparison_page import comparison_page

gymnasium = pytest.importorskip("gymnasium", reason="needs the extra gym")


@pytest.mark.parametrize(
    ("world", "env"),
    [
        ("cartpole", "CartPole-v1"),
        ("pendulum", "Pendulum-v1"),  # its angle is not observed
        ("mountaincar_continuous", "MountainCarContinuous-v0"),
    ],
)
def test_worlds_agree_with_their_originals(world: str, env: str) -> None:
    found = vn.worlds.compare(world, env, runs=3, steps=12)
    assert found.agrees, str(found)
    assert found.skipped is None
    assert max(one.difference for one in found.deviations) > 0, "32-bit floats differ"


@pytest.mark.parametrize(
    ("was", "becomes", "wrong"),
    [
        ("gravity = 9.8", "gravity = 9.81", {"omega", "v"}),
        ('x = "x + dt * v"', 'x = "x + dt * v * 1.0001"', {"x"}),
        ("LEFT: -strength", "LEFT: -strength * 1.00001", {"v", "omega"}),  # only one of the actions
    ],
)
def test_a_small_mistake_is_found(was: str, becomes: str, wrong: set[str], tmp_path: Path) -> None:
    text = vn.worlds.text("cartpole")
    assert was in text
    (tmp_path / "mine.toml").write_text(text.replace(was, becomes), "utf-8")
    found = vn.worlds.compare(tmp_path / "mine.toml", "CartPole-v1", runs=6, steps=20)
    assert {one.quantity for one in found.deviations if not one.is_explained} == wrong, str(found)
    assert found.growth["x"]
    assert "differs" in str(found)


def test_starts_outside_the_initial_set_are_said(tmp_path: Path) -> None:
    text = vn.worlds.text("cartpole").replace('omega = "[-0.05, 0.05]"', 'omega = "[-0.01, 0.01]"')
    (tmp_path / "mine.toml").write_text(text, "utf-8")
    found = vn.worlds.compare(tmp_path / "mine.toml", "CartPole-v1", runs=6, steps=2)
    assert found.outside == ("omega",)
    assert not found.agrees


HOVER = """
import gymnasium, numpy

class Hover(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(numpy.array([0, -5], "f"), numpy.array([20, 5], "f"))
    action_space = gymnasium.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.h, self.v = self.np_random.uniform(8, 12), self.np_random.uniform(-1, 1)
        return numpy.array([self.h, self.v], "f"), {}

    def step(self, action):
        self.v += 0.1 * (int(action) - 1 + self.np_random.uniform(-0.2, 0.2))
        self.h += 0.1 * self.v - self.np_random.choice([0, 0.01])
        return numpy.array([self.h, self.v], "f"), 0.0, False, False, {}

gymnasium.register("Hover-v0", entry_point=Hover)
"""
MOTION = """
[environment.let]
speed = "v + 0.1 * (match(agent, A0: -1, A1: 0, A2: 1) + between(-0.2, 0.2))"
[environment.next]
h = "h + 0.1 * speed - choose(0, 0.01)"
v = "speed"
"""


def test_an_environment_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drafted under the name that it was given, filled in, and compared: what is drawn is no difference."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hovering_above.py").write_text(HOVER)
    found_before = list(sys.path)
    text = vn.worlds.draft("hovering_above:Hover-v0").replace("x0", "h").replace("x1", "v")
    assert sys.path == found_before
    assert "#   vernal compare FILE --gym hovering_above:Hover-v0" in text
    assert 'stays = "G[0,20] (h >= 0 & h <= 20)"' in text
    head, tail = text.split("[environment.next]")
    (tmp_path / "mine.toml").write_text(head + MOTION + "[properties]" + tail.split("[properties]")[1], "utf-8")
    assert vn.worlds.compare("mine.toml", "hovering_above:Hover-v0", runs=6, steps=12).agrees
    for was, becomes, wrong in (
        ("h + 0.1 * speed", "h + 0.1 * v", {"h"}),
        ("between(-0.2, 0.2)", "between(-0.15, 0.2)", {"h", "v"}),
        ("choose(0, 0.01)", "choose(0, 0.012)", {"h"}),
    ):
        (tmp_path / "other.toml").write_text((tmp_path / "mine.toml").read_text().replace(was, becomes), "utf-8")
        found = vn.worlds.compare("other.toml", "hovering_above:Hover-v0", runs=6, steps=12)
        assert {one.quantity for one in found.deviations if not one.is_explained} == wrong, str(found)
    for name, said in (("broken", "ZeroDivisionError"), ("no_such_module", "No module named")):
        (tmp_path / "broken.py").write_text("1 / 0")
        with pytest.raises(vn.InputError, match=said):
            vn.worlds.draft(f"{name}:Hover-v0")


def test_a_draft_can_be_read_and_is_not_right_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pole.toml"
    assert main(["draft", "CartPole-v1", str(file)]) == 0
    assert main(["draft", "CartPole-v1", str(file)]) == 2, "what is there is kept"
    assert vn.worlds.system(str(file)).open_agents == ("agent",)
    report, document = tmp_path / "c.html", tmp_path / "c.json"
    options = ["--runs", "3", "--steps", "4", "--report", str(report), "--json", str(document)]
    assert main(["compare", str(file), "--gym", "CartPole-v1", *options]) == 10
    assert json.loads(document.read_text())["agrees"] is False
    assert "<svg" in report.read_text()
    assert "mathdefault" not in report.read_text()
    assert main(["compare", "cartpole", "--gym", "CartPole-v1", "--runs", "2", "--steps", "4"]) == 0
    assert "cartpole and CartPole-v1 agree" in capsys.readouterr().out


@pytest.mark.parametrize("env", ["Pendulum-v1", "Acrobot-v1", "MountainCarContinuous-v0", "FrozenLake-v1"])
def test_drafts_of_other_spaces(env: str, tmp_path: Path) -> None:
    if env == "FrozenLake-v1":
        with pytest.raises(vn.InputError, match="no vector of numbers"):
            vn.worlds.draft(env)
        return
    file = tmp_path / "draft.toml"
    file.write_text(vn.worlds.draft(env), "utf-8")
    assert vn.worlds.system(str(file)).open_agents == ("agent",)


def test_what_does_not_fit_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, said in (
        (["cartpole", "--gym", "Pendulum-v1"], "observes 3 numbers, and the agent of the task 4"),
        (["cartpole", "--gym", "Nothing-v9"], "as MODULE:Nothing-v9"),
        (["nothing.toml", "--gym", "CartPole-v1"], "nothing.toml"),
        (["spread2", "--gym", "CartPole-v1"], "several agents"),
        (["cartpole", "--gym", "CartPole-v1", "--agent", "pull"], "there is no agent 'pull'"),
        (["cartpole", "--gym", "CartPole-v1", "--runs", "0"], "at least one run"),
    ):
        assert main(["compare", *arguments]) == 2
        assert said in capsys.readouterr().err
    assert main(["compare", "cartpole", "--gym", "CartPole-v1", "--timeout", "1e-6"]) == 5


def test_a_page_of_a_comparison_without_growth() -> None:
    found = vn.worlds.compare("cartpole", "CartPole-v1", runs=1, steps=1)
    assert "cartpole beside CartPole-v1" in comparison_page(found)
