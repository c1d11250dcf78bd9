"""Systems: names resolve, circles are refused, draws get names, memory travels."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import vernal as vn
from vernal.errors import TypeClash
from vernal.model import build as b
from vernal.model import declare
from vernal.model.agent import make_agent, output_var
from vernal.model.expr import Expr, Matrix, Role
from vernal.model.graph import draws, order, variables
from vernal.model.network import Network, network_input
from vernal.model.sorts import REAL, enum
from vernal.model.system import Init, OneOf, Span, System, Variable

x = b.var("x")
START = Init({"x": Span(Fraction(0), Fraction(1))})
MOVE = enum("LEFT", "RIGHT")


def net(weight: list[list[float]], name: str = "net") -> Network:
    inputs = network_input(len(weight[0]))
    return Network(name, inputs, b.affine(inputs, Matrix(np.array(weight)), Matrix(np.zeros(len(weight)))))


def system(**fields: object) -> System:
    given: dict[str, object] = {"name": "s", "state": (Variable("x", REAL),), "init": START, "next": {}, **fields}
    return cast(System, System(**given))  # type: ignore[call-overload]


def let(name: str, body: Expr) -> Expr:
    return b.var(name, body.sort, body.shape, Role.LET)


def test_a_variable_not_named_keeps_its_value() -> None:
    assert system().step.next_state == (x,)


def test_lets_resolve_in_any_order_and_are_drawn_once() -> None:
    coin = b.choose(0, 1, name="coin")
    double = let("coin", coin) + let("coin", coin)
    step = system(lets={"double": double, "coin": coin}, next={"x": let("double", double)}).step
    assert draws([*step.next_state]) == [coin]
    assert step.lets["double"] is coin + coin


def test_a_circle_of_lets_is_refused() -> None:
    a, c = b.var("a", role=Role.LET), b.var("c", role=Role.LET)
    with pytest.raises(TypeClash, match="circle: a, c"):
        _ = system(lets={"a": c + 1, "c": a + 1}).step


def test_whether_there_is_a_step_is_known_before_its_draws() -> None:
    coin = b.choose(0, 1, name="coin")
    with pytest.raises(TypeClash, match=r"enabled cannot depend .*\(coin\)"):
        _ = system(lets={"coin": coin}, enabled=let("coin", coin) > 0).step
    noisy = make_agent("seer", [net([[1.0]])], [x + coin], "raw")
    assert coin in draws([system(agents=(noisy,), enabled=noisy.var > 0).step.enabled])


def test_draws_that_can_meet_get_different_names() -> None:
    def coin() -> Expr:
        return b.choose(0, 1, name="x")

    exclusive, meeting = b.if_(x > 0, coin(), coin()), coin() + coin()
    assert set(system(next={"x": exclusive}).step.names.values()) == {"x"}
    assert sorted(system(next={"x": meeting}).step.names.values()) == ["x", "x#2"]


def test_an_agent_acts_on_what_it_sees() -> None:
    agent = make_agent("mover", [net([[1.0], [-1.0]])], [x / 2], labels=MOVE)
    step = system(agents=(agent,), next={"x": b.if_(b.eq(agent.var, b.label(MOVE, "LEFT")), x - 1, x + 1)}).step
    assert agent.var.sort == MOVE
    assert variables(step.next_state) == [x]
    assert step.actions["mover"] in order(step.next_state)
    assert step.resolve(b.eq(agent.var, b.label(MOVE, "LEFT"))) in order(step.next_state)


def test_an_agent_can_use_one_network_of_several() -> None:
    side = b.var("side", MOVE)
    networks = [net([[1.0]], "a"), net([[2.0]], "b")]
    agent = make_agent("gain", networks, [x], "raw", select=side)
    assert side in order([agent.action])
    with pytest.raises(TypeClash):
        make_agent("gain", networks[:1], [x], "raw", select=side)


def test_actions_may_be_expressions_over_the_output() -> None:
    out = output_var(2)
    agent = make_agent("two", [net([[1.0], [2.0]])], [x], [out[0] - out[1], b.clip(out[1], -1, 1)])
    assert agent.action.shape == (2,)
    assert variables([agent.action]) == [x]


def test_memory_is_part_of_the_step() -> None:
    inputs, memory = network_input(1), b.var("h", shape=(1,), role=Role.MEMORY)
    recurrent = Network("count", inputs, memory + inputs, memory=((memory, memory + 1),))
    agent = make_agent("counter", [recurrent], [x], "raw", memory=OneOf((Fraction(3),)))
    made = system(agents=(agent,), next={"x": agent.var})
    (slot,) = made.slots
    assert slot.starts == (OneOf((Fraction(3),)),)
    assert made.step.memory == (slot.var,)
    assert made.step.next_memory == (slot.var + 1,)
    assert set(variables(made.step.next_state)) == {x, slot.var}
    with pytest.raises(TypeClash, match="memory"):
        recurrent(x)


def test_a_network_is_given_as_many_inputs_as_it_takes() -> None:
    with pytest.raises(TypeClash, match="takes 1 inputs, but is given 2"):
        net([[1.0]])(x, x)


def test_a_system_that_starts_elsewhere_shares_its_step() -> None:
    system = System("s", (Variable("x", REAL),), Init({"x": Span(Fraction(0), Fraction(1))}), {"x": b.var("x") * 2})
    other = system.starting(Init({"x": OneOf((Fraction(3),))}))
    assert other.step is system.step
    assert (other.init.starts["x"], other.next) == (OneOf((Fraction(3),)), system.next)
    assert system.init.starts["x"] == Span(Fraction(0), Fraction(1))


def test_what_is_made_of_a_step_is_made_once() -> None:
    system = System("s", (Variable("x", REAL),), Init({"x": OneOf((Fraction(0),))}), {"x": b.var("x") * 2})
    made: list[object] = []
    for _ in range(3):
        assert system.step.once(lambda step: step.inputs) == (b.var("x"),)
        assert system.step.once(made.append) is None
    assert made == [system.step]


@pytest.mark.parametrize("integer", [False, True])
def test_a_network_may_hand_on_what_it_sees(integer: bool) -> None:
    """The sort of its action is that of the observation, known only after the lets that mention it."""
    made = System(
        state={"n": declare.integer() if integer else declare.real()},
        init={"n": 1},
        agents={"go": declare.agent(Network("same", network_input(1), network_input(1)), lambda s: [s.n], "raw")},
        lets={"twice": lambda s: 2 * s.go},
        step=lambda s: {"n": b.if_(s.twice > 2, 0, s.n)},
    )
    assert {var.role for var in variables(made.step.roots)} == {Role.STATE}


def test_system_is_one_class(tmp_path: Path) -> None:
    """What a task file gives, what functions give and what fields give is a `vn.System`."""
    file = tmp_path / "t.toml"
    file.write_text('vernal = 1\nname = "s"\n[state]\nx = "real"\n[init]\nx = 0\n[environment.next]\nx = "x + 1"\n')
    loaded = vn.load(file).system
    written = vn.System("s", state={"x": vn.real()}, init={"x": 0}, step=lambda s: {"x": s.x + 1})
    from_fields = System("s", loaded.state, loaded.init, loaded.next)
    assert isinstance(vn.System, type)
    assert isinstance(loaded, vn.System)
    assert loaded == written == from_fields == replace(written, name="s")
    assert replace(written, name="other") != written


@pytest.mark.parametrize("more", [{}, {"step": lambda s: {}, "next": {}}])
def test_a_system_needs_either_step_or_next(more: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="`step`, a function of names, or by `next`"):
        System(state={"x": vn.real()}, init={"x": 0}, **more)


def test_a_long_chain_of_lets_is_closed_in_one_pass() -> None:
    lets = {f"a{number}": let(f"a{number - 1}", x) + 1 for number in range(3000, 0, -1)}  # each before what it uses
    (after,) = system(lets={**lets, "a0": x}, next={"x": let("a3000", x)}).step.next_state
    assert len(order([after])) == 3002  # x, 1 and the sums
