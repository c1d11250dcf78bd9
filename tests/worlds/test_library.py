"""Worlds by name, in Python and in task files."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import vernal as vn
from vernal.errors import FileMissing, NameUnknown, ParseError, Problems, TypeClash
from vernal.formats.task.blueprint import open_task
from vernal.model.expr import Const, Var
from vernal.model.system import OneOf, Span

THERMOSTAT = Path(__file__).parents[2] / "examples" / "thermostat" / "thermostat.onnx"


# In Python ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", vn.worlds.names())
def test_every_world_can_be_read_with_its_agents_open(name: str) -> None:
    world = vn.worlds.system(name)
    assert world.name == name
    assert world.open_agents == tuple(agent.name for agent in world.agents) != ()


def test_a_policy_acts_in_a_world() -> None:
    loop = vn.worlds.system("pendulum_bangbang", vn.read_network(THERMOSTAT))
    assert loop.open_agents == ()
    assert vn.check(loop, "X[3] (theta > -pi/10)").verdict is vn.HOLDS
    assert vn.check(loop, "G[0,3] (theta < 0.05)").verdict is vn.VIOLATED


def test_a_policy_may_see_something_else() -> None:
    network = vn.read_network(THERMOSTAT)
    loop = vn.worlds.system("cartpole", vn.agent(network, observe=lambda s: [s.x, s.theta]))
    (agent,) = loop.agents
    assert [seen.name for seen in agent.observe if isinstance(seen, Var)] == ["x", "theta"]
    assert agent.var.sort.labels == ("LEFT", "RIGHT")
    assert vn.check(loop, "G[0,2] (abs(theta) < 0.2)").verdict is vn.HOLDS


def test_starts_and_parameters_are_replaced() -> None:
    world = vn.worlds.system("lander", init={"x": 0, "y": vn.interval(0.5, 1)}, gust="1/4")
    assert world.init.starts["x"] == OneOf((Fraction(0),))
    assert world.init.starts["y"] == Span(Fraction(1, 2), Fraction(1))
    bounds = world.lets["wind"].args
    assert [bound.value for bound in bounds if isinstance(bound, Const)] == [Fraction(-1, 4), Fraction(1, 4)]


def test_several_agents_get_their_policies_by_name() -> None:
    network = vn.read_network(THERMOSTAT)
    seen = vn.agent(network, observe=lambda s: [s.x1, s.y1], labels=["LEFT", "RIGHT"])
    with pytest.raises(TypeClash, match="the action of 'move1'"):
        vn.worlds.system("spread2", {"move1": seen})
    with pytest.raises(TypeClash, match="move1, move2: give a policy for each"):
        vn.worlds.system("spread2", network)
    with pytest.raises(NameUnknown, match="no agent 'move3'"):
        vn.worlds.system("spread2", {"move3": network})


def test_nothing_is_verified_while_an_agent_is_open() -> None:
    with pytest.raises(vn.InputError, match="no policy for 'push'"):
        vn.check(vn.worlds.system("cartpole"), "X[1] (x < 1)")


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(NameUnknown, match="did you mean 'cartpole'"):
        vn.worlds.system("cartpool")
    with pytest.raises(NameUnknown, match="no parameter 'gusts'"):
        vn.worlds.system("lander", gusts=1)
    with pytest.raises(NameUnknown, match="no state variable 'z'"):
        vn.worlds.system("lander", init={"z": 1})
    with pytest.raises(TypeClash, match="takes 2 inputs, but the agent observes 4"):
        vn.worlds.system("cartpole", vn.read_network(THERMOSTAT))


# In task files --------------------------------------------------------------------------------------------------------

TASK = """
vernal = 1
world = "pendulum_bangbang"
[init]
theta = 0.01
[agents.motor]
policy = "thermostat.onnx"
[properties]
upright = "G[0,3] (abs(theta) < pi/10)"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(THERMOSTAT, tmp_path)
    return tmp_path


def written(folder: Path, text: str, name: str = "task.toml") -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_a_task_builds_on_a_world(folder: Path) -> None:
    task = vn.load(written(folder, TASK))
    assert task.name == "task"
    assert task.system.init.starts["theta"] == OneOf((Fraction(1, 100),))
    assert task.system.init.starts["omega"] == Span(Fraction(0), Fraction(3, 10))
    assert vn.check(task)["upright"].verdict is vn.HOLDS


def test_the_worlds_are_part_of_the_fingerprint(folder: Path) -> None:
    task = vn.load(written(folder, TASK))
    files = [file.file for file in task.networks]
    assert files == ["world:pendulum_bangbang", "world:pendulum", "thermostat.onnx"]


def test_a_world_is_the_same_in_python_and_in_a_task(folder: Path) -> None:
    task = vn.load(written(folder, TASK))
    loop = vn.worlds.system("pendulum_bangbang", vn.read_network(folder / "thermostat.onnx"))
    assert task.system.next == loop.next
    assert task.system.lets == loop.lets


