"""The twenty systems, their questions, and the answer to each with the reason for it.

The systems are task files in `systems/`; `tests/test_forever.py` tries every answer by naive simulation, and those of
finite systems by naive enumeration of all states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vernal.evidence.result import HOLDS, VIOLATED, Verdict
from vernal.formats.task.blueprint import load
from vernal.logic.task import Task

SYSTEMS = Path(__file__).parent / "systems"


@dataclass(frozen=True)
class Right:
    """The right answer to a question, and why it is right."""

    verdict: Verdict
    why: str


def holds(why: str) -> Right:
    return Right(HOLDS, why)


def violated(why: str) -> Right:
    return Right(VIOLATED, why)


ANSWERS: Mapping[str, Mapping[str, Right]] = {
    "contracting": {
        "inside": holds("[-1, 1] is mapped into [-1/2, 1/2]"),
        "near": holds("after 7 steps it is at most 1/128"),
        "settles": holds("after 4 steps it is at most 1/16, and what follows is less"),
        "weakly": holds("the left side is true for ever"),
        "released": holds("the right side is true for ever"),
        "beyond": violated("from 0 it stays at 0"),
        "narrow": violated("it may begin at 1"),
        "returns": violated("from 0 it stays at 0"),
    },
    "spiralling": {
        "inside": holds("the distance from 0 shrinks by 0.9 and begins with at most sqrt(2) < 1.6"),
        "near": holds("sqrt(2) * 0.9^17 < 0.25"),
        "settles": holds("the distance only shrinks"),
        "narrow": violated("from (1, -1) the next x is 1.26"),
        "beyond": violated("from (0, 0) it stays there"),
    },
    "rotating": {
        "inside": holds("a quarter turn keeps the square"),
        "rises": holds("after one step y is what x was"),
        "returns": holds("every fourth position is the first one"),
        "answers": holds("two steps later x is the negative"),
        "beyond": violated("x is never more than 1"),
        "rests": violated("after a step x is what -y was"),
        "settles": violated("every path is a loop of four in which x is at most -0.5 once"),
        "positive": violated("after two steps x is at most -0.5"),
    },
    "bouncing": {
        "inside": holds("it moves only if the next place is inside"),
        "comes_back": holds("it turns where 0.25 less would be below 0, so its lowest place is below 0.25"),
        "reaches": holds("its highest place is above 0.75"),
        "answers": holds("lowest and highest place take turns"),
        "stays_low": violated("every path is a loop that visits its highest place"),
        "never_low": violated("it may begin at 0"),
        "waits": violated("x is never 2"),
    },
    "counter": {
        "inside": holds("9 is followed by 0"),
        "returns": holds("every tenth number is 0"),
        "until": holds("0, 1, 2, 3, 4 and then 5"),
        "answers": holds("8 steps after 3 comes 1"),
        "next": holds("3 is followed by 4"),
        "released": holds("up to and including the 5, no number is more than 5"),
        "early": violated("5 comes before 6, and is not below 5"),
        "settles": violated("0 comes again and again"),
        "below": violated("9 is reached"),
        "weakly_early": violated("as `early`, and 5 is not below 5"),
        "released_late": violated("6 is more than 5, and the right side has to hold at that position, too"),
        "always_back": holds("every number is reached from every number"),
    },
    "saturating": {
        "full": holds("after ten steps it is 10"),
        "settles": holds("10 is followed by 10"),
        "until": holds("it is below 10 until it is 10, which happens"),
        "released": holds("it is never negative"),
        "weakly": holds("as `until`"),
        "returns": violated("it ends at 10"),
        "nine": violated("from 8 it may go to 10"),
        "some_nine": holds("steps of one lead to 9 from every start"),
        "avoids": holds("a step of one or of two leads to 8, and from there one of two to 10"),
        "stuck": violated("after ten steps every path is at 10"),
        "always": holds("as `full`, from every number"),
    },
    "leaking": {
        "inside": holds("0.9 * 1 + 0.1 = 1"),
        "narrow": violated("1 - 0.5 * 0.9^9 > 0.8, by the largest disturbance at every step"),
        "near": violated("from 0.5 the disturbance 0.05 keeps it at 0.5"),
        "returns": violated("the same"),
        "until": violated("x is never more than 1"),
        "weakly": holds("the left side is true for ever, see `inside`"),
    },
    "following": {
        "inside": holds("both stay between the places they began at"),
        "ordered": holds("what is between them halves and keeps its sign"),
        "near": holds("2 / 2^8 < 0.01"),
        "settles": holds("it only halves"),
        "apart": violated("it halves"),
        "left_of": violated("from (0, 1) the left one goes to 0.5"),
        "spreads": violated("from (0, 0) both stay"),
    },
    "chasing": {
        "eventually": violated("a prey that always runs stays three cells ahead"),
        "stays": holds("who is caught does not move, and nor does the hunter"),
        "possible": holds("a prey that rests is caught within five steps"),
        "escapes": holds("a prey that always runs"),
        "certain": violated("the same"),
        "moves": violated("after a catch in cell 3 the hunter stays there"),
    },
    "hysteresis": {
        "inside": holds("it turns at 18 and 22 with a step's delay: never below 16.4, never above 23.6"),
        "heats": holds("without heating it falls towards 10 and passes 18"),
        "rests": holds("with heating it rises towards 30 and passes 22"),
        "answers": holds("as `rests`"),
        "cold": violated("the heater starts only at 18, a step too late"),
        "settles": violated("see `rests`"),
    },
    "heating": {
        "inside": holds("it heats below 19 and stops above 21, and a step is at most 0.7 down or 0.5 up"),
        "heats": holds("without heating it falls by at least 0.14 a step down to 18"),
        "warm": violated("it falls until it is below 19"),
        "off": violated("see `heats`"),
    },
    "blinking": {
        "inside": holds("the unit is 0 or 1"),
        "on_again": holds("0, 1, 0, 1, ..."),
        "off_again": holds("0, 1, 0, 1, ..."),
        "memory": holds("the light is the output of the unit, which is what it remembers"),
        "stays": violated("0, 1, 0, 1, ..."),
        "dark": violated("it is on after one step"),
    },
    "burning": {
        "bounded": holds("the most is 3 + 2 + 1 = 6"),
        "ends": holds("after four steps the memory is 0"),
        "stays": holds("0 is followed by 0"),
        "until": holds("from 3: 0, 2, 3; from more: it passes 3 within two steps and is at most 5 before"),
        "far": violated("the most is 6"),
        "low": violated("from 4 it goes to 6"),
    },
    "wandering": {
        "inside": holds("the walls"),
        "arrives": violated("it may stay"),
        "can_arrive": holds("five steps to the right"),
        "always_can": holds("at most five steps to the right"),
        "can_stay": holds("it may stay"),
        "must": violated("it may stay"),
        "orderly": holds("from at most 2 the next cell is at most 3"),
        "returns": violated("it may stay in another cell"),
        "beyond": violated("the walls"),
        "low": violated("five steps to the right"),
    },
    "ties": {
        "middle": holds("1 and -1 are followed by 0"),
        "plus": violated("MINUS may win every time"),
        "can_plus": holds("from 0 PLUS may win"),
        "never_plus": holds("MINUS may win every time"),
        "either": holds("0 is followed by 1 or -1"),
        "always_plus": violated("MINUS may win"),
    },
    "ending": {
        "inside": holds("5 has no successor"),
        "arrives": violated("it may stay at 3"),
        "can_arrive": holds("it may always go on"),
        "last": holds("the path ends at 5"),
        "goes_on": violated("at 5 there is no next position"),
        "weakly": holds("from at most 3 the next number is at most 4"),
        "until": violated("it may stay at 3"),
        "at_three": holds("no number is skipped"),
    },
    "swinging": {
        "inside": holds("the next x is at most 1/2"),
        "near": holds("abs(sin(x)) <= abs(x), so it halves: after 5 steps it is at most 1/32"),
        "settles": holds("and keeps halving"),
        "narrow": violated("it may begin at 1"),
        "beyond": violated("from 0 it stays at 0"),
    },
    "logistic": {
        "inside": holds("[0.1, 0.9] is mapped into [0.225, 0.625], and that into itself"),
        "near": holds("[0.225, 0.625] is mapped into [0.43, 0.625], and that into [0.58, 0.63]"),
        "settles": holds("[0.5, 0.7] is mapped into [0.525, 0.625]"),
        "high": violated("from 0.6 it stays at 0.6"),
        "low": violated("it may begin at 0.1"),
    },
    "doubling": {
        "positive": holds("it grows"),
        "far": holds("2^7 > 100"),
        "until": holds("what is at most 10 is followed by at most 20"),
        "bounded": violated("2^7 > 100"),
        "early": violated("it passes 5 before 100"),
        "stays_far": holds("it grows"),
    },
    "drifting": {
        "far": holds("after 40 steps"),
        "positive": holds("it grows"),
        "stays_far": holds("it grows"),
        "bounded": violated("after 41 steps"),
        "until": holds("what is at most 20 is followed by at most 20.5"),
        "early": violated("it passes 10 before 20"),
    },
}


def tasks() -> Iterator[tuple[Task, Mapping[str, Right]]]:
    """Every system with the answers to its questions; a question without an answer is an error."""
    for name, answers in ANSWERS.items():
        task = load(SYSTEMS / f"{name}.toml")
        if list(task.properties) != list(answers):
            raise ValueError(f"{name}: {sorted(set(task.properties) ^ set(answers))} have no answer or no question")
        yield task, answers
