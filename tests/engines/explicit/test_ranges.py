"""What explicit says of declared ranges is what an enumeration by hand finds: no more, no less, and the first step."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

from tests.brute import TooLarge, ValueUndefined
from tests.explicit_oracle import FiniteOracle
from tests.graph_loops import Size, graph_formula, graph_loop
from tests.loops import formula
from tests.portion import some
from vernal.engines.check import ask, in_range
from vernal.engines.explicit.engine import invariant
from vernal.evidence.result import HOLDS, UNKNOWN, VIOLATED, Result
from vernal.logic.formula import Formula
from vernal.logic.normal import horizon
from vernal.logic.question import Question
from vernal.logic.task import Task
from vernal.model.sorts import Kind
from vernal.model.system import System, Variable
from vernal.run.budget import Budget

NOTE = re.compile(r"(\w+) (leaves|may leave) its range (?:at|from) step (\d+)( of the trace| on|)")
SYSTEMS = some(40)
SIZE = Size(variables=(1, 2), agents=(0, 0, 1), highs=(1, 2, 4, 9))
LOOK_AHEAD = 20


def ranged(rng: random.Random, system: System) -> System:
    """The system with narrow ranges of some of its numbers; they say nothing of what it does."""
    return replace(system, state=tuple(_ranged(rng, variable) for variable in system.state))


def _ranged(rng: random.Random, variable: Variable) -> Variable:
    if variable.sort.kind not in (Kind.INT, Kind.REAL) or rng.random() < 0.2:
        return replace(variable, lower=None, upper=None, enforced=False)
    low = Fraction(rng.randint(-6, 0), rng.choice((1, 2)))
    ends = (low, low + rng.randint(0, 8))
    lower, upper = (None if rng.random() < 0.2 else end for end in ends)
    return replace(variable, lower=lower, upper=upper, enforced=False)


def first_exits(system: System, asked: Formula) -> dict[str, int]:
    """For every variable that is ever outside its range the fewest steps after which it is."""
    oracle = FiniteOracle(system, asked, 2_000)
    exits: dict[str, int] = {}
    level, met, step = set(oracle.starts), set(oracle.starts), 0
    while level:
        for place, variable in enumerate(system.state):
            if any(_is_outside(variable, state[place]) for state in level):
                exits.setdefault(variable.name, step)
        level = {after for state in level for after in oracle.after[state]} - met
        met |= level
        step += 1
    return exits


def _is_outside(variable: Variable, value: Fraction) -> bool:
    below = variable.lower is not None and value < variable.lower
    return below or (variable.upper is not None and value > variable.upper)


def notes_on_ranges(result: Result) -> Iterator[tuple[str, str, int, bool]]:
    """The variable, what is said of it, the step, and whether that is one of the trace."""
    for note in result.notes:
        found = NOTE.fullmatch(note)
        assert found or "range" not in note, note
        if found:
            yield found[1], found[2], int(found[3]), found[4] == " of the trace"


@cache
def drawn(seed: int) -> tuple[System, Formula, dict[str, int]] | None:
    """A system, a formula that may have a bound, and the exits; None where the enumeration by hand gives up."""
    rng = random.Random(seed)
    system = ranged(rng, graph_loop(rng, SIZE))
    asked = (formula if seed % 2 else graph_formula)(rng, system)
    try:
        return system, asked, first_exits(system, asked)
    except (TooLarge, ValueUndefined):
        return None


@pytest.mark.parametrize("part", range(3))
def test_notes_are_what_enumeration_says(part: int) -> None:
    judged = exact = 0
    for seed in range(SYSTEMS * part, SYSTEMS * (part + 1)):
        if (found := drawn(seed)) is None:
            continue
        system, asked, exits = found
        result = ask(Task(system), asked, None, "explicit", Budget(timeout=20))
        if result.verdict is UNKNOWN:
            continue
        last = horizon(asked)
        within = {name: t for name, t in exits.items() if last is None or t <= last}
        stopped = result.verdict is VIOLATED and invariant(Question(system, asked)) is not None
        _judge(result, within, stopped=stopped)
        judged, exact = judged + 1, exact + (not stopped and bool(within))
    assert judged > SYSTEMS / 2
    assert exact


def _judge(result: Result, exits: dict[str, int], *, stopped: bool) -> None:
    """Facts are true; where the whole graph is known there is nothing else, and nothing is missing."""
    said = list(notes_on_ranges(result))
    for name, verb, step, on_trace in said:
        if verb == "leaves":
            assert exits[name] <= step if on_trace else exits[name] == step
        else:
            assert stopped
            assert name not in exits or step <= exits[name]
    if not stopped:
        assert {name for name, *_ in said} == set(exits)
    early = {name for name, step in exits.items() if step <= LOOK_AHEAD}
    assert early <= {name for name, *_ in said}


@pytest.mark.parametrize("part", range(3))
def test_to_ask_for_ranges_says_the_same(part: int) -> None:
    verdicts = set()
    for seed in range(SYSTEMS * part, SYSTEMS * (part + 1)):
        if (found := drawn(seed)) is None:
            continue
        system, _, exits = found
        result = ask(Task(system), in_range(Task(system)), "in_range", "explicit", Budget(timeout=20))
        assert result.verdict is (VIOLATED if exits else HOLDS), seed
        assert result.step == min(exits.values(), default=None), seed
        verdicts.add(result.verdict)
    assert verdicts == {HOLDS, VIOLATED}
