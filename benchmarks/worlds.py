"""How faithful the worlds are: random transitions of each against the environment it is modelled on.

    python -m benchmarks.worlds             needs the extra `gym`, and Box2D for the lander

Both sides start from the same random states and take the same random actions; the largest difference of any quantity is
printed. The lander is compared with its body alone: the legs are taken off in Box2D, whose numbers are 32-bit floats,
and, for scale, with the legs on, which the model does not have. Simple Spread has no contact forces on either side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vernal as vn
from vernal.worlds.spread import landmarks

Array = NDArray[Any]
Moves = Mapping[str, Array]


def transitions(world: str, state: Moves, actions: Moves) -> tuple[dict[str, Array], Array, Array]:
    """One step of a world from each of these states: the states reached, the rewards, and which are over."""
    many = vn.worlds.batch(world, len(next(iter(state.values()))))
    many.reset(state=state)
    _, reward, over = many.step(actions)
    return many.state, reward, over


def largest(ours: Mapping[str, Array], theirs: Mapping[str, Array]) -> float:
    """The largest difference of any quantity anywhere."""
    return max(float(np.abs(ours[name] - theirs[name]).max()) for name in theirs)


def sample(random: np.random.Generator, count: int, **widths: float) -> dict[str, Array]:
    """Uniform states, each quantity within its width of 0."""
    return {name: random.uniform(-width, width, count) for name, width in widths.items()}


# Gymnasium ------------------------------------------------------------------------------------------------------------


def cartpole(count: int, seed: int = 0) -> float:
    """CartPole-v1: states far beyond where an episode ends, rewards and ends included."""
    import gymnasium

    random = np.random.default_rng(seed)
    state = sample(random, count, x=4.8, v=5, theta=np.pi, omega=5)
    push = random.integers(0, 2, count)
    env: Any = gymnasium.make("CartPole-v1").unwrapped
    theirs = np.empty((count, 6))
    for i, (start, action) in enumerate(zip(np.stack(list(state.values()), axis=1), push, strict=True)):
        env.state, env.steps_beyond_terminated = start, None
        _, reward, over, *_ = env.step(action)
        theirs[i] = (*env.state, reward, over)
    after, reward, over = transitions("cartpole", state, {"push": push})
    return largest({**after, "reward": reward, "over": over}, _named([*state, "reward", "over"], theirs))


def pendulum(count: int, seed: int = 0) -> float:
    """Pendulum-v1: any angle, turned several times, torques beyond the motor's, rewards included."""
    return _pendulum(count, seed, "pendulum")


def pendulum_bangbang(count: int, seed: int = 0) -> float:
    """The same with torque -1 or 1."""
    return _pendulum(count, seed, "pendulum_bangbang")


def _pendulum(count: int, seed: int, world: str) -> float:
    import gymnasium

    random = np.random.default_rng(seed)
    state = sample(random, count, theta=3 * np.pi, omega=8)
    motor = random.uniform(-3, 3, count) if world == "pendulum" else random.integers(0, 2, count)
    torque = motor if world == "pendulum" else 2 * motor - 1
    env: Any = gymnasium.make("Pendulum-v1").unwrapped
    theirs = np.empty((count, 3))
    for i, (start, asked) in enumerate(zip(np.stack(list(state.values()), axis=1), torque, strict=True)):
        env.state = start
        _, reward, *_ = env.step(np.array([asked]))
        theirs[i] = (*env.state, reward)
    after, reward, _ = transitions(world, state, {"motor": motor})
    return largest({**after, "reward": reward}, _named([*state, "reward"], theirs))


def mountaincar(count: int, seed: int = 0) -> float:
    """MountainCar-v0: states at the walls and beyond the goal among them, rewards and ends included."""
    random = np.random.default_rng(seed)
    push = random.integers(0, 3, count)
    return _classic("mountaincar", "MountainCar-v0", _in_the_valley(random, count), {"push": push})


def mountaincar_continuous(count: int, seed: int = 0) -> float:
    """MountainCarContinuous-v0, whose states are 32-bit floats; pushes beyond the motor's included."""
    random = np.random.default_rng(seed)
    push = random.uniform(-1.5, 1.5, count)
    return _classic("mountaincar_continuous", "MountainCarContinuous-v0", _in_the_valley(random, count), {"push": push})


def _in_the_valley(random: np.random.Generator, count: int) -> dict[str, Array]:
    """Positions and velocities from end to end; one position in eight is near the left wall."""
    x = np.where(np.arange(count) % 8, random.uniform(-1.2, 0.6, count), random.uniform(-1.2, -1.15, count))
    return {"x": x, "v": random.uniform(-0.07, 0.07, count)}


