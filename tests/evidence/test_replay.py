"""Replay: paths recomputed exactly, records believed only where they agree."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from flint import arb, ctx

from tests.systems import accumulator, chooser, countdown, counter, make, wanderer
from vernal.evidence import confirm
from vernal.evidence.replay import NotAPath, Problem, range_exits, run, verify
from vernal.evidence.result import Assurance
from vernal.evidence.trace import Choice, Enclosure, Trace
from vernal.evidence.walk import PRECISIONS, AgentMemory, FirstState, ReplayWalk, precisions
from vernal.interpret.numbers import reals
from vernal.logic.formula import Always, Atom, Bound, Eventually, Next
from vernal.model import build
from vernal.model.expr import Function, Role
from vernal.model.sorts import BOOL, INT, enum
from vernal.model.system import System

X = build.var("x")
TENTH = Fraction(1, 10)


def states(trace: Trace, name: str = "x") -> list[object]:
    return [step.state[name] for step in trace.steps]


def problem(system: System, trace: Trace) -> Problem:
    """What replay finds wrong with a record."""
    found = verify(system, trace)
    assert not found.accepted
    assert found.problem is not None
    return found.problem


# Making paths ---------------------------------------------------------------------------------------------------------


def test_ten_tenths_are_one() -> None:
    trace = run(counter(), {"x": Fraction(0)}, [], 10)
    assert states(trace) == [t * TENTH for t in range(11)]
    assert confirm.truth(trace, Next(Atom(X < 1), 10)) is False
    assert confirm.truth(trace, Next(Atom(X >= 1), 10)) is True
    assert confirm.margin(trace, Next(Atom(X < 1), 10)) == 0
    assert confirm.assurance(trace, Next(Atom(X < 1), 10)) is Assurance.EXACT


def test_choices_are_named_and_the_last_step_has_none() -> None:
    trace = run(wanderer(), {"x": Fraction(1, 2)}, [{"move": 2}, {"move": 0}], 2)
    assert states(trace) == [Fraction(1, 2), Fraction(5, 2), Fraction(3, 2)]
    assert trace.steps[0].choices == {"move": Choice(2, Fraction(2))}
    assert trace.steps[2].choices == {}
    assert verify(wanderer_of(trace), trace).accepted


def wanderer_of(trace: Trace) -> System:
    assert isinstance(trace.system, System)
    return trace.system


def test_a_disturbance_outside_is_moved_to_the_end() -> None:
    system = make({"x": 0}, {"x": X + build.between(-TENTH, Fraction(1, 3), name="w")})
    trace = run(system, {"x": Fraction(0)}, [{"w": Fraction(0.3333333333333334)}, {"w": Fraction(-5)}], 2)
    assert [step.disturbances.get("w") for step in trace.steps] == [Fraction(1, 3), -TENTH, None]
    assert states(trace)[-1] == Fraction(1, 3) - TENTH


def stairs() -> System:
    """Up while below 2, or down while above 0, from 0."""
    move = build.choose(build.when(1, X < 2), build.when(-1, X > 0), name="move")
    return make({"x": 0}, {"x": X + move})


def test_an_option_that_does_not_exist_gives_way_to_the_first_that_does() -> None:
    trace = run(stairs(), {"x": Fraction(0)}, [{"move": 1}] * 4, 4)
    assert [step.choices.get("move") for step in trace.steps] == [
        Choice(0, Fraction(1)),
        Choice(1, Fraction(-1)),
        Choice(0, Fraction(1)),
        Choice(1, Fraction(-1)),
        None,
    ]
    last = run(stairs(), {"x": Fraction(0)}, [{"move": 0}] * 3, 3)
    assert states(last) == [0, 1, 2, 1]
    assert last.steps[2].choices == {"move": Choice(1, Fraction(-1))}  # the last guard is nobody's to look at


def test_a_record_of_an_option_that_does_not_exist_is_refused() -> None:
    system = stairs()
    trace = run(system, {"x": Fraction(0)}, [{"move": 0}], 1)
    assert verify(system, trace).accepted
    first = replace(trace.steps[0], choices={"move": Choice(1, Fraction(1))})
    found = problem(system, replace(trace, steps=(first, *trace.steps[1:])))
    assert (found.step, found.variable, found.recorded, found.recomputed) == (0, "choice move", "1", "0")


def test_the_path_ends_where_no_option_is_left() -> None:
    system = make({"x": 0}, {"x": X + build.choose(build.when(1, X < 2), name="up")})
    trace = run(system, {"x": Fraction(0)}, [{"up": 0}] * 5, 5)
    assert states(trace) == [0, 1, 2]
    assert trace.complete
    assert trace.steps[2].choices == {}
    assert verify(system, trace).accepted


def test_what_only_an_option_not_taken_asks_is_not_drawn() -> None:
    """A candidate names an option whose guard draws; the one that is there in its place does not."""
    coin = build.choose(0, 1, name="coin")
    system = make({"x": 0}, {"x": build.choose(build.when(7, coin > 0), 3, name="move")})
    trace = run(system, {"x": Fraction(0)}, [{"move": 0, "coin": 0}], 1)
    assert trace.steps[0].choices == {"move": Choice(1, Fraction(3))}
    assert verify(system, trace).accepted


def test_ties_are_recorded_as_actions() -> None:
    system = chooser()
    for index, after in ((0, -1), (1, 1)):
        trace = run(system, {"x": Fraction(0)}, [{"pilot": index}], 1)
        assert trace.steps[0].actions == {"pilot": index}
        assert states(trace) == [0, after]
        assert verify(system, trace).accepted
    trace = run(system, {"x": Fraction(1)}, [{"pilot": 1}], 1)
    assert trace.steps[0].actions == {"pilot": 0}  # at 1 only LEFT is maximal


def test_memory_is_carried() -> None:
    system = accumulator()
    trace = run(system, {"x": Fraction(1)}, [], 2, {"adder": [Fraction(1, 2)]})
    assert [step.memory["adder"] for step in trace.steps] == [(Fraction(1, 2),), (Fraction(3, 2),), (Fraction(3, 2),)]
    assert trace.steps[0].actions["adder"] == Fraction(1)
    assert verify(system, trace).accepted


def test_the_path_ends_where_the_system_is_not_enabled() -> None:
    trace = run(countdown(), {"n": Fraction(2)}, [], 7)
    assert states(trace, "n") == [2, 1, 0]
    assert trace.complete
    assert confirm.truth(trace, Eventually(Atom(build.compare(">", build.var("n", INT), 5)))) is False
    prefix = run(countdown(), {"n": Fraction(2)}, [], 1)
    assert not prefix.complete
    assert confirm.truth(prefix, Eventually(Atom(build.compare(">", build.var("n", INT), 5)))) is None


def test_irrational_values_are_enclosed() -> None:
    system = make({"x": (0, 1)}, {"x": build.apply(Function.SIN, X)})
    trace = run(system, {"x": Fraction(1)}, [], 3)
    sine = states(trace)[1]
    assert isinstance(sine, Enclosure)
    assert sine.lower < Fraction("0.8414709848078965066525023216302989996225630608") < sine.upper
    claim = Next(Atom(X - Fraction("0.84") < 0))
    assert confirm.truth(trace, claim) is False
    assert confirm.assurance(trace, claim) is Assurance.RIGOROUS
    assert verify(system, trace).accepted


def test_precision_rises_until_a_branch_is_decided() -> None:
    """exp(x) and its first 60 digits: 128 bits do not tell which is larger."""
    digits = Fraction("2.718281828459045235360287471352662497757247093699959574966967")
    after = build.if_(build.apply(Function.EXP, X) < digits, 0, 2)
    assert states(run(make({"x": 1}, {"x": after}), {"x": Fraction(1)}, [], 1)) == [1, 2]


def test_what_cannot_be_decided_is_said() -> None:
    square = build.apply(Function.SIN, X) ** 2 + build.apply(Function.COS, X) ** 2
    system = make({"x": 1}, {"x": build.if_(build.eq(square, 1), 0, 2)})
    with pytest.raises(NotAPath, match="undecided"):
        run(system, {"x": Fraction(1)}, [], 1)


def test_longer_paths_are_walked_with_more_bits() -> None:
    """What is written down is short all the same, and contains what was computed."""
    assert precisions(100) == PRECISIONS
    assert precisions(5000)[-1] == 16384
    wild = make({"x": 1}, {"x": 3 * build.apply(Function.SIN, X)})
    trace = run(wild, {"x": Fraction(1)}, [], 3, least_precision=4096)
    last = trace.steps[-1].state["x"]
    assert last.upper.denominator.bit_length() < 1100
    with ctx.workprec(4096):
        exact = 3 * (3 * (3 * arb(1).sin()).sin()).sin()
        assert reals.ball(last.lower, last.upper).contains(exact)


def test_a_tie_is_not_tried_with_bits_for_a_longer_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison of equal reals at the first step stays open with any precision."""
    tried: list[int] = []
    walk = ReplayWalk.walk

    def noted(one: ReplayWalk, first: FirstState, memory: AgentMemory, steps: int) -> Trace:
        tried.append(one.precision)
        return walk(one, first, memory, steps)

    monkeypatch.setattr(ReplayWalk, "walk", noted)
    square = build.apply(Function.SIN, X) ** 2 + build.apply(Function.COS, X) ** 2
    system = make({"x": 1}, {"x": build.if_(build.eq(square, 1), 0, 2)})
    with pytest.raises(NotAPath, match="undecided with 4096 bits"):
        run(system, {"x": Fraction(1)}, [], 20_000)
    assert tried == list(PRECISIONS)


