"""A small closed loop and results about it, made by hand: reports do not depend on how an engine found them."""

from __future__ import annotations

from fractions import Fraction

from vernal.evidence.reach import UpToStep
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Assurance, Result
from vernal.evidence.trace import Choice, Trace, TraceStep
from vernal.logic.formula import Always, Atom, Bound, Formula
from vernal.logic.task import InputFile, Task
from vernal.model import build
from vernal.model.expr import Role
from vernal.model.sorts import BOOL, INT, REAL, enum
from vernal.model.system import Init, OneOf, Span, Start, System, Variable

MODE = enum("OFF", "HEAT", "BOOST")
GAINS = (Fraction(-1, 2), Fraction(1, 4), Fraction(3, 2))
DRAUGHTS = (Fraction(0), Fraction(-1, 8))
SAFE = "G[0,25] T <= 20"


def system() -> System:
    """A room heated in one of three modes; draughts come and go, and the sun adds a little."""
    T, mode = build.var("T", REAL), build.var("mode", MODE)
    draught = build.choose(*DRAUGHTS, name="draught")
    sun = build.between(0, "0.1", name="sun")
    lets = {"draught": draught, "sun": sun}
    named = [build.var(name, node.sort, node.shape, Role.LET) for name, node in lets.items()]
    gain = build.switch(mode, [Fraction(0), Fraction(1), Fraction(2)], GAINS)
    colder = build.if_(T > 20, build.label(MODE, "OFF"), build.label(MODE, "HEAT"))
    state = (
        Variable("T", REAL, Fraction(0), Fraction(40)),
        Variable("mode", MODE),
        Variable("hour", INT),
        Variable("warm", BOOL),
    )
    starts: dict[str, Start] = {
        "T": Span(Fraction(18), Fraction(19)),
        "mode": OneOf((Fraction(1), Fraction(2))),
        "hour": OneOf((Fraction(0),)),
        "warm": OneOf((Fraction(0),)),
    }
    following = {
        "T": T + gain + named[0] + named[1],
        "mode": colder,
        "hour": build.var("hour", INT) + 1,
        "warm": T > 20,
    }
    return System("room", state, Init(starts), following, (), lets)


def trace(length: int = 26) -> Trace:
    """The room from 18.5 degrees on, boosting at first."""
    T, mode, warm = Fraction(37, 2), 2, False
    steps = []
    for hour in range(length):
        state = {"T": T, "mode": Fraction(mode), "hour": Fraction(hour), "warm": Fraction(warm)}
        which, sun = hour % 2, Fraction(hour % 5, 50)
        last = hour == length - 1
        choices = {} if last else {"draught": Choice(which, DRAUGHTS[which])}
        steps.append(TraceStep(state, {}, choices, {} if last else {"sun": sun}))
        T, mode, warm = T + GAINS[mode] + DRAUGHTS[which] + sun, (0 if T > 20 else 1), T > 20
    return Trace(tuple(steps), system=system())


def formula() -> Formula:
    """`G[0,25] T <= 20`"""
    return Always(Atom(build.compare("<=", build.var("T", REAL), 20)), Bound(Fraction(0), Fraction(25)))


def task() -> Task:
    """The room with one property, as if read from a file."""
    source = InputFile("room.toml", "0" * 64)
    parameters = {"third": Fraction(1, 3), "tenth": Fraction(1, 10), "k": Fraction(25)}
    return Task(system(), {"safe": formula()}, parameters, source=source, networks=(InputFile("net.onnx", "1" * 64),))


def violated(length: int = 26) -> Result:
    """The room got too warm."""
    return Result(
        SAFE,
        VIOLATED,
        "falsify",
        "safe",
        assurance=Assurance.EXACT,
        seconds=0.21,
        evidence=trace(length),
        step=3,
        margin=-0.5,
        statistics={"runs": 1000, "rate": float("inf")},
    )


def holds() -> Result:
    """The room stays above freezing, trivially."""
    return Result(
        "G[0,25] T >= 0",
        HOLDS,
        "bounds",
        reach=UpToStep(25),
        assurance=Assurance.RIGOROUS,
        margin=12.345678,
        seconds=0.013,
        vacuous=True,
        notes=("T may leave its range [0, 40] at step 12",),
    )


def unknown() -> Result:
    """Nobody knows."""
    reason = "timeout after 60 s; try a longer --timeout"
    return Result("AF T > 30", UNKNOWN, "auto", "warm", reason=reason, proven_steps=4, seconds=60.02)