def acrobot(count: int, seed: int = 0) -> float:
    """Acrobot-v1: any angles and rates, wrapped and limited after the step, rewards and ends included."""
    random = np.random.default_rng(seed)
    state = sample(random, count, theta1=np.pi, theta2=np.pi, omega1=4 * np.pi, omega2=9 * np.pi)
    slow = np.arange(count) % 2 == 0
    state |= {rate: np.where(slow, state[rate] / 8, state[rate]) for rate in ("omega1", "omega2")}
    return _classic("acrobot", "Acrobot-v1", state, {"motor": random.integers(0, 3, count)})


def _classic(world: str, original: str, state: dict[str, Array], moves: dict[str, Array]) -> float:
    """A world of one agent against an environment of Gymnasium that keeps its state as `env.state`."""
    import gymnasium

    env: Any = gymnasium.make(original).unwrapped
    (actions,) = moves.values()
    numbered = actions.dtype.kind == "i"
    theirs = np.empty((len(actions), len(state) + 2))
    for i, (start, action) in enumerate(zip(np.stack(list(state.values()), axis=1), actions, strict=True)):
        env.state = start
        _, reward, over, *_ = env.step(int(action) if numbered else np.array([action]))
        theirs[i] = (*env.state, reward, over)
    after, reward, over = transitions(world, state, moves)
    return largest({**after, "reward": reward, "over": over}, _named([*state, "reward", "over"], theirs))


def _named(names: list[str], rows: Array) -> dict[str, Array]:
    return dict(zip(names, rows.T, strict=True))


# Simple Spread --------------------------------------------------------------------------------------------------------


def spread(count: int, seed: int = 0, agents: int = 3) -> float:
    """Simple Spread of mpe2 with contact forces off, the reward all agents share included."""
    from mpe2 import simple_spread_v3

    random = np.random.default_rng(seed)
    every = range(1, agents + 1)
    world = f"spread{agents}"
    state = sample(random, count, **{f"{name}{i}": 2.0 for i in every for name in ("x", "y", "vx", "vy")})
    moves = {f"move{i}": random.integers(0, 5, count) for i in every}
    env: Any = simple_spread_v3.parallel_env(N=agents, local_ratio=0.0, max_cycles=10 * count)
    env.reset(seed=seed)
    physics = env.unwrapped.world
    physics.contact_force = 0.0
    for landmark, (x, y) in zip(physics.landmarks, landmarks(agents), strict=True):
        landmark.state.p_pos = np.array([float(x), float(y)])
    theirs = np.empty((count, 4 * agents + 1))
    for row in range(count):
        for i, agent in zip(every, physics.agents, strict=True):
            agent.state.p_pos = np.array([state[f"x{i}"][row], state[f"y{i}"][row]])
            agent.state.p_vel = np.array([state[f"vx{i}"][row], state[f"vy{i}"][row]])
        _, rewards, *_ = env.step({f"agent_{i - 1}": int(moves[f"move{i}"][row]) for i in every})
        reached = [np.concatenate([agent.state.p_pos, agent.state.p_vel]) for agent in physics.agents]
        theirs[row] = (*np.concatenate(reached), rewards["agent_0"])
    after, reward, _ = transitions(world, state, moves)
    return largest({**after, "reward": reward}, _named([*state, "reward"], theirs))


# Box2D ----------------------------------------------------------------------------------------------------------------

ARM = 31 / 306  # metres from the point Gymnasium observes up to the centre of mass
GUST = 0.1


def lander(count: int, seed: int = 0) -> float:
    """The body of LunarLander-v3 in flight, its legs taken off, with wind; in the units Gymnasium observes."""
    random = np.random.default_rng(seed)
    state = sample(random, count, x=0.9, y=0.5, vx=1, vy=1, theta=1, omega=1)
    state["y"] += 1.5  # far above the ground
    engine, wind = random.integers(0, 4, count), random.uniform(-GUST, GUST, count)
    env = _lander(seed)
    for leg in env.legs:
        env.world.DestroyBody(leg)
    env.legs = [SimpleNamespace(ground_contact=False)] * 2
    theirs = np.empty((count, 6))
    for row in range(count):
        _put(env, {name: float(values[row]) for name, values in state.items()})
        env.lander.ApplyForceToCenter((float(wind[row]) * 0.24 * 50, 0.0), True)
        theirs[row] = env.step(int(engine[row]))[0][:6]
    return float(np.abs(_flown(state, engine, wind) - theirs).max())


