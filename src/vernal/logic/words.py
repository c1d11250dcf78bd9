"""Formulas in words: fully bracketed, and as English sentences.

    AX[6] (h > 100 | h < -100)
    from every initial state, along every path: after exactly 6 steps, h > 100 or h < -100

Short parts stay on a line; longer ones become a list, indented by what they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from vernal.errors import UnsupportedFormula
from vernal.logic.formula import (
    ALL_TIME,
    Always,
    And,
    Atom,
    Bound,
    Eventually,
    Formula,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Release,
    Temporal,
    Until,
    Weak,
)
from vernal.logic.normal import Logic, classify, fold, order
from vernal.logic.printing import PREFIX, WHOLE, Fragment, formula_piece, number, text
from vernal.logic.times import Time
from vernal.model.build import TRUE
from vernal.model.system import Model

TRAJECTORIES = "along every trajectory while it is in the region"
LINE = 96  # characters before a sentence becomes a list
DEEPEST = 40  # levels that are put into words; what is nested deeper is shown as a formula


def bracketed(formula: Formula) -> str:
    """The formula with brackets around every operand that is not a single word."""

    def rule(node: Formula, args: tuple[Fragment, ...]) -> Fragment:
        closed = [Fragment(f"({arg.text})", WHOLE) if arg.binds < WHOLE else arg for arg in args]
        return formula_piece(node, closed, lambda expr: Fragment(text(expr), WHOLE if expr.args == () else PREFIX))

    return fold(formula, rule).text


def words(formula: Formula, model: Model | None = None, time: Time | None = None) -> str:
    """What the formula asks, in English; with the system, also what it asks of paths that end."""
    logic, samples = classify(formula), time is Time.SAMPLES
    if model is not None and (time or model.motion.time) is Time.SECONDS:
        return _attach(f"from every initial state, {TRAJECTORIES}:", _Teller("time", False).say(formula))
    partial = model is not None and getattr(model, "enabled", TRUE) is not TRUE
    fractional = any(
        end is not None and end.denominator != 1
        for node in order(formula)
        if isinstance(node, Temporal) and not isinstance(node, Next)
        for end in (node.bound.lower, node.bound.upper)
    )
    told = _Teller("sample" if samples else "time" if fractional else "step", partial or samples)
    if logic is Logic.STATE:
        return _attach("in every initial state:", told.say(formula))
    if isinstance(formula, Temporal) and formula.quantifier is not None:
        paths = "every path" if formula.quantifier is Quantifier.ALL else "some path"
        return _attach(f"from every initial state, along {paths}:", told.temporal(formula))
    opening = "from every initial state, along every path:" if logic is Logic.LTL else "from every initial state:"
    return _attach(opening, told.say(formula))


TextLines = list[str]


def _attach(opening: str, lines: TextLines) -> str:
    """An opening and what it opens: on one line if it fits, else below it."""
    return "\n".join(_under(opening, lines))


def _under(opening: str, lines: TextLines) -> TextLines:
    if len(lines) == 1 and len(opening) + len(lines[0]) < LINE:
        return [f"{opening} {lines[0]}"]
    return [opening if opening.endswith(":") else f"{opening.rstrip(',')}:", *_indent(lines, "  ")]


def _indent(lines: TextLines, first: str) -> TextLines:
    return [(first if index == 0 else " " * len(first)) + line for index, line in enumerate(lines)]


def _list(opening: str, parts: Sequence[TextLines]) -> TextLines:
    return [opening, *(line for part in parts for line in _indent(part, "  - "))]


def _together(parts: Sequence[TextLines], sentence: str, opening: str) -> TextLines:
    """Parts put into a sentence with `{0}`, `{1}`, ... if it stays on a line, else as a list under the opening."""
    if all(len(part) == 1 for part in parts):
        line = sentence.format(*(part[0] for part in parts))
        if len(line) < LINE:
            return [line]
    return _list(opening, parts)


@dataclass(frozen=True, slots=True)
class _Teller:
    """Formulas as sentences; inside a temporal operator (`later`) times count from the position it refers to."""

    unit: str
    partial: bool
    later: bool = False
    level: int = 0

    def inside(self, formula: Formula) -> TextLines:
        return replace(self, later=True, level=self.level + 1).say(formula)

    def say(self, formula: Formula) -> TextLines:
        if self.level > DEEPEST:
            return [text(formula)]
        deeper = replace(self, level=self.level + 1)
        match formula:
            case Atom(expr):
                return [text(expr)]
            case Not(Atom(expr)):
                return [f"not {text(expr)}" if not expr.args else f"not ({text(expr)})"]
            case Not(arg):
                return _under("it is not the case that", deeper.say(arg))
            case And(args) | Or(args):
                return deeper.junction(formula, args)
            case Implies(left, right):
                return deeper.implication(left, right)
            case Iff(left, right):
                both = [deeper.say(left), deeper.say(right)]
                return _together(both, "{0} exactly when {1}", "both of these hold, or neither:")
        if isinstance(formula, Temporal):
            return self.quantified(formula)
        raise UnsupportedFormula(f"{type(formula).__name__} is not an operator of the property language")

    def junction(self, formula: Formula, args: tuple[Formula, ...]) -> TextLines:
        conjunction = isinstance(formula, And)
        parts = [self.say(arg) for arg in args]
        simple = all(isinstance(arg, Atom) or (isinstance(arg, Not) and isinstance(arg.arg, Atom)) for arg in args)
        opening = "all of these hold:" if conjunction else "at least one of these holds:"
        if not simple:
            return _list(opening, parts) if len(parts) > 1 else parts[0]
        marks = [f"{{{index}}}" for index in range(len(parts))]
        return _together(parts, (" and " if conjunction else " or ").join(marks), opening)

    def implication(self, left: Formula, right: Formula) -> TextLines:
        parts = [self.say(left), self.say(right)]
        if all(len(part) == 1 for part in parts) and sum(len(part[0]) for part in parts) < LINE:
            return [f"if {parts[0][0]}, then {parts[1][0]}"]
        return [*_under("if", parts[0]), *_under("then", parts[1])]

    def quantified(self, formula: Temporal) -> TextLines:
        if formula.quantifier is None:
            return self.temporal(formula)
        paths = "every path" if formula.quantifier is Quantifier.ALL else "some path"
        return _under(f"along {paths} from there," if self.later else f"along {paths},", self.temporal(formula))

    def temporal(self, formula: Temporal) -> TextLines:
        """A temporal operator without its quantifier."""
        match formula:
            case Next(arg, count, quantifier):
                return _under(f"{self.after(count)}{self.ends(quantifier, count)},", self.inside(arg))
            case Eventually(arg, bound) if bound.lower == bound.upper:
                return _under(f"{self.moment(bound.lower)}{self.ends(Quantifier.SOME, 1)},", self.inside(arg))
            case Always(arg, bound) if bound.lower == bound.upper:
                return _under(f"{self.moment(bound.lower)}{self.ends(Quantifier.ALL, 1)},", self.inside(arg))
            case Eventually(arg, bound):
                return _under(f"at some {self.window(bound)},", self.inside(arg))
            case Always(arg, bound):
                return _under(f"at every {self.window(bound)},", self.inside(arg))
            case Until(left, right, bound):
                goal = f"at some {self.window(bound)},"
                return self.two(right, goal, left, f"and at every {self.unit} before it,")
            case Release(left, right, bound):
                where = f"at every {self.window(bound)}, but not after the first {self.unit} with the condition below,"
                return self.two(right, where, left, "the condition:")
            case Weak(left, right, bound):
                meets = self.two(right, f"at some {self.window(bound)},", left, f"and at every {self.unit} before it,")
                stays = self.temporal(Always(left, Bound(Fraction(0), bound.upper)))
                return [*_indent(meets, "either "), *_indent(stays, "or ")]

    def two(self, first: Formula, opening: str, second: Formula, link: str) -> TextLines:
        lines = [*_under(opening, self.inside(first)), *_under(link, self.inside(second))]
        one = " ".join([lines[0] if lines[0].endswith(",") else f"{lines[0]},", *lines[1:]])
        return [one] if len(lines) == 2 and len(one) < LINE else lines

    def after(self, count: int) -> str:
        unit = "sample" if self.unit == "sample" else "step"
        return "now" if count == 0 else f"after exactly {count} {unit}{'s' * (count > 1)}"

    def moment(self, at: Fraction) -> str:
        return f"at {self.unit} {number(at)}{self.since()}"

    def ends(self, quantifier: Quantifier | None, count: int) -> str:
        """What a next step asks of a path that has none."""
        if not self.partial or count == 0:
            return ""
        return " on paths that are that long" if quantifier is Quantifier.ALL else ", which must be possible"

    def since(self) -> str:
        return " after that" if self.later else ""

    def window(self, bound: Bound) -> str:
        """`step from 2 to 9`, `time`: what F and G range over."""
        if bound == ALL_TIME:
            return "time from then on" if self.later else "time"
        if bound.upper is None:
            return f"{self.unit} from {number(bound.lower)} on{self.since()}"
        return f"{self.unit} from {number(bound.lower)} to {number(bound.upper)}{self.since()}"
