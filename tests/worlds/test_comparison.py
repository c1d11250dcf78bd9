"""A task beside the environment it is written after: the same where it is the same, and found where it is not."""

from __future__ import annotations

import json
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


def test_a_task_that_draws_is_compared_by_its_nearest_draw() -> None:
    windy = vn.System(
        state={"x": vn.real(), "v": vn.real()},
        init={"x": vn.interval(-1, 1), "v": 0},
        agents={
            "push": vn.agent(
                vn.worlds.system("mountaincar_continuous").agents[0].networks[0],
                observe=lambda s: [s.x, s.v],
                act="raw",
            )
        },
        step=lambda s: {"x": s.x + vn.between(-1, 1), "v": vn.between(-1, 1)},
    )
    found = vn.worlds.compare(windy, "MountainCarContinuous-v0", runs=1, steps=5)
    assert max(one.difference for one in found.deviations) < 0.2
    assert not found.growth


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
        (["cartpole", "--gym", "Nothing-v9"], "Gymnasium has no environment 'Nothing-v9'"),
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
