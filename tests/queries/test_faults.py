"""Faults are what brute force finds on small systems (tests/table_loops.py): every action, every draw, every tie."""

from __future__ import annotations

from pathlib import Path

import pytest

import vernal as vn
from tests.systems import layer, make
from tests.table_loops import CLAIMS, differences, table_loop
from vernal.engines.check import parse_formula
from vernal.errors import InputError
from vernal.evidence.result import VIOLATED
from vernal.formats.jani.planning_task import load_jani
from vernal.logic.task import Task
from vernal.model import build
from vernal.model.agent import make_agent
from vernal.model.expr import Role
from vernal.model.network import Network, network_input
from vernal.queries.faults import Effect

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_every_decision_is_what_brute_force_says() -> None:
    violated, effects = 0, set[Effect]()
    for seed, claim in enumerate(CLAIMS * 2):
        loop = table_loop(seed)
        task = Task(loop.system, {})
        formula = parse_formula(task, claim)
        result = vn.check(task, formula, engine="explicit")
        if result.verdict is VIOLATED:
            violated += 1
            found = vn.faults(result, engine="explicit")
            assert list(differences(found, loop, task, formula)) == []
            effects |= {one.effect for each in found.decisions for one in each.alternatives}
    assert violated >= 6
    assert effects == {Effect.KEPT, Effect.BROKEN, Effect.STOPPED}  # what is compared is not always the same


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