def test_undefined_values_make_no_path() -> None:
    with pytest.raises(NotAPath, match=r"step 1, x: .*division by zero"):
        run(make({"x": 1}, {"x": build.div(1, X) - 1}), {"x": Fraction(1)}, [], 3)


def test_noise_of_an_observation_is_recorded_at_the_last_step_too() -> None:
    """An action belongs to its position, so what it was computed from does as well."""
    from tests.systems import layer
    from vernal.model.agent import make_agent
    from vernal.model.network import Network, network_input

    x = network_input(1)
    agent = make_agent("a", [Network("n", x, layer(x, [[2.0]], [0.0]))], [X + build.between(0, 1, name="noise")], "raw")
    system = make({"x": 0}, {"x": build.var("a", role=Role.ACTION)}, agents=[agent])
    trace = run(system, {"x": Fraction(0)}, [{"noise": Fraction(1)}, {"noise": Fraction(1, 2)}], 1)
    assert [step.disturbances for step in trace.steps] == [{"noise": 1}, {"noise": Fraction(1, 2)}]
    assert [step.actions["a"] for step in trace.steps] == [2, 5]
    assert verify(system, trace).accepted


# The initial set ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "why"),
    [
        ({"x": Fraction(11, 10), "n": 1, "c": 0, "p": 0}, r"step 0, x: 11/10 is not an initial value"),
        ({"x": Fraction(1, 2), "n": Fraction(3, 2), "c": 0, "p": 0}, "step 0, n"),
        ({"x": Fraction(1, 2), "n": 1, "c": 2, "p": 0}, "step 0, c"),
        ({"x": Fraction(1, 2), "n": 1, "c": 0, "p": 1}, "step 0, p"),
        ({"x": Fraction(1, 2), "n": 2, "c": 0, "p": 0}, "where"),
        ({"x": Fraction(1, 2), "n": 1, "c": 0}, "step 0, p"),
    ],
)
def test_the_first_state_is_an_initial_one(first: dict[str, Fraction], why: str) -> None:
    n = build.var("n", INT)
    sorts = {"n": INT, "c": enum("RED", "GREEN"), "p": BOOL}
    system = make({"x": (0, 1), "n": (0, 3), "c": {0, 1}, "p": 0}, {}, sorts=sorts, where=[X + n <= Fraction(3, 2)])
    with pytest.raises(NotAPath, match=why):
        run(system, first, [], 1)
    assert len(run(system, {"x": Fraction(1, 2), "n": Fraction(1), "c": Fraction(1), "p": Fraction(0)}, [], 1)) == 2


