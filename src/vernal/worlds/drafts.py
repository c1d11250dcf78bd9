"""The skeleton of a task file for an environment of Gymnasium: spaces, ranges and starts are written, motions are not.

    print(vn.worlds.draft("CartPole-v1"))

What is written is a world: it can be read, simulated and compared with the environment (`vernal compare`) before there
is a policy. How the state changes has to be filled in; until then every variable keeps its value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from vernal.errors import InputError
from vernal.interpret.numbers.rounding import Array
from vernal.worlds.environments import NO_VECTOR, environment

RESETS = 1000  # from which starts are read off
MAX_SPACE_END = 1e6  # ends of a space beyond it are none
NAMES = {
    "CartPole": ("x", "v", "theta", "omega"),
    "MountainCar": ("x", "v"),
    "MountainCarContinuous": ("x", "v"),
}  # of observations, where they are known; elsewhere x0, x1, ...


def draft(env: Any) -> str:
    """The text of a task file for an environment (or its id), to be completed.

    Path("pole.toml").write_text(vn.worlds.draft("CartPole-v1"))
    """
    made = environment(env)
    space = made.observation_space
    if getattr(space, "shape", None) is None or len(space.shape) != 1:
        raise InputError(NO_VECTOR.format(space))
    name = env if isinstance(env, str) else _id(made)
    return "\n".join(_lines(made, name, _names(made, space.shape[0]))) + "\n"


def _id(env: Any) -> str:
    return str(getattr(env.spec, "id", None) or type(env.unwrapped).__name__)


def _names(env: Any, count: int) -> list[str]:
    known = NAMES.get(_id(env).partition("-")[0], ())
    return list(known) if len(known) == count else [f"x{place}" for place in range(count)]


def _lines(env: Any, name: str, names: list[str]) -> Iterator[str]:
    space, starts = env.observation_space, _starts(env)
    title = "".join(sign.lower() if sign.isalnum() else "_" for sign in _id(env).partition("-")[0])
    yield f"# A draft for {name} of Gymnasium: fill in how the state changes, then compare both:"
    yield f"#   vernal compare FILE --gym {name}"
    yield f'vernal = 1\nname = "{title}"\n\n[state]                            # what is observed, with its ranges'
    for place, one in enumerate(names):
        yield f'{one} = "real{_range(space.low[place], space.high[place])}"'
    yield f"\n[init]                             # where {RESETS:,} resets started, rounded outward"
    for place, one in enumerate(names):
        low, high = _outward(starts[:, place].min(), starts[:, place].max())
        yield f"{one} = {low}" if low == high else f'{one} = "[{low}, {high}]"'
    yield '\n[agents.agent]                     # add: policy = "policy.onnx" (or model.zip) to check it'
    yield f"observe = [{', '.join(_quoted(one) for one in names)}]"
    yield from _acting(env.action_space)
    yield "\n[environment.next]                 # to be filled in: what each becomes by the action `agent`"
    yield from (f'{one} = "{one}"' for one in names)
    yield "\n[properties]"
    kept = _kept(names[0], space.low[0], space.high[0], np.abs(starts[:, 0]).max())
    yield f'stays = "G[0,20] ({kept})"   # an example: what has to be true for 20 steps'


def _kept(name: str, low: float, high: float, start: float) -> str:
    """A condition that is true where episodes start: inside the space, else not twice as far from 0."""
    if _range(low, high):
        return f"{name} >= {_short(low)} & {name} <= {_short(high)}"
    return f"abs({name}) <= {_outward(0, 2 * start)[1] if start else 1}"


def _acting(space: Any) -> Iterator[str]:
    """How the agent acts: one of so many, or numbers within their ends."""
    if hasattr(space, "n"):
        yield 'act = "argmax"'
        yield f"labels = [{', '.join(_quoted(f'A{index}') for index in range(int(space.n)))}]"
        return
    if not hasattr(space, "low"):
        raise InputError("the environment's actions are neither Discrete nor a Box")
    ends = zip(space.low.ravel(), space.high.ravel(), strict=True)
    yield f"act = [{', '.join(_quoted(_clipped(place, *one)) for place, one in enumerate(ends))}]"


def _clipped(place: int, low: float, high: float) -> str:
    finite = abs(low) < MAX_SPACE_END and abs(high) < MAX_SPACE_END
    return f"clip(out[{place}], {_short(low)}, {_short(high)})" if finite else f"out[{place}]"


def _starts(env: Any) -> Array:
    return np.array([np.asarray(env.reset(seed=seed)[0], dtype=float) for seed in range(RESETS)])


def _range(low: float, high: float) -> str:
    return f" [{_short(low)}, {_short(high)}]" if abs(low) < MAX_SPACE_END and abs(high) < MAX_SPACE_END else ""


def _outward(low: float, high: float) -> tuple[str, str]:
    """Both ends with two digits, not inside of them; a single value stays what it is."""
    if low == high:
        return _short(low), _short(high)
    unit = 10.0 ** (np.floor(np.log10(max(abs(low), abs(high)))) - 1)
    return _short(np.floor(low / unit) * unit), _short(np.ceil(high / unit) * unit)


def _short(value: float) -> str:
    return f"{float(value):.6g}"


def _quoted(text: str) -> str:
    return f'"{text}"'
