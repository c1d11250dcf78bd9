"""Simple Spread: n agents are to cover n landmarks, one each; written for any n.

The agents are points with inertia, as in the package mpe2: a step of 0.1 s moves each by its velocity, of which it then
keeps three quarters and gains 0.5 in the direction it pushes. There are no contact forces: agents pass through each
other. Each observes positions only, as in "LTL Verification of Memoryful Neural Agents" (AAMAS 2025): its own first,
then the others', then the landmarks'.
"""

from __future__ import annotations

from fractions import Fraction

MOVES = {"NOTHING": (0, 0), "LEFT": (-1, 0), "RIGHT": (1, 0), "DOWN": (0, -1), "UP": (0, 1)}  # in mpe2's order
SQUARE = [(x, y) for x in (Fraction(-1, 2), Fraction(1, 2)) for y in (Fraction(-1, 2), Fraction(1, 2))]


def landmarks(n: int) -> list[tuple[Fraction, Fraction]]:
    """Four in a square and other numbers in a row, as in the paper for two and four."""
    return SQUARE if n == 4 else [(Fraction(2 * i + 1, n) - 1, Fraction(0)) for i in range(n)]


def text(n: int) -> str:
    """The world of n agents as a task file without policies."""
    agents = range(1, n + 1)
    marks = {f"l{axis}{i}": at for i, mark in enumerate(landmarks(n), 1) for axis, at in zip("xy", mark, strict=True)}
    starts = {"x": "[-1, 1]", "y": "[-1, 1]", "vx": "0", "vy": "0"}
    lines = [
        f"# Simple Spread with {n} agents: positions x, y, velocities vx, vy, landmarks at lx, ly; no contact forces.",
        "vernal = 1",
        f'name = "spread{n}"',
        *_table("parameters", {name: str(at) for name, at in marks.items()}),
        *_table("state", {f"{name}{i}": "real" for i in agents for name in starts}),
        *_table("init", {f"{name}{i}": start for i in agents for name, start in starts.items()}),
        *(line for i in agents for line in _agent(i, n, list(marks))),
        *_environment(n),
    ]
    return "\n".join([*lines, ""])


def _agent(i: int, n: int, marks: list[str]) -> list[str]:
    """It sees itself first, so that all agents may use one policy."""
    seen = [i, *(j for j in range(1, n + 1) if j != i)]
    positions = [f"{axis}{j}" for j in seen for axis in "xy"]
    interface = [f"observe = {_array([*positions, *marks])}", 'act = "argmax"', f"labels = {_array(list(MOVES))}"]
    return ["", f"[agents.move{i}]", *interface]


def _environment(n: int) -> list[str]:
    pushes, following = {}, {}
    for i in range(1, n + 1):
        for axis, name in enumerate("xy"):
            cases = ", ".join(f"{move}: {push[axis]}" for move, push in MOVES.items())
            pushes[f"push_{name}{i}"] = f"match(move{i}, {cases})"
            following[f"{name}{i}"] = f"{name}{i} + v{name}{i} / 10"
            following[f"v{name}{i}"] = f"3/4 * v{name}{i} + push_{name}{i} / 2"
    return [*_table("environment.let", pushes), *_table("environment.next", following)]


def _table(name: str, entries: dict[str, str]) -> list[str]:
    return ["", f"[{name}]", *(f'{key} = "{value}"' for key, value in entries.items())]


def _array(items: list[str]) -> str:
    return "[" + ", ".join(f'"{item}"' for item in items) + "]"