def test_the_first_memory_is_an_initial_one() -> None:
    with pytest.raises(NotAPath, match="initial memory"):
        run(accumulator(), {"x": Fraction(0)}, [], 1, {"adder": [Fraction(2)]})


def test_a_draw_without_a_record() -> None:
    with pytest.raises(NotAPath, match="step 1"):
        run(wanderer(), {"x": Fraction(0)}, [{"move": 1}], 2)
    with pytest.raises(NotAPath, match="options 0 to 2"):
        run(wanderer(), {"x": Fraction(0)}, [{"move": 3}], 1)


# Records --------------------------------------------------------------------------------------------------------------


def edited(trace: Trace, t: int, **fields: object) -> Trace:
    steps = list(trace.steps)
    steps[t] = replace(steps[t], **fields)  # type: ignore[arg-type]
    return replace(trace, steps=tuple(steps))


def test_every_edit_is_found() -> None:
    system = wanderer("between")
    trace = run(system, {"x": Fraction(1, 2)}, [{"move": Fraction(1, 3)}, {"move": Fraction(2)}], 2)
    assert verify(system, trace).accepted
    wrong = problem(system, edited(trace, 1, state={"x": Fraction(6, 7)}))
    assert (wrong.step, wrong.variable) == (1, "x")
    assert (wrong.recorded, wrong.recomputed) == ("6/7", "5/6")
    assert problem(system, edited(trace, 0, disturbances={"move": Fraction(3)})).variable == "disturbance move"
    assert problem(system, edited(trace, 0, disturbances={})).step == 0
    assert problem(system, edited(trace, 2, disturbances={"move": Fraction(0)})).variable == "disturbance move"
    assert problem(system, edited(trace, 0, state={"x": Fraction(2)})).step == 0


