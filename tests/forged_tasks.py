"""Small task files whose every claim is known: finite ones, by enumeration; boxes of reals are in `forged_boxes`.

What a forger needs is here as well: formulas to claim, and paths of the system to show for them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from tests.brute import TooLarge, ValueUndefined
from tests.explicit_oracle import FiniteOracle
from tests.forged_force import PathShown, forces_on_graph, invariant_forces
from tests.graph_loops import integer_network
from tests.hard_loops import walk
from vernal.engines.check import parse_formula
from vernal.evidence.replay import closed
from vernal.evidence.trace import Trace
from vernal.formats.convert import write_network
from vernal.formats.task.blueprint import load
from vernal.logic.formula import (
    ALL_TIME,
    Always,
    And,
    Bound,
    Eventually,
    Formula,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Release,
    Until,
    Weak,
)
from vernal.logic.task import Task

Parameters = Mapping[str, Fraction]
LIMIT = 6_000  # evaluations of brute force, for one system
LONGEST = 6  # positions of a path that a forger draws
KINDS = ((None,), (None,), (Quantifier.ALL,), (Quantifier.SOME,), tuple(Quantifier))


class Subject(Protocol):
    """A task file, what is true of it, and what evidence about it forces."""

    @property
    def file(self) -> Path: ...

    @property
    def task(self) -> Task: ...

    def formula(self, rng: random.Random) -> Formula: ...

    def truth(self, formula: Formula, parameters: Parameters) -> bool | None: ...

    def is_forced(self, content: Mapping[str, Any], formula: Formula, parameters: Parameters) -> bool | None: ...


def any_path(rng: random.Random, task: Task) -> Trace | None:
    """A random path of a task, or a lasso where it meets a state again; None where no start was found."""
    path = walk(rng, task.system, rng.randint(0, LONGEST))
    if path is None or rng.random() < 0.5:
        return path
    loops = (closed(path, loop) for loop in range(len(path) - 1))
    return next((lasso for lasso in loops if lasso is not None), path)


# Finite systems -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FiniteSubject:
    """A system of few states; brute force knows what is true of it."""

    file: Path
    conditions: tuple[str, ...]  # that formulas are about

    @cached_property
    def task(self) -> Task:
        return load(self.file, {})

    def formula(self, rng: random.Random) -> Formula:
        """Up to depth two about two conditions, bounded or not, of LTL or CTL; or that one of them is always true."""
        atoms = [parse_formula(self.task, text) for text in rng.sample(self.conditions, 2)]
        if rng.random() < 0.3:
            return Always(Or(tuple(atoms)), ALL_TIME, rng.choice((None, *Quantifier)))
        return _drawn(rng, atoms, rng.choice(KINDS), rng.choice((0, 1, 1, 1, 2, 2)))

    def truth(self, formula: Formula, parameters: Parameters) -> bool | None:
        graph = self.graph(formula, parameters)
        try:
            return None if graph is None else graph.holds()
        except TooLarge:
            return None

    def is_forced(self, content: Mapping[str, Any], formula: Formula, parameters: Parameters) -> bool | None:
        """Whether every system with these starts, and these steps from the states shown, has the verdict."""
        graph = self.graph(formula, parameters)
        if graph is None:
            return None
        try:
            if "invariant" in content:
                return invariant_forces(content, graph)
            return forces_on_graph(PathShown.of(content, graph), graph, content["verdict"] == "holds")
        except (TooLarge, ValueUndefined):
            return None

    def graph(self, formula: Formula, parameters: Parameters) -> FiniteOracle | None:
        """All states of the system, with these parameters."""
        task = load(self.file, parameters) if parameters else self.task
        try:
            return FiniteOracle(task.system, formula, LIMIT)
        except (TooLarge, ValueUndefined):
            return None


def _drawn(rng: random.Random, atoms: list[Formula], quantifiers: tuple[Quantifier | None, ...], depth: int) -> Formula:
    if depth == 0 or rng.random() < 0.1:
        return rng.choice([atom for atom in atoms for atom in (atom, atom, Not(atom))])
    quantifier = rng.choice(quantifiers)

    def inner() -> Formula:
        return _drawn(rng, atoms, quantifiers, depth - 1)

    match rng.randrange(12):
        case 0:
            return rng.choice([And, Or])((inner(), inner()))
        case 1:
            return rng.choice([Not(inner()), Implies(inner(), inner())])
        case 2 | 3:
            return Next(inner(), rng.randint(1, 2), quantifier)
        case 4 | 5 | 6:
            return Eventually(inner(), _bound(rng), quantifier)
        case 7 | 8 | 9:
            return Always(inner(), _bound(rng), quantifier)
    return rng.choice([Until, Release, Weak])(inner(), inner(), _bound(rng), quantifier)


def _bound(rng: random.Random) -> Bound:
    lower = rng.choice([0, 0, 0, 1])
    return Bound(Fraction(lower), rng.choice([None, None, Fraction(lower + rng.randint(0, 3))]))


@dataclass(frozen=True)
class _Variable:
    """A declaration, its starts, ways to move, conditions on it, and what an agent sees of it.

    HERE stands for any condition.
    """

    declaration: str
    starts: tuple[str, ...]
    moves: tuple[str, ...]
    conditions: tuple[str, ...]
    seen: str


def _integer(name: str, high: int) -> _Variable:
    return _Variable(
        f"int [0, {high}]",
        tuple(map(str, range(high + 1))),
        (
            f"if({name} < {high}, {name} + 1, 0)",
            f"clip({name} + choose(-1, 0, 1), 0, {high})",
            f"clip({name} + k, 0, {high})",
            f"choose({name} + 1 when {name} < {high}, 0 when HERE)",
            f"if(HERE, {name}, clip({name} - choose(0, 1), 0, {high}))",
            f"if(HERE, choose({name}, 0), {high})",
        ),
        tuple(f"{name} {sign} {value}" for sign in ("<=", "==", ">") for value in range(high)),
        name,
    )


def _truth_value(name: str) -> _Variable:
    moves = (f"!{name}", f"choose({name}, !{name})", "HERE", f"{name} | HERE")
    return _Variable("bool", ("true", "false"), moves, (name, f"!{name}"), f"if({name}, 1, 0)")


def _label(name: str) -> _Variable:
    moves = (
        f"match({name}, RED: GREEN, GREEN: choose(RED, BLUE), BLUE: BLUE)",
        f"match({name}, RED: choose(RED, GREEN), GREEN: BLUE, BLUE: RED)",
        f"if(HERE, RED, {name})",
    )
    labels = ("RED", "GREEN", "BLUE")
    conditions = tuple(f"{name} == {label}" for label in labels)
    return _Variable("enum {RED, GREEN, BLUE}", labels, moves, conditions, f"if({name} == RED, 1, 0)")


def _agent(rng: random.Random, folder: Path, name: str, variables: Mapping[str, _Variable]) -> tuple[str, ...]:
    """An agent that sees the state, perhaps with noise; its scores are small integers, so that they tie."""
    write_network(integer_network(rng, len(variables), 2), folder / f"{name}.onnx")
    noise = " + choose(0, 1)" if rng.random() < 0.2 else ""
    seen = ", ".join(f'"{one.seen}{noise}"' for one in variables.values())
    return "[agents.pilot]", f'policy = "{name}.onnx"', f"observe = [{seen}]", 'labels = ["STAY", "GO"]'


def finite_subject(rng: random.Random, folder: Path, name: str) -> FiniteSubject:
    """A task file of one or two variables, several starts, draws; an agent and ends of paths now and then."""
    kinds: list[Callable[[str], _Variable]] = [lambda n: _integer(n, rng.randint(2, 6)), _truth_value, _label]
    variables = {n: rng.choice(kinds)(n) for n in ("u", "v")[: rng.choice((1, 2, 2))]}
    agent = _agent(rng, folder, name, variables) if rng.random() < 0.3 else ()
    conditions = tuple(condition for one in variables.values() for condition in one.conditions)
    conditions += ("pilot == GO", "pilot == STAY") if agent else ()

    def filled(text: str) -> str:
        return text.replace("HERE", rng.choice(conditions))

    starts = {n: rng.sample(one.starts, rng.randint(1, len(one.starts))) for n, one in variables.items()}
    lines = [
        *("vernal = 1", f'name = "{name}"', "[parameters]", f"k = {rng.choice((-1, 1))}"),
        *("[state]", *(f'{n} = "{one.declaration}"' for n, one in variables.items())),
        *("[init]", *(f'{n} = "{{{", ".join(values)}}}"' for n, values in starts.items())),
        *(*agent, "[environment]", *([f'enabled = "{filled("HERE | HERE")}"'] if rng.random() < 0.3 else [])),
        *("[environment.next]", *(f'{n} = "{filled(rng.choice(one.moves))}"' for n, one in variables.items())),
    ]
    file = folder / f"{name}.toml"
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return FiniteSubject(file, conditions)
