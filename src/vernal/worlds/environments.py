"""An environment of Gymnasium linked to a task: which numbers of one are which of the other."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vernal.errors import InputError, MissingExtra, NameUnknown, VernalError, nearest
from vernal.interpret.numbers.rounding import Array
from vernal.logic.formula import Atom
from vernal.logic.task import Task
from vernal.model.expr import Expr
from vernal.model.sorts import Kind
from vernal.model.system import Agent, System
from vernal.worlds.batch import Batch
from vernal.worlds.library import names, system
from vernal.worlds.open_agents import opened

SMALLEST = 1e-3  # numbers below count as this in roundings: sums of larger ones may be small
NO_VECTOR = "the environment observes {}, which is no vector of numbers (a Box of one dimension)"
OWN_MODULE = " (one of your own is named with the module that registers it, as MODULE:{})"


@dataclass(frozen=True)
class Linked:
    """A system with one open agent, and an environment that takes the same actions.

    The state of the environment is read from what it observes, where every state variable is observed as it is; else
    from its `state`, a vector in the order of the task's variables.
    """

    system: System
    env: Any
    name: str
    agent: str
    variables: tuple[str, ...]  # of the state, all of them numbers
    places: tuple[int, ...] | None  # of the variables in an observation; None where the environment's `state` is read

    smallest = SMALLEST

    @property
    def quantities(self) -> list[str]:
        """What is compared: what is observed, and the state where that is more."""
        (seen,) = [agent.observe for agent in self.system.agents if agent.name == self.agent]
        shown = [str(Atom(one)) for one in seen]
        return shown if self.places is not None else [*shown, *(f"{name} (state)" for name in self.variables)]

    @property
    def precision(self) -> float:
        """Of the numbers that are observed."""
        return float(np.finfo(self.env.observation_space.dtype).eps)

    def state(self, seen: Array) -> dict[str, float]:
        """The state that the environment is in, as the task's variables."""
        values = self._inner(self.env) if self.places is None else [float(seen[place]) for place in self.places]
        return dict(zip(self.variables, values, strict=True))

    def observed(self, seen: Array, env: Any = None) -> Array:
        """What is compared, as the environment has it."""
        inner = [] if self.places is not None else self._inner(self.env if env is None else env)
        made: Array = np.array([*np.asarray(seen, dtype=float).ravel(), *inner])
        return made

    def extra(self, batch: Batch) -> Array:
        """What is compared besides observations, as copies of the task have it."""
        columns = [] if self.places is not None else [batch.state[name] for name in self.variables]
        return np.stack(columns, axis=1) if columns else np.empty((batch.n, 0))

    def _inner(self, env: Any) -> list[float]:
        return [float(value) for value in np.asarray(env.unwrapped.state, dtype=float).ravel()]

    def acted(self, action: Any) -> Any:
        """An action as the environment takes it."""
        space = self.env.action_space
        return int(action) if hasattr(space, "n") else np.asarray(action, dtype=space.dtype).reshape(space.shape)

    def corners(self, most: int) -> list[Any]:
        """The extreme actions: all of finitely many, else the corners of a box."""
        space = self.env.action_space
        if hasattr(space, "n"):
            return list(range(int(space.n)))[:most]
        if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
            return []
        ends = itertools.product(*zip(space.low.ravel(), space.high.ravel(), strict=True))
        return [np.array(one, dtype=space.dtype).reshape(space.shape) for one in itertools.islice(ends, most)]


