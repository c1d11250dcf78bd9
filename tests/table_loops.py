"""Small loops as tables of successors and scores, and the faults of a path by all paths: slow and obvious."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from tests.systems import layer, make
from vernal.interpret import exact
from vernal.interpret.exact import Given
from vernal.logic.formula import Formula
from vernal.logic.normal import horizon
from vernal.logic.semantics import evaluate
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.agent import make_agent
from vernal.model.expr import Expr, Role
from vernal.model.network import Network, network_input
from vernal.model.sorts import INT
from vernal.model.system import System
from vernal.queries.faults import Effect, Faults

STATES, ACTIONS = 5, 3
CLAIMS = [
    "G[0,4] s != 4",
    "F[0,4] s == 3",
    "(s != 4) U[1,4] (s == 3)",
    "X[2] (s != 1) & G[1,3] (s != 4)",
    "G (s != 4)",
    "G[0,3] ((s != 2) | (a != 1))",
]
S = build.var("s", INT)


@dataclass(frozen=True)
class TableLoop:
    """Successors and scores by state and action, and the same as a system."""

    after: dict[tuple[int, int], tuple[int, ...]]
    scores: list[list[int]]

    def policy(self, state: int) -> list[int]:
        return [a for a in range(ACTIONS) if self.scores[state][a] == max(self.scores[state])]

    def any_action(self, state: int) -> list[int]:
        """All actions after which there is a step; the first where there is none."""
        return [a for a in range(ACTIONS) if self.after[state, a]] or [0]

    @property
    def system(self) -> System:
        x = network_input(STATES)
        weights = [[float(self.scores[s][a]) for s in range(STATES)] for a in range(ACTIONS)]
        network = Network("table", x, layer(x, weights, [0.0] * ACTIONS))
        agent = make_agent("a", [network], [build.if_(build.eq(S, s), 1, 0) for s in range(STATES)])
        action = build.var("a", agent.action.sort, role=Role.ACTION)
        options = [build.when(t, self._leads_to(t, action)) for t in range(STATES)]
        return make({"s": {0, 1}}, {"s": build.choose(*options, name="next")}, sorts={"s": INT}, agents=[agent])

    def _leads_to(self, target: int, action: Expr) -> Expr:
        ways = [(s, a) for (s, a), found in self.after.items() if target in found]
        return build.disj(*(build.conj(build.eq(S, s), build.eq(action, a)) for s, a in ways))


def table_loop(seed: int) -> TableLoop:
    rng = random.Random(seed)
    sizes = [0, 1, 1, 1, 2, 2]
    after = {(s, a): tuple(rng.sample(range(STATES), rng.choice(sizes))) for s in range(STATES) for a in range(ACTIONS)}
    return TableLoop(after, [[rng.randint(0, 2) for _ in range(ACTIONS)] for _ in range(STATES)])


Position = tuple[int, int]  # a state, and the action at it
Way = tuple[list[Position], bool]  # positions of a path, and whether it ends there


def paths(loop: TableLoop, start: int, action: int | None, length: int, *, free: bool) -> Iterator[Way]:
    """All paths from a state that begin with an action, as far as a length."""
    acting = loop.any_action if free else loop.policy
    for a in acting(start) if action is None else [action]:
        following = loop.after[start, a] if length else ()
        if not following:
            yield [(start, a)], bool(length)
        for t in following:
            for rest, ends in paths(loop, t, None, length - 1, free=free):
                yield [(start, a), *rest], ends


def keeps(task: Task, formula: Formula, path: list[Position], ends: bool) -> bool:
    """Whether a path keeps a formula; of one without an end, whether nothing bad is on it."""

    def truth(atom: Expr, t: int) -> bool:
        given: dict[Expr, Given] = {S: Fraction(path[t][0]), task.system.agents[0].var: Fraction(path[t][1])}
        (value,) = exact.evaluate([atom], given, {})
        assert isinstance(value, bool)
        return value

    return evaluate(formula, truth, len(path), complete=ends) is not False


def differences(found: Faults, loop: TableLoop, task: Task, formula: Formula) -> Iterator[str]:
    """Where faults are not what all paths say; every question has to be answered."""
    done = [(int(step.state["s"]), int(step.actions["a"])) for step in found.trace.steps]
    reach = horizon(formula)
    for t, (state, action) in enumerate(done):
        length = (STATES if reach is None else max(reach - t, 0)) + 1
        truths = partial(_truths, loop, task, formula, done[:t], state, length)
        for decision in (one for one in found.decisions if one.position == t):
            if decision.taken != action:
                yield f"step {t}: {decision.taken} was not taken"
            for other in decision.alternatives:
                kept = Effect.KEPT if truths(other.action, free=False) == {True} else Effect.BROKEN
                expected = kept if loop.after[state, other.action] else Effect.STOPPED
                if other.effect is not expected:
                    yield f"step {t}, action {other.action}: {other.effect}, not {expected}"
        hope = Effect.KEPT if True in truths(None, free=True) else Effect.BROKEN
        if found.prospects[t].effect is not hope:
            yield f"step {t}: {found.prospects[t].effect}, not {hope}"


def _truths(
    loop: TableLoop,
    task: Task,
    formula: Formula,
    before: list[Position],
    state: int,
    length: int,
    first: int | None,
    *,
    free: bool,
) -> set[bool]:
    """What the formula is on all paths that go on so."""
    ways = paths(loop, state, first, length, free=free)
    return {keeps(task, formula, [*before, *rest], ends) for rest, ends in ways}