def test_a_wrong_action_is_found() -> None:
    system = chooser()
    trace = run(system, {"x": Fraction(1)}, [], 1)
    wrong = problem(system, edited(trace, 0, actions={"pilot": Fraction(1)}))
    assert (wrong.step, wrong.variable, wrong.recorded, wrong.recomputed) == (0, "pilot", "RIGHT", "LEFT")


def test_a_record_longer_than_the_path() -> None:
    system = countdown()
    trace = run(system, {"n": Fraction(2)}, [], 5)
    assert "not enabled" in problem(system, replace(trace, steps=(*trace.steps, trace.steps[-1]))).why


def test_a_lasso_has_to_close_exactly() -> None:
    system = make({"x": 0}, {"x": build.if_(X < 2, X + 1, 1)})
    trace = run(system, {"x": Fraction(0)}, [], 2)
    lasso = replace(trace, loop=1)
    assert states(lasso) == [0, 1, 2]
    assert verify(system, lasso).accepted
    assert confirm.truth(lasso, Always(Atom(X <= 2))) is True
    assert "does not close" in problem(system, replace(trace, loop=0)).why
    assert "cannot loop" in problem(countdown(), replace(run(countdown(), {"n": Fraction(2)}, [], 2), loop=0)).why


def test_ranges_are_only_claims() -> None:
    system = wanderer()
    trace = run(system, {"x": Fraction(1)}, [{"move": 2}] * 4, 4)
    assert states(trace)[-1] == 9
    assert range_exits(trace) == {"x": 3}
    assert range_exits(run(system, {"x": Fraction(1)}, [{"move": 2}] * 2, 2)) == {}


def test_decisions_of_exclusive_branches_share_a_name() -> None:
    left, right = build.choose(1, 2, name="d"), build.choose(-1, -2, name="d")
    system = make({"x": {0, 1}}, {"x": X + build.if_(X < 1, left, right)})
    assert set(system.step.names.values()) == {"d"}
    trace = run(system, {"x": Fraction(1)}, [{left: 0, right: 1}, {left: 1, right: 0}], 2)
    assert states(trace) == [1, -1, 1]
    assert verify(system, trace).accepted


def test_lets_are_facts_of_a_position() -> None:
    """An atom over a let that uses the action takes the action that was recorded, ties included."""
    system = chooser()
    right = build.eq(
        build.var("pilot", enum("LEFT", "RIGHT"), role=Role.ACTION), build.label(enum("LEFT", "RIGHT"), "RIGHT")
    )
    named = replace(system, lets={"goes_right": right})
    atom = Atom(build.var("goes_right", BOOL, role=Role.LET))
    for index in (0, 1):
        trace = run(named, {"x": Fraction(0)}, [{"pilot": index}, {"pilot": 0}], 1)
        assert confirm.truth(trace, Always(atom, Bound(Fraction(0), Fraction(0)))) is bool(index)