def linked(task: Any, env: Any, agent: str | None = None) -> Linked:
    """Find out which numbers are which, or say what does not fit."""
    given, made = as_system(task), environment(env)
    known = [one.name for one in given.agents]
    chosen = agent or (known[0] if len(known) == 1 else None)
    if chosen is None:
        raise InputError(f"the task has several agents, or none; say which acts in the environment: {', '.join(known)}")
    if chosen not in known:
        raise NameUnknown(f"there is no agent {chosen!r}{nearest(chosen, known)}")
    opened_system = opened(given, [chosen])
    (acting,) = [one for one in given.agents if one.name == chosen]
    seen = acting.observe
    _refuse_spaces(made, seen)
    _refuse_actions(made.action_space, acting)
    variables = tuple(variable.name for variable in given.state)
    odd = [one.name for one in given.state if one.var.shape or one.var.sort.kind is Kind.ENUM]
    if odd:
        raise InputError(f"states are compared as numbers, and {', '.join(odd)} has labels or is an array")
    name = getattr(made.spec, "id", None) or type(made.unwrapped).__name__
    return Linked(opened_system, made, name, chosen, variables, _places(given, seen, made))


def as_system(task: Any) -> System:
    """The system of a task, a file or a world; a file without policies is a world."""
    if isinstance(task, System):
        return task
    if isinstance(task, Task):
        return task.system
    if str(task) in names():
        return system(str(task))
    from vernal.formats.loading import load

    try:
        return load(task).system
    except VernalError as error:
        if not Path(task).is_file() or "policy" not in str(error):
            raise
        return system(str(task))


def environment(given: Any) -> Any:
    """An environment: itself, or the one of this id."""
    try:
        import gymnasium
    except ImportError:
        raise MissingExtra("an environment of Gymnasium", "gym") from None
    if not isinstance(given, str):
        return given
    try:
        with _modules_of_this_folder(given):
            return gymnasium.make(given)
    except (gymnasium.error.Error, ImportError) as error:
        own = "" if ":" in given else OWN_MODULE.format(given)
        raise InputError(f"Gymnasium has no environment {given!r}: {error}{own}") from None
    except Exception as error:
        raise InputError(f"Gymnasium cannot make {given!r}: {type(error).__name__}: {error}") from None


@contextmanager
def _modules_of_this_folder(given: str) -> Iterator[None]:
    """Where an id names its module, as MODULE:ID, that may stand in the current folder, after all that is installed."""
    here = [str(Path.cwd())] if ":" in given else []
    sys.path.extend(here)
    try:
        yield
    finally:
        for one in here:
            sys.path.remove(one)


def _refuse_spaces(env: Any, seen: Sequence[Expr]) -> None:
    shape = getattr(env.observation_space, "shape", None)
    if shape is None or len(shape) != 1 or not np.issubdtype(env.observation_space.dtype, np.floating):
        raise InputError(NO_VECTOR.format(env.observation_space))
    size = sum(one.size for one in seen)
    if shape[0] != size:
        raise InputError(f"the environment observes {shape[0]} numbers, and the agent of the task {size}")
    if not hasattr(env.action_space, "n") and not hasattr(env.action_space, "low"):
        raise InputError("the environment's actions are neither Discrete nor a Box")


def _refuse_actions(space: Any, agent: Agent) -> None:
    """An error where what the agent does is no action of the environment."""
    labels, one_of = agent.action.sort.labels, hasattr(space, "n")
    wanted = f"one of {space.n} actions" if one_of else f"{int(np.prod(space.shape))} number(s)"
    given = f"one of {len(labels)}: {', '.join(labels)}" if labels else f"{agent.action.size} number(s)"
    fits = not labels or len(labels) == space.n if one_of else not labels and agent.action.size == np.prod(space.shape)
    if not fits:
        raise InputError(f"the environment takes {wanted}, and {agent.name!r} gives {given}")


def _places(given: System, seen: Sequence[Expr], env: Any) -> tuple[int, ...] | None:
    """Where each variable stands in an observation; None where the environment's own state has to be read."""
    found = {one: place for place, one in enumerate(seen)}
    if all(variable.var in found for variable in given.state):
        return tuple(found[variable.var] for variable in given.state)
    env.reset(seed=0)
    inner = getattr(env.unwrapped, "state", None)
    if inner is None or np.asarray(inner).size != len(given.state):
        missing = [variable.name for variable in given.state if variable.var not in found]
        raise InputError(
            f"the environment does not say what {', '.join(missing)} is: it is not observed as it is, and the "
            f"environment has no `state` of {len(given.state)} numbers"
        )
    return None
