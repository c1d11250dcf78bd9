"""Faults are what brute force finds on small systems: every action, every draw, every tie, written down as tables."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

import vernal as vn
from tests.systems import layer, make
from vernal.engines.check import parse_formula
from vernal.errors import InputError
from vernal.evidence.result import VIOLATED
from vernal.formats.jani.planning_task import load_jani
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

EXAMPLES = Path(__file__).parents[2] / "examples"
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


def test_every_decision_is_what_brute_force_says() -> None:
    violated, effects = 0, set[Effect]()
    for seed, claim in enumerate(CLAIMS * 3):
        loop = table_loop(seed)
        task = Task(loop.system, {})
        formula = parse_formula(task, claim)
        result = vn.check(task, formula, engine="explicit")
        if result.verdict is VIOLATED:
            violated += 1
            found = vn.faults(result, engine="explicit")
            compare(found, loop, task, formula)
            effects |= {one.effect for each in found.decisions for one in each.alternatives}
    assert violated >= 10
    assert effects == {Effect.KEPT, Effect.BROKEN, Effect.STOPPED}  # what is compared is not always the same


def compare(found: Faults, loop: TableLoop, task: Task, formula: Formula) -> None:
    """Every alternative and every prospect against all paths."""
    done = [(int(step.state["s"]), int(step.actions["a"])) for step in found.trace.steps]
    reach = horizon(formula)
    for t, (state, action) in enumerate(done):
        length = (STATES if reach is None else max(reach - t, 0)) + 1
        truths = partial(_truths, loop, task, formula, done[:t], state, length)
        for decision in (one for one in found.decisions if one.position == t):
            assert decision.taken == action
            for other in decision.alternatives:
                expected = Effect.KEPT if truths(other.action, free=False) == {True} else Effect.BROKEN
                assert other.effect is (expected if loop.after[state, other.action] else Effect.STOPPED)
        hope = Effect.KEPT if True in truths(None, free=True) else Effect.BROKEN
        assert found.prospects[t].effect is hope
    assert found.is_decided


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


def test_vcas_names_the_advisory_that_keeps_clear() -> None:
    task = vn.load(EXAMPLES / "vcas/vcas.toml")
    found = vn.faults(vn.check(task, property="wide")["wide"])
    assert found.last is not None
    labels = found.sort("advisor").labels
    better = found.last.mended_by[0]
    text = str(found)
    assert f"last fault: step {found.last.position}, advisor takes {labels[found.last.taken]}" in text
    assert labels[better] in text
    assert "<table>" in found._repr_html_()


def test_a_loop_is_left_by_another_action() -> None:
    """The vacuum goes round and round; two of its decisions could end that."""
    task = vn.load(EXAMPLES / "vacuum/vacuum.toml")
    found = vn.faults(vn.check(task, property="will_clean")["will_clean"])
    assert found.trace.loop is not None
    assert found.lost_from is None
    assert found.last is not None
    assert found.last_hope is not None
    assert found.last_hope.position == len(found.trace) - 1


def test_planning_models() -> None:
    folder = EXAMPLES / "blocksworld"
    task = load_jani(folder / "blocks.jani", policy=folder / "hasty.jani2nnet", property=f"{folder / 'safe.jani'}#0")
    (name, *_) = task.properties
    found = vn.faults(vn.check(task, property=name)[name])
    assert found.is_decided
    assert any(one.effect is Effect.STOPPED for each in found.decisions for one in each.alternatives)


def test_what_is_not_known_exactly_is_not_refuted() -> None:
    """After a step with sin the state is known within an enclosure: another action may be proven, never refuted."""
    x = network_input(1)
    network = Network("up", x, layer(x, [[0.0], [0.0]], [1.0, 0.0]))
    agent = make_agent("a", [network], [build.var("x")])
    up = build.eq(build.var("a", agent.action.sort, role=Role.ACTION), 0)
    system = make({"x": 1}, {"x": build.var("x") + build.if_(up, vn.sin(build.var("x")), 0)}, agents=[agent])
    found = vn.faults(vn.check(system, "G[0,3] x <= 2.5"), timeout=20)
    effects = [{one.effect for one in each.alternatives} for each in found.decisions]
    assert all(found <= {Effect.KEPT, Effect.UNKNOWN} for found in effects[1:])


def test_what_has_no_fault_is_refused() -> None:
    task = Task(table_loop(0).system, {})
    with pytest.raises(InputError, match="violates a claim"):
        vn.faults(vn.check(task, "G[0,4] s >= 0"))
    counting = make({"x": 0}, {"x": build.var("x") + 1})
    with pytest.raises(InputError, match="no agent"):
        vn.faults(vn.check(counting, "G[0,4] x <= 2"))
