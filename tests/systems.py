"""Small systems, written by hand, that several tests share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from vernal.model import build
from vernal.model.agent import make_agent
from vernal.model.build import TRUE
from vernal.model.expr import Expr, Matrix, Operand, Role, Var
from vernal.model.network import Network, network_input
from vernal.model.sorts import INT, REAL, Sort, enum
from vernal.model.system import Agent, Init, OneOf, Span, Start, System, Variable

ADVISORIES = ("COC", "DNC", "DND", "DES1500", "CL1500", "SDES1500", "SCL1500", "SDES2500", "SCL2500")
G = Fraction("32.2")


Written = Any  # a value, a pair (an interval) or a set


def start(text: Written) -> Start:
    """A value, an interval (a pair) or a set."""
    if isinstance(text, tuple):
        return Span(Fraction(str(text[0])), Fraction(str(text[1])))
    if isinstance(text, set):
        return OneOf(tuple(Fraction(value) for value in sorted(text)))
    return OneOf((Fraction(text),))


def make(
    init: Mapping[str, Written],
    following: Mapping[str, Operand],
    *,
    sorts: Mapping[str, Sort] | None = None,
    where: Sequence[Expr] = (),
    lets: Mapping[str, Expr] | None = None,
    agents: Sequence[Agent] = (),
    enabled: Expr = TRUE,
    ranges: Mapping[str, tuple[int, int]] | None = None,
) -> System:
    """A system by its initial values and next values; variables are real unless said otherwise."""
    limits = {name: (Fraction(low), Fraction(high)) for name, (low, high) in (ranges or {}).items()}
    state = tuple(Variable(name, (sorts or {}).get(name, REAL), *limits.get(name, (None, None))) for name in init)
    return System(
        "test",
        state,
        Init({name: start(value) for name, value in init.items()}, tuple(where)),
        {name: build.const(value) for name, value in following.items()},
        tuple(agents),
        lets or {},
        enabled,
    )


def counter() -> System:
    """x + 0.1, from 0: after ten steps exactly 1."""
    return make({"x": 0}, {"x": build.var("x") + Fraction("0.1")})


def wanderer(step: str = "choose") -> System:
    """x moves by a choice from {-1, 0, 2}, or by anything from -1 to 2."""
    move = build.choose(-1, 0, 2, name="move") if step == "choose" else build.between(-1, 2, name="move")
    return make({"x": (0, 1)}, {"x": build.var("x") + move}, ranges={"x": (-5, 5)})


def layer(x: Expr, weight: Sequence[Sequence[float]], bias: Sequence[float]) -> Expr:
    return build.affine(x, Matrix(np.array(weight)), Matrix(np.array(bias)))


def chooser() -> System:
    """An agent that goes right where x <= 0 and left where x >= 0: at 0 the scores tie, and either may win."""
    x = network_input(1)
    network = Network("net", x, layer(x, [[1.0], [-1.0]], [0.0, 0.0]))
    position, action = build.var("x"), build.var("pilot", enum("LEFT", "RIGHT"), role=Role.ACTION)
    agent = make_agent("pilot", [network], [position], labels=enum("LEFT", "RIGHT"))
    move = build.if_(build.eq(action, build.label(action.sort, "LEFT")), -1, 1)
    return make({"x": (-2, 2)}, {"x": position + move}, agents=[agent])


def accumulator() -> System:
    """An agent with memory: it adds up what it sees and acts by the sum."""
    x = network_input(1)
    memory = build.var("sum", shape=(1,), role=Role.INPUT)
    total = build.add(memory, x)
    network = Network("rnn", x, layer(total, [[0.5]], [0.25]), ((memory, total),))
    agent = make_agent("adder", [network], [build.var("x")], "raw", memory=Span(Fraction(0), Fraction(1)))
    return make({"x": (0, 1)}, {"x": build.var("adder", role=Role.ACTION) - 1}, agents=[agent])


def countdown() -> System:
    """n counts down and the path ends at 0."""
    n = build.var("n", INT)
    return make({"n": {2, 3}}, {"n": n - 1}, sorts={"n": INT}, enabled=build.compare(">", n, 0))


def vcas(networks: Sequence[Network], v0: str = "-19.5", range_v: int = 5000) -> System:
    """The vertical collision avoidance loop of the DESIGN task, from nine networks."""
    labels = enum(*ADVISORIES)
    h, v, tau = (build.var(name) for name in ("h", "v", "tau"))
    adv: Var = build.var("adv", labels)
    advisor = build.var("advisor", labels, role=Role.ACTION)
    agent = make_agent("advisor", networks, [h / 16000, v / range_v, (tau - 20) / 40], select=adv, labels=labels)
    limits: list[Expr] = [
        build.const(False),
        v <= 0,
        v >= 0,
        v <= -1500,
        v >= 1500,
        v <= -1500,
        v >= 1500,
        v <= -2500,
        v >= 2500,
    ]
    cases = [Fraction(index) for index in range(9)]
    complies = build.conj(build.eq(advisor, adv), build.switch(advisor, cases, limits))
    down, up = (-G / 3, -7 * G / 24, -G / 4), (G / 4, 7 * G / 24, G / 3)
    options = [(-G / 8, Fraction(0), G / 8), down, up, down, up, (-G / 3,), (G / 3,), (-G / 3,), (G / 3,)]
    pulls = [build.choose(*pull, name="accel") if len(pull) > 1 else build.const(pull[0]) for pull in options]
    accel = build.var("accel", role=Role.LET)
    return make(
        {"h": (-133, -129), "v": v0, "tau": 25, "adv": 0},
        {"h": h - v - accel / 2, "v": v + accel, "tau": tau - 1, "adv": advisor},
        sorts={"adv": labels},
        lets={"accel": build.if_(complies, 0, build.switch(advisor, cases, pulls))},
        agents=[agent],
        ranges={"h": (-3000, 3000), "v": (-2500, 2500)},
    )