def test_a_policy_for_other_observations_is_shown_in_the_task(folder: Path) -> None:
    """Not in the world, whose list of observations is as its author wants it."""
    text = 'vernal = 1\nworld = "cartpole"\n[agents.push]\npolicy = "thermostat.onnx"\n'
    shown = (
        r"task\.toml:4:10: .*takes 2 inputs, but the agent observes 4, what its world shows: x, v, theta, omega; say"
    )
    with pytest.raises((TypeClash, Problems), match=shown):
        vn.load(written(folder, text))
    with pytest.raises((TypeClash, Problems), match=r"task\.toml:5:11: .*takes 2 inputs, but the agent observes 1\n"):
        vn.load(written(folder, text + 'observe = ["x"]\n'))


def test_a_world_of_one_s_own(folder: Path) -> None:
    written(folder, 'vernal = 1\nworld = "pendulum_bangbang"\n[constants]\ngravity = 5\n', "moon.toml")
    task = vn.load(written(folder, TASK.replace("pendulum_bangbang", "moon.toml")))
    assert task.system.lets["faster"] != vn.worlds.system("pendulum_bangbang").lets["faster"]
    assert vn.check(task)["upright"].verdict is vn.HOLDS


def test_a_world_of_one_s_own_is_open_to_training(folder: Path) -> None:
    written(folder, 'vernal = 1\nworld = "pendulum_bangbang"\n[constants]\ngravity = 5\n', "moon.toml")
    world = vn.worlds.system(str(folder / "moon.toml"))
    assert (world.name, world.open_agents) == ("moon", ("motor",))
    many = vn.worlds.batch(str(folder / "moon.toml"), 2)
    many.reset(state={"theta": 0.5, "omega": 0})
    many.step({"motor": np.array([0, 1])})
    np.testing.assert_allclose(many.state["omega"], 0.05 * (7.5 * np.sin(0.5) + np.array([-3, 3])))
    vague = 'vernal = 1\n[state]\nx = "real"\n[init]\nx = 0\n[agents.a]\nobserve = ["x"]\nact = "raw"\n'
    with pytest.raises(TypeClash, match="a world says how 'a' acts"):
        vn.worlds.system(str(written(folder, vague, "vague.toml")))


def test_a_changed_world_is_noticed_by_replay(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from vernal.cli.main import main

    world = written(folder, 'vernal = 1\nworld = "pendulum_bangbang"\n', "moon.toml")
    task = written(folder, TASK.replace("pendulum_bangbang", "moon.toml").replace("pi/10", "0.02"))
    trace = folder / "trace.json"
    assert main(["check", str(task), "--trace", str(trace), "--quiet"]) == 10
    world.write_text(world.read_text() + "[constants]\ngravity = 9\n")
    assert main(["replay", str(trace)]) == 1
    assert "world:moon.toml has changed since" in "".join(capsys.readouterr())


def test_parameters_of_a_world_reach_its_dynamics_in_a_sweep(folder: Path) -> None:
    """Tasks of one file share what their parameters do not touch; the words of the world count."""
    written(folder, 'vernal = 1\nworld = "pendulum_bangbang"\n[parameters]\nm = 1\n[constants]\nmass = "m"\n', "m.toml")
    blueprint = open_task(written(folder, TASK.replace("pendulum_bangbang", "m.toml")))
    light, heavy, again = (blueprint.task({"m": m}).system for m in (1, 2, 1))
    assert light.lets == again.lets != heavy.lets


def test_a_trace_in_a_world_is_written_and_replays(folder: Path) -> None:
    from vernal.cli.main import main

    task = written(folder, TASK.replace("pi/10", "0.02"))
    trace = folder / "trace.json"
    assert main(["check", str(task), "--trace", str(trace), "--quiet"]) == 10
    assert main(["replay", str(trace)]) == 0


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (TASK.replace("pendulum_bangbang", "pendulam"), NameUnknown, "task.toml:3:9: there is no world 'pendulam'"),
        (TASK.replace("pendulum_bangbang", "mine.toml"), FileMissing, "task.toml:3:9: there is no world file"),
        (TASK.replace("pendulum_bangbang", "a/b"), ParseError, "neither the name of a world nor a .toml file"),
        (TASK.replace('"pendulum_bangbang"', "3"), Problems, "task.toml:3:9: world: expected"),
        (TASK.replace("pendulum_bangbang", "task.toml"), ParseError, "worlds are built on each other"),
        (TASK.replace('policy = "thermostat.onnx"', ""), ParseError, "has no 'policy'"),
        (TASK.replace("theta = 0.01", "thet = 0.01"), NameUnknown, "task.toml:5:1: there is no state variable 'thet'"),
        (
            TASK.replace("[init]", '[environment.let]\ntorque = "match(motor, MINUS: 0, PLUS: thet)"\n[init]'),
            NameUnknown,
            "task.toml:5:40: unknown name 'thet'",
        ),
        (
            TASK.replace("policy =", 'labels = ["A", "B"]\npolicy ='),
            vn.InputError,
            "world:pendulum_bangbang:17:24: 'MINUS' is not a value",
        ),
    ],
)
def test_mistakes_are_found_at_their_place(folder: Path, text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        vn.load(written(folder, text))
    assert message in str(caught.value)