def lander_with_legs(count: int, seed: int = 0) -> float:
    """The same along whole flights of the lander as it is: how much the legs matter, step by step."""
    random = np.random.default_rng(seed)
    seen, engine = np.empty((count, 2, 6)), random.integers(0, 4, count)
    env = _lander(seed)
    for row in range(count):
        if row % 50 == 0:
            env = _lander(seed + row)
            env.step(0)  # the legs have swung out after this
        seen[row, 0] = _observed(env)
        env.step(int(engine[row]))
        seen[row, 1] = _observed(env)
    x, y, vx, vy, theta, omega = seen[:, 0].T
    x, y = x - ARM / 10 * np.sin(theta), y - ARM * 3 / 20 * (1 - np.cos(theta))
    state = {"x": x, "y": y, "vx": vx, "vy": vy, "theta": theta, "omega": omega}
    return float(np.abs(_flown(state, engine, np.zeros(count)) - seen[:, 1]).max())


def _lander(seed: int) -> Any:
    """The environment after its reset, with engines that do not scatter."""
    import Box2D  # noqa: F401 - Gymnasium's own complaint is no ImportError
    import gymnasium

    env: Any = gymnasium.make("LunarLander-v3").unwrapped
    env.reset(seed=seed)
    env._np_random = SimpleNamespace(uniform=lambda low, high: 0.0)
    return env


def _put(env: Any, state: Mapping[str, float]) -> None:
    """Put the body where a state of ours says: x and y are about its centre of mass."""
    theta = state["theta"]
    right = 10 * state["x"] + ARM * np.sin(theta)
    up = 20 / 3 * state["y"] + ARM * (1 - np.cos(theta))
    env.lander.position = (10 + float(right), env.helipad_y + 18 / 30 + float(up))
    env.lander.angle = theta
    env.lander.linearVelocity = (5 * state["vx"], 7.5 * state["vy"])
    env.lander.angularVelocity = 2.5 * state["omega"]
    env.lander.awake = True


def _observed(env: Any) -> list[float]:
    """What the environment observes of its body, before it is rounded to 32 bits once more."""
    at, fast = env.lander.position, env.lander.linearVelocity
    x, y = (at.x - 10) / 10, (at.y - env.helipad_y - 18 / 30) * 3 / 20
    return [x, y, fast.x / 5, fast.y * 2 / 15, env.lander.angle, 0.4 * env.lander.angularVelocity]


def _flown(state: Mapping[str, Array], engine: Array, wind: Array) -> Array:
    """What our lander observes after a step from each of these states."""
    many = vn.worlds.batch("lander", len(engine))
    many.reset(state=state)
    many.drawn = dict.fromkeys(many.drawn, (wind / GUST + 1) / 2)  # the wind is all that is drawn
    seen, *_ = many.step({"engine": engine})
    return seen["engine"][:, :6]


# The table ------------------------------------------------------------------------------------------------------------

ROWS: list[tuple[str, Callable[[int], float], int]] = [
    ("cart pole, CartPole-v1", cartpole, 100_000),
    ("pendulum, Pendulum-v1", pendulum, 100_000),
    ("pendulum, torque -1 or 1", pendulum_bangbang, 100_000),
    ("mountain car, MountainCar-v0", mountaincar, 100_000),
    ("... MountainCarContinuous-v0", mountaincar_continuous, 100_000),
    ("acrobot, Acrobot-v1", acrobot, 100_000),
    ("spread, 2 agents, mpe2", lambda count: spread(count, agents=2), 10_000),
    ("spread, 4 agents, mpe2", lambda count: spread(count, agents=4), 10_000),
    ("lander, Box2D, body alone", lander, 1_000),
    ("lander, Box2D, with legs on", lander_with_legs, 1_000),
]


def speed(world: str, n: int = 1000, steps: int = 300) -> float:
    """Steps per second of `n` copies at once, with random actions."""
    many = vn.worlds.batch(world, n, seed=0)
    many.reset()
    random = np.random.default_rng(0)
    kinds = {name: len(agent.var.sort.labels) for name, agent in many.agents.items()}
    moves = [{name: random.integers(0, kind, n) for name, kind in kinds.items()} for _ in range(10)]
    begun = time.process_time()
    for step in range(steps):
        *_, over = many.step(moves[step % len(moves)])
        if over.any():
            many.reset(over)
    return n * steps / (time.process_time() - begun)


def main() -> None:
    print(f"{'world':28} {'transitions':>11}  largest difference")
    for title, compare, count in ROWS:
        try:
            print(f"{title:28} {count:11,}  {compare(count):.1e}")
        except ImportError as error:
            print(f"{title:28} {'-':>11}  not compared: {error}")
    print(f"\n{'simulation':28} {'steps/s':>11}  1,000 copies at once, one core")
    for world in ("cartpole", "lander", "spread2"):
        print(f"{world:28} {speed(world):11,.0f}")


if __name__ == "__main__":
    main()
